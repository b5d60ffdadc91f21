"""The unit of parallel work: one label at one λ. Takes and returns names and numbers, so any executor can run it."""

import os
import time
from typing import NamedTuple

from .checkpoints import LabelState, load_scores, load_state, save_scores, save_state
from .config import PathConfig
from .labels import open_label_data
from .learner import STEPS, LabelLearner
from .store import open_store
from .tree import n_parameters

STOP_FILE = "stop"
"""While this file is in the working folder, tasks save and end after the tree they are at."""


class LevelTask(NamedTuple):
    """Train label `name` (number `number` in the store's gold) at λ = `penalty`, level `level` of the path. `deadline`:
    time.time() after which the task saves and ends; infinite for none."""

    workdir: str
    store: str
    name: str
    number: int
    level: int
    penalty: float
    config: PathConfig
    deadline: float


class LevelReport(NamedTuple):
    """What a task did. `finished`: the level is done, not cut short. `trees`, `parameters`: of the whole ensemble.

    `grown`: trees grown by this task, kept or not. `lost`: sum over them of the share of weight outside the sample.
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
    if len(state.counts) == task.level and state.progress.gradient <= task.penalty:
        # the root could not be split, and nothing has changed
        state = state._replace(counts=(*state.counts, len(state.ensemble.roots)), grown=0)
        save_state(task.workdir, task.name, state)
    if len(state.counts) > task.level:  # done: just now, or before a kill that came before the report
        return _report(task, state, True, begin)
    learner, config, pause = _learner(task, state), task.config, 0.0
    stop_file = os.path.join(task.workdir, STOP_FILE)

    def over() -> bool:
        return time.time() > task.deadline or os.path.exists(stop_file)

    def stop() -> bool:
        return time.perf_counter() > pause or over()

    finished, grown = False, state.grown
    while not finished:
        pause = time.perf_counter() + config.save_seconds
        finished, grown = learner.fit(task.penalty, config.max_trees_per_level, grown, stop)
        counts = (*state.counts, learner.n_trees) if finished else state.counts
        now = LabelState(learner.ensemble, learner.progress, counts, 0 if finished else grown)
        if config.keep_scores:
            save_scores(task.workdir, task.name, now.ensemble, learner.score)
        save_state(task.workdir, task.name, now)
        if over():
            break
    return _report(task, now, finished, begin, learner)


def _learner(task: LevelTask, state: LabelState) -> LabelLearner:
    """The label's learner, where `state` says that it stands."""
    store = open_store(task.store)
    score = load_scores(task.workdir, task.name, state.ensemble, store.n_examples)
    what = (store, open_label_data(task.store), task.number, task.name, task.config.learner)
    return LabelLearner(*what, state.ensemble, score, state.progress)


def _report(
    task: LevelTask, state: LabelState, finished: bool, begin: float, learner: LabelLearner | None = None
) -> LevelReport:
    """The report of a task that trained with `learner`, or had nothing to do."""
    grown, lost = (learner.n_grown, float(learner.lost_weight)) if learner else (0, 0.0)
    steps = tuple(learner.seconds[step] if learner else 0.0 for step in STEPS)
    trees, parameters = len(state.ensemble.roots), n_parameters(state.ensemble)
    seconds, gradient = time.perf_counter() - begin, float(state.progress.gradient)
    return LevelReport(task.name, task.level, finished, trees, parameters, grown, lost, seconds, steps, gradient)


def root_gradient(task: LevelTask) -> float:
    """The label's largest root gradient before its first tree (λ of level 0 is set from these)."""
    return _learner(task, load_state(task.workdir, task.name)).root_gradient()
