"""Model of a recurrent tagger: vocabularies of token features, tags and forms, and the network."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import Setting, integer, short_repr
from ..dtypes import STORED_REAL
from ..errors import ModelFormatError
from ..model_io.model_format import FETCH, ModelFormat
from ..model_io.schema import TAG, WORD, Schema, a, finite, list_of, record, row, text, texts
from ..nn.clusters import OPTIONAL_CLUSTERS
from ..nn.packing import declare_network, shapes_of_layers, unpack
from .features import KINDS, TokenParts
from .forms import PATTERNS
from .kernels import TaggingNetwork

KIND = "recurrent"
VERSION = 1


def unpack_network(arrays: Mapping[str, np.ndarray], size: int, n_tags: int) -> TaggingNetwork:
    """Unpack the network for a table of `size` rows and for `n_tags`. Raises ModelFormatError if it does not fit."""

    def shapes(wide: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
        d = wide["recurrent"].shape[-1]
        return {**shapes_of_layers(wide, size), "outputs": (2 * d, n_tags + 1), "output_bias": (n_tags + 1,)}

    return unpack(arrays, TaggingNetwork, shapes)


@dataclass(frozen=True)
class RecurrentModel:
    """Data of a recurrent tagger.

    `parts`: vocabularies; each entry has a row in the network's table. `tags`: by id; none is "". `packed`: the network
    in its storage format (see `nn.packing`). `forms`: (regular expression for whole tokens, the tag it determines),
    in order. `space`: the tag of white space, "" for none. `meta`: metadata.

    Raises ModelFormatError if the parts are inconsistent.
    """

    parts: TokenParts
    tags: tuple[str, ...]
    packed: Mapping[str, np.ndarray]
    forms: tuple[tuple[str, str], ...]
    space: str
    meta: dict[str, Any]
    network: TaggingNetwork = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.tags or len(set(self.tags)) < len(self.tags) or not all(self.tags):
            raise ModelFormatError(
                f"the model's tags are {short_repr(self.tags)}; there must be one or more, each once"
            )
        if any(tag.split() != [tag] for tag in (*self.tags, *(tag for _, tag in self.forms))):
            raise ModelFormatError(f"a tag of the model is empty or has white space in it; {FETCH}")
        network = unpack_network(self.packed, self.parts.size, len(self.tags))
        object.__setattr__(self, "network", network)

    def fingerprint(self) -> str:
        """Return the digest of all data that determine a tag (16 hex digits)."""
        digest = hashlib.sha256(repr((self.parts.to_dict(), self.tags, self.forms, self.space)).encode())
        for name in sorted(self.packed):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(self.packed[name]).data)
        return digest.hexdigest()[:16]


def _tagger_to_arrays(model: RecurrentModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    # a container has no float16
    arrays = {n: a.view(np.uint16) if a.dtype == STORED_REAL else a for n, a in model.packed.items()}
    meta = {"parts": model.parts.to_dict(), "tags": model.tags, "forms": model.forms, "space": model.space}
    return meta, arrays


def _tagger_from_arrays(meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> RecurrentModel:
    packed = {n: a.view(STORED_REAL) if a.dtype == np.uint16 else a for n, a in arrays.items()}
    forms = tuple((form, tag) for form, tag in meta["forms"])
    parts = TokenParts.from_dict(meta["parts"])
    return RecurrentModel(parts, tuple(meta["tags"]), packed, forms, meta["space"], dict(meta["meta"]))


_FORM = Setting(lambda value: value in PATTERNS, "one of the forms of this release (recurrent_tagger.forms)")
SCHEMA = Schema(
    fields={
        "parts": record({name: texts(WORD) for name in KINDS}, OPTIONAL_CLUSTERS),
        "tags": texts(TAG, 1, 10_000),
        "forms": list_of(row(a(_FORM), text(TAG)), 0, 1000),
        "space": text(TAG),
    },
    arrays=lambda fields, arrays: declare_network(arrays, "", outputs=("read", "scores"), output_bias=("scores",)),
    golden_fields={"tags": list_of(a(integer(0))), "starts": list_of(finite())},
)
FORMAT = ModelFormat(KIND, VERSION, "recurrent tagger", _tagger_to_arrays, _tagger_from_arrays, SCHEMA, "zlib")
read_model, write_model = FORMAT.read, FORMAT.write
