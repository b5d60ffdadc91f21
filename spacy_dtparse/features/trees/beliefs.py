"""What a reader gives the boosted trees: a plain contract that any model can fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...kernels.trees.beliefs import COLUMNS, write_all


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

    def beliefs_together(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[Beliefs, np.ndarray]:
        """The same, of at least one sentence, as `together` has them."""


def together(beliefs: Sequence[Beliefs]) -> tuple[Beliefs, np.ndarray]:
    """The beliefs of S sentences, at least one, one behind the other, and where each begins, int64 (S + 1,)."""
    begins = np.cumsum([0, *(len(own.spans) for own in beliefs)], dtype=OFFSET)
    return beliefs[0] if len(beliefs) == 1 else Beliefs(*map(np.concatenate, zip(*beliefs, strict=True))), begins


def with_beliefs(columns: np.ndarray, beliefs: Beliefs, trust: float = 0.0, sure: float = 1.0) -> np.ndarray:
    """Token columns int32 (n, TOKEN_COLUMNS) and beliefs in one matrix, as `kernels.trees.beliefs` has it; `trust`:
    what the log odds of a constituent count in the search; `sure`: probability from which on nothing is in doubt, 1:
    all is."""
    firsts = np.array([0, len(columns)], dtype=OFFSET)
    return all_with_beliefs(columns, firsts, *together([beliefs]), trust, sure)[0]


def all_with_beliefs(
    columns: np.ndarray, firsts: np.ndarray, beliefs: Beliefs, begins: np.ndarray, trust: float, sure: float
) -> tuple[np.ndarray, np.ndarray]:
    """`with_beliefs` of S sentences: their matrices one behind the other, and where each begins, int64 (S + 1,).

    `columns`: of all their tokens, those of a sentence from `firsts[s]` to `firsts[s + 1]`, int64 (S + 1,). `beliefs`,
    `begins`: as `together` has them.
    """
    rows = firsts + begins
    tokens = np.zeros((int(rows[-1]), COLUMNS), dtype=INDEX)
    sums = np.zeros(len(tokens) + len(begins) - 1)
    write_all(columns, firsts, *beliefs, begins, float(trust), sure if sure < 1 else 2.0, tokens, rows, sums)
    return tokens, rows
