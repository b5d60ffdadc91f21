"""Immutable tables that map strings to int32 ids, and memo dictionaries."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from .dtypes import INDEX
from .errors import DtparseError

K = TypeVar("K")
V = TypeVar("V")
_N_FREQUENT = 1000
"""Number of strings at the start of a `CompactSymbolTable` that are looked up in a dictionary."""


def index_bytes(values: Iterable[int]) -> bytes:
    """The bytes of an INDEX array of a few numbers; faster than via numpy."""
    return array("i", values).tobytes()


class Memo(dict[K, V]):
    """Memo dictionary: a missing key is computed by `make`. It is emptied when it has 8,192 keys, so memory stays
    bounded. Copies and pickles start empty."""

    def __init__(self, make: Callable[[K], V]):
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        if len(self) >= 8_192:
            self.clear()
        value = self[key] = self._make(key)
        return value

    def __reduce__(self) -> tuple:
        return Memo, (self._make,)


class IdMap(dict[K, int]):
    """Map each key to an id: the keys of `first` in order, then others in the order of their first look-up."""

    def __init__(self, first: Iterable[K] = ()):
        super().__init__()
        for key in first:
            self[key]

    def __missing__(self, key: K) -> int:
        self[key] = index = len(self)
        return index


class SymbolTable:
    """Immutable, ordered set of `strings`; the id of a string is its index.

    Raises DtparseError if a string is listed twice.
    """

    __slots__ = ("_index", "strings")

    def __init__(self, strings: Iterable[str]):
        self.strings = tuple(strings)
        self._index = {string: index for index, string in enumerate(self.strings)}
        if len(self._index) != len(self.strings):
            repeated = next(string for i, string in enumerate(self.strings) if self._index[string] != i)
            raise DtparseError(f"symbol {repeated!r} is listed twice; a symbol table lists each string once")

    def __len__(self) -> int:
        return len(self.strings)

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __contains__(self, string: object) -> bool:
        return string in self._index

    def __getitem__(self, index: int) -> str:
        return self.strings[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolTable) and self.strings == other.strings

    def __hash__(self) -> int:
        return hash(self.strings)

    def __repr__(self) -> str:
        return f"SymbolTable({len(self)} strings)"

    def id_of(self, string: str, default: int = -1) -> int:
        """The id of `string`, or `default` if it is not in the table."""
        return self._index.get(string, default)

    def encode(self, strings: Iterable[str], default: int = -1) -> np.ndarray:
        """int32 (n,): the ids of `strings`."""
        get = self._index.get
        return np.array([get(string, default) for string in strings], dtype=INDEX)


class CompactSymbolTable(SymbolTable):
    """SymbolTable for very many strings, in a sixth of the memory: all strings are stored as UTF-8 in one bytes object.
    Look-up is some tenths of a microsecond slower, except for the first 1,000 strings, which should be the most
    frequent."""

    __slots__ = ("_bytes", "_ends", "_frequent", "_half", "_order", "_shift", "_starts")

    def __init__(self, strings: Iterable[str]):
        strings = strings if isinstance(strings, list | tuple) else list(strings)
        self._frequent = {string: index for index, string in enumerate(strings[:_N_FREQUENT])}
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        self._bytes = b"".join(encoded)
        self._ends = _offsets(np.fromiter(map(len, encoded), np.int64, len(strings)))
        hashes = np.fromiter(map(hash, strings), np.int64, len(strings))
        order = np.argsort(hashes)
        hashes = hashes[order]
        if (hashes[1:] == hashes[:-1]).any():
            SymbolTable(strings)  # raises the error if a string is listed twice
        bits = max(1, len(strings).bit_length())
        self._shift, self._half = 64 - bits, 1 << bits >> 1
        self._order = array("i", order.astype(np.intc).tobytes())
        self._starts = _offsets(np.bincount((hashes >> self._shift) + self._half, minlength=1 << bits))

    @property
    def strings(self) -> tuple[str, ...]:  # type: ignore[override]
        """All strings, decoded at each access."""
        return tuple(self)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[str]:
        data, ends = self._bytes, self._ends
        return (data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends))

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.id_of(string) >= 0

    def __getitem__(self, index: int) -> str:
        index = range(len(self))[index]
        return self._bytes[self._ends[index] : self._ends[index + 1]].decode("utf-8", "surrogatepass")

    def __reduce__(self) -> tuple[Any, ...]:
        return CompactSymbolTable, (self.strings,)  # string hashes differ between processes

    def id_of(self, string: str, default: int = -1) -> int:
        index = self._frequent.get(string)
        if index is not None:
            return index
        slot = (hash(string) >> self._shift) + self._half
        start, end = self._starts[slot], self._starts[slot + 1]
        if start < end:
            sought, ends, data = string.encode("utf-8", "surrogatepass"), self._ends, self._bytes
            while start < end:
                index = self._order[start]
                if data[ends[index] : ends[index + 1]] == sought:
                    return index
                start += 1
        return default

    def encode(self, strings: Iterable[str], default: int = -1) -> np.ndarray:
        return np.array([self.id_of(string, default) for string in strings], dtype=INDEX)


def _offsets(sizes: np.ndarray) -> array:
    """Offsets of consecutive pieces of these sizes, with the end of the last piece; an `array`, because single elements
    are read faster from it than from a numpy array."""
    return array("i", np.concatenate([[0], np.cumsum(sizes)]).astype(np.intc).tobytes())
