"""The λ path over all labels: parallel training level by level, development scores, stopping, resuming.

Turian & Melamed 2006a, listing 1. Differences: the labels share one grid of λ, and are trained in parallel.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.stored_names import from_stored, to_stored

from ...runs.files import append_line, load_checkpoint, read_lines, save_checkpoint
from ...runs.lock import lock_dir
from ...runs.progress import progress_bar
from ...runs.resuming import check_conditions
from ..recipe import LearnerConfig, PathConfig
from .labels import Label, survey_data
from .learner import STEPS
from .path_log import LOG_FILE, best_row, levels_since_best
from .task import STOP_FILE, LevelReport, LevelTask, load_state, root_gradient, run_level
from .tree import first_trees, n_leaves, n_parameters

REPORTS_FILE = "reports.jsonl"
RUN_FILE = "run.json"
logger = logging.getLogger(__name__)

Evaluate = Callable[[dict[str, LabelEnsemble]], Mapping[str, float]]


class PathResult(NamedTuple):
    """The result of `train_path`.

    `ensembles`: those of the best level by dev F1 (the last level without `evaluate`; equals: the larger λ). `best`:
    that level's line of the log, None if no level was finished. `rows`: all lines of the log. `notes`: notes about the
    data (labels with at most one positive example, examples of labels that are not trained). `stopped`: the reason why
    training ended: "patience", "levels" or "budget".
    """

    ensembles: dict[str, LabelEnsemble]
    best: dict | None
    rows: list[dict]
    notes: list[str]
    stopped: str


@lock_dir("workdir")
def train_path(
    stores: Mapping[str, str | os.PathLike],
    labels: Sequence[Label],
    config: PathConfig,
    executor: Executor | None,
    workdir: str | os.PathLike,
    evaluate: Evaluate | None = None,
) -> PathResult:
    """Train all `labels` down the λ path and return the ensembles of the level that is best on the dev set.

    stores: name -> folder of a store with label data. executor: runs the tasks; None: run them in this process, one by
    one; a Dask client's `get_executor()` works if its workers can access the same folders. workdir: folder for states,
    scores and logs; an unfinished run in it is resumed, with the same result as without the interruption. evaluate:
    called in this process after each level with name -> ensemble; must return a mapping with a finite "f1" (larger is
    better).

    Raises ConfigError for invalid settings, or settings that differ from those of the run in `workdir`, and
    TrainingDataError for unusable data.
    """
    folders = {name: str(Path(path).resolve()) for name, path in stores.items()}
    return _Path(folders, labels, config, executor or _InlineExecutor(), Path(workdir), evaluate).run()


class _InlineExecutor(Executor):
    """Runs a task in the submitting thread, before `submit` returns."""

    def submit(self, function: Callable, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_result(function(*args, **kwargs))
        return future


@dataclass
class _Path:
    """One call of `train_path`."""

    stores: Mapping[str, str]
    given: Sequence[Label]
    config: PathConfig
    executor: Executor
    workdir: Path
    evaluate: Evaluate | None

    def __post_init__(self) -> None:
        labels, config, workdir = self.given, self.config, self.workdir
        self.labels = {label.name: label for label in labels}
        if not labels or len(self.labels) < len(labels):
            names = [label.name for label in labels]
            raise ConfigError(f"labels are {names}; they must be at least one, all different")
        self.began = time.time()
        self.deadline = math.inf if config.budget_seconds is None else self.began + config.budget_seconds
        n_workers = config.n_workers or getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1
        self.depth = 1 if isinstance(self.executor, _InlineExecutor) else n_workers * (2 if config.lookahead else 1)
        self.running: dict[Future, str] = {}
        workdir.mkdir(parents=True, exist_ok=True)
        (workdir / STOP_FILE).unlink(missing_ok=True)
        self.notes, self.expected, digests = survey_data(self.stores, labels)
        for note in self.notes:
            logger.info(f"note: {note}")
        self.levels_done = {name: len(load_state(workdir, name).counts) for name in self.labels}
        self.start = math.nan
        self.start = self._start(
            {
                "labels": {label.name: [label.label_id, label.store] for label in labels},
                "data": digests,
                "learner": to_stored(config.learner),
                "decay": config.decay,
                "lambda_start": config.lambda_start,
                "max_trees_per_level": config.max_trees_per_level,
            }
        )
        self.rows = read_lines(workdir / LOG_FILE)
        reports = read_lines(workdir / REPORTS_FILE)
        self.reports = [
            LevelReport(**from_stored(LevelReport, report | {"steps": tuple(report["steps"])})) for report in reports
        ]
        self.expected |= {report.name: report.seconds for report in self.reports}

    def _start(self, conditions: dict[str, Any]) -> float:
        """λ of level 0: the setting, that of the run that is resumed, or computed from the largest root gradient."""
        path = self.workdir / RUN_FILE
        try:
            saved = load_checkpoint(path)
        except TrainingDataError as error:  # the run cannot be resumed without its λ
            raise ConfigError(
                f"{path} is damaged ({error.__cause__}); give another folder to start a new run."
            ) from error
        if saved is not None:
            if isinstance(saved.get("learner"), dict):  # settings added later had their defaults
                saved["learner"] = {**to_stored(LearnerConfig()), **saved["learner"]}
            check_conditions(self.workdir, saved, conditions, ConfigError)
            return float(saved["start"])
        start = self.config.lambda_start
        if start is None:
            futures = [self.executor.submit(root_gradient, self._task(name)) for name in self.labels]
            start = self.config.decay * max(future.result() for future in futures)
            if not start > 0:
                raise TrainingDataError(
                    "every example has bias 0, so there is nothing to learn; check how the weight of the states is "
                    "divided."
                )
        save_checkpoint(path, {**conditions, "start": start, "notes": self.notes})
        return start

    def penalty(self, level: int) -> float:
        """λ of a level."""
        return self.start * self.config.decay**level

    def _task(self, name: str) -> LevelTask:
        """The task of training the next level of a label."""
        label, level = self.labels[name], self.levels_done[name]
        folders = str(self.workdir.resolve()), self.stores[label.store]
        return LevelTask(*folders, name, label.label_id, level, self.penalty(level), self.config, self.deadline)

    def run(self) -> PathResult:
        """Train until the path ends."""
        try:
            disabled = True if self.config.quiet else None  # None: off if there is no terminal
            with progress_bar(" trees", "boosting", dynamic_ncols=True, disable=disabled) as self.bar:
                stopped = self._loop()
        except BaseException:
            (self.workdir / STOP_FILE).touch()  # running tasks end after their tree
            for future in self.running:
                future.cancel()
            wait(self.running)
            raise
        best = best_row(self.rows)
        trees_of = best["trees_of"] if best else dict.fromkeys(self.labels, 0)
        return PathResult(self._ensembles(trees_of), best, self.rows, self.notes, stopped)

    def _loop(self) -> str:
        evaluated = sum(not row["partial"] for row in self.rows)
        while True:
            while min(self.levels_done.values()) > evaluated:
                self._finish_level(evaluated)
                evaluated += 1
            out_of_patience = self.config.patience is not None and levels_since_best(self.rows) >= self.config.patience
            over_time = time.time() > self.deadline
            if out_of_patience:
                (self.workdir / STOP_FILE).touch()
            elif not over_time:
                for name in self._ready(evaluated)[: self.depth - len(self.running)]:
                    self.running[self.executor.submit(run_level, self._task(name))] = name
            if not self.running:
                break
            for future in wait(self.running, return_when=FIRST_COMPLETED).done:
                del self.running[future]
                self._add_report(future.result())
        (self.workdir / STOP_FILE).unlink(missing_ok=True)
        if over_time and not out_of_patience:
            self._finish_level(None)
        return "patience" if out_of_patience else "budget" if over_time else "levels"

    def _ready(self, evaluated: int) -> list[str]:
        """Labels whose next level may start: the lowest level first, then the longest expected time."""
        config, done, busy = self.config, self.levels_done, set(self.running.values())
        floor = max(config.lambda_floor, 1e-300)
        max_level = evaluated + config.lookahead
        if config.max_levels is not None:
            max_level = min(max_level, config.max_levels - 1)
        ready = [
            name for name in done if name not in busy and done[name] <= max_level and self.penalty(done[name]) >= floor
        ]
        return sorted(ready, key=lambda name: (done[name], -self.expected[name], name))

    def _add_report(self, report: LevelReport) -> None:
        append_line(self.workdir / REPORTS_FILE, to_stored(report))
        self.reports.append(report)
        self.expected[report.name] = report.seconds
        if report.finished:
            self.levels_done[report.name] = report.level + 1
        self.bar.update(report.grown)
        self.bar.set_postfix_str(f"λ {self.penalty(report.level):.4g} {report.name}")

    def _ensembles(self, trees_of: Mapping[str, int]) -> dict[str, LabelEnsemble]:
        """Each label's ensemble of its first `trees_of[label]` trees."""
        return {name: first_trees(load_state(self.workdir, name).ensemble, n) for name, n in trees_of.items()}

    def _finish_level(self, level: int | None) -> None:
        """Evaluate a level that all labels have reached (None: the trees grown when time is up) and log it."""
        states = {name: load_state(self.workdir, name) for name in self.labels}
        trees = {name: len(s.ensemble.roots) if level is None else s.counts[level] for name, s in states.items()}
        same = trees == (self.rows[-1]["trees_of"] if self.rows else dict.fromkeys(trees, 0))
        if level is None and same:
            return
        ensembles = self._ensembles(trees)
        scores: dict[str, float] = {}
        if same and self.rows:
            scores = self.rows[-1]["scores"]
        elif self.evaluate is not None:
            scores = dict(self.evaluate(ensembles))
        done = max(self.levels_done.values()) if level is None else level
        row = self._row(done, level is None, ensembles, scores)
        self.rows.append(row)
        append_line(self.workdir / LOG_FILE, row)
        f1 = "" if row["f1"] is None else f", dev F1 {row['f1']:.4f}"
        self.bar.write(f"level {done}: λ {row['lambda']:.4g}, {row['parameters']} parameters, {row['trees']} trees{f1}")

    def _row(
        self, level: int, partial: bool, ensembles: Mapping[str, LabelEnsemble], scores: Mapping[str, float]
    ) -> dict[str, Any]:
        """Build one line of the log. `partial`: time was up within the level.

        `parameters`: number of leaves that are not 0; `leaves`: number of all leaves. `ms_per_tree` is the papers'
        profile; `weight_lost` the mean fraction of weight outside the sample; `trees_of` the number of trees of each
        ensemble that were evaluated.
        """
        reports = [report for report in self.reports if report.level == level]
        by_label = {name: _sizes([one], [r for r in reports if r.name == name]) for name, one in ensembles.items()}
        total = _sizes(list(ensembles.values()), reports)
        seconds = {step: sum(report.steps[k] for report in reports) for k, step in enumerate(STEPS)}
        return {
            "level": level,
            "partial": partial,
            "lambda": self.penalty(level),
            **{key: total[key] for key in ("parameters", "leaves", "trees")},
            "f1": scores.get("f1"),
            "scores": dict(scores),
            "seconds": round(time.time() - self.began, 3),
            "train_seconds": total["seconds"],
            "ms_per_tree": {step: round(1e3 * taken / max(1, total["grown"]), 3) for step, taken in seconds.items()},
            "weight_lost": total["weight_lost"],
            "labels": by_label,
            "trees_of": {name: sizes["trees"] for name, sizes in by_label.items()},
        }


def _sizes(ensembles: Sequence[LabelEnsemble], reports: Sequence[LevelReport]) -> dict[str, Any]:
    """Sizes of some labels' ensembles, and sums over the reports of their tasks."""
    grown = sum(report.grown for report in reports)
    return {
        "trees": sum(len(ensemble.roots) for ensemble in ensembles),
        "parameters": sum(map(n_parameters, ensembles)),
        "leaves": sum(map(n_leaves, ensembles)),
        "grown": grown,
        "seconds": round(sum(report.seconds for report in reports), 3),
        "weight_lost": round(sum(report.lost for report in reports) / max(1, grown), 6),
    }
