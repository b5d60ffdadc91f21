"""Frozen tables between strings and int32 numbers, and what is remembered of tokens."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from .dtypes import INDEX
from .errors import DtparseError

K = TypeVar("K")
V = TypeVar("V")


class Remembered(dict[K, V]):
    """What `make` makes of a key, looked up like a dict's values. After 50,000 keys all are forgotten, so that memory
    stays bounded; copies and pickles begin anew."""

    def __init__(self, make: Callable[[K], V]):
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        if len(self) >= 50_000:
            self.clear()
        made = self[key] = self._make(key)
        return made

    def __reduce__(self) -> tuple:
        return Remembered, (self._make,)


class SymbolTable:
    """An immutable, ordered set of `strings`; a string's number is its place.

    Raises DtparseError when a string comes twice.
    """

    __slots__ = ("_index", "strings")

    def __init__(self, strings: Iterable[str]):
        self.strings = tuple(strings)
        self._index = {string: number for number, string in enumerate(self.strings)}
        if len(self._index) != len(self.strings):
            twice = next(string for place, string in enumerate(self.strings) if self._index[string] != place)
            raise DtparseError(f"symbol {twice!r} is listed twice; a symbol table lists each string once")

    def __len__(self) -> int:
        return len(self.strings)

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __contains__(self, string: object) -> bool:
        return string in self._index

    def __getitem__(self, number: int) -> str:
        return self.strings[number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolTable) and self.strings == other.strings

    def __hash__(self) -> int:
        return hash(self.strings)

    def __repr__(self) -> str:
        return f"SymbolTable({len(self)} strings)"

    def number(self, string: str, default: int = -1) -> int:
        """The number of `string`, or `default` when it is not in the table."""
        return self._index.get(string, default)

    def encode(self, strings: Iterable[str], default: int = -1) -> np.ndarray:
        """The numbers of `strings` as an int32 array of shape (n,)."""
        get = self._index.get
        return np.array([get(string, default) for string in strings], dtype=INDEX)
