"""The data of a log-linear tagger: lists of words, tags and labels, the tag dictionary, and weights."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...errors import ModelFormatError
from ...features.linear.tagparts import TagParts
from ...kernels.linear.tagging import TagTables
from ..container import container_to_bytes
from ..reading import FETCH, read_checked
from .features import LabelStage, check_labels, label_arrays, read_labels

KIND = "tagger"
VERSION = 1


@dataclass(frozen=True)
class TaggerModel:
    """`parts`: what words and tags have a number. `weights`: of features and labels. `scale`: times which a sum of
    weights is a log-probability, 1 for a model trained as a distribution. `meta`: plain data about the model.

    Raises ModelFormatError when parts do not fit together.
    """

    parts: TagParts
    weights: LabelStage
    scale: float
    meta: dict[str, Any]
    tables: TagTables = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.scale < float("inf"):
            raise ModelFormatError(f"the model's scale is {self.scale!r}; it must be above 0 and finite; {FETCH}")
        check_labels(self.weights, len(self.parts.labels))
        table, scale = self.weights.table(), float(self.scale) * 2.0**-self.weights.grid
        object.__setattr__(self, "tables", TagTables(*table, self.parts.allowed_from, self.parts.allowed, scale))

    def fingerprint(self) -> str:
        """Digest of all that decides a label (16 hex digits)."""
        digest = hashlib.sha256(repr((self.parts.to_dict(), self.weights.grid, self.scale)).encode())
        arrays = (self.parts.allowed_from, self.parts.allowed, *self.weights[:-1])
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


def write_model(model: TaggerModel, proofs: Sequence[dict[str, Any]] = ()) -> bytes:
    """The model as a container; equal models and proofs give equal bytes."""
    arrays = {
        **label_arrays(model.weights), "allowed_counts": np.diff(model.parts.allowed_from),
        "allowed": model.parts.allowed,
    }  # fmt: skip
    meta = {
        "version": VERSION,
        "fingerprint": model.fingerprint(),
        "parts": model.parts.to_dict(),
        "grid": model.weights.grid,
        "scale": model.scale,
        "proofs": list(proofs),
        "meta": model.meta,
    }
    return container_to_bytes(KIND, meta, arrays)


def read_model(data: bytes) -> tuple[TaggerModel, list[dict[str, Any]]]:
    """The model of a container, and its proofs.

    Raises ModelFormatError if the bytes are no container of kind "tagger", are damaged, of another version, or do not
    have the fingerprint they name.
    """
    return read_checked(data, KIND, VERSION, "tagger", _build)


def _build(meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> TaggerModel:
    starts = np.concatenate([[0], np.cumsum(arrays["allowed_counts"])]).astype(INDEX)
    parts = TagParts.from_parts(meta["parts"], starts, arrays["allowed"])
    return TaggerModel(parts, read_labels(arrays, int(meta["grid"])), float(meta["scale"]), dict(meta["meta"]))
