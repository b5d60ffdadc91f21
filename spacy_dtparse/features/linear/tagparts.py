"""From words and tags to the atoms that features of a tagger are made of, and the tag dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...errors import DtparseError
from ...kernels.linear.links import MAX_ATOMS, MAX_TAGS
from ...kernels.linear.tagging import AFFIX, AFFIXES, COLUMNS, EDGE, ENTRY, FIRST_LABEL, SHAPE, TAG, WORD
from ...symbols import Remembered, SymbolTable
from ...text import SHAPES, affixes, normal_word, word_shape

MAX_LABELS = MAX_TAGS - FIRST_LABEL
"""Labels that features can tell apart."""
_BEFORE, _AFTER, _FIRST = 1, 2, 3
"""Atoms of words and tags: what is before and after a sentence, and the first that is listed."""
_TABLES = ("words", "tags", "prefixes", "suffixes", "labels", "known")


@dataclass(frozen=True)
class TagParts:
    """What words, tags and affixes have a number, and which labels the tag dictionary allows (Clark & Curran 2007).

    `words`: normal words, the first `n_plain` of them frequent ones that have no affixes. `tags`: () for a tagger that
    reads none. `labels`: what is to be predicted. Entry e of the dictionary allows the labels allowed[allowed_from[e] :
    allowed_from[e + 1]], int32, ascending. Entry 0, all labels, is for what follows no other rule, the next ones are
    for tags, the last ones for words that are in the dictionary, in their order.

    Raises DtparseError when parts do not fit together, or when there are too many words, tags or labels.
    """

    words: SymbolTable
    tags: SymbolTable
    prefixes: SymbolTable
    suffixes: SymbolTable
    labels: SymbolTable
    n_plain: int
    allowed_from: np.ndarray
    allowed: np.ndarray
    known: SymbolTable
    """Words that have an entry in the dictionary."""
    _of_token: Remembered[tuple[str, str], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_token", Remembered(self._row))
        for name, most in (("words", MAX_ATOMS - _FIRST), ("tags", MAX_TAGS - _FIRST), ("labels", MAX_LABELS)):
            if len(getattr(self, name)) > most:
                raise DtparseError(f"{len(getattr(self, name))} {name}; a tagger tells at most {most} apart")
        if not len(self.labels):
            raise DtparseError("a tagger without labels; there must be one or more")
        if not 0 <= self.n_plain <= len(self.words):
            raise DtparseError(f"{self.n_plain} of {len(self.words)} words are frequent; allowed are 0 to all")
        self._check_dictionary()

    def _check_dictionary(self) -> None:
        starts, allowed, n = self.allowed_from, self.allowed, len(self.labels)
        entries = 1 + len(self.tags) + len(self.known)
        fits = (
            len(starts) == entries + 1
            and starts[0] == 0
            and starts[-1] == len(allowed)
            and bool((np.diff(starts) > 0).all())
            and int(allowed.min()) >= 0
            and int(allowed.max()) < n
            and np.array_equal(allowed[: starts[1]], np.arange(n))
            and bool((np.diff(np.repeat(np.arange(entries), np.diff(starts)) * n + allowed) > 0).all())
        )
        if not fits:
            raise DtparseError(
                f"the tag dictionary does not fit its {entries} entries and {n} labels; each has one or more, ascending"
            )

    def __reduce__(self) -> tuple:
        given = (getattr(self, own.name) for own in fields(self) if own.init)
        return TagParts, tuple(given)  # without what is remembered

    @classmethod
    def build(
        cls,
        sentences: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str]]],
        least_word: int = 2,
        plain: int = 10,
        least_affix: int = 5,
        cutoff: int = 20,
    ) -> TagParts:
        """The lists of what occurs in sentences (words, tags or (), labels): words at least `least_word` times; affixes
        of words seen fewer than `plain` times, at least `least_affix` times; all tags and labels. Words seen at least
        `cutoff` times get only labels that they were seen with, other words those that their tag was seen with."""
        words, tags, labels = Counter[str](), Counter[str](), Counter[str]()
        of_word, of_tag = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for texts, own_tags, own_labels in sentences:
            normal = [normal_word(text) for text in texts]
            words.update(normal)
            tags.update(own_tags)
            labels.update(own_labels)
            of_word.update(zip(normal, own_labels, strict=True))
            of_tag.update(zip(own_tags, own_labels, strict=bool(own_tags)))
        prefixes, suffixes = Counter[str](), Counter[str]()
        for word, times in words.items():
            if times < plain:
                for prefix, suffix in _affixes(word):
                    prefixes[prefix] += times
                    suffixes[suffix] += times
        listed, known, names = _table(words, least_word), _table(words, cutoff), _table(labels, 1)
        of_tags, of_words = {tag: set[int]() for tag in _table(tags, 1)}, {word: set[int]() for word in known}
        for rows, pairs in ((of_tags, of_tag), (of_words, of_word)):
            for name, label in pairs:
                if name in rows:
                    rows[name].add(names.number(label))
        lists = [range(len(names)), *map(sorted, (*of_tags.values(), *of_words.values()))]
        starts = np.cumsum([0, *map(len, lists)]).astype(INDEX)
        allowed = np.array([label for row in lists for label in row], INDEX)
        affix_tables = _table(prefixes, least_affix), _table(suffixes, least_affix)
        n_plain = sum(words[word] >= plain for word in listed)
        return cls(listed, SymbolTable(of_tags), *affix_tables, names, n_plain, starts, allowed, known)

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Atoms, int32 (n + 4, COLUMNS); see `kernels.linear.tagging`. `tags`: one for each word, () for a tagger that
        reads none."""
        tokens = zip(words, tags or [""] * len(words), strict=True)
        before, after = ([self._edge(atom)] * EDGE for atom in (_BEFORE, _AFTER))
        rows = [*before, *map(self._of_token.__getitem__, tokens), *after]
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), COLUMNS)

    @staticmethod
    def _edge(atom: int) -> bytes:
        return np.array([atom, atom] + [0] * (COLUMNS - 2), INDEX).tobytes()

    def _row(self, token: tuple[str, str]) -> bytes:
        """The row of a word with its tag, as bytes, which are joined faster than arrays."""
        text, tag = token
        word = normal_word(text)
        number, tag_number, entry = self.words.number(word), self.tags.number(tag), self.known.number(word)
        row = np.zeros(COLUMNS, INDEX)
        row[WORD], row[TAG] = (own + _FIRST if own >= 0 else 0 for own in (number, tag_number))
        row[ENTRY] = 1 + len(self.tags) + entry if entry >= 0 else 1 + tag_number
        row[SHAPE] = 1 + SHAPES.number(word_shape(text))
        if not 0 <= number < self.n_plain:
            for place, (prefix, suffix) in enumerate(_affixes(word), AFFIXES):
                row[place] = 1 + self.prefixes.number(prefix)
                row[place + AFFIX] = 1 + self.suffixes.number(suffix)
        return row.tobytes()

    def to_dict(self) -> dict[str, Any]:
        """Strings as plain data; the dictionary's labels are arrays."""
        return {"n_plain": self.n_plain, **{name: list(getattr(self, name)) for name in _TABLES}}

    @classmethod
    def from_parts(cls, data: Mapping[str, Any], allowed_from: np.ndarray, allowed: np.ndarray) -> TagParts:
        """The reverse of `to_dict`, with the dictionary's arrays."""
        words, tags, prefixes, suffixes, labels, known = (SymbolTable(data[name]) for name in _TABLES)
        starts, rows = (np.ascontiguousarray(array, INDEX) for array in (allowed_from, allowed))
        return cls(words, tags, prefixes, suffixes, labels, int(data["n_plain"]), starts, rows, known)


def _affixes(word: str) -> list[tuple[str, str]]:
    """Prefix and suffix of one character, of two, …"""
    return [affixes(word, length) for length in range(1, min(AFFIX, len(word)) + 1)]


def _table(counts: Mapping[str, int], least: int) -> SymbolTable:
    """What occurs at least so many times, the most frequent first, ties by spelling."""
    names = (name for name in counts if counts[name] >= least)
    return SymbolTable(sorted(names, key=lambda name: (-counts[name], name)))
