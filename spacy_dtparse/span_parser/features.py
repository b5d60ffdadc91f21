"""Encode tokens as ids of words, tags, affixes and shapes: row indices of a span network's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INDEX
from ..nn.clusters import WordClusters, clusters_from_dict, clusters_to_dict
from ..nn.vocabularies import FIRST_ENTRY, TokenVocabularies, frequent_entries
from ..symbols import CompactSymbolTable, SymbolTable
from ..text import SHAPES, affixes, normal_word, word_shape

KINDS = ("words", "tags", "suffixes", "prefixes", "shapes")
"""Kinds of token features. All share one table; each kind has its own range of rows."""
WORD, TAG = 0, 1
"""Columns of the word and of the tag in a token's row of ids."""
AFFIX = 3
"""Length of a suffix and of a prefix in characters."""


def word_parts(word: str) -> tuple[str, str, str, str]:
    """Return (normalized form, suffix, prefix, shape) of a token."""
    normal = normal_word(word)
    prefix, suffix = affixes(normal, AFFIX)
    return normal, suffix, prefix, word_shape(word)


class PartCounts(NamedTuple):
    """Counts of normalized words, tags, suffixes and prefixes, in the order of KINDS."""

    words: Counter[str]
    tags: Counter[str]
    suffixes: Counter[str]
    prefixes: Counter[str]


def parts_of(tokens: Counter[tuple[str, str]]) -> PartCounts:
    """Count the features in `tokens`: (word, tag) -> count."""
    counts = PartCounts(Counter(), Counter(), Counter(), Counter())
    for (word, tag), times in tokens.items():
        normal, suffix, prefix, _ = word_parts(word)
        counts.tags[tag] += times
        counts.words[normal] += times
        counts.suffixes[suffix] += times
        counts.prefixes[prefix] += times
    return counts


class WordParts(TokenVocabularies[tuple[str, str]]):
    """The vocabularies of words, tags, suffixes, prefixes and shapes; immutable. A token is a word with its tag.

    `tables`: one SymbolTable for each of KINDS, and the one of `clusters` if given. `aliases`: tags of another tag set
    -> tags of the vocabulary. Raises DtparseError for another number of tables.
    """

    KINDS = KINDS

    def __init__(
        self,
        tables: Sequence[SymbolTable],
        aliases: Mapping[str, str] | None = None,
        clusters: WordClusters | None = None,
    ):
        super().__init__(tables, clusters)
        self.aliases = dict(aliases or {})

    def __reduce__(self) -> tuple:
        return WordParts, (self.tables, self.aliases, self.clusters)  # without the memo

    def with_aliases(self, aliases: Mapping[str, str]) -> WordParts:
        """Return the same vocabularies with other aliases."""
        return WordParts(self.tables, aliases, self.clusters)

    @classmethod
    def build(
        cls,
        counts: PartCounts,
        min_word_count: int = 2,
        min_affix_count: int = 3,
        max_size: int | None = None,
        clusters: WordClusters | None = None,
    ) -> WordParts:
        """Build vocabularies of words that occur at least `min_word_count` times, suffixes and prefixes that occur at
        least `min_affix_count` times, and tags and clusters that occur at least twice; the most frequent first, at most
        `max_size` of each kind."""
        min_counts = (min_word_count, 2, min_affix_count, min_affix_count)
        lists = [frequent_entries(*limits, max_size) for limits in zip(counts, min_counts, strict=True)]
        names = [] if clusters is None else [frequent_entries(clusters.count_names(counts.words), 2, max_size)]
        return cls([*lists, SHAPES, *names], clusters=clusters)

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Return table rows, int32 (n + 2, len(kinds)); the first and last are for the edges of the sentence."""
        return self._encode([zip(words, tags, strict=True)])

    def encode_all(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[np.ndarray, np.ndarray]:
        """Return (concatenated rows of `encode` of all sentences, row offsets of the sentences int32 (S + 1,))."""
        row_offsets = np.cumsum([0, *(len(words) + 2 for words, _ in sentences)]).astype(INDEX)
        return self._encode(zip(*sentence, strict=True) for sentence in sentences), row_offsets

    def tag_ids(self, tags: Sequence[str]) -> np.ndarray:
        """int32 (n,): ids of tags; unknown tags get the size of the tag vocabulary."""
        known_tags = [self.aliases.get(tag, tag) for tag in tags] if self.aliases else tags
        return self.tables[TAG].encode(known_tags, len(self.tables[TAG]))

    def tags_of(self, rows: np.ndarray) -> np.ndarray:
        """int32 (len(rows),): ids of the tags of tokens, from the `rows` of `encode`. Unknown tags, and the rows before
        and after a sentence, get the size of the tag vocabulary."""
        tag_ids = rows[:, TAG] - (self._offsets[TAG] + FIRST_ENTRY)
        tag_ids[tag_ids < 0] = len(self.tables[TAG])
        return tag_ids

    def features(self, token: tuple[str, str]) -> tuple[str, ...]:
        """Return the features of a word with its tag, in the order of KINDS."""
        word, tag = token
        normal, suffix, prefix, shape = word_parts(word)
        return normal, self.aliases.get(tag, tag), suffix, prefix, shape

    def to_dict(self) -> dict[str, Any]:
        """Return the vocabularies as plain data, without the shapes, which are part of the package."""
        lists: dict[str, Any] = {name: list(table) for name, table in zip(KINDS[:-1], self.tables, strict=False)}
        clusters = {} if self.clusters is None else clusters_to_dict(self.tables[-1], self.clusters)
        return {**lists, **({"aliases": self.aliases} if self.aliases else {}), **clusters}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WordParts:
        """Build from the data of `to_dict`."""
        compact = [CompactSymbolTable(data[name]) for name in ("words", "suffixes", "prefixes")]
        names, clusters = clusters_from_dict(data)
        tables = [compact[0], SymbolTable(data["tags"]), *compact[1:], SHAPES, *names]
        return cls(tables, data.get("aliases"), clusters)
