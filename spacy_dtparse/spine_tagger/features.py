"""Encode words and tags as atoms, the parts of which a tagger's features are composed; and the tag dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..errors import DtparseError
from ..linear.kernels.keys import MAX_ATOMS, MAX_TAGS
from ..symbols import Memo, SymbolTable
from ..text import SHAPES, affixes, normal_word, word_shape
from .kernels import AFFIX, AFFIXES, COLUMNS, EDGE, ENTRY, FIRST_LABEL, SHAPE, TAG, WORD

MAX_LABELS = MAX_TAGS - FIRST_LABEL
"""Maximum number of labels that features can distinguish."""
_BEFORE, _AFTER, _FIRST_ENTRY = 1, 2, 3
"""Atoms of words and tags: before a sentence, after it, and the first vocabulary entry."""
_TABLES = ("words", "tags", "prefixes", "suffixes", "labels", "known")


@dataclass(frozen=True)
class TagParts:
    """Vocabularies, and a tag dictionary: the labels that a word may have (Clark & Curran 2007).

    `words`: normalized words; the first `n_plain` are frequent and have no affix features. `tags`: () for a tagger
    without tags as input. `labels`: the labels to predict. Entry e of the dictionary allows the labels
    allowed[allowed_from[e] : allowed_from[e + 1]], int32, ascending. Entry 0, all labels, is the default; the next
    entries are for tags, the last ones for the words in the dictionary, in their order.

    Raises DtparseError if the parts are inconsistent, or if there are too many words, tags or labels.
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
    """Words with an entry in the dictionary."""
    _row_of_token: Memo[tuple[str, str], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_row_of_token", Memo(self._row))
        for name, max_size in (
            ("words", MAX_ATOMS - _FIRST_ENTRY),
            ("tags", MAX_TAGS - _FIRST_ENTRY),
            ("labels", MAX_LABELS),
        ):
            if len(getattr(self, name)) > max_size:
                raise DtparseError(f"{len(getattr(self, name))} {name}; a tagger can have at most {max_size}")
        if not len(self.labels):
            raise DtparseError("a tagger without labels; it needs at least one")
        if not 0 <= self.n_plain <= len(self.words):
            raise DtparseError(f"{self.n_plain} of {len(self.words)} words are frequent; give 0 to all of them")
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
                f"the tag dictionary does not fit its {entries} entries and {n} labels; each entry needs one or more "
                "labels in ascending order"
            )

    def __reduce__(self) -> tuple:
        values = (getattr(self, entry.name) for entry in fields(self) if entry.init)
        return TagParts, tuple(values)  # without the memo

    @classmethod
    def build(
        cls,
        sentences: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str]]],
        min_word_count: int = 2,
        plain: int = 10,
        min_affix_count: int = 5,
        cutoff: int = 20,
    ) -> TagParts:
        """Build vocabularies from sentences (words, tags or (), labels).

        They contain words that occur at least `min_word_count` times; affixes that occur at least `min_affix_count`
        times, of words that occur fewer than `plain` times; all tags and labels. Words that occur at least `cutoff`
        times may only have the labels seen with them, other words those seen with their tag.
        """
        words, tags, labels = Counter[str](), Counter[str](), Counter[str]()
        of_word, of_tag = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for texts, sentence_tags, sentence_labels in sentences:
            normal = [normal_word(text) for text in texts]
            words.update(normal)
            tags.update(sentence_tags)
            labels.update(sentence_labels)
            of_word.update(zip(normal, sentence_labels, strict=True))
            of_tag.update(zip(sentence_tags, sentence_labels, strict=bool(sentence_tags)))
        prefixes, suffixes = Counter[str](), Counter[str]()
        for word, times in words.items():
            if times < plain:
                for prefix, suffix in _affixes(word):
                    prefixes[prefix] += times
                    suffixes[suffix] += times
        vocabulary, known, names = (
            _vocabulary(words, min_word_count),
            _vocabulary(words, cutoff),
            _vocabulary(labels, 1),
        )
        of_tags, of_words = {tag: set[int]() for tag in _vocabulary(tags, 1)}, {word: set[int]() for word in known}
        for rows, pairs in ((of_tags, of_tag), (of_words, of_word)):
            for name, label in pairs:
                if name in rows:
                    rows[name].add(names.id_of(label))
        lists = [range(len(names)), *map(sorted, (*of_tags.values(), *of_words.values()))]
        starts = np.cumsum([0, *map(len, lists)]).astype(INDEX)
        allowed = np.array([label for row in lists for label in row], INDEX)
        affix_tables = _vocabulary(prefixes, min_affix_count), _vocabulary(suffixes, min_affix_count)
        n_plain = sum(words[word] >= plain for word in vocabulary)
        return cls(vocabulary, SymbolTable(of_tags), *affix_tables, names, n_plain, starts, allowed, known)

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Return the atoms of a sentence, int32 (n + 4, COLUMNS); see `spine_tagger.kernels`. `tags`: one per word,
        () for a tagger without tags as input."""
        tokens = zip(words, tags or [""] * len(words), strict=True)
        before, after = ([self._edge(atom)] * EDGE for atom in (_BEFORE, _AFTER))
        rows = [*before, *map(self._row_of_token.__getitem__, tokens), *after]
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), COLUMNS)

    @staticmethod
    def _edge(atom: int) -> bytes:
        return np.array([atom, atom] + [0] * (COLUMNS - 2), INDEX).tobytes()

    def _row(self, token: tuple[str, str]) -> bytes:
        """Return the row of a word with its tag as bytes, which are faster to concatenate than arrays."""
        text, tag = token
        word = normal_word(text)
        word_id, tag_id, entry = self.words.id_of(word), self.tags.id_of(tag), self.known.id_of(word)
        row = np.zeros(COLUMNS, INDEX)
        row[WORD], row[TAG] = (index + _FIRST_ENTRY if index >= 0 else 0 for index in (word_id, tag_id))
        row[ENTRY] = 1 + len(self.tags) + entry if entry >= 0 else 1 + tag_id
        row[SHAPE] = 1 + SHAPES.id_of(word_shape(text))
        if not 0 <= word_id < self.n_plain:
            for column, (prefix, suffix) in enumerate(_affixes(word), AFFIXES):
                row[column] = 1 + self.prefixes.id_of(prefix)
                row[column + AFFIX] = 1 + self.suffixes.id_of(suffix)
        return row.tobytes()

    def to_dict(self) -> dict[str, Any]:
        """Return the strings as plain data, without the arrays of the dictionary."""
        return {"n_plain": self.n_plain, **{name: list(getattr(self, name)) for name in _TABLES}}

    @classmethod
    def from_parts(cls, data: Mapping[str, Any], allowed_from: np.ndarray, allowed: np.ndarray) -> TagParts:
        """Build from the data of `to_dict` and the dictionary's arrays."""
        words, tags, prefixes, suffixes, labels, known = (SymbolTable(data[name]) for name in _TABLES)
        starts, rows = (np.ascontiguousarray(array, INDEX) for array in (allowed_from, allowed))
        return cls(words, tags, prefixes, suffixes, labels, int(data["n_plain"]), starts, rows, known)


def _affixes(word: str) -> list[tuple[str, str]]:
    """Return (prefix, suffix) pairs of one character, of two, …"""
    return [affixes(word, length) for length in range(1, min(AFFIX, len(word)) + 1)]


def _vocabulary(counts: Mapping[str, int], min_count: int) -> SymbolTable:
    """Return the names that occur at least `min_count` times, the most frequent first, ties by spelling."""
    names = (name for name in counts if counts[name] >= min_count)
    return SymbolTable(sorted(names, key=lambda name: (-counts[name], name)))
