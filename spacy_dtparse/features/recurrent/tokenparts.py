"""Tokens of running text as numbers of words, affixes and shapes: the rows of a recurrent tagger's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...errors import DtparseError
from ...symbols import LongTable, Remembered, SymbolTable, packed
from ...text import normal_word

KINDS = ("words", "suffixes2", "suffixes3", "suffixes4", "prefixes", "shapes")
"""What is known of a token, each with numbers of its own in the one table."""
WORD = 0
"""Column of the word among a token's numbers."""
UNKNOWN_WORD = 0
"""Row of words that are not listed: the words' numbers come first, and theirs is the first of them."""
_UNKNOWN, _BEFORE, _AFTER, _FIRST = 0, 1, 2, 3
"""Places in each kind's range: what is not listed, the places before and after a text, the first that is listed."""
_RUN = 2
"""Characters of one class in a row that a shape tells apart from fewer."""
LONGEST = 40
"""Characters of a token that count for its shape."""


def shape(text: str) -> str:
    """The classes of a token's characters, X for capitals, x for other letters, 0 for digits, others as they are; of a
    run of one class no more than _RUN."""
    if text.isalpha():  # most tokens, without a look at each character
        if text.islower():
            return "x" * min(_RUN, len(text))
        if text[0].isupper() and text[1:].islower():
            return "X" + "x" * min(_RUN, len(text) - 1)
    classes = ("0" if c.isdigit() else ("X" if c.isupper() else "x") if c.isalpha() else c for c in text[:LONGEST])
    return "".join(c * min(_RUN, len(list(run))) for c, run in groupby(classes))


def token_parts(text: str) -> tuple[str, ...]:
    """Of a token, in the order of KINDS: its normal form, its last 2, 3 and 4 and first 3 characters in that form, and
    its shape. All white space is of three sorts: without a line break, with one, with more."""
    if not text.strip():
        breaks = text.count("\n")
        return ("\n" * min(breaks, 2) or " ",) * len(KINDS)
    normal = normal_word(text)
    return normal, normal[-2:], normal[-3:], normal[-4:], normal[:3], shape(text)


class TokenParts:
    """The lists of what has a number, one SymbolTable for each of KINDS; immutable.

    Raises DtparseError for another number of them.
    """

    def __init__(self, tables: Sequence[SymbolTable]):
        if len(tables) != len(KINDS):
            raise DtparseError(f"{len(tables)} lists; give {len(KINDS)}: {', '.join(KINDS)}")
        self.tables = tuple(tables)
        self._from = [0]
        for table in self.tables:
            self._from.append(self._from[-1] + _FIRST + len(table))
        self._before = packed(start + _BEFORE for start in self._from[:-1])
        self._after = packed(start + _AFTER for start in self._from[:-1])
        self._found = [(start + _FIRST, table.number) for start, table in zip(self._from, self.tables, strict=False)]
        self._of_token = Remembered(self._row)

    def __reduce__(self) -> tuple:
        return TokenParts, (self.tables,)  # without what is remembered

    @classmethod
    def build(cls, tokens: Mapping[str, int], least: int = 3, most: int | None = None) -> TokenParts:
        """The lists of what occurs at least `least` times in `tokens`, the times that each occurs; the most frequent
        first, and no more than `most` of a kind."""
        counts: list[Counter[str]] = [Counter() for _ in KINDS]
        for text, times in tokens.items():
            for count, part in zip(counts, token_parts(text), strict=True):
                count[part] += times
        return cls([
            SymbolTable(
                [part for part, times in sorted(count.items(), key=lambda x: (-x[1], x[0])) if times >= least][:most]
            )
            for count in counts
        ])  # fmt: skip

    @property
    def size(self) -> int:
        """The number of rows of the table."""
        return self._from[-1]

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Rows of the table as int32 (n + 2, len(KINDS)): those before and after the text are rows 0 and -1."""
        rows = [self._before, *map(self._of_token.__getitem__, tokens), self._after]
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), len(KINDS))

    def _row(self, text: str) -> bytes:
        """The row of a token, as bytes, which are joined faster than arrays."""
        parts = token_parts(text)
        return packed(
            [first + find(part, _UNKNOWN - _FIRST) for (first, find), part in zip(self._found, parts, strict=True)]
        )

    def to_dict(self) -> dict[str, Any]:
        """The lists as plain data."""
        return {name: list(table) for name, table in zip(KINDS, self.tables, strict=True)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TokenParts:
        """The reverse of `to_dict`."""
        return cls([LongTable(data[name]) for name in KINDS])
