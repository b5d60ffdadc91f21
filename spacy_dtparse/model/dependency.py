"""The data of a dependency parser: lists of words and tags, weights of link features in stages, weights of labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INDEX
from ..errors import ModelFormatError
from ..features.linkparts import LinkParts
from ..kernels.feature_table import WITHOUT_BIN, make_families
from ..kernels.links import MAX_TAGS
from .container import container_to_bytes
from .reading import FETCH, read_checked

KIND = "dependency"
VERSION = 1
DECODERS = ("projective", "spanning")
"""Eisner's chart, and the maximum spanning tree of Chu, Liu and Edmonds."""
MAX_STAGES = 4
MAX_LABELS = MAX_TAGS - 4
"""Labels that features of guides can tell apart."""
_LEVELS = 32767


class LinkStage(NamedTuple):
    """One linear model of links. `keys`: uint64 (F,), ascending; `weights`: int16 (F,), in units of 2**-`grid`."""

    keys: np.ndarray
    weights: np.ndarray
    grid: int


class LabelStage(NamedTuple):
    """A linear model of labels. `keys`: uint64 (F,), ascending; feature f has the pairs starts[f] to starts[f + 1]
    (int32 (F + 1,)) of a label, int32 (P,), and a weight, int16 (P,), in units of 2**-`grid`."""

    keys: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    grid: int


def on_grid(weights: np.ndarray) -> tuple[np.ndarray, int]:
    """(int16 weights, grid): the finest power of two on which the greatest weight fits."""
    most = float(np.abs(weights).max(initial=0.0))
    grid = 10
    while grid > -20 and most * 2.0**grid > _LEVELS:
        grid -= 1
    return np.rint(weights * 2.0**grid).astype(np.int16), grid


def pack_links(keys: np.ndarray, weights: np.ndarray, most: int | None = None) -> LinkStage:
    """The stage of ascending keys and float weights (F,): the `most` greatest by size, without those that round to 0.

    A feature with distance is only looked for where the one without is found, so that one stays with it.
    """
    packed, grid = on_grid(weights)
    kept = packed != 0
    if most is not None and np.count_nonzero(kept) > most:
        order = np.argsort(-np.abs(weights), kind="stable")
        kept[order[most:]] = False
    kept |= np.isin(keys, np.unique(keys[kept] & WITHOUT_BIN))
    return LinkStage(np.ascontiguousarray(keys[kept]), packed[kept], grid)


def pack_labels(keys: np.ndarray, weights: np.ndarray, most: int | None = None) -> LabelStage:
    """The stage of ascending keys and float weights (F, labels): the `most` greatest, without those that round to 0."""
    packed, grid = on_grid(weights)
    if most is not None and np.count_nonzero(packed) > most:
        order = np.argsort(-np.abs(packed.astype(np.int32)), axis=None, kind="stable")
        packed.reshape(-1)[order[most:]] = 0
    rows = np.flatnonzero(packed.any(axis=1))
    packed = packed[rows]
    features, labels = np.nonzero(packed)
    starts = np.zeros(len(rows) + 1, INDEX)
    np.cumsum(np.bincount(features, minlength=len(rows)), out=starts[1:])
    return LabelStage(
        np.ascontiguousarray(keys[rows]), starts, labels.astype(INDEX), packed[features, labels], grid
    )


