"""What a run leaves behind, measured: accuracy and search, examples, ensembles, memory."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.model.trees.ensemble import LabelEnsemble
from spacy_dtparse.parsers import ConstituentParser
from spacy_dtparse.parsers.dtree import DtreeParser

from ...data.corpus import Sentence
from ...data.evaluate import score_parser
from ...dtree.boosting.labels import open_label_data
from ...dtree.boosting.learner import ensemble_scores
from ...dtree.boosting.path import RUN_FILE
from ...dtree.boosting.store import open_store
from ...dtree.boosting.task import load_scores, load_state
from ...dtree.boosting.tree import first_trees
from ...dtree.fit import Fit
from ...dtree.recipe import FitRecipe
from ...runs.files import read_lines
from .indirect import IndirectStore
from .statistics import ensemble_statistics, margin_statistics, profile_trees

LABEL = "NP"
"""The classifier that is looked at closely: the papers' bottleneck."""

SCALE_LAMBDA, SCALE_TREES = 1.0, 3
"""λ and counted trees of a "scale" run: as low as to make trees of full size."""


def judge(parser: ConstituentParser, sentences: Sequence[Sentence], budget: int | None) -> dict[str, Any]:
    """`evaluate.score_parser` with the sentences' own tags, and `optimal`, `cut_short`: shares of the sentences whose
    search ended with a proof, or for want of budget. No shift is taken unseen. None: the parser's own settings."""
    if isinstance(parser, DtreeParser):
        parser = parser.with_settings(budget=budget, confident=float("inf"), gate=0)
    record = score_parser(parser, sentences, [sentence.tags for sentence in sentences])
    status = record["status"]
    return {
        **record,
        "budget": budget,
        "optimal": status.get("optimal", 0) / len(sentences),
        "cut_short": status.get("complete", 0) / len(sentences),
    }


def example_counts(folder: Path, sentences: int) -> dict[str, Any]:
    """Rows and postings of the stores in a working folder, and positive examples by label.

    `per_sentence`: rows of the window store, each an example of every label but TOP, for each sentence.
    """
    totals = json.loads((folder / "stores.json").read_text(encoding="utf8"))["totals"]
    gold = open_label_data(folder / "stores" / "window").gold
    path = folder / "path" / RUN_FILE
    labels = json.loads(path.read_text(encoding="utf8"))["labels"] if path.is_file() else {}
    counts = np.bincount(gold[gold >= 0].astype(np.int64), minlength=1)
    log = {line["what"]: line for line in read_lines(folder / "fit.jsonl")}
    rows = totals["window"]["rows"]
    return {
        "rows": {store: total["rows"] for store, total in totals.items()},
        "per_sentence": rows / sentences,
        "atoms_per_example": totals["window"]["postings"] / max(1, rows),
        "atoms": log["atoms"]["atoms"] if "atoms" in log else None,
        "positives": {
            name: int(counts[number])
            for name, (number, store) in labels.items()
            if store == "window" and number < len(counts)
        },
    }


def label_at(folder: Path, row: dict[str, Any]) -> tuple[LabelEnsemble, int] | None:
    """(LABEL's ensemble at a level of the λ path, its number); None when the run has no such label."""
    labels = json.loads((folder / "path" / RUN_FILE).read_text(encoding="utf8"))["labels"]
    if LABEL not in labels:
        return None
    ensemble = load_state(folder / "path", LABEL).ensemble
    trees = row[LABEL]["trees"] if LABEL in row else row["trees_of"][LABEL]
    return first_trees(ensemble, trees), int(labels[LABEL][0])


def label_statistics(folder: Path, best: dict[str, Any]) -> dict[str, Any] | None:
    """`ensemble_statistics` and `margin_statistics` of LABEL at the best level; None when the run has no such label."""
    held = label_at(folder, best)
    if held is None:
        return None
    ensemble, number = held
    store = open_store(str((folder / "stores" / "window").resolve()))
    score = load_scores(folder / "path", LABEL, ensemble, store.n_examples)
    if score is None:
        score = ensemble_scores(store, ensemble)
    positive = open_label_data(folder / "stores" / "window").gold == number
    return {"label": LABEL, **ensemble_statistics(ensemble), "margins": margin_statistics(score, positive)}


def measure_scale(recipe: FitRecipe, sentences: Sequence[Sentence], folder: Path, minutes: float) -> dict[str, Any]:
    """Build the stores of the sentences and grow a few LABEL trees; sizes, seconds, this process's peak memory.

    `minutes` bounds the growing, not the building. Stores of a killed run are used again.
    """
    began = time.perf_counter()
    fit = Fit(recipe, sentences, [], folder, large=IndirectStore.build_all)
    fit.prepare()
    prepared = time.perf_counter() - began
    path = (folder / "stores" / "window").resolve()
    store, data = open_store(str(path)), open_label_data(path)
    names = list(fit.lexicon.labels)
    counts = np.bincount(data.gold[data.gold >= 0].astype(np.int64), minlength=len(names))
    examples = {
        **example_counts(folder, fit.report["sentences"]),
        "positives": {name: int(count) for name, count in zip(names, counts, strict=False)},
    }
    found: dict[str, Any] = {
        "label": LABEL,
        "corpus": fit.report,
        "examples": examples,
        "direct": json.loads((folder / "stores.json").read_text(encoding="utf8"))["direct"],
        "prepare_seconds": round(prepared, 1),
        "bytes_per_example": {name: array.dtype.itemsize for name, array in zip(data._fields, data, strict=True)},
    }
    if LABEL in names:
        at = names.index(LABEL), LABEL
        found["profile"] = profile_trees(
            store, data, *at, recipe.learner, SCALE_LAMBDA, SCALE_TREES, seconds=60 * minutes
        )
    found["peak_bytes"] = peak_memory()
    return found


def peak_memory() -> int | None:
    """The largest resident memory of this process so far, mapped files included, in bytes; None where unknown."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None
