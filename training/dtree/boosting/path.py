"""The λ path over all labels: parallel training level by level, development scores, stopping, resuming.

Turian & Melamed 2006a, listing 1. Where we differ: the labels share one grid of λ, and are trained in parallel.
"""

import dataclasses
import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any, NamedTuple

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.model.trees.ensemble import LabelEnsemble

from ...runs.files import append_line, read_lines, write_json
from ...runs.resuming import check_facts
from .checkpoints import load_state
from .config import LearnerConfig, PathConfig
from .labels import Label
from .rows import best_row, checked_scores, make_row, progress_bar, waited
from .survey import survey_data
from .task import STOP_FILE, LevelReport, LevelTask, root_gradient, run_level
from .tree import first_trees

LOG_FILE = "log.jsonl"
REPORTS_FILE = "reports.jsonl"
RUN_FILE = "run.json"
logger = logging.getLogger(__name__)

Evaluate = Callable[[dict[str, LabelEnsemble]], Mapping[str, float]]


class PathResult(NamedTuple):
    """`ensembles`: of the best level by dev F1 (the last level without `evaluate`; equals: the larger λ).

    `best`: that level's line of the log, None when no level was finished. `rows`: all lines of the log.
    `notes`: what is worth knowing about the data (labels met once or never, examples of labels that are not
    trained).
    `stopped`: why training ended: "patience", "levels" or "budget".
    """

    ensembles: dict[str, LabelEnsemble]
    best: dict | None
    rows: list[dict]
    notes: list[str]
    stopped: str


def train_path(
    stores: Mapping[str, str | os.PathLike],
    labels: Sequence[Label],
    config: PathConfig,
    executor: Executor | None,
    workdir: str | os.PathLike,
    evaluate: Evaluate | None = None,
) -> PathResult:
    """Train all `labels` down the λ path and return the ensembles of the level that is best on the dev set.

    stores: name -> folder of a store with label data. executor: runs the tasks; None runs them here, one by one; a Dask
    client's `get_executor()` will do when its workers see the same folders. workdir: states, scores and logs; an
    unfinished run in it is resumed, with the same result as if it had not been interrupted. evaluate: called in this
    process after each level with name -> ensemble; must return a mapping with "f1" (larger is better).

    Raises ConfigError for settings that cannot be, or that differ from those of the run in `workdir`, and
    TrainingDataError for data that cannot be used.
    """
    return _Path(stores, labels, config, executor, Path(workdir), evaluate).run()


