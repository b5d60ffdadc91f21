"""One decision tree over atoms, and the list of trees that becomes a `LabelEnsemble`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble
from spacy_dtparse.dtypes import CONFIDENCE_GRID, INDEX

NODE = np.uint16
"""Type of node indices of one tree, one per example during percolation: a tree has at most 65,535 nodes."""

MAX_SPLITS = 32_767


class DecisionTree(NamedTuple):
    """One tree; its root is node 0. `atom` int32 (N,): the atom that a node tests, -1 at a leaf. `yes`, `no` int32
    (N,): the child if the atom is present / absent, -1 at a leaf; a child's index is greater than its parent's."""

    atom: np.ndarray
    yes: np.ndarray
    no: np.ndarray


def single_leaf() -> DecisionTree:
    """The tree without a split: every example stays at the root."""
    return DecisionTree(*(np.full(1, -1, dtype=INDEX) for _ in range(3)))


def concat(parts: Sequence[LabelEnsemble]) -> LabelEnsemble:
    """Concatenate the trees of `parts`, at least one, in order; the score is the sum of the parts' scores."""
    sizes = [len(part.atom) for part in parts]
    first = np.cumsum([0, *sizes[:-1]])
    roots, atom, yes, no, value = map(np.concatenate, zip(*parts, strict=True))
    roots = (roots + np.repeat(first, [len(part.roots) for part in parts])).astype(INDEX)
    yes, no = (np.where(child < 0, -1, child + np.repeat(first, sizes)).astype(INDEX) for child in (yes, no))
    return LabelEnsemble(roots, atom, yes, no, value)


def first_trees(ensemble: LabelEnsemble, n_trees: int) -> LabelEnsemble:
    """The ensemble of the first `n_trees` trees."""
    end = np.append(ensemble.roots, len(ensemble.atom))[n_trees]
    return LabelEnsemble(ensemble.roots[:n_trees], *(column[:end] for column in ensemble[1:]))


def tree_at(ensemble: LabelEnsemble, index: int) -> tuple[DecisionTree, np.ndarray]:
    """Tree `index` with local node indices, and its node values as int64 multiples of CONFIDENCE_GRID."""
    start, end = np.append(ensemble.roots, len(ensemble.atom))[index : index + 2]
    atom, yes, no, value = (column[start:end] for column in ensemble[1:])
    yes, no = (np.where(child < 0, -1, child - start).astype(INDEX) for child in (yes, no))
    return DecisionTree(atom, yes, no), np.rint(value / CONFIDENCE_GRID).astype(np.int64)


def n_parameters(ensemble: LabelEnsemble) -> int:
    """Number of leaves whose confidence is not 0 (the x axis of the papers' Figure 1)."""
    return int(np.count_nonzero(ensemble.value))


def n_leaves(ensemble: LabelEnsemble) -> int:
    """Number of leaves, including those of confidence 0."""
    return int(np.count_nonzero(ensemble.atom < 0))
