"""Rounded matrices as plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacy_dtparse.nn.kernels.products import RoundedMatrix


def unrounded(matrix: RoundedMatrix) -> np.ndarray:
    """The matrix (…, k, n) of float32; k is a multiple of the size of groups."""
    *layers, n_groups, n, size = matrix.groups.shape
    return np.swapaxes(matrix.groups, -1, -2).reshape(*layers, size * n_groups, n) * matrix.factors[..., None, :]


def unrounded_network(network: Any) -> Any:
    """A network with plain matrices."""
    rounded = {name: part for name, part in network._asdict().items() if isinstance(part, RoundedMatrix)}
    return network._replace(**{name: unrounded(part) for name, part in rounded.items()})
