"""What is compiled ahead for the span parser; see `model.ahead`."""

from typing import Any

import numpy as np

from ...dtypes import INDEX, REAL, SCORE
from ...kernels.span.network import SpanNetwork, decode, read_gaps
from ...kernels.span.whole import place_of_bare


def arguments() -> dict[Any, tuple[Any, ...]]:
    """Arguments of the types that every model's have, with the usual three layers, for each kernel that is worth
    compiling ahead."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=REAL)

    network = SpanNetwork(
        zeros(1, 1), (zeros(1, 8), zeros(2, 6), zeros(2, 6)), zeros(3, 2, 2, 1), zeros(3, 2, 2, 1), zeros(2, 4),
        zeros(4), zeros(1, 1), zeros(1), zeros(1), zeros(1, 1), zeros(1),
    )  # fmt: skip
    gaps, own = zeros(1, 4, 2, 1), zeros(1, 2)
    return {
        read_gaps: (network, np.zeros((3, 5), dtype=INDEX), np.array([0, 3], dtype=INDEX), zeros(8), zeros(2)),
        decode: (
            gaps, own, zeros(1, 1, 1), zeros(1, 1), np.zeros(2, dtype=INDEX), np.zeros(1, dtype=INDEX), 0, 1, 0.0, 0.0,
            np.zeros((4, 3), dtype=INDEX), np.zeros(4, dtype=SCORE),
        ),
        place_of_bare: (
            np.zeros((4, 3), dtype=INDEX), 0, 1, np.zeros(1, dtype=INDEX), np.zeros((2, 2, 1), dtype=np.bool_),
            np.zeros(1, dtype=INDEX), 0,
        ),
    }  # fmt: skip


HERE = (read_gaps,)
THERE = (decode, place_of_bare)
"""The two shares."""