class _Path:
    """One call of `train_path`."""

    def __init__(
        self,
        stores: Mapping[str, str | os.PathLike],
        labels: Sequence[Label],
        config: PathConfig,
        executor: Executor | None,
        workdir: Path,
        evaluate: Evaluate | None,
    ):
        self.config, self.executor, self.workdir, self.evaluate = config, executor, workdir, evaluate
        self.labels = {label.name: label for label in labels}
        self.stores = {name: str(Path(path).resolve()) for name, path in stores.items()}
        if not labels or len(self.labels) < len(labels):
            raise ConfigError(
                f"labels are {[label.name for label in labels]}; they must be at least one, all different"
            )
        for label in labels:
            if label.store not in self.stores:
                raise ConfigError(
                    f"label {label.name!r} names the store {label.store!r}; given are "
                    f"{sorted(self.stores)}. Add the store, or correct the label."
                )
        self.begin = time.time()
        self.deadline = math.inf if config.budget_seconds is None else self.begin + config.budget_seconds
        self.n_workers = config.n_workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        if executor is None:
            self.n_workers = 1
        workdir.mkdir(parents=True, exist_ok=True)
        (workdir / STOP_FILE).unlink(missing_ok=True)
        survey = survey_data(self.stores, labels)
        self.notes, self.expected = survey.notes, dict(survey.expected)
        for note in self.notes:
            logger.warning(note)
        self.start = self._start(
            {
                "labels": {label.name: [label.number, label.store] for label in labels},
                "data": survey.digests,
                "learner": dataclasses.asdict(config.learner),
                "decay": config.decay,
                "lambda_start": config.lambda_start,
                "max_trees_per_level": config.max_trees_per_level,
            }
        )
        self.rows = read_lines(workdir / LOG_FILE)
        self.reports: dict[int, dict[str, list[LevelReport]]] = {}
        for line in read_lines(workdir / REPORTS_FILE):
            self._note_report(LevelReport(**{**line, "steps": tuple(line["steps"])}))
        self.levels_done = {name: len(load_state(workdir, name).counts) for name in self.labels}

    def _start(self, facts: dict[str, Any]) -> float:
        """λ of level 0: as set, as in the run that is resumed, or from the largest root gradient."""
        path = self.workdir / RUN_FILE
        if path.exists():
            have = _read_run(path)
            if isinstance(have.get("learner"), dict):  # settings that came later had their defaults
                have["learner"] = {**dataclasses.asdict(LearnerConfig()), **have["learner"]}
            check_facts(self.workdir, have, facts, ConfigError)
            return float(have["start"])
        start = self.config.lambda_start
        if start is None:
            tasks = [self._task(name, 0, math.nan) for name in self.labels]
            if self.executor is None:
                gradients = [root_gradient(task) for task in tasks]
            else:
                gradients = [future.result() for future in [self.executor.submit(root_gradient, t) for t in tasks]]
            start = self.config.decay * max(gradients)
            if not start > 0:
                raise TrainingDataError(
                    "every example has bias 0, so there is nothing to learn; check how the weight of the "
                    "states is shared out."
                )
        write_json(path, {**facts, "start": start, "notes": self.notes})
        return start

    def penalty(self, level: int) -> float:
        """λ of a level."""
        return self.start * self.config.decay**level

    def _allowed(self, level: int) -> bool:
        limit = self.config.max_levels
        return self.penalty(level) >= max(self.config.lambda_floor, 1e-300) and (limit is None or level < limit)

    def _task(self, name: str, level: int, penalty: float) -> LevelTask:
        label, config = self.labels[name], self.config
        return LevelTask(
            str(self.workdir.resolve()),
            self.stores[label.store],
            name,
            label.number,
            level,
            penalty,
            config.learner,
            config.max_trees_per_level,
            config.keep_scores,
            config.save_seconds,
            self.deadline,
        )

    def run(self) -> PathResult:
        """Train until the path ends."""
        flying: dict[Future, str] = {}
        try:
            with progress_bar(self.config.quiet) as bar:
                stopped = self._loop(flying, bar)
        except BaseException:
            (self.workdir / STOP_FILE).touch()  # tasks that run on end after their tree
            for future in flying:
                future.cancel()
            if flying:
                wait(flying)
            raise
        return self._result(stopped)

    def _loop(self, flying: dict[Future, str], bar: Any) -> str:
        evaluated = sum(1 for row in self.rows if not row["partial"])
        while True:
            while min(self.levels_done.values()) > evaluated:
                self._finish_level(evaluated, bar)
                evaluated += 1
            out_of_patience = self.config.patience is not None and waited(self.rows) >= self.config.patience
            over_time = time.time() > self.deadline
            if not out_of_patience and not over_time:
                if self.executor is None:
                    ready = self._ready(evaluated, set())
                    if ready:
                        self._take_report(run_level(self._next_task(ready[0])), bar)
                        continue
                else:
                    depth = self.n_workers * (2 if self.config.lookahead else 1)
                    for name in self._ready(evaluated, set(flying.values()))[: max(0, depth - len(flying))]:
                        flying[self.executor.submit(run_level, self._next_task(name))] = name
            elif flying and out_of_patience:
                (self.workdir / STOP_FILE).touch()
            if not flying:
                break
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                del flying[future]
                self._take_report(future.result(), bar)
        (self.workdir / STOP_FILE).unlink(missing_ok=True)
        if out_of_patience:
            return "patience"
        if over_time:
            self._finish_level(None, bar)
            return "budget"
        return "levels"

    def _ready(self, evaluated: int, busy: set[str]) -> list[str]:
        """Labels whose next level may start: the lowest level first, then those expected to take longest."""
        ready = [
            name
            for name, level in self.levels_done.items()
            if name not in busy and self._allowed(level) and level <= evaluated + self.config.lookahead
        ]
        return sorted(ready, key=lambda name: (self.levels_done[name], -self.expected[name], name))

    def _next_task(self, name: str) -> LevelTask:
        level = self.levels_done[name]
        return self._task(name, level, self.penalty(level))

    def _take_report(self, report: LevelReport, bar: Any) -> None:
        append_line(self.workdir / REPORTS_FILE, report._asdict())
        self._note_report(report)
        if report.finished:
            self.levels_done[report.name] = report.level + 1
        bar.update(report.grown)
        bar.set_postfix_str(f"λ {self.penalty(report.level):.4g} {report.name}")

    def _note_report(self, report: LevelReport) -> None:
        self.reports.setdefault(report.level, {}).setdefault(report.name, []).append(report)
        self.expected[report.name] = report.seconds

    def _ensembles(self, level: int | None) -> dict[str, LabelEnsemble]:
        """Every label's ensemble at the end of a level; None: as it is now."""
        ensembles = {}
        for name in self.labels:
            state = load_state(self.workdir, name)
            count = len(state.ensemble.roots) if level is None else state.counts[level]
            ensembles[name] = first_trees(state.ensemble, count)
        return ensembles

    def _finish_level(self, level: int | None, bar: Any) -> None:
        """Evaluate a level that all labels have reached (None: whatever there is when time is up) and log it."""
        ensembles = self._ensembles(level)
        trees = {name: len(ensemble.roots) for name, ensemble in ensembles.items()}
        last = self.rows[-1] if self.rows else None
        if level is None and (last is None or last["trees_of"] == trees):
            if last is not None or not any(trees.values()):
                return
        scores: dict[str, float] = {}
        if last is not None and last["trees_of"] == trees:
            scores = last["scores"]
        elif self.evaluate is not None:
            scores = checked_scores(self.evaluate(ensembles))
        done = max(self.levels_done.values()) if level is None else level
        row = make_row(
            done, level is None, self.penalty(done), ensembles, scores, self.reports.get(done, {}), self.begin
        )
        self.rows.append(row)
        append_line(self.workdir / LOG_FILE, row)
        f1 = "" if row["f1"] is None else f", dev F1 {row['f1']:.4f}"
        bar.write(f"level {done}: λ {row['lambda']:.4g}, {row['parameters']} parameters, {row['trees']} trees{f1}")

    def _result(self, stopped: str) -> PathResult:
        best = best_row(self.rows)
        ensembles = {}
        for name in self.labels:
            ensemble = load_state(self.workdir, name).ensemble
            ensembles[name] = first_trees(ensemble, best["trees_of"][name] if best else 0)
        return PathResult(ensembles, best, self.rows, self.notes, stopped)


def _read_run(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is damaged ({error}); give another folder to start a new run.") from error
