"""Rounded matrices as plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacy_dtparse.nn.kernels.products import RoundedMatrix


def unrounded(matrix: RoundedMatrix) -> np.ndarray:
    """The matrix (…, k, n) of float32; k is even."""
    *layers, half, n, _ = matrix.pairs.shape
    return np.swapaxes(matrix.pairs, -1, -2).reshape(*layers, 2 * half, n) * matrix.factors[..., None, :]


def unrounded_network(network: Any) -> Any:
    """A network with plain matrices."""
    rounded = {name: part for name, part in network._asdict().items() if isinstance(part, RoundedMatrix)}
    return network._replace(**{name: unrounded(part) for name, part in rounded.items()})
