"""Vocabularies of token features, and the rows of an embedding table that stand for the entries."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

import numpy as np

from ..dtypes import INDEX
from ..errors import DtparseError
from ..symbols import Memo, SymbolTable, index_bytes
from .clusters import CLUSTERS, WordClusters

T = TypeVar("T", bound=Hashable)
UNKNOWN_WORD = 0
"""Table row of unknown words: words have the first range of rows, and its first row is for unknown ones."""
_UNKNOWN, _BEFORE, _AFTER, FIRST_ENTRY = 0, 1, 2, 3
"""Offsets in each kind's range of rows: unknown, before the text, after the text, first vocabulary entry."""


def frequent_entries(counts: Counter[str], min_count: int, max_size: int | None) -> SymbolTable:
    """A vocabulary of what occurs at least `min_count` times, the most frequent first, at most `max_size` entries."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return SymbolTable([entry for entry, times in ordered if times >= min_count][:max_size])


class TokenVocabularies(ABC, Generic[T]):
    """The vocabularies of a network's token features; immutable.

    `tables`: one SymbolTable for each kind of feature, words first. All kinds share one embedding table; each has its
    own range of rows. `clusters`: word clusters; then the names of clusters are one more kind. `more_kinds`: further
    kinds, with the features of `more_features`. Raises DtparseError for another number of tables.
    """

    KINDS: ClassVar[tuple[str, ...]]
    """Kinds of token features that every model has."""

    def __init__(
        self, tables: Sequence[SymbolTable], clusters: WordClusters | None = None, more_kinds: tuple[str, ...] = ()
    ):
        self.kinds = (*self.KINDS, *(() if clusters is None else (CLUSTERS,)), *more_kinds)
        self._has_more = bool(more_kinds)
        if len(tables) != len(self.kinds):
            raise DtparseError(f"{len(tables)} lists; give {len(self.kinds)}: {', '.join(self.kinds)}")
        self.tables, self.clusters = tuple(tables), clusters
        self._offsets = [0]
        for table in self.tables:
            self._offsets.append(self._offsets[-1] + FIRST_ENTRY + len(table))
        self._before = index_bytes(start + _BEFORE for start in self._offsets[:-1])
        self._after = index_bytes(start + _AFTER for start in self._offsets[:-1])
        self._lookups = [
            (start + FIRST_ENTRY, table.id_of) for start, table in zip(self._offsets, tables, strict=False)
        ]
        self._row_of_token = Memo(self._row)

    @abstractmethod
    def features(self, token: T) -> tuple[str, ...]:
        """Return the features of a token, in the order of KINDS; the first one is its normalized word."""

    def more_features(self, token: T) -> tuple[str, ...]:
        """Return the features of a token of the kinds `more_kinds`."""
        return ()

    @property
    def size(self) -> int:
        """Number of rows of the table."""
        return self._offsets[-1]

    def _row(self, token: T) -> bytes:
        """Return the row of a token as bytes, which are faster to concatenate than arrays."""
        features = self.features(token)
        if self.clusters is not None:
            features += (self.clusters.name_of(features[0]),)
        if self._has_more:
            features += self.more_features(token)
        pairs = zip(self._lookups, features, strict=True)
        return index_bytes([offset + id_of(part, _UNKNOWN - FIRST_ENTRY) for (offset, id_of), part in pairs])

    def _encode(self, texts: Iterable[Iterable[T]]) -> np.ndarray:
        """Return the table rows of texts, int32 (n, len(kinds)); each has one more row before and one after it."""
        row, rows = self._row_of_token.__getitem__, list[bytes]()
        for tokens in texts:
            rows += [self._before, *map(row, tokens), self._after]
        return np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(len(rows), len(self.kinds))
