"""Growing one tree on a sample: histograms of the signed gradient per atom, with subtraction (kernels)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import BITS, INDEX, OFFSET, SCORE
from spacy_dtparse.kernels.jit import kernel

from .columns import LOW6, ONE, SIX, ZERO, Columns
from .tree import Tree


class Matrix(NamedTuple):
    """The sample of k examples by rows, with a way to look up columns.

    `ids` int32 (k,): numbers of the examples, ascending. `gradient` float64 (k,): their y · w, on a common grid so
    that every sum of them is exact. `indptr` int64 (k + 1,), `atoms` int32: rows. `active` int32 (m,): the atoms that
    are looked at, ascending. `histogram` float64 (n_atoms,): sum of the gradients of each atom's examples.
    `columns`: the column index of all examples, or of the sample when `own_columns` (then its examples are
    numbered 0 to k - 1).
    """

    ids: np.ndarray
    gradient: np.ndarray
    indptr: np.ndarray
    atoms: np.ndarray
    active: np.ndarray
    histogram: np.ndarray
    columns: Columns
    own_columns: bool


class Workspace:
    """Arrays that are used again for every tree (fresh ones cost a page fault per 4 KiB)."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def take(self, name: str, size: int, dtype: type) -> np.ndarray:
        """An array of `size` with whatever was left in it."""
        have = self._arrays.get(name)
        if have is None or len(have) < size:
            have = self._arrays[name] = np.empty(size + size // 8, dtype=dtype)
        return have[:size]


def on_grid(gradient: np.ndarray) -> np.ndarray:
    """`gradient` float64 rounded to a power-of-two grid on which no sum of its numbers rounds (2^-52 of the total)."""
    total = float(np.abs(gradient).sum())
    if total == 0:
        return gradient
    step = 2.0 ** (np.ceil(np.log2(total)) - 51)
    return np.rint(gradient / step) * step


@kernel
def tally_atoms(indptr, atoms, gradient, tally):
    """Gradient (column 0) and weight (1) of each atom into `tally` float64 (n_atoms, 2), 0 on entry."""
    for row in range(len(indptr) - 1):
        g = gradient[row]
        weight = abs(g)
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            atom = np.uint64(atoms[np.uint64(place)])
            tally[atom, 0] += g
            tally[atom, 1] += weight


@kernel
def pick_atoms(tally, floor, active, histogram):
    """Atoms of weight above `floor` into `active`, all gradients into `histogram`; returns the number of atoms."""
    m = 0
    for atom in range(len(tally)):
        histogram[atom] = tally[atom, 0]
        if tally[atom, 1] > floor:
            active[m] = atom
            m += 1
    return m


@kernel
def list_columns(indptr, atoms, starts, postings):
    """Posting lists of a sample's rows; `starts` int64 (n_atoms + 1,) must be 0 on entry."""
    n_atoms = len(starts) - 1
    for place in range(np.uint64(indptr[len(indptr) - 1])):
        starts[np.uint64(atoms[np.uint64(place)]) + ONE] += 1
    for atom in range(n_atoms):
        starts[atom + 1] += starts[atom]
    ends = starts[:-1].copy()
    for row in range(len(indptr) - 1):
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            atom = np.uint64(atoms[np.uint64(place)])
            postings[np.uint64(ends[atom])] = row
            ends[atom] += 1


def make_matrix(
    ids: np.ndarray,
    gradient: np.ndarray,
    indptr: np.ndarray,
    atoms: np.ndarray,
    n_atoms: int,
    floor: float,
    columns: Columns | None,
    space: Workspace,
) -> Matrix:
    """The matrix of a sample, whose atoms of weight at most `floor` are not looked at.

    `columns`: the store's column index; None lists the columns of the sample here.
    """
    tally = space.take("tally", 2 * n_atoms, SCORE)
    tally[:] = 0
    tally = tally.reshape(-1, 2)
    tally_atoms(indptr, atoms, gradient, tally)
    active = space.take("active", n_atoms, INDEX)
    histogram = space.take("histogram", n_atoms, SCORE)
    m = pick_atoms(tally, floor, active, histogram)
    own = columns is None
    if columns is None:
        starts = space.take("starts", n_atoms + 1, OFFSET)
        starts[:] = 0
        postings = space.take("postings", len(atoms), INDEX)
        list_columns(indptr, atoms, starts, postings)
        columns = Columns(np.full(n_atoms, -1, INDEX), np.zeros((1, 1), BITS), starts, postings)
    return Matrix(ids, gradient, indptr, atoms, active[:m], histogram, columns, own)


@kernel
def find_rows(matrix, test, node_of, node, found):
    """Rows of the sample at `node` that have atom `test`, ascending, into `found` int32; returns how many."""
    columns = matrix.columns
    column = columns.slot[test]
    n_found = 0
    if column >= 0:
        bits = columns.bits[column]
        for row in range(len(node_of)):
            if node_of[row] == node:
                example = np.uint64(matrix.ids[row])
                if (bits[example >> SIX] >> (example & LOW6)) & ONE != ZERO:
                    found[n_found] = row
                    n_found += 1
        return n_found
    start, end = columns.starts[test], columns.starts[test + 1]
    if matrix.own_columns:
        for place in range(start, end):
            row = columns.postings[place]
            if node_of[row] == node:
                found[n_found] = row
                n_found += 1
        return n_found
    # two ascending lists: step through the shorter, search the longer from where the last search ended
    k = len(node_of)
    if end - start < k:
        row = 0
        for place in range(start, end):
            row = seek(matrix.ids, row, k, columns.postings[place])
            if row == k:
                break
            if matrix.ids[row] == columns.postings[place] and node_of[row] == node:
                found[n_found] = row
                n_found += 1
    else:
        place = start
        for row in range(k):
            if node_of[row] == node:
                place = seek(columns.postings, place, end, matrix.ids[row])
                if place == end:
                    break
                if columns.postings[place] == matrix.ids[row]:
                    found[n_found] = row
                    n_found += 1
    return n_found


@kernel
def seek(ascending, start, end, wanted):
    """First place from `start` on whose number is not below `wanted` (`end` if none): doubling steps, then halving."""
    step = 1
    low = start
    high = start
    while high < end and ascending[high] < wanted:
        low = high + 1
        high += step
        step <<= 1
    high = min(high, end)
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def gain_of(gradient, penalty, hard):
    """Gain of a compound feature: soft max(0, |g| - λ), or hard |g| above λ, else 0."""
    size = abs(gradient)
    if size <= penalty:
        return 0.0
    return size if hard else size - penalty


@kernel
def best_split(active, histogram, total, penalty, hard):
    """(largest gain of two children, its atom - the lowest of equals -, largest |g| of a child)."""
    best, best_atom, steepest = -1.0, -1, 0.0
    keep = 0.0 if hard else penalty
    for k in range(len(active)):
        g = histogram[np.uint64(active[k])]
        yes = abs(g)
        no = abs(total - g)
        gain = (yes - keep if yes > penalty else 0.0) + (no - keep if no > penalty else 0.0)
        steepest = max(steepest, max(yes, no))
        if gain > best:
            best, best_atom = gain, active[k]
    return best, best_atom, steepest


@kernel
def ceiling(positive, negative, penalty, hard):
    """No split of a node with these sums of weights can have a larger gain."""
    return gain_of(positive, penalty, hard) + gain_of(negative, penalty, hard)


@kernel
def add_rows(matrix, rows, count, histogram, sign):
    """Add sign × the gradients of rows[:count] to the histogram of atoms."""
    indptr, atoms = matrix.indptr, matrix.atoms
    for k in range(count):
        row = rows[k]
        g = sign * matrix.gradient[row]
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            histogram[np.uint64(atoms[np.uint64(place)])] += g


@kernel
def grow(matrix, penalty, hard, split_ratio, root_slack, max_splits, pool, node_of, found, atom, yes, no):
    """Grow one tree best-first into `atom`, `yes`, `no` int32 (2 max_splits + 1,).

    The open leaf whose split adds most gain is split next (equals: the lowest node number). `pool` float64
    (max_splits + 2, n_atoms) holds histograms of open leaves; `node_of` int32 (k,) gets each row's leaf; `found`
    int32 (k,) is scratch.
    Returns (number of nodes, largest |g| of a child of the root).
    """
    k = len(matrix.gradient)
    active = matrix.active
    size = len(atom)
    gain = np.zeros(size)
    best = np.full(size, -1.0)
    best_atom = np.full(size, -1, np.int64)
    positive = np.zeros(size)
    negative = np.zeros(size)
    rows = np.zeros(size, np.int64)
    slot = np.full(size, -1, np.int64)
    free = np.arange(len(pool))[::-1].copy()
    n_free = len(free)
    atom[:] = -1
    yes[:] = -1
    no[:] = -1
    for row in range(k):
        node_of[row] = 0
        g = matrix.gradient[row]
        if g > 0:
            positive[0] += g
        else:
            negative[0] -= g
    rows[0] = k
    gain[0] = gain_of(positive[0] - negative[0], penalty, hard)
    n_free -= 1
    slot[0] = free[n_free]
    pool[slot[0], :] = matrix.histogram
    best[0], best_atom[0], steepest = best_split(active, pool[slot[0]], positive[0] - negative[0], penalty, hard)
    steepest = max(steepest, abs(positive[0] - negative[0]))
    n_nodes = 1
    if best_atom[0] < 0 or not best[0] > gain[0] + root_slack * penalty:
        return n_nodes, steepest
    for _ in range(max_splits):
        node = -1
        most = 0.0
        for candidate in range(n_nodes):
            if slot[candidate] >= 0 and best[candidate] - gain[candidate] > most:
                node, most = candidate, best[candidate] - gain[candidate]
        if node < 0:
            break
        test = best_atom[node]
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        atom[node], yes[node], no[node] = test, left, right
        n_found = find_rows(matrix, test, node_of, node, found)
        rows[left] = n_found
        for place in range(n_found):
            row = found[place]
            node_of[row] = left
            g = matrix.gradient[row]
            if g > 0:
                positive[left] += g
            else:
                negative[left] -= g
        positive[right] = positive[node] - positive[left]
        negative[right] = negative[node] - negative[left]
        rows[right] = rows[node] - rows[left]
        for child in (left, right):
            gain[child] = gain_of(positive[child] - negative[child], penalty, hard)
        small, large = (left, right) if rows[left] <= rows[right] else (right, left)
        n_small = rows[small]
        n_right = 0
        for row in range(k):
            if node_of[row] == node:
                node_of[row] = right
                if small == right:
                    found[n_right] = row
                    n_right += 1
        small_open = ceiling(positive[small], negative[small], penalty, hard) > split_ratio * gain[small]
        large_open = ceiling(positive[large], negative[large], penalty, hard) > split_ratio * gain[large]
        if small_open:
            n_free -= 1
            slot[small] = free[n_free]
            histogram = pool[slot[small]]
            histogram[:] = 0.0
            add_rows(matrix, found, n_small, histogram, 1.0)
            if large_open:
                parent = pool[slot[node]]
                for a in range(len(histogram)):
                    parent[a] -= histogram[a]
        elif large_open:
            add_rows(matrix, found, n_small, pool[slot[node]], -1.0)
        if large_open:
            slot[large] = slot[node]
        else:
            free[n_free] = slot[node]
            n_free += 1
        slot[node] = -1
        for child in (left, right):
            if slot[child] < 0:
                continue
            best[child], best_atom[child], _steepest = best_split(
                active, pool[slot[child]], positive[child] - negative[child], penalty, hard
            )
            if not best[child] > split_ratio * gain[child]:
                free[n_free] = slot[child]
                n_free += 1
                slot[child] = -1
    return n_nodes, steepest


def grow_tree(
    matrix: Matrix,
    penalty: float,
    hard: bool,
    split_ratio: float,
    root_slack: float,
    max_splits: int,
    space: Workspace,
) -> tuple[Tree, float]:
    """(tree, largest |g| of a child of the root); the tree is a single leaf when the root cannot be split."""
    k, n_atoms = len(matrix.gradient), len(matrix.histogram)
    tree = Tree(*(np.empty(2 * max_splits + 1, dtype=INDEX) for _ in range(3)))
    pool = space.take("pool", (max_splits + 2) * n_atoms, SCORE).reshape(max_splits + 2, n_atoms)
    node_of, found = space.take("node_of", k, INDEX), space.take("found", k, INDEX)
    n_nodes, steepest = grow(
        matrix, float(penalty), hard, float(split_ratio), float(root_slack), max_splits, pool, node_of, found, *tree
    )
    return Tree(*(column[:n_nodes].copy() for column in tree)), float(steepest)
