"""The slow twin of `kernels.trees.rules`: walk every tree from its root to a leaf and add up the leaves."""

from __future__ import annotations

from ..jit import kernel


@kernel
def walk_score(ensemble, stamp, mark):
    """Score (float64) of one `LabelEnsemble`; atom a is active if stamp[a] == mark (model's atom numbers,
    int64)."""
    total = 0.0
    for tree in range(ensemble.roots.shape[0]):
        node = ensemble.roots[tree]
        while ensemble.atom[node] >= 0:
            if stamp[ensemble.atom[node]] == mark:
                node = ensemble.yes[node]
            else:
                node = ensemble.no[node]
        total += ensemble.value[node]
    return total


@kernel
def walk_forest(forest, label_tree, stamp, mark, out):
    """Scores of all labels to `out` float64 (L,): label k owns trees label_tree[k] .. label_tree[k + 1] of
    `forest`.

    `forest` and `label_tree` come from `model.trees.ensemble.stack`.
    """
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
