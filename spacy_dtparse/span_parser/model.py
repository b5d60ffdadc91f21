"""Model of a span parser: vocabularies of words and labels, and an ensemble of networks whose probabilities are
multiplied."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import boolean, integer, short_repr
from ..dtypes import STORED_REAL
from ..errors import ConfigError, ModelFormatError
from ..model_io.model_format import ModelFormat, part_of
from ..model_io.schema import LABEL, TAG, WORD, Array, Schema, a, finite, list_of, record, table, text, texts
from ..nn.clusters import OPTIONAL_CLUSTERS
from ..nn.packing import declare_network, pack, shapes_of_layers, unpack
from ..trees.tree import TOP
from .features import KINDS, SECOND_TAGS, WordParts
from .kernels.network import SpanNetwork

if TYPE_CHECKING:
    from .pretrained import PackedEncoder
    from .word_pieces import WordPieces

KIND = "span"
VERSION = 1
MAX_NETWORKS, MAX_CHAINS, MAX_CHAIN_LENGTH, MAX_ALIASES = 64, 4096, 16, 2**14
"""Maximum numbers of networks of a model, label chains, labels of a chain, and aliases of tags."""
Chain = tuple[str, ...]
"""A label chain: the unary chain of labels over one span, from top to bottom; () if the span is not a constituent."""


@dataclass(frozen=True)
class PackedNetwork:
    """A network in its storage format, by the names of SpanNetwork's fields (`weights0`, … for the layers): see
    `nn.packing.pack`.

    `unpack` raises ModelFormatError if shapes are inconsistent, there is no layer, or a number is not finite.
    """

    arrays: Mapping[str, np.ndarray]

    @classmethod
    def pack(cls, network: SpanNetwork) -> PackedNetwork:
        """Quantize a network to its storage format."""
        return cls(pack(network))

    def unpack(self, size: int, n_labels: int) -> SpanNetwork:
        """Unpack the network for a table of `size` rows and for `n_labels` label chains."""

        def shapes(wide: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
            d, m = wide["recurrent"].shape[-1], wide["bilinear"].shape[0]
            return {
                **shapes_of_layers(wide, size),
                "edges": (2 * d, 4 * m), "edge_bias": (4 * m,), "bilinear": (m, m), "from_left": (m,),
                "from_right": (m,), "labels": (m, n_labels), "label_bias": (n_labels,),
            }  # fmt: skip

        return unpack(self.arrays, SpanNetwork, shapes)


class AttachTables(NamedTuple):
    """Tokens that a treebank never leaves unattached, for L labels (in the model's order) and T tags (in the order of
    its vocabulary). An unattached token has siblings that are constituents, where the treebank would have a phrase.

    `never` bool (L + 1, L + 1, T): [parent, child, tag]: whether a token with the tag is never a child of such a parent
    that also has such a child; the last parent is the root, the last child means any or none. `one_root`: whether
    one constituent covers every sentence.
    """

    never: np.ndarray
    one_root: bool


@dataclass(frozen=True)
class SpanModel:
    """Data of a span parser.

    `words`: vocabularies; each entry (or each word piece) has a row in the networks' tables. `chains`: label chains by
    id, the first empty, then one or more that are not, without TOP. `packed`: one or more networks, or that of a
    pretrained encoder. `meta`: metadata: language, licence, training data, scores. `attach_tables`: tokens that are
    never left unattached; None: unknown, so that the chart's trees are not changed.

    Raises ModelFormatError if there is no network or one does not fit, or if the chains are invalid.
    """

    words: WordParts | WordPieces
    chains: tuple[Chain, ...]
    packed: tuple[PackedNetwork | PackedEncoder, ...]
    meta: dict[str, Any]
    attach_tables: AttachTables | None = None
    networks: tuple[Any, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.packed:
            raise ModelFormatError("the model has no network; fetch or write it again")
        if not self.chains or self.chains[0]:
            raise ModelFormatError("the first label of the model is not the empty one; fetch or write it again")
        if len(self.chains) == 1 or not all(self.chains[1:]) or TOP in self.labels:
            raise ModelFormatError(
                f"the model's labels are {short_repr(list(self.labels))} in {len(self.chains) - 1} chains; there must "
                f"be one or more, none of them {TOP} or empty: fetch or write it again"
            )
        networks = tuple(packed.unpack(self.words.size, len(self.chains)) for packed in self.packed)
        if len({network.bilinear.shape for network in networks}) > 1:
            raise ModelFormatError("the networks' projections have different widths; train them with one width")
        if self.attach_tables is not None:
            size, tags, seen = len(self.labels), len(self.words.tables[1]), self.attach_tables.never.shape
            if seen != (size + 1, size + 1, tags):
                raise ModelFormatError(
                    f"the table of unattached tokens has the shape {seen}, which does not fit {size} labels and {tags} "
                    "tags; fetch or write the model again"
                )
        object.__setattr__(self, "networks", networks)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels of the chains, sorted."""
        return tuple(sorted({label for chain in self.chains for label in chain}))

    def chains_without(self, excluded: Collection[str]) -> np.ndarray:
        """Return the ids of the chains that have none of these labels, int64, ascending; the first is the empty chain.

        Raises ConfigError for a label that the model does not have, and if only the empty chain remains.
        """
        labels = self.labels
        for label in excluded:
            if label == TOP:
                raise ConfigError(f"exclude_labels has {TOP!r}, the root of every tree, which cannot be left out")
            if label not in labels:
                near = get_close_matches(label.upper(), labels, 1)
                raise ConfigError(
                    f"exclude_labels has {label!r}, which is no label of the model"
                    f"{f'; did you mean {near[0]!r}?' if near else '.'} Its labels are {', '.join(labels)}"
                )
        remaining = np.array([k for k, chain in enumerate(self.chains) if not set(excluded).intersection(chain)])
        if len(remaining) == 1:
            raise ConfigError(
                f"exclude_labels = {short_repr(list(excluded))} leaves the parser no constituent; its labels are "
                f"{', '.join(labels)}: take some out of the list"
            )
        return remaining

    def fingerprint(self) -> str:
        """Return the digest of vocabularies and arrays (16 hex digits)."""
        digest = hashlib.sha256()
        tables: tuple[Iterable[str], ...] = (*self.words.tables, *self.chains)
        for strings in tables:
            digest.update("\0".join(strings).encode() + b"\1")
        for packed in self.packed:
            for name in sorted(packed.arrays):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(packed.arrays[name]).data)
        if self.words.aliases:
            digest.update(repr(sorted(self.words.aliases.items())).encode())
        if isinstance(self.words, WordParts) and self.words.second_tags:
            digest.update(SECOND_TAGS.encode())
        if isinstance(self.words, WordParts) and self.words.clusters is not None:
            digest.update("\1".join(self.words.clusters.clusters).encode() + b"\2")
        if self.attach_tables is not None:
            digest.update(self.attach_tables.never.tobytes() + bytes([self.attach_tables.one_root]))
        return digest.hexdigest()[:16]


