"""What an ensemble looks like (Turian & Melamed 2006b, section 4.2), and what a tree costs (Table 2)."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import CONFIDENCE_GRID, OFFSET
from spacy_dtparse.model.trees.ensemble import LabelEnsemble

from ...dtree.boosting.labels import LabelData
from ...dtree.boosting.learner import STEPS, LabelLearner, Progress
from ...dtree.boosting.store import Store
from ...dtree.boosting.tree import n_leaves, n_parameters
from ...dtree.recipe import LearnerConfig

MAX_RELAXED = 40
"""λ is lowered at most this many times when the root cannot be split."""


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


def profile_trees(
    store: Store,
    data: LabelData,
    number: int,
    name: str,
    config: LearnerConfig,
    penalty: float,
    n_trees: int,
    ensemble: LabelEnsemble | None = None,
    score: np.ndarray | None = None,
    decay: float = 0.9,
    seconds: float = math.inf,
    at_least: int = 1,
) -> dict[str, Any]:
    """Grow `n_trees` trees of a label from `ensemble` (whose scores are `score`, not changed) on, and time the steps.

    λ starts at `penalty` and is multiplied by `decay` when the root cannot be split. After `seconds` it ends early,
    with `at_least` so many trees. The first tree is not counted: kernels are compiled or loaded in it, and buffers come
    into being. Returns `ms`: spread per step and in `total`, in milliseconds; `trees`, `splits`, `weight_lost`: spreads
    or counts over the counted trees; `lambda`: of the last one. `ms` is None when no tree could be grown.
    """
    end = time.monotonic() + seconds
    score = None if score is None else score.copy()
    learner = LabelLearner(store, data, number, name, config, ensemble, score, Progress(draws=1_000_000))
    times: list[list[float]] = []
    sizes, lost, relaxed = [], [], 0
    while len(times) <= n_trees and relaxed < MAX_RELAXED:
        before = dict(learner.seconds)
        first = learner.n_trees
        left_out = learner.step(penalty)
        if left_out is None:
            penalty *= decay
            relaxed += 1
            continue
        times.append([1000 * (learner.seconds[step] - before[step]) for step in STEPS])
        lost.append(left_out)
        if learner.n_trees > first:
            whole = learner.ensemble
            sizes.append(int(np.count_nonzero(whole.atom[whole.roots[-1] :] >= 0)))
        if len(times) >= at_least and time.monotonic() > end:
            break
    counted, ms = np.array(times[1:] or times), None
    if times:
        ms = {**dict(zip(STEPS, map(spread, counted.T), strict=True)), "total": spread(counted.sum(axis=1))}
    return {
        "trees": len(counted),
        "lambda": penalty,
        "ms": ms,
        "splits": spread(np.array(sizes)),
        "weight_lost": spread(np.array(lost)),
    }


def profile_variants(
    store: Store,
    data: LabelData,
    number: int,
    name: str,
    config: LearnerConfig,
    penalty: float,
    ensemble: LabelEnsemble,
    score: np.ndarray,
    minutes: float,
    n_trees: int = 20,
) -> dict[str, Any]:
    """`profile_trees` as it is, without histogram subtraction, and without sampling, from the same state each.

    Each variant has a third of `minutes` and at least one counted tree.
    """
    variants = {
        "sampled": config,
        "no_subtraction": replace(config, subtraction=False),
        "no_sampling": replace(config, sample_size=None),
    }
    seconds = 60 * minutes / len(variants)
    return {
        variant: profile_trees(
            store, data, number, name, changed, penalty, n_trees, ensemble, score, seconds=seconds, at_least=2
        )
        for variant, changed in variants.items()
    }
