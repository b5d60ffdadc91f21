"""Warm-up of the span parser's kernels; see `jit.warmup`."""

from typing import Any

import numpy as np

from ..core.marginals import SpanMarginals
from ..dtypes import INDEX, OFFSET, REAL, SCORE, STORED_TABLE
from ..nn.kernels.products import round_to_int16
from ..nn.packing import round_layers
from .kernels.attach import find_unattached
from .kernels.batch import ChainListing, ChartArrays, Encoded, Trees, marginals_from, parse_from
from .kernels.network import LabelLayer, SpanNetwork, encode_gaps
from .kernels.pretrained import PretrainedNetwork, encode_words, score_gaps


def kernel_arguments() -> dict[str, dict[Any, tuple[Any, ...]]]:
    """Return the kernels of each part, with arguments of the types that every model has."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=REAL)

    network = SpanNetwork(
        table=np.zeros((1, 1), dtype=STORED_TABLE),
        factor=zeros(1),
        weights=(zeros(1, 8),),
        recurrent=zeros(1, 2, 2, 1),
        bias=zeros(1, 2, 2, 1),
        edges=zeros(2, 4),
        edge_bias=zeros(4),
        bilinear=zeros(1, 1),
        from_left=zeros(1),
        from_right=zeros(1),
        labels=zeros(1, 1),
        label_bias=zeros(1),
    )
    pretrained = PretrainedNetwork(
        table=np.zeros((1, 1), dtype=STORED_TABLE),
        factor=zeros(1),
        shapes=zeros(1, 1),
        positions=zeros(1, 1),
        first_norm=zeros(2, 1),
        attention=round_to_int16(zeros(1, 1, 3)),
        attention_bias=zeros(1, 3),
        attended=round_to_int16(zeros(1, 1, 1)),
        attended_bias=zeros(1, 1),
        inner=round_to_int16(zeros(1, 1, 1)),
        inner_bias=zeros(1, 1),
        outer=round_to_int16(zeros(1, 1, 1)),
        outer_bias=zeros(1, 1),
        norms=zeros(1, 2, 2, 1),
        edges=round_to_int16(zeros(2, 4)),
        edge_bias=zeros(4),
        bilinear=zeros(1, 1),
        from_left=zeros(1),
        from_right=zeros(1),
        label_norm=zeros(2, 1),
        labels=zeros(1, 1),
        label_bias=zeros(1),
        n_heads=1,
    )
    token_ids, rows, ends = np.zeros((3, 5), dtype=INDEX), np.array([0, 3], dtype=INDEX), np.zeros(2, dtype=OFFSET)
    pairs, tags = np.zeros((1, 2), dtype=INDEX), np.zeros(1, dtype=INDEX)
    items, never = np.zeros((4, 3), dtype=INDEX), np.zeros((2, 2, 1), dtype=np.bool_)
    layer = LabelLayer(zeros(1, 1, 1), zeros(1, 1), zeros(1, 0, 1))
    encoded = Encoded(token_ids, rows, tags, zeros(8), zeros(2), layer)
    listing = ChainListing(2.0, items, np.zeros(1), zeros(1), ends)
    trees = Trees(items, np.zeros(4, dtype=SCORE), ends, ends, np.zeros(1, dtype=SCORE))
    chart = ChartArrays(np.zeros(2, dtype=INDEX), tags, 0.0, 0.0, 0.02, 50, 200)
    marginals = SpanMarginals(pairs, np.zeros(1), pairs, np.zeros((1, 2)))
    return {
        "network": {encode_gaps: (round_layers(network, "edges"), token_ids, rows, zeros(8), zeros(2))},
        "encoder": {
            encode_words: (pretrained, np.zeros((1, 2), dtype=INDEX), rows, rows, zeros(1, 1)),
            score_gaps: (pretrained, zeros(1, 1), rows, zeros(8), zeros(2)),
        },
        # for sentences of one chart
        "chart": {parse_from: (encoded, trees, listing, 0, chart, never, False, -1, never[0, 0])},
        "span_model": {
            marginals_from: (encoded, listing, 200, 0.1, 0, marginals, ends),
            find_unattached: (items, ends, tags, ends, never, -1, never[0, 0], tags, np.zeros(1, dtype=np.bool_)),
        },
    }
