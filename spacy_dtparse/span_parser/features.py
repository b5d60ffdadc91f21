"""Encode tokens as ids of words, tags, affixes and shapes: row indices of a span network's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.ambiguous_tags import has_ambiguous, second_tag
from ..dtypes import INDEX
from ..nn.clusters import WordClusters, clusters_from_dict, clusters_to_dict
from ..nn.vocabularies import FIRST_ENTRY, TokenVocabularies, frequent_entries
from ..symbols import CompactSymbolTable, SymbolTable
from ..text import SHAPES, affixes, normal_word, word_shape

KINDS = ("words", "tags", "suffixes", "prefixes", "shapes")
"""Kinds of token features. All share one table; each kind has its own range of rows."""
SECOND_TAGS = "second_tags"
"""The kind of token features that a network has in addition if it uses second-best tags; its key in a model."""
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
        counts.tags[str(tag)] += times  # without the second-best tag
        counts.words[normal] += times
        counts.suffixes[suffix] += times
        counts.prefixes[prefix] += times
    return counts


class WordParts(TokenVocabularies[tuple[str, ...]]):
    """The vocabularies of words, tags, suffixes, prefixes and shapes; immutable. A token is a word with its tag and, if
    there is one, its second-best tag.

    `tables`: one SymbolTable for each of KINDS, and the one of `clusters` if given. `aliases`: tags of another tag set
    -> tags of the vocabulary. `second_tags`: whether second-best tags are one more kind of features, with the
    vocabulary of tags. Raises DtparseError for another number of tables.
    """

    KINDS = KINDS

    def __init__(
        self,
        tables: Sequence[SymbolTable],
        aliases: Mapping[str, str] | None = None,
        clusters: WordClusters | None = None,
        second_tags: bool = False,
    ):
        more = [tables[TAG]] if second_tags else []
        super().__init__([*tables, *more], clusters, (SECOND_TAGS,) if second_tags else ())
        self.aliases, self.second_tags = dict(aliases or {}), second_tags

    def __reduce__(self) -> tuple:
        return WordParts, (self._own_tables, self.aliases, self.clusters, self.second_tags)  # without the memo

    def with_aliases(self, aliases: Mapping[str, str]) -> WordParts:
        """Return the same vocabularies with other aliases."""
        return WordParts(self._own_tables, aliases, self.clusters, self.second_tags)

    def with_second_tags(self) -> WordParts:
        """Return the same vocabularies with second-best tags; their rows come after all others."""
        return WordParts(self._own_tables, self.aliases, self.clusters, True)

    def second_tag_rows(self) -> slice:
        """The rows of the table that stand for second-best tags, without those for none."""
        return slice(self.size - len(self.tables[TAG]) if self.second_tags else self.size, self.size)

    @property
    def _own_tables(self) -> tuple[SymbolTable, ...]:
        return self.tables[:-1] if self.second_tags else self.tables

    @classmethod
    def build(
        cls,
        counts: PartCounts,
        min_word_count: int = 2,
        min_affix_count: int = 3,
        max_size: int | None = None,
        clusters: WordClusters | None = None,
        second_tags: bool = False,
    ) -> WordParts:
        """Build vocabularies of words that occur at least `min_word_count` times, suffixes and prefixes that occur at
        least `min_affix_count` times, and tags and clusters that occur at least twice; the most frequent first, at most
        `max_size` of each kind."""
        min_counts = (min_word_count, 2, min_affix_count, min_affix_count)
        lists = [frequent_entries(*limits, max_size) for limits in zip(counts, min_counts, strict=True)]
        names = [] if clusters is None else [frequent_entries(clusters.count_names(counts.words), 2, max_size)]
        return cls([*lists, SHAPES, *names], clusters=clusters, second_tags=second_tags)

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Return table rows, int32 (n + 2, len(kinds)); the first and last are for the edges of the sentence."""
        return self._encode([self._tokens(words, tags)])

    def encode_all(self, sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[np.ndarray, np.ndarray]:
        """Return (concatenated rows of `encode` of all sentences, row offsets of the sentences int32 (S + 1,))."""
        row_offsets = np.cumsum([0, *(len(words) + 2 for words, _ in sentences)]).astype(INDEX)
        return self._encode(self._tokens(*sentence) for sentence in sentences), row_offsets

    def _tokens(self, words: Sequence[str], tags: Sequence[str]) -> Iterable[tuple[str, ...]]:
        pairs = zip(words, tags, strict=True)
        if not self.second_tags or not has_ambiguous(tags):
            return pairs
        return [(word, tag, second_tag(tag)) if second_tag(tag) else (word, tag) for word, tag in pairs]

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

    def more_features(self, token: tuple[str, ...]) -> tuple[str, ...]:
        """Return the second-best tag of a token, or ""."""
        second = "".join(token[2:])
        return (self.aliases.get(second, second),)

    def features(self, token: tuple[str, ...]) -> tuple[str, ...]:
        """Return the features of a word with its tag, in the order of KINDS."""
        word, tag = token[:2]
        normal, suffix, prefix, shape = word_parts(word)
        return normal, self.aliases.get(tag, tag), suffix, prefix, shape

    def to_dict(self) -> dict[str, Any]:
        """Return the vocabularies as plain data, without the shapes, which are part of the package."""
        lists: dict[str, Any] = {name: list(table) for name, table in zip(KINDS[:-1], self.tables, strict=False)}
        clusters = {} if self.clusters is None else clusters_to_dict(self._own_tables[-1], self.clusters)
        optional = {"aliases": self.aliases, SECOND_TAGS: self.second_tags}
        return {**lists, **{key: value for key, value in optional.items() if value}, **clusters}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WordParts:
        """Build from the data of `to_dict`."""
        compact = [CompactSymbolTable(data[name]) for name in ("words", "suffixes", "prefixes")]
        names, clusters = clusters_from_dict(data)
        tables = [compact[0], SymbolTable(data["tags"]), *compact[1:], SHAPES, *names]
        return cls(tables, data.get("aliases"), clusters, data.get(SECOND_TAGS, False))
