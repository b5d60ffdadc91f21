"""Growing one tree on a sample: histograms of the signed gradient per atom, with subtraction."""

from __future__ import annotations

import numpy as np

from spacy_dtparse.dtypes import INDEX, SCORE
from spacy_dtparse.kernels.jit import kernel

from .matrix import Matrix, Workspace, add_rows, find_rows, sum_rows
from .tree import Tree

_BLOCK = 1024


@kernel
def gain_of(gradient, penalty, hard):
    """Gain of a compound feature: soft max(0, |g| - λ), or hard |g| above λ, else 0."""
    size = abs(gradient)
    if size <= penalty:
        return 0.0
    return size if hard else size - penalty


@kernel
def best_split(histogram, total, penalty, hard):
    """(largest gain of two children, its atom: the lowest of equals).

    Gains are not negative, so their bits order like integers, and a maximum of integers runs in vector
    registers.
    """
    gains = np.empty(_BLOCK, np.float64)
    ordered = gains.view(np.int64)
    keep = 0.0 if hard else penalty
    best = -1.0
    best_atom = -1
    for first in range(0, len(histogram), _BLOCK):
        part = histogram[first : first + _BLOCK]
        for j in range(len(part)):
            g = part[j]
            yes = abs(g)
            no = abs(total - g)
            gains[j] = (yes - keep if yes > penalty else 0.0) + (no - keep if no > penalty else 0.0)
        highest = np.int64(0)
        for j in range(len(part)):
            highest = max(highest, ordered[j])
        j = 0
        while ordered[j] != highest:
            j += 1
        if gains[j] > best:
            best, best_atom = gains[j], first + j
    return best, best_atom


@kernel
def steepest_child(histogram, total):
    """Largest |gradient| of a child of the root, over all atoms; at least the root's own."""
    steepest = abs(total)
    for atom in range(len(histogram)):
        steepest = max(steepest, max(abs(histogram[atom]), abs(total - histogram[atom])))
    return steepest


@kernel
def ceiling(positive, negative, penalty, hard):
    """No split of a node with these sums of weights can have a larger gain."""
    return gain_of(positive, penalty, hard) + gain_of(negative, penalty, hard)


@kernel
def _most_gain(slot, best, gain):
    """The open leaf whose split adds most gain, the lowest of equals; -1 where none adds any."""
    node = -1
    most = 0.0
    for candidate in range(len(slot)):
        if slot[candidate] >= 0 and best[candidate] - gain[candidate] > most:
            node, most = candidate, best[candidate] - gain[candidate]
    return node


@kernel
def _rows_with(tag_of, tag, found):
    """List the rows of a leaf in `found`; how many there are."""
    count = np.int64(0)
    for row in range(len(tag_of)):
        found[np.uint64(count)] = row
        count += np.int64(tag_of[row] == tag)
    return count


@kernel
def _sum_children(matrix, subtraction, small_open, large_open, tag_of, large_tag, found, n_found, smaller, parent):
    """Histograms of the children that stay open: that of the smaller one, whose rows are `found`[:n_found], to
    `smaller`, that of the larger one in place of the parent's."""
    indptr, atoms, gradient = matrix.indptr, matrix.atoms, matrix.gradient
    if small_open:
        smaller[:] = 0.0
        add_rows(indptr, atoms, gradient, found, n_found, 1.0, smaller)
    if large_open and not subtraction:
        n_found = _rows_with(tag_of, large_tag, found)
        parent[:] = 0.0
        add_rows(indptr, atoms, gradient, found, n_found, 1.0, parent)
    elif large_open and small_open:
        for a in range(len(parent)):
            parent[a] -= smaller[a]
    elif large_open:
        add_rows(indptr, atoms, gradient, found, n_found, -1.0, parent)


