"""What a tree costs, step by step: Turian & Melamed 2006b, Table 2, with and without sampling and subtraction."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from spacy_dtparse.model.trees.ensemble import LabelEnsemble

from ...dtree.boosting.config import LearnerConfig
from ...dtree.boosting.labels import LabelData
from ...dtree.boosting.learner import STEPS, LabelLearner, Progress
from ...dtree.boosting.store import Store
from .statistics import spread

MAX_RELAXED = 40
"""λ is lowered at most this many times when the root cannot be split."""


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
    out_of_time: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Grow `n_trees` trees of a label from `ensemble` (whose scores are `score`, not changed) on, and time the steps.

    λ starts at `penalty` and is multiplied by `decay` when the root cannot be split; `out_of_time`, asked after each
    tree, ends it early. The first tree is not counted: kernels are compiled or loaded in it, and buffers come into
    being. Returns `ms`: spread per step and in `total`, in milliseconds; `trees`, `splits`, `weight_lost`: spreads
    or counts over the counted trees; `lambda`: of the last one. `ms` is None when no tree could be grown.
    """
    learner = LabelLearner(
        store, data, number, name, config, ensemble,
        None if score is None else score.copy(), Progress(draws=1_000_000),
    )  # fmt: skip
    times: list[list[float]] = []
    sizes, lost, relaxed = [], [], 0
    while len(times) <= n_trees and relaxed < MAX_RELAXED:
        before = dict(learner.seconds)
        first = learner.n_trees
        result = learner.step(penalty)
        if not result.grown:
            penalty *= decay
            relaxed += 1
            continue
        times.append([1000 * (learner.seconds[step] - before[step]) for step in STEPS])
        lost.append(result.lost)
        if learner.n_trees > first:
            whole = learner.ensemble
            sizes.append(int(np.count_nonzero(whole.atom[whole.roots[-1] :] >= 0)))
        if out_of_time():
            break
    counted = np.array(times[1:] or times)
    return {
        "trees": len(counted),
        "lambda": penalty,
        "ms": {**{step: spread(counted[:, k]) for k, step in enumerate(STEPS)}, "total": spread(counted.sum(axis=1))}
        if len(counted)
        else None,
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
    found = {}
    for variant, settings in variants.items():
        end = time.monotonic() + 60 * minutes / len(variants)
        calls: list[None] = []

        def out_of_time(end: float = end, calls: list[None] = calls) -> bool:
            calls.append(None)
            return len(calls) > 1 and time.monotonic() > end

        found[variant] = profile_trees(
            store, data, number, name, settings, penalty, n_trees, ensemble, score, out_of_time=out_of_time
        )
    return found
