"""Model of a log-linear tagger: vocabularies of words, tags and labels, the tag dictionary, and weights."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import integer, real
from ..dtypes import INDEX
from ..errors import ModelFormatError
from ..linear.features import GRIDS, LABEL_ARRAYS, LabelStage, check_labels, label_arrays, read_labels
from ..model_io.model_format import FETCH, ModelFormat
from ..model_io.schema import TAG, WORD, Array, Schema, a, finite, list_of, record, texts
from .features import TagParts
from .kernels import TagTables

KIND = "tagger"
VERSION = 1


@dataclass(frozen=True)
class TaggerModel:
    """Data of a log-linear tagger.

    `parts`: vocabularies of words and tags. `weights`: of features and labels. `scale`: factor that converts a sum of
    weights to a log-probability, 1 for a model trained as a distribution. `meta`: metadata.

    Raises ModelFormatError if the parts are inconsistent.
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
        """Return the digest of all data that determine a label (16 hex digits)."""
        digest = hashlib.sha256(repr((self.parts.to_dict(), self.weights.grid, self.scale)).encode())
        for array in (self.parts.allowed_from, self.parts.allowed, *self.weights[:-1]):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


def _parts(model: TaggerModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    allowed = {"allowed_counts": np.diff(model.parts.allowed_from), "allowed": model.parts.allowed}
    meta = {"parts": model.parts.to_dict(), "grid": model.weights.grid, "scale": model.scale}
    return meta, {**label_arrays(model.weights), **allowed}


def _build(meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> TaggerModel:
    starts = np.concatenate([[0], np.cumsum(arrays["allowed_counts"])]).astype(INDEX)
    parts = TagParts.from_parts(meta["parts"], starts, arrays["allowed"])
    return TaggerModel(parts, read_labels(arrays, meta["grid"]), float(meta["scale"]), dict(meta["meta"]))


_LISTS = {"words": WORD, "tags": TAG, "prefixes": WORD, "suffixes": WORD, "labels": TAG, "known": WORD}
SCHEMA = Schema(
    fields={
        "parts": record({"n_plain": a(integer(0)), **{name: texts(kind) for name, kind in _LISTS.items()}}),
        "grid": a(GRIDS),
        "scale": a(real(0, 1e6)),
    },
    arrays=lambda fields, arrays: {
        **LABEL_ARRAYS,
        "allowed_counts": Array("int32", ("entries",), 0, below=2**24),
        "allowed": Array("int32", ("allowed labels",), 0, below="labels", empty=False),
    },
    golden_fields={"probabilities": list_of(finite())},
    sizes=lambda fields: {"labels": len(fields["parts"]["labels"])},
)
FORMAT = ModelFormat(KIND, VERSION, "tagger", _parts, _build, SCHEMA)
read_model, write_model = FORMAT.read, FORMAT.write
