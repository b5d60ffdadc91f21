"""Encode tokens as int columns; no other module of the boosted trees processes text. Symbol tables assign the ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...errors import TrainingDataError
from ...symbols import CompactSymbolTable, Memo, SymbolTable, index_bytes
from ...text import SHAPES, normal_word, word_shape
from ...trees.tree import TOP
from ..kernels.features import TOKEN_COLUMNS
from .templates import TableSizes

RARE = "*rare*"
PUNCTUATION_TAGS = frozenset({":", ",", ".", "``", "''"})

# Head-tag classes: groups of tags that behave alike (the 18 of the 2006 papers, and one each for newer tags).
TAG_CLASSES = {
    "CD": "CD LS",
    "CJ": "CC , :",
    "D": "DT PDT PRP$ WDT",
    "EOS": ".",
    "IN": "IN RP TO",
    "J": "JJ JJR JJS",
    "N": "$ NN NNS",
    "NP": "NNP NNPS",
    "P": "EX POS PRP WP WP$",
    "R": "RB RBR RBS WRB",
    "SCM": "`` '' -LRB- -RRB- -LSB- -RSB- -LCB- -RCB-",
    "SYM": "# SYM",
    "UH": "UH",
    "UK": "FW",
    "VBG": "VBG",
    "VBN": "VBN",
    "V": "MD VB VBD VBP VBZ",
}
_CLASS_OF_TAG = {tag: name for name, tags in TAG_CLASSES.items() for tag in tags.split()}


def tag_class(tag: str) -> str:
    """Return the class of a tag; a tag in no class is its own class."""
    return _CLASS_OF_TAG.get(tag, tag)


@dataclass(frozen=True)
class Lexicon:
    """The symbol tables of a model.

    `labels`: non-terminals, TOP last. `symbols`: labels, then tags (a node's label is an id in it). `words`: normalized
    words, RARE first. `classes`: tag classes. `unknown_tag`: replaces tags that were never seen. `chains`: the label
    chains of the span model (unary chains of labels over one span), each a string separated by blanks; empty without a
    span model. `clusters`: the normalized words of each cluster, separated by blanks (see `training.clusters`); empty
    if no template tests clusters.
    """

    labels: SymbolTable
    symbols: SymbolTable
    words: SymbolTable
    classes: SymbolTable
    unknown_tag: str
    chains: SymbolTable = field(default_factory=lambda: SymbolTable(()))
    clusters: tuple[str, ...] = ()
    _cluster_of: dict[str, int] = field(init=False, repr=False, compare=False)
    _row_of_token: Memo[tuple[str, str], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        cluster_ids = {word: cluster_id for cluster_id, words in enumerate(self.clusters) for word in words.split()}
        object.__setattr__(self, "_cluster_of", cluster_ids)
        object.__setattr__(self, "_row_of_token", Memo(self._row))

    @property
    def sizes(self) -> TableSizes:
        symbols, words, classes = len(self.symbols), len(self.words), len(self.classes)
        return TableSizes(symbols, words, classes, len(SHAPES), len(self.chains), len(self.clusters))

    @property
    def tags(self) -> tuple[str, ...]:
        return self.symbols.strings[len(self.labels) :]

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Return token columns (WORD, TAG, CLASS, SHAPE, PUNCT, CLUSTER: `dtparse.kernels.features`), int32 (n, 6)."""
        rows = [*map(self._row_of_token.__getitem__, zip(words, tags, strict=True))]
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), TOKEN_COLUMNS)

    def _row(self, token: tuple[str, str]) -> bytes:
        """Return the row of a word with its tag as bytes, which are faster to concatenate than arrays."""
        (word_id, shape, cluster), (symbol, class_id, punctuation) = self._word(token[0]), self._tag(token[1])
        return index_bytes((word_id, symbol, class_id, shape, punctuation, cluster))

    def _word(self, word: str) -> tuple[int, int, int]:
        """Return (WORD, SHAPE, CLUSTER) of a word; CLUSTER is -1 if it is in no cluster."""
        normal = normal_word(word)
        return self.words.id_of(normal, 0), SHAPES.id_of(word_shape(word)), self._cluster_of.get(normal, -1)

    def _tag(self, tag: str) -> tuple[int, int, int]:
        """Return (TAG, CLASS, PUNCT) of a tag."""
        known_tag, symbol = tag, self.symbols.id_of(tag)
        if symbol < len(self.labels):
            known_tag, symbol = self.unknown_tag, self.symbols.id_of(self.unknown_tag)
        return symbol, self.classes.id_of(tag_class(known_tag)), int(known_tag in PUNCTUATION_TAGS)

    def cluster_name(self, cluster_id: int) -> str:
        """Return a cluster's most frequent words as its name."""
        return "{" + ", ".join(self.clusters[cluster_id].split()[:3]) + ", …}"

    def to_dict(self) -> dict[str, Any]:
        plain = {
            "labels": list(self.labels),
            "tags": list(self.tags),
            "words": list(self.words),
            "unknown_tag": self.unknown_tag,
        }
        optional = {"chains": list(self.chains), "clusters": list(self.clusters)}
        return plain | {name: entries for name, entries in optional.items() if entries}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Lexicon:
        plain = (data["labels"], data["tags"], data["words"], data["unknown_tag"])
        return cls.build(*plain, data.get("chains", ()), data.get("clusters", ()))

    @classmethod
    def build(
        cls,
        labels: Sequence[str],
        tags: Sequence[str],
        words: Sequence[str],
        unknown_tag: str,
        chains: Sequence[str] = (),
        clusters: Sequence[str] = (),
    ) -> Lexicon:
        """Build the tables from lists. `labels` ends with TOP, `words` starts with RARE; no tag may also be a label."""
        if not labels or labels[-1] != TOP or not words or words[0] != RARE:
            raise TrainingDataError(f"labels must end with {TOP}, and words start with {RARE}, for all other words")
        both = sorted(set(labels) & set(tags))
        if both:
            raise TrainingDataError(f"{', '.join(both[:9])}: used both as a label and as a tag; rename one of them")
        if unknown_tag not in tags:
            raise TrainingDataError(f"the unknown tag {unknown_tag!r} is not among the tags")
        classes = SymbolTable(dict.fromkeys(tag_class(tag) for tag in tags))
        symbols = SymbolTable([*labels, *tags])
        tables = (SymbolTable(labels), symbols, CompactSymbolTable(words), classes)
        return cls(*tables, unknown_tag, SymbolTable(chains), tuple(clusters))

    def fingerprint(self) -> str:
        """Return the digest of all tables (16 hex digits)."""
        digest = hashlib.sha256()
        optional = [table for table in (self.chains, self.clusters) if len(table)]
        for part in (self.labels, self.symbols, self.words, self.classes, SHAPES, (self.unknown_tag,), *optional):
            digest.update("\0".join(part).encode() + b"\1")
        return digest.hexdigest()[:16]


def frequent_words(sentences: Iterable[Sequence[str]], min_sentences: int) -> list[str]:
    """Return RARE and the normalized words that occur in at least `min_sentences` sentences, the most frequent first,
    ties by spelling."""
    counts: dict[str, int] = {}
    for words in sentences:
        for word in {normal_word(word) for word in words}:
            counts[word] = counts.get(word, 0) + 1
    counts.pop(RARE, None)
    frequent = [word for word, count in counts.items() if count >= min_sentences]
    return [RARE, *sorted(frequent, key=lambda word: (-counts[word], word))]
