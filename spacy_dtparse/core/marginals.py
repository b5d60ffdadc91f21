"""Span marginals: the interface between a span model and the boosted trees that use its probabilities as features."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dtypes import OFFSET


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


def concatenate_marginals(marginals: Sequence[SpanMarginals]) -> tuple[SpanMarginals, np.ndarray]:
    """Return the concatenated marginals of S >= 1 sentences, and the sentences' offsets int64 (S + 1,)."""
    span_offsets = np.cumsum([0, *(len(one.spans) for one in marginals)], dtype=OFFSET)
    return marginals[0] if len(marginals) == 1 else SpanMarginals(
        *map(np.concatenate, zip(*marginals, strict=True))
    ), span_offsets
