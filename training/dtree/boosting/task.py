"""The unit of parallel work: one label at one λ. Takes and returns names and numbers, so any executor can run it."""

import os
import time
from typing import NamedTuple

import numpy as np

from .checkpoints import load_scores, load_state, save_scores, save_state
from .config import LearnerConfig
from .labels import open_label_data
from .learner import STEPS, LabelLearner
from .store import open_store
from .tree import n_parameters

STOP_FILE = "stop"
"""While this file is in the working folder, tasks save and end after the tree they are at."""


class LevelTask(NamedTuple):
    """Train label `name` (number `number` in the store's gold) at λ = `penalty`, level `level` of the path.

    `deadline`: time.time() after which the task saves and ends; infinite for none.
    """

    workdir: str
    store: str
    name: str
    number: int
    level: int
    penalty: float
    learner: LearnerConfig
    max_trees: int | None = None
    keep_scores: bool = True
    save_seconds: float = 300.0
    deadline: float = float("inf")


class LevelReport(NamedTuple):
    """What a task did. `finished`: the level is done, not cut short. `trees`, `parameters`: of the whole ensemble.

    `grown`: trees grown by this task, kept or not. `lost`: sum over them of the share of weight outside the
    sample.
    `steps`: seconds per step of STEPS. `seconds`: of the whole task. `gradient`: see `Progress`.
    """

    name: str
    level: int
    finished: bool
    trees: int
    parameters: int
    grown: int
    lost: float
    seconds: float
    steps: tuple[float, ...]
    gradient: float


def run_level(task: LevelTask) -> LevelReport:
    """Go on with the label at the task's level, save its state, and report.

    Nothing but the saved state decides what is trained, so a task that was cut short or killed can be run again.
    """
    begin = time.perf_counter()
    state = load_state(task.workdir, task.name)
    if len(state.counts) > task.level:  # done before a kill that came before the report
        return _report(task, state, True, 0, 0.0, begin, [0.0] * len(STEPS))
    if state.progress.gradient <= task.penalty:  # the root could not be split, and nothing has changed
        state = state._replace(counts=(*state.counts, len(state.ensemble.roots)), grown=0)
        save_state(task.workdir, task.name, state)
        return _report(task, state, True, 0, 0.0, begin, [0.0] * len(STEPS))
    store = open_store(task.store)
    learner = LabelLearner(
        store,
        open_label_data(task.store),
        task.number,
        task.name,
        task.learner,
        ensemble=state.ensemble,
        score=load_scores(task.workdir, task.name, state.ensemble, store.n_examples),
        progress=state.progress,
    )
    stop_file = os.path.join(task.workdir, STOP_FILE)
    grown = state.grown
    while True:
        pause = time.perf_counter() + task.save_seconds

        def stop(pause: float = pause) -> bool:
            return time.perf_counter() > pause or time.time() > task.deadline or os.path.exists(stop_file)

        finished, grown = learner.fit(task.penalty, task.max_trees, grown, stop)
        counts = (*state.counts, learner.n_trees) if finished else state.counts
        now = state._replace(
            ensemble=learner.ensemble, progress=learner.progress, counts=counts, grown=0 if finished else grown
        )
        if task.keep_scores:
            save_scores(task.workdir, task.name, now.ensemble, learner.score)
        save_state(task.workdir, task.name, now)
        if finished or time.time() > task.deadline or os.path.exists(stop_file):
            break
    steps = [learner.seconds[step] for step in STEPS]
    return _report(task, now, finished, learner.n_grown, learner.lost_weight, begin, steps)


def _report(task, state, finished, grown, lost, begin, steps) -> LevelReport:
    return LevelReport(
        name=task.name,
        level=task.level,
        finished=finished,
        trees=len(state.ensemble.roots),
        parameters=n_parameters(state.ensemble),
        grown=grown,
        lost=float(lost),
        seconds=time.perf_counter() - begin,
        steps=tuple(float(second) for second in steps),
        gradient=float(np.float64(state.progress.gradient)),
    )


def root_gradient(task: LevelTask) -> float:
    """The label's largest root gradient before its first tree (λ of level 0 is set from these)."""
    store = open_store(task.store)
    data = open_label_data(task.store)
    return LabelLearner(store, data, task.number, task.name, task.learner).root_gradient()
