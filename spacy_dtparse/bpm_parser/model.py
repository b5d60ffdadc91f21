"""Model of a dependency parser: vocabularies, weights of dependency features in stages, and weights of labels."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..checks import integer, one_of
from ..errors import ModelFormatError
from ..linear.features import (
    GRIDS,
    LABEL_ARRAYS,
    LabelStage,
    check_keys,
    check_labels,
    from_steps,
    label_arrays,
    on_grid,
    read_labels,
    steps,
)
from ..linear.kernels.feature_table import BIN_AT, WITHOUT_BIN, make_families
from ..linear.kernels.keys import MAX_ATOMS, MAX_TAGS
from ..model_io.model_format import FETCH, ModelFormat
from ..model_io.schema import TAG, WORD, Array, Schema, a, finite, list_of, optional, record, texts
from .features import GUIDES, NUMBERS, SOURCES, STEMS, LinkParts
from .kernels.links import N_KINDS

KIND = "dependency"
VERSION = 1
DECODERS = ("projective", "spanning")
"""Decoders: Eisner's chart, and the maximum spanning tree of Chu, Liu and Edmonds."""
MAX_STAGES = 4
MAX_BIN = 15
"""Maximum of the bits from BIN_AT on, the distance bin, in a feature's key."""
MAX_LABELS = MAX_TAGS - 4
"""Maximum number of labels that features of guides can distinguish."""


class LinkStage(NamedTuple):
    """A linear model of dependencies. `keys`: uint64 (F,), ascending; `weights`: int16 (F,), in units of 2**-`grid`."""

    keys: np.ndarray
    weights: np.ndarray
    grid: int

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (rows, weights) of a FamilyTable for the kernels."""
        table = make_families(self.keys)
        return table.rows, table.weights(self.weights * np.float32(2.0**-self.grid))


def pack_links(keys: np.ndarray, weights: np.ndarray, max_features: int | None = None) -> LinkStage:
    """Build a stage from ascending keys and float weights (F,): the `max_features` largest that do not round to 0.

    The kernels look up a feature with distance only if the same feature without distance exists, so that is included.
    """
    packed, grid = on_grid(weights)
    selected = packed != 0
    if max_features is not None and np.count_nonzero(selected) > max_features:
        order = np.argsort(-np.abs(weights), kind="stable")
        selected[order[max_features:]] = False
    selected |= np.isin(keys, np.unique(keys[selected] & WITHOUT_BIN))
    return LinkStage(np.ascontiguousarray(keys[selected]), packed[selected], grid)


@dataclass(frozen=True)
class DependencyModel:
    """Data of a dependency parser.

    `parts`: vocabularies of words and tags. `stages`: each but the first uses the previous one's tree as its guide.
    `label_names`: by id; the first is the label of the root's dependent. `labels`: None for a parser without labels.
    `decoder`: one of DECODERS. `meta`: metadata.

    Raises ModelFormatError if the parts are inconsistent.
    """

    parts: LinkParts
    stages: tuple[LinkStage, ...]
    labels: LabelStage | None
    label_names: tuple[str, ...]
    decoder: str
    meta: dict[str, Any]
    tables: tuple[tuple[np.ndarray, np.ndarray], ...] = field(init=False, repr=False, compare=False)
    """`LinkStage.table` of each stage."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.stages) <= MAX_STAGES:
            raise ModelFormatError(f"the model has {len(self.stages)} stages; allowed are 1 to {MAX_STAGES}; {FETCH}")
        n = len(self.label_names)
        if n > MAX_LABELS:
            raise ModelFormatError(f"the model has {n} labels; at most {MAX_LABELS} are possible; {FETCH}")
        if not n:
            raise ModelFormatError(f"the model has no label for the root's dependent; {FETCH}")
        for stage in self.stages:
            check_keys(stage.keys, len(stage.weights))
            if np.any(stage.keys >> BIN_AT > MAX_BIN) or np.any(stage.keys & WITHOUT_BIN == 0):
                raise ModelFormatError(f"a feature of the model has an invalid key; {FETCH}")
        object.__setattr__(self, "tables", tuple(stage.table() for stage in self.stages))
        if self.labels is not None:
            check_labels(self.labels, n)

    def fingerprint(self) -> str:
        """Return the digest of all data that determine a parse (16 hex digits)."""
        digest = hashlib.sha256(repr((self.parts.to_dict(), self.label_names, self.decoder)).encode())
        for array in (self.parts.word_tags, self.parts.stem_tags, self.parts.kinds):
            digest.update(np.ascontiguousarray(array).tobytes())
        for stage in (*self.stages, self.labels or ()):
            for part in stage:
                digest.update(part.tobytes() if isinstance(part, np.ndarray) else str(part).encode())
        return digest.hexdigest()[:16]


