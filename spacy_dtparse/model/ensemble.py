"""Boosted confidence-rated decision trees of one label, as plain arrays (Turian & Melamed 2006a, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX, SCORE


class LabelEnsemble(NamedTuple):
    """The trees of one label's classifier, concatenated in the order of training.

    `roots` int32 (T,): node number of each tree's root. `atom` int32 (N,): the atom a node tests, -1 at a leaf.
    `yes`, `no` int32 (N,): node reached when the atom is present / absent, -1 at a leaf. `value` float64 (N,):
    confidence of a leaf, a whole multiple of `dtypes.CONFIDENCE_GRID`; 0 at an inner node.
    The score of an example is the sum of the values of the leaves it reaches, one per tree.
    """

    roots: np.ndarray
    atom: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    value: np.ndarray


def empty_ensemble() -> LabelEnsemble:
    """An ensemble without trees: it scores everything 0."""
    none = np.zeros(0, dtype=INDEX)
    return LabelEnsemble(none, none.copy(), none.copy(), none.copy(), np.zeros(0, dtype=SCORE))
