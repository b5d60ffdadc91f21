"""What an ensemble looks like: the numbers of Turian & Melamed 2006b, section 4.2."""

from typing import Any

import numpy as np

from spacy_dtparse.dtypes import CONFIDENCE_GRID, OFFSET
from spacy_dtparse.model.trees.ensemble import LabelEnsemble

from ...dtree.boosting.tree import n_leaves, n_parameters


def spread(values: np.ndarray) -> dict[str, float] | None:
    """Mean and standard deviation; None of no values."""
    if len(values) == 0:
        return None
    return {"mean": float(np.mean(values)), "sd": float(np.std(values))}


def above_nodes(ensemble: LabelEnsemble) -> tuple[np.ndarray, np.ndarray]:
    """(splits above each node, how many of them were answered "no"), int64 (N,).

    A child's number is above its parent's, so one pass in order will do.
    """
    splits = np.zeros(len(ensemble.atom), dtype=OFFSET)
    negated = np.zeros(len(ensemble.atom), dtype=OFFSET)
    for node in np.flatnonzero(ensemble.atom >= 0).tolist():
        yes, no = int(ensemble.yes[node]), int(ensemble.no[node])
        splits[yes] = splits[no] = splits[node] + 1
        negated[yes], negated[no] = negated[node], negated[node] + 1
    return splits, negated


def ensemble_statistics(ensemble: LabelEnsemble) -> dict[str, Any]:
    """Counts and spreads of one label's trees.

    `leaves`, `nonzero_leaves`: over all trees. `splits`: of a tree. `splits_above`: between the root and a non-zero
    leaf. `negated`: share of the tests above non-zero leaves that are negated; `all_negated`: share of non-zero
    leaves above which every test is. `confidence`: |value| of the non-zero leaves. Spreads are None without any.
    """
    splits, negated = above_nodes(ensemble)
    live = np.flatnonzero(ensemble.value)
    ends = np.append(ensemble.roots[1:], len(ensemble.atom))
    inner = np.concatenate([[0], np.cumsum(ensemble.atom >= 0)])
    total = int(splits[live].sum())
    return {
        "trees": len(ensemble.roots),
        "leaves": n_leaves(ensemble),
        "nonzero_leaves": n_parameters(ensemble),
        "splits": spread(inner[ends] - inner[ensemble.roots]),
        "splits_above": spread(splits[live]),
        "negated": int(negated[live].sum()) / total if total else None,
        "all_negated": float(np.mean(negated[live] == splits[live])) if len(live) else None,
        "confidence": spread(np.abs(ensemble.value[live])),
    }


def margin_statistics(score: np.ndarray, positive: np.ndarray) -> dict[str, Any]:
    """Spreads of y·h over correct and incorrect examples; `score` int32 (n,) in units of CONFIDENCE_GRID, `positive`
    bool (n,)."""
    h = score * CONFIDENCE_GRID
    return {
        "correct": spread(h[positive]),
        "incorrect": spread(-h[~positive]),
        "n_correct": int(positive.sum()),
        "n_incorrect": int((~positive).sum()),
        "wrong_sign": float(np.mean((h > 0) != positive)),
    }
