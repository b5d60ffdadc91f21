"""Warm-up of the recurrent tagger's kernels; see `jit.warmup`."""

from typing import Any

import numpy as np

from ..dtypes import INDEX, REAL, STORED_TABLE
from ..nn.packing import round_layers
from .kernels import TaggingNetwork, score_tags


def kernel_arguments() -> dict[str, dict[Any, tuple[Any, ...]]]:
    """Return the kernels of each part, with arguments of the types that every model has."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=REAL)

    table, layers = np.zeros((1, 1), dtype=STORED_TABLE), zeros(1, 2, 2, 1)
    network = TaggingNetwork(table, zeros(1), (zeros(1, 8),), layers, layers, zeros(2, 2), zeros(2))
    token_ids, offsets = np.zeros((3, 5), dtype=INDEX), np.array([0, 3], dtype=INDEX)
    arguments = round_layers(network), token_ids, offsets, 400, REAL(1), *np.zeros((2, 3), dtype=INDEX), zeros(3)
    return {"tagger": {score_tags: arguments}}
