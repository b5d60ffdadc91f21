"""Warm-up of the span parser's kernels; see `jit.warmup`."""

from typing import Any

import numpy as np

from ..core.marginals import SpanMarginals
from ..dtypes import INDEX, OFFSET, REAL, SCORE, STORED_TABLE
from .kernels.attach import find_unattached
from .kernels.batch import Batch, ChartArrays, parse_from
from .kernels.network import SpanNetwork, compute_marginals


def kernel_arguments() -> dict[Any, tuple[Any, ...]]:
    """Return arguments of the types that every model has, with the usual three layers, for each kernel to compile."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=REAL)

    network = SpanNetwork(
        table=np.zeros((1, 1), dtype=STORED_TABLE),
        factor=zeros(1),
        weights=(zeros(1, 8), zeros(2, 6), zeros(2, 6)),
        recurrent=zeros(3, 2, 2, 1),
        bias=zeros(3, 2, 2, 1),
        edges=zeros(2, 4),
        edge_bias=zeros(4),
        bilinear=zeros(1, 1),
        from_left=zeros(1),
        from_right=zeros(1),
        labels=zeros(1, 1),
        label_bias=zeros(1),
    )
    token_ids, rows, ends = np.zeros((3, 5), dtype=INDEX), np.array([0, 3], dtype=INDEX), np.zeros(2, dtype=OFFSET)
    pairs, tags = np.zeros((1, 2), dtype=INDEX), np.zeros(1, dtype=INDEX)
    items, never = np.zeros((4, 3), dtype=INDEX), np.zeros((2, 2, 1), dtype=np.bool_)
    labels = network, zeros(1, 1, 1), zeros(1, 1)
    costs, chart = np.zeros(4, dtype=SCORE), ChartArrays(np.zeros(2, dtype=INDEX), tags, 0.0, 0.0, 0.02, 50)
    batch = Batch(token_ids, rows, tags, ends, zeros(8), zeros(2), items, costs, ends, ends)
    marginals = SpanMarginals(pairs, np.zeros(1), pairs, np.zeros((1, 2)))
    return {
        parse_from: (*labels, batch, 256, 0, chart, never, False, 3),
        compute_marginals: (*labels, token_ids, rows, 256, 0.1, 0, marginals, ends),
        find_unattached: (items, ends, tags, ends, never, tags, np.zeros(1, dtype=np.bool_)),
    }


CHART = (parse_from,)
"""Kernels for parsing with one network, unless the sentence is too long for one chart."""
SPAN_MODEL = (compute_marginals, find_unattached)
"""Kernels of the span model that boosted trees use."""
