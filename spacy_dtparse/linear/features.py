"""Linear models of features with exact (not hashed) keys: quantized weights by feature, or by feature and label."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..checks import integer
from ..dtypes import INDEX
from ..errors import ModelFormatError
from ..model_io.model_format import FETCH
from ..model_io.schema import Array
from .kernels.feature_table import PairTable, make_slots, pack_pair

LEVELS = 32767
"""Maximum absolute weight in units of its grid: weights are stored in int16."""


class LabelStage(NamedTuple):
    """A linear model of labels. `keys`: uint64 (F,), ascending; feature f has the pairs starts[f] to starts[f + 1]
    (int32 (F + 1,)) of a label, int32 (P,), and a weight, int16 (P,), in units of 2**-`grid`."""

    keys: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    grid: int

    def table(self) -> PairTable:
        """Return the stage as a table for the kernels, in units of the grid."""
        return PairTable(*make_slots(self.keys), self.starts, pack_pair(self.labels, self.weights))


def on_grid(weights: np.ndarray, levels: int = LEVELS) -> tuple[np.ndarray, int]:
    """Quantize weights: return (int16 weights, grid), with the finest power of two for which the largest absolute
    weight is at most `levels`."""
    largest = float(np.abs(weights).max(initial=0.0))
    grid = 10
    while grid > -20 and largest * 2.0**grid > levels:
        grid -= 1
    return np.rint(weights * 2.0**grid).astype(np.int16), grid


def pack_labels(keys: np.ndarray, weights: np.ndarray, max_weights: int | None = None) -> LabelStage:
    """Apply `pack_pairs` to a matrix of weights, (F, labels)."""
    features, labels = np.nonzero(weights)
    return pack_pairs(keys, features, labels, weights[features, labels], max_weights)


def pack_pairs(
    keys: np.ndarray,
    features: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    max_weights: int | None = None,
    levels: int = LEVELS,
) -> LabelStage:
    """Build a stage from sorted pairs of a feature (its index in `keys`) and a label, with float weights, (P,) each:
    the `max_weights` largest that do not round to 0. Features without weights are removed. `levels`: see `on_grid`."""
    packed, grid = on_grid(weights, levels)
    if max_weights is not None and np.count_nonzero(packed) > max_weights:
        order = np.argsort(-np.abs(packed.astype(np.int32)), kind="stable")
        packed[order[max_weights:]] = 0
    selected = np.flatnonzero(packed)
    counts = np.bincount(features[selected], minlength=len(keys))
    used = counts > 0
    starts = np.append(0, np.cumsum(counts[used])).astype(INDEX)
    return LabelStage(keys[used], starts, labels[selected].astype(INDEX), packed[selected], grid)


def check_labels(stage: LabelStage, n_labels: int) -> None:
    """Raise ModelFormatError unless weights are int16, and all indices and labels in range."""
    if stage.weights.dtype != np.int16:
        raise ModelFormatError(f"the model's weights are of type {stage.weights.dtype}; {FETCH}")
    check_keys(stage.keys, len(stage.starts) - 1)
    pairs = len(stage.labels)
    fits = (
        stage.starts[0] == 0
        and stage.starts[-1] == pairs == len(stage.weights)
        and bool((np.diff(stage.starts) >= 0).all())
        and (not pairs or (0 <= int(stage.labels.min()) and int(stage.labels.max()) < n_labels))
    )
    if not fits:
        raise ModelFormatError(f"the weights of labels do not fit its {n_labels} labels; {FETCH}")


def check_keys(keys: np.ndarray, n_weights: int) -> None:
    """Raise ModelFormatError unless keys are uint64, ascending, above 0, and as many as weights."""
    if keys.dtype != np.uint64 or len(keys) != n_weights:
        raise ModelFormatError(f"{len(keys)} features of type {keys.dtype} with {n_weights} weights; {FETCH}")
    if len(keys) and (keys[0] == 0 or not bool((keys[1:] > keys[:-1]).all())):
        raise ModelFormatError(f"the features are not in ascending order; {FETCH}")


LABEL_ARRAYS = {
    "labels.keys": Array("uint64", ("features of labels",)),
    "labels.counts": Array("int32", ("features of labels",), 0, below=2**24),
    "labels.labels": Array("int32", ("pairs",), 0, below="labels"),
    "labels.weights": Array("int16", ("pairs",)),
}
"""Declarations of the arrays of `label_arrays` in a file."""
GRIDS = integer(-20, 20)


def label_arrays(stage: LabelStage) -> dict[str, np.ndarray]:
    """Convert a stage to arrays of a container, without its grid."""
    return {
        "labels.keys": steps(stage.keys),
        "labels.counts": np.diff(stage.starts),
        "labels.labels": stage.labels,
        "labels.weights": stage.weights,
    }


def read_labels(arrays: Mapping[str, np.ndarray], grid: int) -> LabelStage:
    """Build a stage from the arrays of `label_arrays`."""
    starts = np.append(0, np.cumsum(arrays["labels.counts"])).astype(INDEX)
    labels = np.ascontiguousarray(arrays["labels.labels"], INDEX)
    return LabelStage(from_steps(arrays["labels.keys"]), starts, labels, arrays["labels.weights"], grid)


def steps(keys: np.ndarray) -> np.ndarray:
    """Convert ascending keys to the differences between them, which compress better."""
    return np.diff(keys, prepend=np.uint64(0))


def from_steps(differences: np.ndarray) -> np.ndarray:
    """Convert the differences of `steps` back to keys."""
    return np.cumsum(differences, dtype=np.uint64)
