"""Measure a run: accuracy and search, examples, memory; statistics of an ensemble (Turian & Melamed 2006b, section
4.2), and the time to grow a tree (Table 2)."""

import json
import math
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.core import Parser
from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.dtypes import CONFIDENCE_GRID, OFFSET
from spacy_dtparse.errors import TrainingDataError

from ...data.corpus import Sentence
from ...data.evaluate import score_parser
from ...dtparse.boosting.labels import LabelData, open_label_data
from ...dtparse.boosting.learner import STEPS, LabelLearner, LabelProgress, ensemble_scores
from ...dtparse.boosting.path import RUN_FILE
from ...dtparse.boosting.store import Store, open_store
from ...dtparse.boosting.task import load_scores, load_state
from ...dtparse.boosting.tree import first_trees, n_leaves, n_parameters
from ...dtparse.fit import BoostingRun
from ...dtparse.recipe import FitRecipe
from ...runs.files import load_checkpoint, read_lines
from .indirect import IndirectStore

LABEL = "NP"  # the classifier that is analysed: the papers' bottleneck
SCALE_LAMBDA, SCALE_TREES = 1.0, 3  # λ of a "scale" run, low enough for full-size trees, and number of counted trees
OTHER_DRAWS = LabelProgress(draws=1_000_000)  # sample draws that training does not reach
MAX_RELAXED, RELAX = 40, 0.9  # if the root cannot be split, lower λ by this factor, at most so many times


def evaluate_with_search(parser: Parser, sentences: Sequence[Sentence], budget: int | None) -> dict[str, Any]:
    """`evaluate.score_parser` with the sentences' tags, and `optimal`, `cut_short`: fractions of the sentences whose
    search ended with a proof of optimality, or because the budget was used up. All shifts are scored. `budget` None:
    the parser's default settings."""
    if isinstance(parser, DtreeParser):
        parser = parser.with_settings(budget=budget, shift_threshold=float("inf"), window_filter=0)
    record = score_parser(parser, sentences, [sentence.tags for sentence in sentences])
    optimal, cut_short = (record["status"].get(status, 0) / len(sentences) for status in ("optimal", "complete"))
    return {**record, "budget": budget, "optimal": optimal, "cut_short": cut_short}


def open_window(folder: Path) -> tuple[Store, LabelData]:
    """Open the window store in a working folder."""
    path = (folder / "stores" / "window").resolve()
    return open_store(str(path)), open_label_data(path)


def stores_record(folder: Path) -> dict[str, Any]:
    """Read the record of the stores in a working folder. Raises TrainingDataError if there is none."""
    record = load_checkpoint(folder / "stores.json")
    if record is None:
        raise TrainingDataError(
            f"{folder} has no finished stores of examples; make them: python -m training train-boosted …"
        )
    return record


def example_counts(folder: Path, sentences: int, labels: Sequence[str] | None = None) -> dict[str, Any]:
    """Numbers of rows and postings of the stores in a working folder, and of positive examples by label (`labels`: all
    of them; default: the trained ones). `per_sentence`: rows of the window store per sentence; each is an example of
    every label except TOP."""
    totals = stores_record(folder)["totals"]
    numbers = _trained_labels(folder) if labels is None else {name: number for number, name in enumerate(labels)}
    gold = open_window(folder)[1].gold
    counts = np.bincount(gold[gold >= 0].astype(np.int64), minlength=max(numbers.values(), default=0) + 1)
    log = {line["what"]: line for line in read_lines(folder / "fit.jsonl")}
    rows = totals["window"]["rows"]
    return {
        "rows": {store: total["rows"] for store, total in totals.items()},
        "per_sentence": rows / sentences,
        "atoms_per_example": totals["window"]["postings"] / max(1, rows),
        "atoms": log["atoms"]["atoms"] if "atoms" in log else None,
        "positives": {name: int(counts[number]) for name, number in numbers.items()},
    }


def _trained_labels(folder: Path) -> dict[str, int]:
    """The ids of the labels of the window store that a run has trained."""
    labels = json.loads((folder / "path" / RUN_FILE).read_text(encoding="utf8"))["labels"]
    return {name: int(number) for name, (number, store) in labels.items() if store == "window"}


def label_at(folder: Path, row: dict[str, Any]) -> tuple[LabelEnsemble, int] | None:
    """(Ensemble of LABEL at a level of the λ path, id of LABEL); None if the run has no such label."""
    number = _trained_labels(folder).get(LABEL)
    if number is None:
        return None
    trees = row[LABEL]["trees"] if LABEL in row else row["trees_of"][LABEL]
    return first_trees(load_state(folder / "path", LABEL).ensemble, trees), number


def label_statistics(folder: Path, best: dict[str, Any]) -> dict[str, Any] | None:
    """`ensemble_statistics` and `margin_statistics` of LABEL at the best level; None if the run has no such label."""
    held = label_at(folder, best)
    if held is None:
        return None
    ensemble, number = held
    store, data = open_window(folder)
    score = load_scores(folder / "path", LABEL, ensemble, store.n_examples)
    if score is None:
        score = ensemble_scores(store, ensemble)
    return {**ensemble_statistics(ensemble), "margins": margin_statistics(score, data.gold == number)}


