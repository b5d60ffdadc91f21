"""Model of a span parser over a pretrained encoder: word pieces, label chains and the weights of one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import boolean, integer
from ..dtypes import REAL, STORED_REAL, STORED_TABLE
from ..errors import ModelFormatError
from ..model_io.model_format import FETCH, ModelFormat, part_of
from ..model_io.schema import LABEL, TAG, WORD, Array, Schema, a, finite, list_of, record, table, text, texts
from ..nn.kernels.products import RoundedMatrix, integer_matrix
from ..stored_names import to_stored
from .kernels.pretrained import PretrainedNetwork
from .model import MAX_ALIASES, MAX_CHAIN_LENGTH, MAX_CHAINS, AttachTables, SpanModel
from .word_pieces import N_SHAPES, WordPieces

KIND = "pretrained"
VERSION = 1
MAX_HEADS = 64
"""Maximum number of attention heads."""
_MIN_PIECES = 16
"""Minimum number of pieces of a text that a network must be able to read."""
_QUANTIZED: dict[str, tuple[int | str | None, ...]] = {
    "table": ("pieces", "width"),
    "attention": ("layers", "width", "queries, keys and values"),
    "attended": ("layers", "width", "width"),
    "inner": ("layers", "width", "inside"),
    "outer": ("layers", "inside", "width"),
    "edges": ("both words", "ends"),
}
"""Arrays in int8 with their shapes. Each has a factor for each of its columns (the table: for each row)."""
_REAL: dict[str, tuple[int | str | None, ...]] = {
    "shapes": (N_SHAPES, "width"),
    "positions": ("positions", "width"),
    "first_norm": (2, "width"),
    "attention_bias": ("layers", "queries, keys and values"),
    "attended_bias": ("layers", "width"),
    "inner_bias": ("layers", "inside"),
    "outer_bias": ("layers", "width"),
    "norms": ("layers", 2, 2, "width"),
    "edge_bias": ("ends",),
    "bilinear": ("projection", "projection"),
    "from_left": ("projection",),
    "from_right": ("projection",),
    "label_norm": (2, "projection"),
    "labels": ("projection", "chains"),
    "label_bias": ("chains",),
}
"""Arrays in float16 with their shapes."""


def _factor_name(name: str) -> str:
    return "factor" if name == "table" else f"{name}_factor"


@dataclass(frozen=True)
class PackedEncoder:
    """A network in its storage format: `arrays` by the names of PretrainedNetwork's fields, the large ones in int8 with
    factors, `NAME_factor`, all others in float16. `unpack` raises ModelFormatError if they do not fit together."""

    arrays: Mapping[str, np.ndarray]
    n_heads: int

    @classmethod
    def pack(cls, network: PretrainedNetwork) -> PackedEncoder:
        """Quantize a network, whose table may be float32, to its storage format."""
        stored, arrays = to_stored(network), dict[str, np.ndarray]()
        stored["table"] = stored["table"].astype(REAL) * stored["factor"][:, None]
        for name in _QUANTIZED:
            axis = -1 if name == "table" else -2
            factor = np.maximum(np.abs(stored[name]).max(axis=axis), 1e-8).astype(REAL) / REAL(127)
            values = np.rint(stored[name] / np.expand_dims(factor, axis))
            arrays[name] = np.ascontiguousarray(values, dtype=STORED_TABLE)
            arrays[_factor_name(name)] = factor
        return cls({**arrays, **{name: stored[name].astype(STORED_REAL) for name in _REAL}}, int(network.n_heads))

    def unpack(self, size: int, n_labels: int) -> PretrainedNetwork:
        """Unpack the network for `size` pieces and for `n_labels` label chains."""
        wide: dict[str, Any] = {name: np.ascontiguousarray(self.arrays[name], dtype=REAL) for name in _REAL}
        for name in _QUANTIZED:
            values, factor = self.arrays[name], self.arrays[_factor_name(name)]
            wide[name] = values if name == "table" else integer_matrix(values, factor)
        arrays = [array for part in wide.values() for array in (part if isinstance(part, RoundedMatrix) else [part])]
        if not all(np.isfinite(array).all() for array in arrays if array.dtype == REAL):
            raise ModelFormatError(f"a network has numbers that are not finite; {FETCH}")
        d, m = wide["table"].shape[1], len(wide["bilinear"])
        needed = {
            "table": (size, d),
            "attention": (len(wide["norms"]), d, 3 * d),
            "edges": (2 * d, 4 * m),
            "labels": (m, n_labels),
        }
        for name, shape in needed.items():
            if (seen := self.arrays[name].shape) != shape:
                raise ModelFormatError(f"an array of a network has the shape {seen}, where {shape} is needed; {FETCH}")
        if d % self.n_heads or len(wide["positions"]) < _MIN_PIECES:
            raise ModelFormatError(
                f"a network has {self.n_heads} heads for a width of {d} and {len(wide['positions'])} positions; {FETCH}"
            )
        return PretrainedNetwork(factor=self.arrays["factor"], n_heads=self.n_heads, **wide)


def _to_arrays(model: SpanModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    (packed,) = model.packed
    assert isinstance(packed, PackedEncoder)
    arrays = {  # a container has no float16
        f"network.{name}": array.view(np.uint16) if array.dtype == STORED_REAL else array
        for name, array in packed.arrays.items()
    }
    meta = {"words": model.words.to_dict(), "chains": model.chains, "n_heads": packed.n_heads}
    if model.attach_tables is not None:
        arrays["bare.never"], meta["one_root"] = model.attach_tables.never, model.attach_tables.one_root
    return meta, arrays


def _from_arrays(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> SpanModel:
    wide = {name: array.view(STORED_REAL) if array.dtype == np.uint16 else array for name, array in arrays.items()}
    packed = PackedEncoder(part_of(wide, "network."), meta["n_heads"])
    chains = tuple(tuple(chain) for chain in meta["chains"])
    never = arrays.get("bare.never")
    attach_tables = None if never is None else AttachTables(never.astype(np.bool_), meta["one_root"])
    return SpanModel(WordPieces.from_dict(meta["words"]), chains, (packed,), dict(meta["meta"]), attach_tables)


def _declare_arrays(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Array]:
    found = {"bare.never": Array("bool", ("parents", "parents", "tags"), needed="one_root" in meta)}
    for name, shape in _QUANTIZED.items():
        found[f"network.{name}"] = Array("int8", shape, empty=False)
        factor = shape[:1] if name == "table" else (*shape[:-2], shape[-1])
        found[f"network.{_factor_name(name)}"] = Array("float32", factor, 0, 2**10)
    return found | {f"network.{name}": Array("uint16", shape, empty=False) for name, shape in _REAL.items()}


SCHEMA = Schema(
    fields={
        "words": record({"pieces": texts(WORD), "tags": texts(TAG)}, {"aliases": table(TAG, text(TAG), MAX_ALIASES)}),
        "chains": list_of(texts(LABEL, 0, MAX_CHAIN_LENGTH), 0, MAX_CHAINS),
        "n_heads": a(integer(1, MAX_HEADS)),
    },
    optional_fields={"one_root": a(boolean())},
    arrays=_declare_arrays,
    golden_fields={"scores": list_of(finite())},
    sizes=lambda fields: {"tags": len(fields["words"]["tags"])},
)
FORMAT = ModelFormat(KIND, VERSION, "span model", _to_arrays, _from_arrays, SCHEMA, "zlib")
read_pretrained, write_pretrained = FORMAT.read, FORMAT.write
