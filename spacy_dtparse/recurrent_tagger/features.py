"""Encode tokens of running text as ids of words, affixes and shapes: row indices of a recurrent tagger's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from ..nn.clusters import WordClusters, clusters_from_dict, clusters_to_dict
from ..nn.vocabularies import TokenVocabularies, frequent_entries
from ..symbols import CompactSymbolTable
from ..text import normal_word, read_word

KINDS = ("words", "suffixes2", "suffixes3", "suffixes4", "prefixes", "shapes")
"""Kinds of token features. All share one table; each kind has its own range of rows."""
WORD = 0
"""Column of the word in a token's row of ids."""
_RUN = 2
"""Maximum length of a run of one character class in a shape; longer runs are shortened to it."""
LONGEST = 40
"""Number of leading characters of a token that its shape depends on."""


def shape(text: str) -> str:
    """Return a token's character classes: X for capitals, x for other letters, 0 for digits, other characters as they
    are; runs of one class are cut to _RUN."""
    if text.isalpha():  # fast path for most tokens
        if text.islower():
            return "x" * min(_RUN, len(text))
        if text[0].isupper() and text[1:].islower():
            return "X" + "x" * min(_RUN, len(text) - 1)
    classes = ("0" if c.isdigit() else ("X" if c.isupper() else "x") if c.isalpha() else c for c in text[:LONGEST])
    return "".join(c * min(_RUN, len(list(run))) for c, run in groupby(classes))


def token_parts(text: str) -> tuple[str, ...]:
    """Return a token's features in the order of KINDS: its normalized form, the last 2, 3 and 4 and first 3 characters
    of that form, and its shape. White space is reduced to three classes: no line break, one, several."""
    if not text.strip():
        breaks = text.count("\n")
        return ("\n" * min(breaks, 2) or " ",) * len(KINDS)
    normal = normal_word(text)
    return normal, normal[-2:], normal[-3:], normal[-4:], normal[:3], shape(read_word(text))


class TokenParts(TokenVocabularies[str]):
    """The vocabularies of a tagger, one SymbolTable for each of KINDS; immutable."""

    KINDS = KINDS

    def __reduce__(self) -> tuple:
        return TokenParts, (self.tables, self.clusters)  # without the memo

    @classmethod
    def build(
        cls,
        tokens: Mapping[str, int],
        min_count: int = 3,
        max_size: int | None = None,
        clusters: WordClusters | None = None,
    ) -> TokenParts:
        """Build vocabularies from `tokens` (token -> count): features that occur at least `min_count` times, the most
        frequent first, at most `max_size` of each kind."""
        counts: list[Counter[str]] = [Counter() for _ in KINDS]
        for text, times in tokens.items():
            for count, part in zip(counts, token_parts(text), strict=True):
                count[part] += times
        if clusters is not None:
            counts.append(clusters.count_names(counts[WORD]))
        return cls([frequent_entries(count, min_count, max_size) for count in counts], clusters)

    def features(self, token: str) -> tuple[str, ...]:
        """Call `token_parts`."""
        return token_parts(token)

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Return table rows, int32 (n + 2, len(kinds)); the first and last are for the positions around the text."""
        return self._encode([tokens])

    def to_dict(self) -> dict[str, Any]:
        """Return the vocabularies as plain data."""
        clusters = {} if self.clusters is None else clusters_to_dict(self.tables[-1], self.clusters)
        return {**{name: list(table) for name, table in zip(KINDS, self.tables, strict=False)}, **clusters}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TokenParts:
        """Build from the data of `to_dict`."""
        names, clusters = clusters_from_dict(data)
        return cls([*(CompactSymbolTable(data[name]) for name in KINDS), *names], clusters)