def measure_scale(recipe: FitRecipe, sentences: Sequence[Sentence], folder: Path, minutes: float) -> dict[str, Any]:
    """Build the stores of the sentences and grow a few LABEL trees; returns sizes, seconds, and the peak memory of this
    process. `minutes` limits the growing, not the building. Stores of a killed run are reused."""
    started = time.perf_counter()
    fit = BoostingRun(recipe, sentences, [], folder, large=IndirectStore.build_all)
    fit.stores.prepare()
    prepared = time.perf_counter() - started
    store, data = open_window(folder)
    names = list(fit.data.lexicon.labels)
    found: dict[str, Any] = {
        "corpus": fit.data.report,
        "examples": example_counts(folder, fit.data.report["sentences"], names),
        "direct": stores_record(folder)["direct"],
        "prepare_seconds": round(prepared, 1),
    }
    if LABEL in names:
        learner = LabelLearner(store, data, names.index(LABEL), LABEL, recipe.learner, progress=OTHER_DRAWS)
        found["profile"] = profile_trees(learner, SCALE_LAMBDA, SCALE_TREES, 60 * minutes)
    return {**found, "peak_bytes": peak_memory()}


def peak_memory() -> int | None:
    """The peak resident memory of this process, including mapped files, in bytes; None if unknown."""
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s*(\d+)", status.read_text(encoding="ascii"), re.M) if status.is_file() else None
    return int(found[1]) * 1024 if found else None


def mean_and_sd(values: np.ndarray) -> dict[str, float] | None:
    """Mean and standard deviation; None if there are no values."""
    return {"mean": float(np.mean(values)), "sd": float(np.std(values))} if len(values) else None


def count_splits_above(ensemble: LabelEnsemble) -> tuple[np.ndarray, np.ndarray]:
    """(Number of splits above each node, number of them answered "no"), int64 (N,). A child's index is above its
    parent's, so one pass in order suffices."""
    splits, negated = np.zeros((2, len(ensemble.atom)), dtype=OFFSET)
    for node in np.flatnonzero(ensemble.atom >= 0).tolist():
        yes, no = int(ensemble.yes[node]), int(ensemble.no[node])
        splits[yes] = splits[no] = splits[node] + 1
        negated[yes], negated[no] = negated[node], negated[node] + 1
    return splits, negated


def ensemble_statistics(ensemble: LabelEnsemble) -> dict[str, Any]:
    """Counts, means and deviations of one label's trees. `leaves`, `nonzero_leaves`: of all trees. `splits`: of a tree.
    `splits_above`: between the root and a non-zero leaf. `negated`: fraction of the tests above non-zero leaves that
    are negated; `all_negated`: fraction of non-zero leaves above which all tests are. `confidence`: |value| of the
    non-zero leaves. Means are None if there are no values."""
    splits, negated = count_splits_above(ensemble)
    live = np.flatnonzero(ensemble.value)
    ends = np.append(ensemble.roots[1:], len(ensemble.atom))
    inner = np.concatenate([[0], np.cumsum(ensemble.atom >= 0)])
    total = int(splits[live].sum())
    sizes = {"trees": len(ensemble.roots), "leaves": n_leaves(ensemble), "nonzero_leaves": n_parameters(ensemble)}
    return {
        **sizes,
        "splits": mean_and_sd(inner[ends] - inner[ensemble.roots]),
        "splits_above": mean_and_sd(splits[live]),
        "negated": int(negated[live].sum()) / total if total else None,
        "all_negated": float(np.mean(negated[live] == splits[live])) if len(live) else None,
        "confidence": mean_and_sd(np.abs(ensemble.value[live])),
    }


def margin_statistics(score: np.ndarray, positive: np.ndarray) -> dict[str, Any]:
    """Means and deviations of y·h over correct and incorrect examples; `score` int32 (n,) in units of CONFIDENCE_GRID,
    `positive` bool (n,)."""
    h = score * CONFIDENCE_GRID
    counts = {"n_correct": int(positive.sum()), "n_incorrect": int((~positive).sum())}
    wrong = float(np.mean((h > 0) != positive))
    return {"correct": mean_and_sd(h[positive]), "incorrect": mean_and_sd(-h[~positive]), **counts, "wrong_sign": wrong}


def profile_trees(
    learner: LabelLearner, penalty: float, n_trees: int, seconds: float = math.inf, at_least: int = 1
) -> dict[str, Any]:
    """Grow `n_trees` trees and time the steps. λ starts at `penalty` and is lowered if the root cannot be split. After
    `seconds` growing ends early, with at least `at_least` trees. The first tree is not counted, because it includes the
    time to compile or load kernels and to allocate buffers. Returns `ms`: mean and deviation per step and in `total`,
    in milliseconds, None if no tree could be grown; `trees`, `splits`, `weight_lost`: counts or means over the counted
    trees; `lambda`: of the last one."""
    end = time.monotonic() + seconds
    times: list[list[float]] = []
    sizes, lost, relaxed = [], [], 0
    while len(times) <= n_trees and relaxed < MAX_RELAXED:
        before, n_before = dict(learner.seconds), learner.n_trees
        left_out = learner.step(penalty)
        if left_out is None:
            penalty, relaxed = penalty * RELAX, relaxed + 1
            continue
        times.append([1000 * (learner.seconds[step] - before[step]) for step in STEPS])
        lost.append(left_out)
        if learner.n_trees > n_before:
            sizes.append(int(np.count_nonzero(learner.ensemble.atom[learner.ensemble.roots[-1] :] >= 0)))
        if len(times) >= at_least and time.monotonic() > end:
            break
    counted, ms = np.array(times[1:] or times), None
    if times:
        ms = {**dict(zip(STEPS, map(mean_and_sd, counted.T), strict=True)), "total": mean_and_sd(counted.sum(axis=1))}
    sizes_and_lost = {"splits": mean_and_sd(np.array(sizes)), "weight_lost": mean_and_sd(np.array(lost))}
    return {"trees": len(counted), "lambda": penalty, "ms": ms, **sizes_and_lost}
