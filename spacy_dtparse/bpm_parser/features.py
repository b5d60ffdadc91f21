"""Encode words, tags and lemmas as atoms, the parts of which features of dependencies are composed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INDEX
from ..errors import ConfigError, DtparseError
from ..linear.kernels.keys import MAX_ATOMS, MAX_TAGS
from ..stored_names import stored_as, to_stored
from ..symbols import Memo, SymbolTable
from ..text import read_word
from .kernels.links import COLUMNS, CONJUNCTION, OTHER, PUNCTUATION, VERB, label_atoms

STEMS = ("prefix", "first", "lemma")
NUMBERS = ("one", "chinese")
SOURCES = ("tag", "pos", "pos+tag")
GUIDES = ("none", "constituents")
_BEFORE, _ROOT, _AFTER = "<before>", "<root>", "<after>"
_PREFIX = 5
_TABLES = ("words", "tags", "stems", "guide_labels")
_ARRAYS = ("word_tags", "stem_tags", "kinds")

_NUMBER = re.compile(r"[-+]?[\d٠-٩०-९]+(?:[.,:/\-٫٬][\d٠-٩०-९]+)*%?")
_CHINESE_DIGITS = "[0-9０-９〇零一二三四五六七八九十百千万亿萬億两兩]"
_CHINESE = (
    ("<year>", re.compile(r"(?:[0-9０-９〇零一二三四五六七八九]{2,4}年|(?:1[0-9]|20)[0-9]{2})")),
    ("<month>", re.compile(f"{_CHINESE_DIGITS}{{1,3}}月")),
    ("<date>", re.compile(f"{_CHINESE_DIGITS}{{1,3}}[日号號]")),
    ("<number>", re.compile(rf"{_CHINESE_DIGITS}+(?:[.,．，点點]{_CHINESE_DIGITS}+)*[%％]?")),
)

_KINDS = {
    **dict.fromkeys((".", ",", ":", "``", "''", '""', "-LRB-", "-RRB-", "HYPH", "NFP", "PUNCT"), PUNCTUATION),
    **dict.fromkeys(("VERB", "AUX", "MD"), VERB),
    **dict.fromkeys(("CC", "CCONJ", "SCONJ", "CONJ"), CONJUNCTION),
}
_ALL_KINDS = (OTHER, PUNCTUATION, VERB, CONJUNCTION)
_POSITIONAL = {"Z": PUNCTUATION, "V": VERB, "J": CONJUNCTION}


def tag_kind(tag: str) -> int:
    """Return PUNCTUATION, VERB, CONJUNCTION or OTHER for a tag of Universal Dependencies, the Penn Treebank, or a
    positional tagset of Prague."""
    main_tag = tag.split("|")[0]
    if main_tag in _KINDS:
        return _KINDS[main_tag]
    if re.fullmatch(r"VB[DGNPZ]?|V[ACEV]", main_tag):
        return VERB
    if len(main_tag) >= 10 and main_tag.isascii() and ("-" in main_tag):
        return _POSITIONAL.get(main_tag[0], OTHER)
    return OTHER


class TokenColumns(NamedTuple):
    """Input sentence of a dependency parser: `words`, and as many `tags`, coarse parts of speech `pos` and `lemmas`,
    each empty if the model needs none. For a model with an external guide (the dependencies of another parser):
    `guide_heads`, indices from 0 and -1 for a root, and `guide_labels`."""

    words: Sequence[str]
    tags: Sequence[str] = ()
    pos: Sequence[str] = ()
    lemmas: Sequence[str] = ()
    guide_heads: Sequence[int] = ()
    guide_labels: Sequence[str] = ()


@stored_as("source", "places", "stem", "numbers", "guide")
@dataclass(frozen=True)
class TextRules:
    """Rules that convert text to atoms.

    `source`: the parts of speech that are used: "tag" (fine, `token.tag_`), "pos" (coarse, `token.pos_`), or "pos+tag".
    `places`: character positions, from 0, of a positional tag that are used; () means all. `stem`: the second form by
    which a word is looked up: "prefix" is its first five characters, "first" its first, "lemma" its lemma.
    `numbers`: "one" maps all numbers to one word, "chinese" distinguishes years, months and dates. Words are
    lower-cased. `guide`: "none", or "constituents" if the first stage has a guide: the dependencies of a constituent
    tree.

    Raises ConfigError for other values.
    """

    source: str = "tag"
    places: tuple[int, ...] = ()
    stem: str = "prefix"
    numbers: str = "one"
    guide: str = "none"

    def __post_init__(self) -> None:
        for name, allowed in (("source", SOURCES), ("stem", STEMS), ("numbers", NUMBERS), ("guide", GUIDES)):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")
        if any(isinstance(position, bool) or not isinstance(position, int) or position < 0 for position in self.places):
            raise ConfigError(f"places are {self.places!r}; give integers of at least 0")

    def word(self, text: str) -> str:
        """Return the normalized form by which a word, which may be escaped (see `read_word`), is looked up."""
        text = read_word(text)
        if self.numbers == "chinese":
            for name, pattern in _CHINESE:
                if pattern.fullmatch(text):
                    return name
        elif _NUMBER.fullmatch(text):
            return "<number>"
        return text.lower()

    def stem_of(self, word: str, lemma: str) -> str:
        """Return the stem of a normalized word."""
        if word.startswith("<"):
            return word
        if self.stem == "lemma":
            return lemma.lower() or word
        return word[: _PREFIX if self.stem == "prefix" else 1]

    def tag(self, tag: str, pos: str) -> str:
        """Return the part of speech by which a token is looked up."""
        if self.places and tag:
            tag = "".join(tag[position] for position in self.places if position < len(tag))
        return tag if self.source == "tag" else pos if self.source == "pos" else f"{pos}|{tag}"

    def whole_tag(self, tag: str) -> str:
        """Return a full positional tag whose used characters are `tag`; the others are "-"."""
        if not self.places:
            return tag
        characters = dict(zip(self.places, tag, strict=False))
        return "".join(characters.get(position, "-") for position in range(max(self.places) + 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain data."""
        return {**to_stored(self), "places": list(self.places)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TextRules:
        """Build the rules from the data of `to_dict`."""
        return cls(data["source"], tuple(data["places"]), data["stem"], data["numbers"], data["guide"])


@dataclass(frozen=True)
class LinkParts:
    """Vocabularies of words, tags and stems, of the pairs that occur, and of the labels of external guides. An atom is
    the 1-based index of a string or pair.

    `word_tags`, `stem_tags`: int32 (P, 2), pairs of ids from 1. `kinds`: int32, the kind of each tag; by default it is
    derived from the tag.
    """

    rules: TextRules
    words: SymbolTable
    tags: SymbolTable
    stems: SymbolTable
    word_tags: np.ndarray
    stem_tags: np.ndarray
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(0, INDEX))
    guide_labels: SymbolTable = field(default_factory=lambda: SymbolTable(()))
    _word_tag: dict[tuple[int, int], int] = field(init=False, repr=False, compare=False)
    _stem_tag: dict[tuple[int, int], int] = field(init=False, repr=False, compare=False)
    _edges: tuple[bytes, bytes] = field(init=False, repr=False, compare=False)
    _row_of_token: Memo[tuple[str, str, str, str], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if max(len(self.words), len(self.stems), len(self.word_tags), len(self.stem_tags)) >= MAX_ATOMS:
            raise DtparseError(f"a list of words or pairs has {MAX_ATOMS} or more entries; train on less text")
        if len(self.tags) >= MAX_TAGS:
            raise DtparseError(
                f"{len(self.tags)} different tags; at most {MAX_TAGS - 1} are possible. Use only some positions of "
                "positional tags (places), or coarse tags (source = pos)"
            )
        if tuple(self.tags)[:3] != (_BEFORE, _ROOT, _AFTER):
            raise DtparseError("the list of tags does not begin with the symbols for the edges of a sentence")
        if not len(self.kinds):
            object.__setattr__(self, "kinds", np.array([tag_kind(tag) for tag in self.tags], INDEX))
        if len(self.kinds) != len(self.tags) or not set(self.kinds.tolist()) <= set(_ALL_KINDS):
            raise DtparseError(
                f"{len(self.kinds)} kinds for {len(self.tags)} tags; there must be one for each, from "
                f"{min(_ALL_KINDS)} to {max(_ALL_KINDS)}"
            )
        for name, table in (("_word_tag", self.word_tags), ("_stem_tag", self.stem_tags)):
            object.__setattr__(self, name, {tuple(pair): pair_id for pair_id, pair in enumerate(table.tolist(), 1)})
        before, root, after = (self._row(edge, edge, edge) for edge in (_BEFORE, _ROOT, _AFTER))
        object.__setattr__(self, "_edges", (before + root, after))
        object.__setattr__(self, "_row_of_token", Memo(self._token_row))

    @classmethod
    def build(cls, sentences: Iterable[TokenColumns], rules: TextRules) -> LinkParts:
        """Collect the vocabularies of `sentences`, in the order of first occurrence."""
        edges = (_BEFORE, _ROOT, _AFTER)
        words, tags, stems = (dict.fromkeys(edges) for _ in range(3))
        pairs: dict[tuple[str, str], None] = {(edge, edge): None for edge in edges}
        stem_pairs = dict(pairs)
        guide_labels: dict[str, None] = {}
        for sentence in sentences:
            guide_labels |= dict.fromkeys(sentence.guide_labels)
            for word, tag, stem in (_lookup_forms(*row, rules) for row in _rows(sentence)):
                words[word] = tags[tag] = stems[stem] = None
                pairs[word, tag] = stem_pairs[stem, tag] = None
        tables = SymbolTable(words), SymbolTable(tags), SymbolTable(stems)

        def pair_ids(occurring: Iterable[tuple[str, str]], first: SymbolTable) -> np.ndarray:
            return np.array([[first.id_of(a) + 1, tables[1].id_of(b) + 1] for a, b in occurring], INDEX).reshape(-1, 2)

        return cls(
            rules,
            *tables,
            pair_ids(pairs, tables[0]),
            pair_ids(stem_pairs, tables[2]),
            guide_labels=SymbolTable(list(guide_labels)[: MAX_TAGS - 4]),
        )

    def encode_guide(self, sentence: TokenColumns) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the heads and the label atoms of an external guide, int32 (n + 1,) each, in the format of
        `bpm_parser.kernels.links.Guide`; (None, None) if the model has no such guide. Labels outside the vocabulary are
        unknown."""
        if self.rules.guide == "none":
            return None, None
        heads = np.array([-1, *(head + 1 for head in sentence.guide_heads)], INDEX)
        label_ids = np.array([0, *(self.guide_labels.id_of(label, -2) for label in sentence.guide_labels)], INDEX)
        return heads, label_atoms(label_ids)

    def encode(self, sentence: TokenColumns) -> np.ndarray:
        """Return the atoms of a sentence, int32 (n + 3, COLUMNS); see `bpm_parser.kernels.links`."""
        rows = [self._edges[0], *map(self._row_of_token.__getitem__, _rows(sentence)), self._edges[1]]
        return np.frombuffer(bytearray().join(rows), INDEX).reshape(-1, COLUMNS)

    def _token_row(self, token: tuple[str, str, str, str]) -> bytes:
        """Return the row of a token (text, tag, pos, lemma)."""
        return self._row(*_lookup_forms(*token, self.rules))

    def _row(self, word: str, tag: str, stem: str) -> bytes:
        """Return a row of atoms as bytes, which are faster to concatenate than arrays."""
        w, t, s = self.words.id_of(word) + 1, self.tags.id_of(tag) + 1, self.stems.id_of(stem) + 1
        kind = int(self.kinds[t - 1]) if t else tag_kind(tag)
        pairs = self._word_tag.get((w, t), 0), self._stem_tag.get((s, t), 0)
        return np.array([w, t, pairs[0], s, pairs[1], stem != word, kind], INDEX).tobytes()

    def to_dict(self) -> dict[str, Any]:
        """Return strings and rules as plain data, without the arrays of pairs and kinds."""
        return {"rules": self.rules.to_dict(), **{name: list(getattr(self, name)) for name in _TABLES}}

    @classmethod
    def from_parts(cls, data: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LinkParts:
        """Build from the data of `to_dict` and the arrays `word_tags`, `stem_tags`, `kinds`."""
        words, tags, stems, guide_labels = (SymbolTable(data[name]) for name in _TABLES)
        word_tags, stem_tags, kinds = (np.ascontiguousarray(arrays[name], INDEX) for name in _ARRAYS)
        rules = TextRules.from_dict(data["rules"])
        return cls(rules, words, tags, stems, word_tags.reshape(-1, 2), stem_tags.reshape(-1, 2), kinds, guide_labels)


def _rows(sentence: TokenColumns) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over (word, tag, pos, lemma) of each token; missing columns are ""."""
    columns = (column or [""] * len(sentence.words) for column in (sentence.tags, sentence.pos, sentence.lemmas))
    return zip(sentence.words, *columns, strict=True)


def _lookup_forms(text: str, tag: str, pos: str, lemma: str, rules: TextRules) -> tuple[str, str, str]:
    """Return the forms (word, tag, stem) by which a token is looked up."""
    word = rules.word(text)
    return word, rules.tag(tag, pos), rules.stem_of(word, lemma)
