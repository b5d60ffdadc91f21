"""The reference implementation of `kernels.rules`: walk every tree from its root to a leaf and sum the leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble
from spacy_dtparse.jit.decorator import kernel
from training.dtparse.boosting.tree import concat


def stack(ensembles: Sequence[LabelEnsemble]) -> tuple[LabelEnsemble, np.ndarray]:
    """Return the trees of all labels in one forest, and int64 (L + 1,): label k has trees [start[k], start[k + 1])."""
    return concat(ensembles), np.cumsum([0, *(len(ensemble.roots) for ensemble in ensembles)])


@kernel
def walk_forest(forest, label_tree, stamp, mark, out):
    """Write scores of all labels to `out` float64 (L,): label k has trees [label_tree[k], label_tree[k + 1]) of
    `forest`; atom a is active if stamp[a] == mark (the model's atom ids, int64)."""
    for label in range(out.shape[0]):
        total = 0.0
        for tree in range(label_tree[label], label_tree[label + 1]):
            node = forest.roots[tree]
            while forest.atom[node] >= 0:
                if stamp[forest.atom[node]] == mark:
                    node = forest.yes[node]
                else:
                    node = forest.no[node]
            total += forest.value[node]
        out[label] = total
