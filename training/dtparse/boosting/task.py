"""The unit of parallel work: one label at one λ. A task has names and numbers as input and output, so any executor can
run it; the label's state and scores are on disk, in files written atomically."""

import hashlib
import os
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble, empty_ensemble
from spacy_dtparse.stored_names import from_stored, stored_as, stored_names, to_stored

from ...runs.resuming import array_to_data, as_array, load_arrays, open_arrays, save_arrays
from ..recipe import PathConfig
from .labels import open_label_data
from .learner import STEPS, LabelLearner, LabelProgress
from .store import open_store
from .tree import n_parameters

STOP_FILE = "stop"
"""While this file is in the working folder, tasks save and end after the current tree."""


class LabelState(NamedTuple):
    """State of one label on the λ path. `counts`: number of trees at the end of each finished level, so level r's
    ensemble is the first counts[r] trees. `grown`: trees grown at the current level."""

    ensemble: LabelEnsemble
    progress: LabelProgress
    counts: tuple[int, ...] = ()
    grown: int = 0


def ensemble_digest(ensemble: LabelEnsemble) -> str:
    """Digest of all arrays of an ensemble (hex, 24 digits)."""
    return hashlib.blake2b(b"".join(array.tobytes() + b"|" for array in ensemble), digest_size=12).hexdigest()


def _state_file(workdir: str | os.PathLike, name: str) -> Path:
    return Path(workdir) / "labels" / f"{quote(name, safe='')}.npz"


def _score_file(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble) -> Path:
    return Path(workdir) / "scores" / f"{quote(name, safe='')}@{ensemble_digest(ensemble)}.npz"


def save_state(workdir: str | os.PathLike, name: str, state: LabelState) -> None:
    """Write the label's state; the old file stays until the new one is complete."""
    state_data = {"progress": to_stored(state.progress), "counts": state.counts, "grown": state.grown}
    save_arrays(_state_file(workdir, name), {"state": as_array(state_data), **to_stored(state.ensemble)})


def load_state(workdir: str | os.PathLike, name: str) -> LabelState:
    """Load the label's state; a new one if none was saved. Raises TrainingDataError if it is damaged."""
    source = _state_file(workdir, name)
    if not source.exists():
        return LabelState(empty_ensemble(), LabelProgress())
    with open_arrays(source) as arrays:
        state_data = array_to_data(arrays["state"])
        ensemble = LabelEnsemble(*(arrays[name] for name in stored_names(LabelEnsemble)))
        return LabelState(
            ensemble,
            LabelProgress(**from_stored(LabelProgress, state_data["progress"])),
            tuple(state_data["counts"]),
            state_data["grown"],
        )


def save_scores(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble, score: np.ndarray) -> None:
    """Save the scores of all examples next to the state; the file's name identifies their ensemble."""
    target = _score_file(workdir, name, ensemble)
    if target.exists():
        return
    save_arrays(target, {"score": score})
    for other in target.parent.glob(target.name.partition("@")[0] + "@*"):  # a quoted name contains no @ or *
        if other != target:
            other.unlink(missing_ok=True)


def load_scores(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble, n_examples: int) -> np.ndarray | None:
    """Load the scores that `save_scores` saved for exactly this ensemble, int32 (n_examples,), or None."""
    saved = load_arrays(_score_file(workdir, name, ensemble))
    score = None if saved is None else saved["score"]
    if score is None:
        return None
    return score if score.shape == (n_examples,) and score.dtype == np.int32 else None


class LevelTask(NamedTuple):
    """Train label `name` (id `label_id` in the store's gold) at λ = `penalty`, level `level` of the path. `deadline`:
    time.time() after which the task saves and ends; infinite for none."""

    workdir: str
    store: str
    name: str
    label_id: int
    level: int
    penalty: float
    config: PathConfig
    deadline: float


@stored_as("name", "level", "finished", "trees", "parameters", "grown", "lost", "seconds", "steps", "gradient")
class LevelReport(NamedTuple):
    """Result of a task. `finished`: the level was completed, not interrupted. `trees`, `parameters`: counts of the
    whole ensemble.

    `grown`: trees grown by this task, including discarded ones. `lost`: sum over them of the fraction of weight outside
    the sample. `steps`: seconds per step of STEPS. `seconds`: duration of the whole task. `gradient`: see
    `LabelProgress`.
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
    """Continue training the label at the task's level, save its state, and return a report. The result depends only on
    the saved state, so an interrupted or killed task can be run again."""
    began = time.perf_counter()
    state, config, stop_file = load_state(task.workdir, task.name), task.config, Path(task.workdir) / STOP_FILE
    if len(state.counts) == task.level and state.progress.gradient <= task.penalty:
        # the root could not be split, and nothing has changed
        state = state._replace(counts=(*state.counts, len(state.ensemble.roots)), grown=0)
        save_state(task.workdir, task.name, state)
    grown, lost, seconds = 0, 0.0, dict.fromkeys(STEPS, 0.0)
    finished = len(state.counts) > task.level  # just now, or before a kill that came before the report
    if not finished:
        learner, at_level, pause = _learner(task, state), state.grown, 0.0

        def must_stop() -> bool:
            return time.time() > task.deadline or stop_file.exists()

        def stop() -> bool:
            return time.perf_counter() > pause or must_stop()

        while not finished:
            pause = time.perf_counter() + config.save_seconds
            finished, at_level = learner.fit(task.penalty, config.max_trees_per_level, at_level, stop)
            counts = (*state.counts, learner.n_trees) if finished else state.counts
            state = LabelState(learner.ensemble, learner.progress, counts, 0 if finished else at_level)
            if config.keep_scores:
                save_scores(task.workdir, task.name, state.ensemble, learner.score)
            save_state(task.workdir, task.name, state)
            if must_stop():
                break
        grown, lost, seconds = learner.n_grown, float(learner.lost_weight), learner.seconds
    return LevelReport(
        task.name,
        task.level,
        finished,
        len(state.ensemble.roots),
        n_parameters(state.ensemble),
        grown,
        lost,
        time.perf_counter() - began,
        tuple(seconds[step] for step in STEPS),
        float(state.progress.gradient),
    )


def _learner(task: LevelTask, state: LabelState) -> LabelLearner:
    """Restore the label's learner from `state`."""
    store = open_store(task.store)
    score = load_scores(task.workdir, task.name, state.ensemble, store.n_examples)
    what = (store, open_label_data(task.store), task.label_id, task.name, task.config.learner)
    return LabelLearner(*what, state.ensemble, score, state.progress)


def root_gradient(task: LevelTask) -> float:
    """The label's largest root gradient before its first tree (λ of level 0 is computed from these)."""
    return _learner(task, load_state(task.workdir, task.name)).root_gradient()
