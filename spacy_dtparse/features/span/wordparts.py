"""Tokens as numbers of words, tags, affixes and shapes: the rows of a span network's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import INDEX
from ...errors import DtparseError
from ...symbols import LongTable, Remembered, SymbolTable, packed
from ...text import SHAPES, affixes, normal_word, word_shape

KINDS = ("words", "tags", "suffixes", "prefixes", "shapes")
"""What is known of a token, each with numbers of its own in the one table."""
WORD, TAG = 0, 1
"""Columns of the word and of the tag among a token's numbers."""
UNKNOWN_WORD = 0
"""Row of words that are not listed: the words' numbers come first, and theirs is the first of them."""
AFFIX = 3
"""Characters of a suffix and of a prefix."""
_UNKNOWN, _BEFORE, _AFTER, _FIRST = 0, 1, 2, 3
"""Places in each kind's range: what is not listed, the places before and after a sentence, the first that is listed."""


def word_parts(word: str) -> tuple[str, str, str, str]:
    """(normal form, suffix, prefix, shape) of a token."""
    normal = normal_word(word)
    prefix, suffix = affixes(normal, AFFIX)
    return normal, suffix, prefix, word_shape(word)


class PartCounts(NamedTuple):
    """How often each normal word, tag, suffix and prefix occurs, in the order of KINDS."""

    words: Counter[str]
    tags: Counter[str]
    suffixes: Counter[str]
    prefixes: Counter[str]


def count_parts(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> PartCounts:
    """What occurs in sentences (words, tags)."""
    tokens: Counter[tuple[str, str]] = Counter()
    for words, tags in sentences:
        tokens.update(zip(words, tags, strict=True))
    return parts_of(tokens)


def parts_of(tokens: Counter[tuple[str, str]]) -> PartCounts:
    """What occurs in tokens (word, tag), each so many times."""
    counts = PartCounts(Counter(), Counter(), Counter(), Counter())
    for (word, tag), times in tokens.items():
        normal, suffix, prefix, _ = word_parts(word)
        counts.tags[tag] += times
        counts.words[normal] += times
        counts.suffixes[suffix] += times
        counts.prefixes[prefix] += times
    return counts


class WordParts:
    """The lists of words, tags, suffixes, prefixes and shapes that have a number; immutable.

    `tables`: one SymbolTable for each of KINDS. `aliases`: tags of another tag set, each with the listed tag that it is
    taken for. Raises DtparseError for another number of tables.
    """

    def __init__(self, tables: Sequence[SymbolTable], aliases: Mapping[str, str] | None = None):
        if len(tables) != len(KINDS):
            raise DtparseError(f"{len(tables)} lists; give {len(KINDS)}: {', '.join(KINDS)}")
        self.tables, self.aliases = tuple(tables), dict(aliases or {})
        self._from = [0]
        for table in self.tables:
            self._from.append(self._from[-1] + _FIRST + len(table))
        self._before = packed(start + _BEFORE for start in self._from[:-1])
        self._after = packed(start + _AFTER for start in self._from[:-1])
        self._found = [(start + _FIRST, table.number) for start, table in zip(self._from, self.tables, strict=False)]
        self._of_token = Remembered(self._row)

    def __reduce__(self) -> tuple:
        return WordParts, (self.tables, self.aliases)  # without what is remembered

    @classmethod
    def build(cls, counts: PartCounts, least_word: int = 2, least_part: int = 3, most: int | None = None) -> WordParts:
        """The lists of what occurs at least `least_word` times as a word, `least_part` times as a suffix or prefix,
        twice as a tag; the most frequent first, and no more than the `most` most frequent of a kind."""
        least = (least_word, 2, least_part, least_part)
        lists = [
            SymbolTable(
                [part for part, times in sorted(count.items(), key=lambda x: (-x[1], x[0])) if times >= limit][:most]
            )
            for count, limit in zip(counts, least, strict=True)
        ]
        return cls([*lists, SHAPES])

    @property
    def size(self) -> int:
        """The number of rows of the table."""
        return self._from[-1]

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Rows of the table as int32 (n + 2, len(KINDS)): those before and after the sentence are rows 0 and -1."""
        rows = [self._before, *map(self._of_token.__getitem__, zip(words, tags, strict=True)), self._after]
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), len(KINDS))

    def encode_all(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[np.ndarray, np.ndarray]:
        """(`encode` of each sentence, one behind the other; where each begins, and the number of rows, int32
        (S + 1,))."""
        row, rows = self._of_token.__getitem__, []
        for words, tags in sentences:
            rows += [self._before, *map(row, zip(words, tags, strict=True)), self._after]
        firsts = np.cumsum([0, *(len(words) + 2 for words, _ in sentences)]).astype(INDEX)
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), len(KINDS)), firsts

    def tag_numbers(self, tags: Sequence[str]) -> np.ndarray:
        """int32 (n,): places of tags in the list of tags, its length for those not listed."""
        own = [self.aliases.get(tag, tag) for tag in tags] if self.aliases else tags
        return self.tables[TAG].encode(own, len(self.tables[TAG]))

    def tags_of(self, rows: np.ndarray) -> np.ndarray:
        """int32 (len(rows),): places of the tags of tokens in the list of tags, its length for those not listed; `rows`
        of `encode` (that before a sentence and that after it have no tag that is listed)."""
        found = rows[:, TAG] - (self._from[TAG] + _FIRST)
        found[found < 0] = len(self.tables[TAG])
        return found

    def _row(self, token: tuple[str, str]) -> bytes:
        """The row of a word with its tag, as bytes, which are joined faster than arrays."""
        word, tag = token
        normal, suffix, prefix, shape = word_parts(word)
        parts = (normal, self.aliases.get(tag, tag), suffix, prefix, shape)
        return packed(
            [first + find(part, _UNKNOWN - _FIRST) for (first, find), part in zip(self._found, parts, strict=True)]
        )

    def to_dict(self) -> dict[str, Any]:
        """The lists as plain data; shapes are the package's own."""
        lists: dict[str, Any] = {name: list(table) for name, table in zip(KINDS[:-1], self.tables, strict=False)}
        return {**lists, **({"aliases": self.aliases} if self.aliases else {})}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WordParts:
        """The reverse of `to_dict`."""
        words, tags, suffixes, prefixes = (data[name] for name in KINDS[:-1])
        tables = [LongTable(words), SymbolTable(tags), LongTable(suffixes), LongTable(prefixes), SHAPES]
        return cls(tables, data.get("aliases"))
