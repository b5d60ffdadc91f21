"""Grow one tree on a sample: histograms of the signed gradient per atom, with subtraction."""

from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, SCORE
from spacy_dtparse.jit.decorator import kernel

from ..recipe import LearnerConfig
from .matrix import Matrix, MatrixWorkspace, add_rows, find_rows, sum_rows
from .tree import DecisionTree

_BLOCK = 1024


@kernel
def gain_of(gradient, penalty, cut):
    """Gain of a compound feature: |g| - `cut` above λ, else 0. `cut`: λ for soft gains, 0 for hard ones."""
    size = abs(gradient)
    return size - cut if size > penalty else 0.0


@kernel
def best_split(histogram, total, penalty, cut):
    """Return (largest gain of two children, its atom: the lowest of equals). Gains are not negative, so their bits
    order like integers, and a maximum of integers runs in vector registers."""
    gains = np.empty(_BLOCK, np.float64)
    ordered = gains.view(np.int64)
    best, best_atom = -1.0, -1
    for first in range(0, len(histogram), _BLOCK):
        part = histogram[first : first + _BLOCK]
        for j in range(len(part)):
            yes, no = abs(part[j]), abs(total - part[j])
            gains[j] = (yes - cut if yes > penalty else 0.0) + (no - cut if no > penalty else 0.0)
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
    """Largest |gradient| of a child of the root, over all atoms; at least that of the root."""
    steepest = abs(total)
    for atom in range(len(histogram)):
        steepest = max(steepest, max(abs(histogram[atom]), abs(total - histogram[atom])))
    return steepest


class TreeNodes(NamedTuple):
    """The nodes of a tree that is being grown, by node index.

    `gain`: gain of the node; `best`, `best_atom`: gain and atom of its best split; `positive`, `negative`: sums of its
    examples' weights; `rows`: number of its examples. `tag`: tag of its rows (the right child has that of the parent).
    `slot`: row of the pool with its histogram, -1 if it is not an open leaf.
    """

    gain: np.ndarray
    best: np.ndarray
    best_atom: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    rows: np.ndarray
    tag: np.ndarray
    slot: np.ndarray


class GrowSettings(NamedTuple):
    """`penalty`: λ; `cut`: see `gain_of`. A leaf is split if that multiplies its gain by more than `split_ratio`, the
    root if it adds more than `root_slack` · λ. Without `subtraction` the larger child's histogram is summed up from its
    rows."""

    penalty: float
    cut: float
    split_ratio: float
    root_slack: float
    max_splits: int
    subtraction: bool


class GrowScratch(NamedTuple):
    """Scratch for k rows: `pool` float64 (max_splits + 2, n_atoms) holds histograms of open leaves, `reserved` bool
    (max_splits + 2,) marks its rows in use; `tag_of` int16 (k,): a row's tag identifies its leaf (rows without the atom
    keep the tag of the parent); `found` int32 (k + 1,)."""

    pool: np.ndarray
    reserved: np.ndarray
    tag_of: np.ndarray
    found: np.ndarray


@kernel
def _reserve_slot(reserved):
    """Reserve a free row of the pool; returns its index. There is one: each split adds at most one open leaf."""
    slot = 0
    while reserved[slot]:
        slot += 1
    reserved[slot] = True
    return slot


@kernel
def _tagged_rows(tag_of, tag, found):
    """Write the rows of a tag to `found`, ascending; returns their number."""
    n_found = np.int64(0)
    for row in range(len(tag_of)):  # without branches: each row overwrites one of another tag before it
        found[np.uint64(n_found)] = row
        n_found += np.int64(tag_of[row] == tag)
    return n_found


@kernel
def _split_rows(matrix, settings, nodes, node, left, right, scratch):
    """Split a node's rows by its best atom, and set the children's sums and gains; `found`: the left child's rows."""
    tag_of, found = scratch.tag_of, scratch.found
    _, _, best_atom, positive, negative, rows, tag, _ = nodes
    tag[left], tag[right] = (left + 1) >> 1, tag[node]
    n_found = find_rows(matrix, best_atom[node], tag_of, tag[node], found)
    for position in range(n_found):
        tag_of[np.uint64(found[position])] = tag[left]
    rows[left], rows[right] = n_found, rows[node] - n_found
    positive[left], negative[left] = sum_rows(matrix.gradient, found, n_found)
    positive[right], negative[right] = positive[node] - positive[left], negative[node] - negative[left]
    for child in (left, right):
        nodes.gain[child] = gain_of(positive[child] - negative[child], settings.penalty, settings.cut)


@kernel
def _may_split(settings, nodes, node):
    """Whether a split could gain enough: at most, it separates all positives from all negatives."""
    penalty, cut = settings.penalty, settings.cut
    max_gain = gain_of(nodes.positive[node], penalty, cut) + gain_of(nodes.negative[node], penalty, cut)
    return max_gain > settings.split_ratio * nodes.gain[node]