@kernel
def grow(
    matrix, penalty, hard, split_ratio, root_slack, max_splits, subtraction, pool, tag_of, found, atom, yes, no
):
    """Grow one tree best-first into `atom`, `yes`, `no` int32 (2 max_splits + 1,).

    The open leaf whose split adds most gain is split next (equals: the lowest node number). `pool` float64
    (max_splits + 2, n_atoms) holds histograms of open leaves; `tag_of` int16 (k,) and `found` int32 (k,) are
    scratch: a row's tag tells its leaf (an absent atom's side keeps the tag of the parent). Without `subtraction`
    the larger child's histogram is summed up from its rows.
    Returns (number of nodes, largest |g| of a child of the root).
    """
    gradient = matrix.gradient
    k, size = len(gradient), len(atom)
    gain, positive, negative = np.zeros(size), np.zeros(size), np.zeros(size)
    best, best_atom = np.full(size, -1.0), np.full(size, -1, np.int64)
    rows, tag, slot = np.zeros(size, np.int64), np.zeros(size, np.int16), np.full(size, -1, np.int64)
    free = np.arange(len(pool))[::-1].copy()
    n_free = len(free)
    atom[:] = -1
    yes[:] = -1
    no[:] = -1
    tag_of[:] = 0
    found[:k] = np.arange(k)
    n_tags, rows[0] = 1, k
    positive[0], negative[0] = sum_rows(gradient, found, k)
    total = positive[0] - negative[0]
    gain[0] = gain_of(total, penalty, hard)
    best[0], best_atom[0] = best_split(matrix.histogram, total, penalty, hard)
    steepest = steepest_child(matrix.histogram, total)
    n_nodes = 1
    if best_atom[0] < 0 or not best[0] > gain[0] + root_slack * penalty:
        return n_nodes, steepest
    n_free -= 1
    slot[0] = free[n_free]
    pool[slot[0], :] = matrix.histogram
    for _ in range(max_splits):
        node = _most_gain(slot[:n_nodes], best, gain)
        if node < 0:
            break
        test = best_atom[node]
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        atom[node], yes[node], no[node] = test, left, right
        tag[left], tag[right] = n_tags, tag[node]
        n_tags += 1
        n_found = find_rows(matrix, test, tag_of, tag[node], found)
        for place in range(n_found):
            tag_of[np.uint64(found[place])] = tag[left]
        rows[left], rows[right] = n_found, rows[node] - n_found
        positive[left], negative[left] = sum_rows(gradient, found, n_found)
        positive[right] = positive[node] - positive[left]
        negative[right] = negative[node] - negative[left]
        for child in (left, right):
            gain[child] = gain_of(positive[child] - negative[child], penalty, hard)
        small, large = (left, right) if rows[left] <= rows[right] else (right, left)
        small_open = ceiling(positive[small], negative[small], penalty, hard) > split_ratio * gain[small]
        large_open = ceiling(positive[large], negative[large], penalty, hard) > split_ratio * gain[large]
        if small == right and (small_open or large_open):
            n_found = _rows_with(tag_of, tag[right], found)
        if small_open:
            n_free -= 1
            slot[small] = free[n_free]
        parent, smaller = pool[slot[node]], pool[slot[small if small_open else node]]
        _sum_children(matrix, subtraction, small_open, large_open, tag_of, tag[large], found, n_found, smaller, parent)
        if large_open:
            slot[large] = slot[node]
        else:
            free[n_free] = slot[node]
            n_free += 1
        slot[node] = -1
        for child in (left, right):
            if slot[child] < 0:
                continue
            total = positive[child] - negative[child]
            best[child], best_atom[child] = best_split(pool[slot[child]], total, penalty, hard)
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
    subtraction: bool = True,
) -> tuple[Tree, float]:
    """(tree, largest |g| of a child of the root); the tree is a single leaf when the root cannot be split."""
    k, n_atoms = len(matrix.gradient), len(matrix.histogram)
    tree = Tree(*(np.empty(2 * max_splits + 1, dtype=INDEX) for _ in range(3)))
    pool = space.take("pool", (max_splits + 2) * n_atoms, SCORE).reshape(max_splits + 2, n_atoms)
    tag_of, found = space.take("tag_of", k, np.int16), space.take("found", k + 1, INDEX)
    n_nodes, steepest = grow(
        matrix,
        float(penalty),
        hard,
        float(split_ratio),
        float(root_slack),
        max_splits,
        subtraction,
        pool,
        tag_of,
        found,
        *tree,
    )
    return Tree(*(column[:n_nodes].copy() for column in tree)), float(steepest)
