"""Emissions of word classes, and a grammar with latent annotations as part of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import INDEX, OFFSET, SCORE
from ...errors import ModelFormatError
from ...model_io.schema import Array
from ...model_io.segments import any_positive, select_segments
from ...stored_names import stored_as, stored_names, to_stored
from ..kernels.latent import LatentRules

MAX_VALUES = 1024
"""Maximum number of latent values of a symbol."""


def child_ranges(n: int, binary: np.ndarray, unary: np.ndarray) -> np.ndarray:
    """int32 (n, 4): ranges of the binary rules, then of the unary rules, of each left child in a list of rules.
    `binary`, `unary`: the rules' left children, ascending."""
    columns = [np.searchsorted(lefts, np.arange(n), side) for lefts in (binary, unary) for side in ("left", "right")]
    ranges = np.stack(columns, axis=1).astype(INDEX)
    ranges[:, 2:] += len(binary)
    return ranges


def pair_starts(n: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """int32 (n, n + 1): the binary rules with the children b and c are at [[b, c], [b, c + 1]) of a list that is sorted
    by left child, then right child."""
    keys = left.astype(OFFSET) * (n + 1) + right
    return np.searchsorted(keys, np.arange(n * (n + 1))).reshape(n, n + 1).astype(INDEX)


@stored_as("from_class", "symbol", "weight", "floor")
class Emissions(NamedTuple):
    """Log probabilities of word classes.

    `from_class` int64 (C + 1,): the entries of class c are [from_class[c], from_class[c + 1]); `symbol` int32 (E,),
    ascending in a class, `weight` float64 (E,): tags that the class was seen with. `floor` float64 (S,): weight of a
    class that was never seen with a symbol, used if the tag is given; nan for symbols that are not tags.
    """

    from_class: np.ndarray
    symbol: np.ndarray
    weight: np.ndarray
    floor: np.ndarray

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Emissions:
        """Build the emissions from the arrays of a grammar."""
        return cls(*(as_type(arrays[name], dtype) for name, dtype in zip(stored_names(cls), _TYPES, strict=True)))

    def check(self, n: int, kind: str) -> None:
        """Raise ModelFormatError unless the tables are consistent and all symbols are below n; `kind`: their name in
        messages."""
        ends = self.from_class
        fits = len(self.floor) == n and len(self.symbol) == len(self.weight) and len(ends)
        if not fits or ends[0] != 0 or ends[-1] != len(self.symbol) or np.any(ends[1:] < ends[:-1]):
            raise ModelFormatError(f"the emissions' tables do not fit {n} {kind}s; write the model again")
        if len(self.symbol) and not 0 <= int(self.symbol.min()) <= int(self.symbol.max()) < n:
            raise ModelFormatError(f"an emission names a {kind} outside of the {n} there are; write the model again")


_TYPES = (OFFSET, INDEX, SCORE, SCORE)
_TOLERANCE = 1e-9
"""Tolerance above 0 for logs of probabilities."""


def declare_emissions(prefix: str, below: int | str | None) -> dict[str, Array]:
    """Declare the arrays of Emissions in a file; their names begin with the prefix. `below`: bound of their symbols."""
    entries = f"{prefix}entries"
    return {
        f"{prefix}from_class": Array("int64", ("classes and one",), 0),
        f"{prefix}symbol": Array("int32", (entries,), 0, below=below),
        f"{prefix}weight": Array("float64", (entries,), maximum=_TOLERANCE),
        f"{prefix}floor": Array("float64", (None if below is None else below,), maximum=_TOLERANCE, missing=True),
    }


def as_type(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Convert an array of a file to the given type and C order, as the kernels expect."""
    return np.ascontiguousarray(array.astype(dtype))


@dataclass(frozen=True)
class LatentPart:
    """A grammar with latent annotations over the S symbols of the coarse grammar.

    `sizes` int32 (S,): number of latent values of each symbol. `rules` int32 (R, 3): parent, left, right (-1: unary).
    `values` float64: the rules' probabilities in consecutive blocks, [y, z, x] for X -> Y Z and [y, x] for X -> Y (x of
    the parent). `emissions`: of all latent values, starting with those of symbol 0.

    Raises ModelFormatError if they are inconsistent.
    """

    sizes: np.ndarray
    rules: np.ndarray
    values: np.ndarray
    emissions: Emissions

    def __post_init__(self) -> None:
        n = len(self.sizes)
        if self.rules.shape != (len(self.rules), 3) or not len(self.rules) or int(self.sizes.min(initial=0)) < 0:
            raise ModelFormatError("a latent grammar without rules, or with sizes below 0; write the model again")
        low, high = int(self.rules[:, :2].min()), int(self.rules.max())
        if low < 0 or high >= n or int(self.rules[:, 2].min()) < -1:
            raise ModelFormatError(f"a latent rule names a symbol outside of the {n} there are; write the model again")
        if int(self.starts[-1]) != len(self.values) or not bool(np.all((self.values >= 0.0) & (self.values <= 1.0))):
            raise ModelFormatError("the latent rules' probabilities do not fit their sizes; write the model again")
        self.emissions.check(int(self.sizes.sum()), "latent value")

    @cached_property
    def starts(self) -> np.ndarray:
        """int64 (R + 1,): offsets of the rules' blocks in `values`."""
        wide = np.concatenate([self.sizes, [1]]).astype(OFFSET)
        return np.concatenate([[0], np.cumsum(wide[self.rules].prod(axis=1))]).astype(OFFSET)

    @cached_property
    def first(self) -> np.ndarray:
        """int64 (S + 1,): index of each symbol's first latent value."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(OFFSET)

    @cached_property
    def kernel(self) -> LatentRules:
        """Rules for the kernels, sorted by left child: binary ones, then unary ones; without rows of zeros."""
        is_unary = self.rules[:, 2] < 0
        order = np.lexsort((self.rules[:, 0], self.rules[:, 2], self.rules[:, 1], is_unary))
        parent, left, right = np.ascontiguousarray(self.rules[order].T)
        n_binary = int(np.count_nonzero(~is_unary))
        n = len(self.sizes)
        ranges = child_ranges(n, left[:n_binary], left[n_binary:])
        pair_from = pair_starts(n, left[:n_binary], right[:n_binary])
        wide = np.concatenate([self.sizes, [1]]).astype(OFFSET)
        n_rows = wide[self.rules[:, 1]] * wide[self.rules[:, 2]]
        row_at = np.concatenate([[0], np.cumsum(n_rows)])
        at = np.concatenate([[0], np.cumsum(np.repeat(wide[self.rules[:, 0]], n_rows))])
        rule_offsets, rows = select_segments(row_at, order)  # all rows, in the rules' new order
        is_nonzero = any_positive(self.values, at)[rows]
        row_from = np.concatenate([[0], np.cumsum(is_nonzero)])[rule_offsets]
        rule, rows = np.repeat(np.arange(len(order)), n_rows[order])[is_nonzero], rows[is_nonzero]
        new_at, positions = select_segments(at, rows)
        values = np.divmod(rows - row_at[order[rule]], wide[right[rule]])
        return LatentRules(
            sizes=self.sizes.astype(INDEX),
            ranges=ranges,
            parent=parent,
            left=left,
            right=right,
            row_from=row_from.astype(INDEX),
            rows=np.stack(values, axis=1).astype(INDEX),
            at=new_at[row_from[:-1]],
            values=self.values[positions],
            pair_from=pair_from,
        )

    @staticmethod
    def declare_arrays(prefix: str) -> dict[str, Array]:
        """Declare the arrays in a file; their names begin with the prefix."""
        return {
            f"{prefix}sizes": Array("int32", ("coarse",), 0, MAX_VALUES),
            f"{prefix}rules": Array("int32", (f"{prefix}rules", 3), -1, below="coarse"),
            f"{prefix}values": Array("float64", (f"{prefix}values",), 0, 1),
            **declare_emissions(prefix, None),
        }

    def vectors(self, class_id: int, tag_symbols: np.ndarray | None) -> list[tuple[int, np.ndarray]]:
        """Return (symbol, probabilities of a word of class `class_id` under each latent value) for the possible tags of
        the word: all tags that its class was seen with, or only the given symbols."""
        e = self.emissions
        low, high = int(e.from_class[class_id]), int(e.from_class[class_id + 1])
        owner = np.searchsorted(self.first, e.symbol[low:high], "right") - 1
        wanted = np.unique(owner) if tag_symbols is None else tag_symbols
        known = wanted[np.isin(wanted, owner)]
        first = self.first.tolist()
        if not len(known):
            return [(s, np.exp(e.floor[first[s] : first[s + 1]])) for s in wanted.tolist()]
        every = np.zeros(first[-1])
        every[e.symbol[low:high]] = np.exp(e.weight[low:high])
        return [(s, every[first[s] : first[s + 1]].copy()) for s in known.tolist()]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a file contains, by name; `from_arrays` is the inverse."""
        return {"sizes": self.sizes, "rules": self.rules, "values": self.values, **to_stored(self.emissions)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> LatentPart:
        """Build a grammar from its `arrays`."""
        sizes, rules = (as_type(arrays[name], INDEX) for name in ("sizes", "rules"))
        return cls(sizes, rules, as_type(arrays["values"], SCORE), Emissions.from_arrays(arrays))