@kernel
def _split_histogram(matrix, settings, nodes, node, small, large, scratch):
    """Compute the histograms of the children that may be split; the larger one's replaces the parent's. `found` holds
    the left child's rows. With `subtraction` only the smaller child's rows are summed up."""
    pool, reserved, tag_of, found = scratch
    subtraction = settings.subtraction
    small_open, large_open = _may_split(settings, nodes, small), _may_split(settings, nodes, large)
    indptr, atoms, gradient = matrix.indptr, matrix.atoms, matrix.gradient
    slot, n_found = nodes.slot, nodes.rows[small]
    parent = pool[slot[node]]
    if small > large and (small_open or large_open):
        _tagged_rows(tag_of, nodes.tag[small], found)
    if small_open:
        slot[small] = _reserve_slot(reserved)
        histogram = pool[slot[small]]
        histogram[:] = 0.0
        add_rows(indptr, atoms, gradient, found, n_found, 1.0, histogram)
        if large_open and subtraction:
            for a in range(len(histogram)):
                parent[a] -= histogram[a]
    elif large_open and subtraction:
        add_rows(indptr, atoms, gradient, found, n_found, -1.0, parent)
    if large_open and not subtraction:
        n_found = _tagged_rows(tag_of, nodes.tag[large], found)
        parent[:] = 0.0
        add_rows(indptr, atoms, gradient, found, n_found, 1.0, parent)
    if large_open:
        slot[large] = slot[node]
    else:
        reserved[slot[node]] = False
    slot[node] = -1


@kernel
def grow(matrix, settings, scratch, tree):
    """Grow one tree best-first into the arrays (2 max_splits + 1,) of `tree`. The open leaf whose split adds most gain
    is split next (equals: the lowest node number). Returns (number of nodes, largest |g| of a child of the root)."""
    atom, yes, no = tree
    pool, reserved, tag_of, found = scratch
    penalty, cut, k = settings.penalty, settings.cut, len(matrix.gradient)
    real, integers, tag = np.zeros((4, len(atom))), np.full((3, len(atom)), -1), np.zeros(len(atom), np.int16)
    gain, best, positive, negative = real[0], real[1], real[2], real[3]
    best_atom, rows, slot = integers[0], integers[1], integers[2]
    nodes = TreeNodes(gain, best, best_atom, positive, negative, rows, tag, slot)
    reserved[:] = False
    for column in (atom, yes, no):
        column[:] = -1
    tag_of[:] = 0
    found[:] = np.arange(len(found))
    rows[0] = k
    positive[0], negative[0] = sum_rows(matrix.gradient, found, k)
    total = positive[0] - negative[0]
    gain[0] = gain_of(total, penalty, cut)
    best[0], best_atom[0] = best_split(matrix.histogram, total, penalty, cut)
    steepest = steepest_child(matrix.histogram, total)
    n_nodes = 1
    if best_atom[0] < 0 or not best[0] > gain[0] + settings.root_slack * penalty:
        return n_nodes, steepest
    slot[0] = _reserve_slot(reserved)
    pool[slot[0], :] = matrix.histogram
    for _ in range(settings.max_splits):
        node, best_gain = -1, 0.0
        for leaf in range(n_nodes):
            if slot[leaf] >= 0 and best[leaf] - gain[leaf] > best_gain:
                node, best_gain = leaf, best[leaf] - gain[leaf]
        if node < 0:
            break
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        atom[node], yes[node], no[node] = best_atom[node], left, right
        _split_rows(matrix, settings, nodes, node, left, right, scratch)
        small, large = (left, right) if rows[left] <= rows[right] else (right, left)
        _split_histogram(matrix, settings, nodes, node, small, large, scratch)
        for child in (left, right):
            if slot[child] < 0:
                continue
            total = positive[child] - negative[child]
            best[child], best_atom[child] = best_split(pool[slot[child]], total, penalty, cut)
            if not best[child] > settings.split_ratio * gain[child]:
                reserved[slot[child]] = False
                slot[child] = -1
    return n_nodes, steepest


def grow_tree(
    matrix: Matrix, penalty: float, config: LearnerConfig, space: MatrixWorkspace
) -> tuple[DecisionTree, float]:
    """Return (tree, largest |g| of a child of the root); the tree is a single leaf if the root cannot be split."""
    k, n_atoms, max_splits = len(matrix.gradient), len(matrix.histogram), config.max_splits
    tree = DecisionTree(*(np.empty(2 * max_splits + 1, dtype=INDEX) for _ in range(3)))
    pool = space.take("pool", (max_splits + 2) * n_atoms, SCORE).reshape(max_splits + 2, n_atoms)
    tag_of, found = space.take("tag_of", k, np.int16), space.take("found", k + 1, INDEX)
    cut = 0.0 if config.gain == "hard" else float(penalty)
    ratio, slack = float(config.split_ratio), float(config.root_slack)
    settings = GrowSettings(float(penalty), cut, ratio, slack, max_splits, config.subtraction)
    n_nodes, steepest = grow(matrix, settings, GrowScratch(pool, np.empty(len(pool), np.bool_), tag_of, found), tree)
    return DecisionTree(*(column[:n_nodes].copy() for column in tree)), float(steepest)
