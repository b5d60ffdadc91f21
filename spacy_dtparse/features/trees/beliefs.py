"""Span marginals: the interface between a span model and the boosted trees that use its probabilities as features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...kernels.trees.beliefs import COLUMNS, write_all


class Beliefs(NamedTuple):
    """Probabilities of spans and labels of one sentence under a span model.

    `spans` int32 (c, 2), ordered by start, then end, without duplicates; `masses` float64 (c,): the probability
    that the span is a constituent; `chains` int32 (c, 2): ids of its two most probable label chains (-1: none);
    `chances` float64 (c, 2): the probability that the span has exactly this chain.
    """

    spans: np.ndarray
    masses: np.ndarray
    chains: np.ndarray
    chances: np.ndarray


class Reader(Protocol):
    """A span model that scores sentences for the trees."""

    @property
    def chain_names(self) -> tuple[str, ...]:
        """Label chains by id, each a string of labels from top to bottom, separated by blanks."""

    def beliefs(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Beliefs]:
        """Return the marginals of each sentence (words, tags)."""

    def beliefs_together(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[Beliefs, np.ndarray]:
        """Return the marginals of at least one sentence in the format of `together`."""


def together(beliefs: Sequence[Beliefs]) -> tuple[Beliefs, np.ndarray]:
    """Return the concatenated marginals of S >= 1 sentences, and the sentences' offsets int64 (S + 1,)."""
    begins = np.cumsum([0, *(len(own.spans) for own in beliefs)], dtype=OFFSET)
    return beliefs[0] if len(beliefs) == 1 else Beliefs(*map(np.concatenate, zip(*beliefs, strict=True))), begins


def with_beliefs(columns: np.ndarray, beliefs: Beliefs, trust: float = 0.0, sure: float = 1.0) -> np.ndarray:
    """Combine token columns int32 (n, TOKEN_COLUMNS) and marginals in one matrix, in the format of
    `kernels.trees.beliefs`. `trust`: weight of the log odds of a constituent in the search.
    `sure`: minimum probability at which the span model's decision is final; 1: never."""
    firsts = np.array([0, len(columns)], dtype=OFFSET)
    return all_with_beliefs(columns, firsts, *together([beliefs]), trust, sure)[0]


def all_with_beliefs(
    columns: np.ndarray, firsts: np.ndarray, beliefs: Beliefs, begins: np.ndarray, trust: float, sure: float
) -> tuple[np.ndarray, np.ndarray]:
    """Apply `with_beliefs` to S sentences: return their concatenated matrices and the row offsets, int64 (S + 1,).

    `columns`: of all tokens; sentence s has the rows `firsts[s]` to `firsts[s + 1]`, int64 (S + 1,).
    `beliefs`, `begins`: the output of `together`.
    """
    rows = firsts + begins
    tokens = np.zeros((int(rows[-1]), COLUMNS), dtype=INDEX)
    sums = np.zeros(len(tokens) + len(begins) - 1)
    write_all(columns, firsts, *beliefs, begins, float(trust), sure if sure < 1 else 2.0, tokens, rows, sums)
    return tokens, rows
