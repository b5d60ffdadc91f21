"""What a reader gives the boosted trees: a plain contract that any model can fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ...dtypes import INDEX
from ...kernels.trees.beliefs import COLUMNS, write_beliefs


class Beliefs(NamedTuple):
    """Of one sentence: `spans` int32 (c, 2), ordered by start, then end, none twice; `masses` float64 (c,): the
    probability that a constituent is there; `chains` int32 (c, 2), `chances` float64 (c, 2): the likeliest chains of
    labels, by number (-1: there is no other), and the probability that the tree has just these labels there."""

    spans: np.ndarray
    masses: np.ndarray
    chains: np.ndarray
    chances: np.ndarray


class Reader(Protocol):
    """What reads sentences for the trees."""

    @property
    def chain_names(self) -> tuple[str, ...]:
        """The chains of labels by number, each written with blanks, from top to bottom."""

    def beliefs(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Beliefs]:
        """The beliefs of each sentence, words and tags."""


def with_beliefs(columns: np.ndarray, beliefs: Beliefs, trust: float = 0.0, sure: float = 1.0) -> np.ndarray:
    """Token columns int32 (n, TOKEN_COLUMNS) and beliefs in one matrix, as `kernels.trees.beliefs` has it; `trust`:
    what the log odds of a constituent count in the search; `sure`: probability from which on nothing is in doubt, 1:
    all is."""
    tokens = np.zeros((len(columns) + len(beliefs.spans), COLUMNS), dtype=INDEX)
    write_beliefs(columns, *beliefs, trust, sure if sure < 1 else 2.0, tokens, np.zeros(len(tokens) + 1))
    return tokens