def _span_model_to_arrays(model: SpanModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    arrays = {  # a container has no float16
        f"network{index}.{name}": array.view(np.uint16) if array.dtype == STORED_REAL else array
        for index, packed in enumerate(model.packed)
        for name, array in packed.arrays.items()
    }
    meta: dict[str, Any] = {"words": model.words.to_dict(), "chains": model.chains, "n_networks": len(model.packed)}
    if model.attach_tables is not None:
        arrays["bare.never"], meta["one_root"] = model.attach_tables.never, model.attach_tables.one_root
    return meta, arrays


def _span_model_from_arrays(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> SpanModel:
    wide = {name: array.view(STORED_REAL) if array.dtype == np.uint16 else array for name, array in arrays.items()}
    packed = tuple(PackedNetwork(part_of(wide, f"network{k}.")) for k in range(meta["n_networks"]))
    chains = tuple(tuple(chain) for chain in meta["chains"])
    never = arrays.get("bare.never")
    attach_tables = None if never is None else AttachTables(never.astype(np.bool_), meta["one_root"])
    return SpanModel(WordParts.from_dict(meta["words"]), chains, packed, dict(meta["meta"]), attach_tables)


def _declare_arrays(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Array]:
    found = {"bare.never": Array("bool", ("parents", "parents", "tags"), needed="one_root" in meta)}
    for k in range(meta["n_networks"]):
        found |= declare_network(
            arrays, f"network{k}.", edges=("read", "ends"), edge_bias=("ends",), bilinear=("projection", "projection"),
            from_left=("projection",), from_right=("projection",), labels=("projection", "chains"),
            label_bias=("chains",),
        )  # fmt: skip
    return found


SCHEMA = Schema(
    fields={
        "words": record(
            {name: texts(TAG if name == "tags" else WORD) for name in KINDS[:-1]},
            {"aliases": table(TAG, text(TAG), MAX_ALIASES), SECOND_TAGS: a(boolean()), **OPTIONAL_CLUSTERS},
        ),
        "chains": list_of(texts(LABEL, 0, MAX_CHAIN_LENGTH), 0, MAX_CHAINS),
        "n_networks": a(integer(0, MAX_NETWORKS)),
    },
    optional_fields={"one_root": a(boolean())},
    arrays=_declare_arrays,
    golden_fields={"scores": list_of(finite())},
    sizes=lambda fields: {"tags": len(fields["words"]["tags"])},
)
FORMAT = ModelFormat(KIND, VERSION, "span model", _span_model_to_arrays, _span_model_from_arrays, SCHEMA, "zlib")
read_model, write_model = FORMAT.read, FORMAT.write