@dataclass(frozen=True)
class DependencyModel:
    """`parts`: what words and tags have a number. `stages`: each but the first reads the tree of the one before as its
    guide. `label_names`: by number, the first is that of the root's dependent. `labels`: None
    for a parser without labels. `decoder`: one of DECODERS. `meta`: plain data about the model.

    Raises ModelFormatError when parts do not fit together.
    """

    parts: LinkParts
    stages: tuple[LinkStage, ...]
    labels: LabelStage | None
    label_names: tuple[str, ...]
    decoder: str
    meta: dict[str, Any]
    tables: tuple[tuple[np.ndarray, np.ndarray], ...] = field(init=False, repr=False, compare=False)
    """(Rows and weights of a FamilyTable) of each stage, as the kernels take them."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.stages) <= MAX_STAGES:
            raise ModelFormatError(f"the model has {len(self.stages)} stages; allowed are 1 to {MAX_STAGES}; {FETCH}")
        if self.decoder not in DECODERS:
            raise ModelFormatError(
                f"the model names the decoder {self.decoder!r}; this release has {', '.join(DECODERS)}: install a "
                "newer one"
            )
        if len(self.label_names) > MAX_LABELS:
            raise ModelFormatError(
                f"the model has {len(self.label_names)} labels, and at most {MAX_LABELS} can be told apart; {FETCH}"
            )
        if not self.label_names:
            raise ModelFormatError(f"the model has no label for the root's dependent; {FETCH}")
        tables = []
        for stage in self.stages:
            _check_keys(stage.keys, len(stage.weights))
            table = make_families(stage.keys)
            tables.append((table.rows, table.weights(stage.weights * np.float32(2.0**-stage.grid))))
        object.__setattr__(self, "tables", tuple(tables))
        if self.labels is not None:
            self._check_labels(self.labels)

    def _check_labels(self, labels: LabelStage) -> None:
        _check_keys(labels.keys, len(labels.starts) - 1)
        pairs, names = len(labels.labels), len(self.label_names)
        fits = (
            labels.starts[0] == 0
            and labels.starts[-1] == pairs == len(labels.weights)
            and bool((np.diff(labels.starts) >= 0).all())
            and (not pairs or (0 <= int(labels.labels.min()) and int(labels.labels.max()) < names))
        )
        if not fits:
            raise ModelFormatError(f"the weights of labels do not fit its {names} labels; {FETCH}")

    def fingerprint(self) -> str:
        """Digest of all that decides a parse (16 hex digits)."""
        digest = hashlib.sha256(repr((self.parts.to_dict(), self.label_names, self.decoder)).encode())
        for array in (self.parts.word_tags, self.parts.stem_tags, self.parts.kinds):
            digest.update(np.ascontiguousarray(array).tobytes())
        for stage in (*self.stages, *([self.labels] if self.labels is not None else [])):
            for part in stage:
                digest.update(part.tobytes() if isinstance(part, np.ndarray) else str(part).encode())
        return digest.hexdigest()[:16]


def _check_keys(keys: np.ndarray, n_weights: int) -> None:
    if keys.dtype != np.uint64 or len(keys) != n_weights:
        raise ModelFormatError(f"{len(keys)} features of type {keys.dtype} with {n_weights} weights; {FETCH}")
    if len(keys) and (keys[0] == 0 or not bool((keys[1:] > keys[:-1]).all())):
        raise ModelFormatError(f"the features are not in ascending order; {FETCH}")


def write_model(model: DependencyModel) -> bytes:
    """The model as a container; equal models give equal bytes."""
    arrays = {
        "word_tags": model.parts.word_tags, "stem_tags": model.parts.stem_tags, "kinds": model.parts.kinds,
    }  # fmt: skip
    for number, stage in enumerate(model.stages):
        arrays |= {f"stage{number}.keys": _steps(stage.keys), f"stage{number}.weights": stage.weights}
    if model.labels is not None:
        arrays |= {
            "labels.keys": _steps(model.labels.keys), "labels.counts": np.diff(model.labels.starts),
            "labels.labels": model.labels.labels, "labels.weights": model.labels.weights,
        }  # fmt: skip
    meta = {
        "version": VERSION,
        "fingerprint": model.fingerprint(),
        "parts": model.parts.to_dict(),
        "grids": [stage.grid for stage in model.stages],
        "label_grid": None if model.labels is None else model.labels.grid,
        "label_names": list(model.label_names),
        "decoder": model.decoder,
        "meta": model.meta,
    }
    return container_to_bytes(KIND, meta, arrays)


def read_model(data: bytes) -> DependencyModel:
    """The model of a container.

    Raises ModelFormatError if the bytes are no container of kind "dependency", are damaged, of another version, or do
    not have the fingerprint they name.
    """
    return read_checked(data, KIND, VERSION, "dependency model", _build)[0]


def _build(meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> DependencyModel:
    stages = tuple(
        LinkStage(_from_steps(arrays[f"stage{number}.keys"]), arrays[f"stage{number}.weights"], int(grid))
        for number, grid in enumerate(meta["grids"])
    )
    labels = None
    if meta["label_grid"] is not None:
        starts = np.concatenate([[0], np.cumsum(arrays["labels.counts"])]).astype(INDEX)
        labels = LabelStage(
            _from_steps(arrays["labels.keys"]), starts, np.ascontiguousarray(arrays["labels.labels"], INDEX),
            arrays["labels.weights"], int(meta["label_grid"]),
        )  # fmt: skip
    parts = LinkParts.from_parts(meta["parts"], arrays)
    return DependencyModel(parts, stages, labels, tuple(meta["label_names"]), meta["decoder"], dict(meta["meta"]))


def _steps(keys: np.ndarray) -> np.ndarray:
    """Ascending keys as the steps between them, which compress better."""
    return np.diff(keys, prepend=np.uint64(0))


def _from_steps(steps: np.ndarray) -> np.ndarray:
    return np.cumsum(steps, dtype=np.uint64)