def _dependency_model_to_arrays(model: DependencyModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    arrays = {"word_tags": model.parts.word_tags, "stem_tags": model.parts.stem_tags, "kinds": model.parts.kinds}
    for index, stage in enumerate(model.stages):
        arrays |= {f"stage{index}.keys": steps(stage.keys), f"stage{index}.weights": stage.weights}
    if model.labels is not None:
        arrays |= label_arrays(model.labels)
    meta = {"parts": model.parts.to_dict(), "label_names": model.label_names, "decoder": model.decoder}
    label_grid = None if model.labels is None else model.labels.grid
    return {**meta, "grids": [stage.grid for stage in model.stages], "label_grid": label_grid}, arrays


def _dependency_model_from_arrays(meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> DependencyModel:
    stages = tuple(
        LinkStage(from_steps(arrays[f"stage{index}.keys"]), arrays[f"stage{index}.weights"], grid)
        for index, grid in enumerate(meta["grids"])
    )
    labels = None if meta["label_grid"] is None else read_labels(arrays, meta["label_grid"])
    parts = LinkParts.from_parts(meta["parts"], arrays)
    return DependencyModel(parts, stages, labels, tuple(meta["label_names"]), meta["decoder"], dict(meta["meta"]))


def _declare_arrays(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Array]:
    found = {
        "word_tags": Array("int32", ("pairs of words", 2), 1, below=MAX_ATOMS),
        "stem_tags": Array("int32", ("pairs of stems", 2), 1, below=MAX_ATOMS),
        "kinds": Array("int32", ("tags",), 0, below=N_KINDS),
    }
    for k in range(len(meta["grids"])):
        found[f"stage{k}.keys"] = Array("uint64", (f"features of stage {k}",))
        found[f"stage{k}.weights"] = Array("int16", (f"features of stage {k}",))
    return found if meta["label_grid"] is None else found | LABEL_ARRAYS


_RULES = {
    "source": a(one_of(*SOURCES)),
    "places": list_of(a(integer(0, 63)), 0, 64),
    "stem": a(one_of(*STEMS)),
    "numbers": a(one_of(*NUMBERS)),
    "guide": a(one_of(*GUIDES)),
}
SCHEMA = Schema(
    fields={
        "parts": record({
            "rules": record(_RULES), "words": texts(WORD), "tags": texts(TAG, 3, MAX_TAGS), "stems": texts(WORD),
            "guide_labels": texts(TAG, 0, MAX_LABELS),
        }),
        "label_names": texts(TAG, 0, MAX_LABELS),
        "decoder": a(one_of(*DECODERS)),
        "grids": list_of(a(GRIDS), 0, MAX_STAGES),
        "label_grid": optional(a(GRIDS)),
    },
    arrays=_declare_arrays,
    golden_fields={"score": finite(), "heads": list_of(a(integer(-1))), "labels": list_of(a(integer(0)))},
    sizes=lambda fields: {"labels": len(fields["label_names"]), "tags": len(fields["parts"]["tags"])},
)  # fmt: skip
FORMAT = ModelFormat(
    KIND, VERSION, "dependency model", _dependency_model_to_arrays, _dependency_model_from_arrays, SCHEMA
)
read_model, write_model = FORMAT.read, FORMAT.write
