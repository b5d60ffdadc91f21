"""The sample that a tree is grown on: rows, gradients, and column lookup."""

from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import BITS, INDEX, OFFSET, SCORE
from spacy_dtparse.jit.decorator import kernel

from .columns import LOW6, ONE, SIX, FeatureColumns, lower_bound


class Matrix(NamedTuple):
    """A sample of k examples by rows, with column lookup.

    `ids` int32 (k,): indices of the examples, ascending. `gradient` float64 (k,): their y · w, on a common grid so that
    every sum of them is exact. `indptr` int64 (k + 1,), `atoms` int32: rows. `histogram` float64 (n_atoms,): sum of the
    gradients of each atom's examples.
    `columns`: the column index of all examples, or of the sample if `own_columns` (then the indices of its examples are
    0 to k - 1). `present` uint64: bitset of `ids` among all examples (unused with `own_columns`).
    """

    ids: np.ndarray
    gradient: np.ndarray
    indptr: np.ndarray
    atoms: np.ndarray
    histogram: np.ndarray
    columns: FeatureColumns
    own_columns: bool
    present: np.ndarray


class MatrixWorkspace:
    """Arrays reused for every tree (new ones cost a page fault per 4 KiB)."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def take(self, name: str, size: int, dtype: type) -> np.ndarray:
        """Return an array of `size` with undefined contents."""
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = np.empty(size + size // 8, dtype=dtype)
        return array[:size]


def on_grid(gradient: np.ndarray) -> np.ndarray:
    """Round `gradient` float64 to a power-of-two grid (2^-52 of the total) on which all sums of its values are
    exact."""
    total = float(np.abs(gradient).sum())
    if total == 0:
        return gradient
    step = 2.0 ** (np.ceil(np.log2(total)) - 51)
    return np.rint(gradient / step) * step


@kernel
def list_columns(indptr, atoms, starts, postings):
    """Write the posting lists of a sample's rows; `starts` int64 (n_atoms + 1,) must be 0 on entry."""
    n_atoms = len(starts) - 1
    for position in range(np.uint64(indptr[len(indptr) - 1])):
        starts[np.uint64(atoms[np.uint64(position)]) + ONE] += 1
    for atom in range(n_atoms):
        starts[atom + 1] += starts[atom]
    ends = starts[:-1].copy()
    # Rows ascend, so every list is sorted.
    for row in range(len(indptr) - 1):
        for position in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            column = np.uint64(atoms[np.uint64(position)])
            postings[np.uint64(ends[column])] = row
            ends[column] += 1


@kernel
def add_rows(indptr, atoms, gradient, rows, count, sign, histogram):
    """Add sign × the gradients of rows[:count] to the histogram of atoms."""
    for k in range(count):
        row = np.uint64(rows[k])
        g = sign * gradient[row]
        for position in range(np.uint64(indptr[row]), np.uint64(indptr[row + ONE])):
            histogram[np.uint64(atoms[np.uint64(position)])] += g


@kernel
def sum_rows(gradient, rows, count):
    """Return (weight of the positives, of the negatives) of rows[:count]; exact, as all gradients are on one grid."""
    total = weight = 0.0
    for k in range(count):
        g = gradient[np.uint64(rows[k])]
        total += g
        weight += abs(g)
    return (weight + total) * 0.5, (weight - total) * 0.5


def make_matrix(
    ids: np.ndarray,
    gradient: np.ndarray,
    indptr: np.ndarray,
    atoms: np.ndarray,
    n_atoms: int,
    columns: FeatureColumns | None,
    space: MatrixWorkspace,
) -> Matrix:
    """Build the matrix of a sample. `columns`: the store's column index; None: build one for the sample."""
    histogram = space.take("histogram", n_atoms, SCORE)
    histogram[:] = 0
    add_rows(indptr, atoms, gradient, np.arange(len(ids), dtype=INDEX), len(ids), 1.0, histogram)
    if columns is not None:
        present = space.take("present", columns.bits.shape[1], BITS)
        present[:] = 0
        set_present(ids, present)
        return Matrix(ids, gradient, indptr, atoms, histogram, columns, False, present)
    starts, postings = space.take("starts", n_atoms + 1, OFFSET), space.take("postings", len(atoms), INDEX)
    starts[:] = 0
    list_columns(indptr, atoms, starts, postings)
    columns = FeatureColumns(np.full(n_atoms, -1, INDEX), np.zeros((1, 1), BITS), starts, postings)
    return Matrix(ids, gradient, indptr, atoms, histogram, columns, True, np.zeros(0, BITS))


@kernel
def find_rows(matrix, test, tag_of, tag, found):
    """Write the rows of the sample tagged `tag` that have atom `test` to `found` int32, ascending; returns their
    number. The loops have no branches on the data: the processor could not predict them."""
    columns, ids, k = matrix.columns, matrix.ids, len(matrix.ids)
    column, n_found = columns.slot[test], 0
    if column >= 0:
        bits = columns.bits[column]
        for row in range(k):
            example = np.uint64(ids[row])
            has = (bits[example >> SIX] >> (example & LOW6)) & ONE
            found[np.uint64(n_found)] = row
            n_found += int(has) & int(tag_of[row] == tag)
        return n_found
    start, end, postings = columns.starts[test], columns.starts[test + 1], columns.postings
    if matrix.own_columns:
        for position in range(start, end):
            member = np.uint64(postings[position])
            found[np.uint64(n_found)] = member
            n_found += int(tag_of[member] == tag)
        return n_found
    # few members of the posting list are in the sample; their rows are then looked up in order
    hits = row = 0
    for position in range(np.uint64(start), np.uint64(end)):
        example = np.uint64(postings[np.uint64(position)])
        found[np.uint64(hits)] = example
        hits += int((matrix.present[example >> SIX] >> (example & LOW6)) & ONE)
    for hit in range(hits):
        row = seek(ids, row, k, found[hit])
        found[n_found] = row
        n_found += int(tag_of[row] == tag)
    return n_found


@kernel
def set_present(ids, present):
    """Set the bits of the examples `ids` in the bitset `present`."""
    for k in range(len(ids)):
        example = np.uint64(ids[k])
        present[example >> SIX] |= ONE << (example & LOW6)


@kernel
def seek(ascending, start, end, wanted):
    """First index, at least `start`, whose value is not below `wanted` (`end` if none): doubling steps, then
    halving."""
    high, step = start, 1
    while high < end and ascending[high] < wanted:
        start = high + 1
        high += step
        step <<= 1
    return lower_bound(ascending, start, min(high, end), wanted)
