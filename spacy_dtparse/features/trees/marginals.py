"""Span marginals: the interface between a span model and the boosted trees that use its probabilities as features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...kernels.trees.marginals import COLUMNS, write_marginals_batch


class SpanMarginals(NamedTuple):
    """Probabilities of spans and labels of one sentence under a span model.

    `spans` int32 (c, 2), ordered by start, then end, without duplicates; `span_probs` float64 (c,): the probability
    that the span is a constituent; `chains` int32 (c, 2): ids of its two most probable label chains (-1: none);
    `chain_probs` float64 (c, 2): the probability that the span has exactly this chain.
    """

    spans: np.ndarray
    span_probs: np.ndarray
    chains: np.ndarray
    chain_probs: np.ndarray


class SpanScorer(Protocol):
    """A span model that scores sentences for the trees."""

    @property
    def chain_names(self) -> tuple[str, ...]:
        """Label chains by id, each a string of labels from top to bottom, separated by blanks."""

    def marginals(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[SpanMarginals]:
        """Return the marginals of each sentence (words, tags)."""

    def marginals_batch(
        self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]
    ) -> tuple[SpanMarginals, np.ndarray]:
        """Return the marginals of at least one sentence in the format of `concatenate_marginals`."""


def concatenate_marginals(marginals: Sequence[SpanMarginals]) -> tuple[SpanMarginals, np.ndarray]:
    """Return the concatenated marginals of S >= 1 sentences, and the sentences' offsets int64 (S + 1,)."""
    span_offsets = np.cumsum([0, *(len(one.spans) for one in marginals)], dtype=OFFSET)
    return marginals[0] if len(marginals) == 1 else SpanMarginals(
        *map(np.concatenate, zip(*marginals, strict=True))
    ), span_offsets


def with_marginals(
    columns: np.ndarray, marginals: SpanMarginals, marginal_weight: float = 0.0, commit_threshold: float = 1.0
) -> np.ndarray:
    """Combine token columns int32 (n, TOKEN_COLUMNS) and marginals in one matrix, in the format of
    `kernels.trees.marginals`. `marginal_weight`: weight of the log odds of a constituent in the search.
    `commit_threshold`: minimum probability at which the span model's decision is final; 1: never."""
    token_offsets = np.array([0, len(columns)], dtype=OFFSET)
    return batch_with_marginals(
        columns, token_offsets, *concatenate_marginals([marginals]), marginal_weight, commit_threshold
    )[0]


def batch_with_marginals(
    columns: np.ndarray,
    token_offsets: np.ndarray,
    marginals: SpanMarginals,
    span_offsets: np.ndarray,
    marginal_weight: float,
    commit_threshold: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Apply `with_marginals` to S sentences: return their concatenated matrices and the row offsets, int64 (S + 1,).

    `columns`: of all tokens; sentence s has the rows `token_offsets[s]` to `token_offsets[s + 1]`, int64 (S + 1,).
    `marginals`, `span_offsets`: the output of `concatenate_marginals`.
    """
    row_offsets = token_offsets + span_offsets
    tokens = np.zeros((int(row_offsets[-1]), COLUMNS), dtype=INDEX)
    sums = np.zeros(len(tokens) + len(span_offsets) - 1)
    write_marginals_batch(
        columns,
        token_offsets,
        *marginals,
        span_offsets,
        float(marginal_weight),
        commit_threshold if commit_threshold < 1 else 2.0,
        tokens,
        row_offsets,
        sums,
    )
    return tokens, row_offsets
