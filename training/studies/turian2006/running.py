"""The plan of runs for the papers' tables, and the execution of one run: train (or measure), evaluate, write
result.json. All runs can be resumed."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.core import Parser, load_parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.stored_names import to_stored

from ...data.corpus import Sentence
from ...data.treebanks import provenance
from ...dtparse.boosting.learner import LabelLearner, ensemble_scores
from ...dtparse.boosting.path_log import LOG_FILE, best_row, seconds_used
from ...dtparse.fit import BoostingRun, limit_minutes
from ...dtparse.recipe import FitRecipe
from ...pcfgla import PcfgOptions, train_pcfg
from ...pcfgla.latent_training import LatentOptions, train_latent
from ...runs.files import read_lines, read_result, reuse_result, write_atomically
from ...runs.processes import worker_pool
from ...runs.settings import apply_settings
from ..plans import RESULT, PlanItem, origin
from ..sources import Sources
from . import measuring
from .indirect import IndirectStore

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "2006.json"
DEV_WORDS = 15  # evaluation uses sentences of at most this many words, including punctuation, whatever was trained on
LATENT_CYCLES = 4
PROFILED = 20  # number of counted trees of each variant of a "profile" run
VARIANTS: dict[str, Any] = {
    "sampled": {},
    "no_subtraction": {"subtraction": False},
    "no_sampling": {"sample_size": None},
}


@dataclass(frozen=True)
class StudyRun(PlanItem):
    """One run. `changes`: settings that differ from the recipe 2006, by dotted name. `kind`: "fit" trains and
    evaluates; "profile" grows more trees on the stores of run `base_run`; "scale" builds the stores of sentences of any
    length and grows a few trees; "pcfg" and "pcfgla" are baselines. `minutes`: wall-clock limit of training (after it
    the run ends within its λ level; evaluation is not included)."""

    kind: str
    about: str
    minutes: float
    changes: Mapping[str, Any] = field(default_factory=dict)
    base_run: str | None = None


PLAN = (  # in the order of execution; the minutes add up to less than 6 hours
    StudyRun("r2l", "fit", "right-to-left, baseline atoms", 40),
    StudyRun("l2r", "fit", "left-to-right", 40, {"strategy": "l2r"}),
    StudyRun("bottom_up", "fit", "any order", 40, {"strategy": "bottom_up"}),
    StudyRun("kitchen_sink", "fit", "right-to-left, all atoms", 45, {"templates": "kitchen_sink", "memory_gib": 12}),
    StudyRun("hard", "fit", "gain with a hard threshold", 25, {"learner.gain": "hard"}),
    StudyRun("stumps", "fit", "one split per tree", 25, {"learner.max_splits": 1}),
    StudyRun("uniform", "fit", "every example weighs 1", 25, {"example_weights": "uniform"}),
    StudyRun("profile", "profile", "NP trees on the run r2l's", 10, base_run="r2l"),
    StudyRun("profile_kitchen_sink", "profile", "NP trees on the run kitchen_sink's", 15, base_run="kitchen_sink"),
    StudyRun(
        "full_length",
        "scale",
        "sentences of any length, indirect storage",
        40,
        {"max_words": None, "memory_gib": 0, "atom_sentences": 4000},
    ),
    StudyRun("pcfg", "pcfg", "PCFG with parent annotation, same sentences", 5),
    StudyRun("pcfgla", "pcfgla", "PCFG with latent annotations, same sentences", 10),
)


def run_recipe(run: StudyRun, settings: Sequence[str] = ()) -> FitRecipe:
    """The recipe 2006 with the run's changes and `settings` (NAME=VALUE). Raises ConfigError for unknown settings. A
    run that builds on another run has that run's recipe."""
    owner = next((other for other in PLAN if other.name == run.base_run), run)
    changes = [f"{name}={json.dumps(value)}" for name, value in owner.changes.items()]
    return FitRecipe.from_dict(apply_settings(FitRecipe.from_json(RECIPE).to_dict(), [*changes, *settings]))


@dataclass(frozen=True)
class TrainingJob:
    """Arguments common to all runs of a call. `out`: a run has the folder `out`/NAME and the model `out`/NAME.model.
    `budget`: maximum inferences scored per sentence in the evaluation. `settings`: NAME=VALUE for every recipe.
    `minutes`: instead of the plan's. `baseline`: a parser's file, used instead of training a PCFG. `command`: recorded
    in the results."""

    sources: Sources
    out: Path
    budget: int = 100_000
    settings: tuple[str, ...] = ()
    minutes: float | None = None
    baseline: Path | None = None
    command: tuple[str, ...] = ()

    def short_sentences(self, part: str) -> list[Sentence]:
        """The short sentences of "dev" or "test". Raises TrainingDataError if there are none in dev."""
        every: Sequence[Sentence] = getattr(self.sources, part)
        short = [sentence for sentence in every if 0 < len(sentence.tags) <= DEV_WORDS]
        if part == "dev" and not short:
            raise TrainingDataError(
                f"none of the {len(every)} dev sentences has at most {DEV_WORDS} words; give treebanks with a dev "
                "part, or a larger --scale"
            )
        return short


def execute(run: StudyRun, job: TrainingJob) -> tuple[dict[str, Any], bool]:
    """Do a run; returns (its result, whether it was computed now). A run with a result under the same conditions is not
    repeated. Raises TrainingDataError and ConfigError for unusable input, such as the folder of another run."""
    recipe = run_recipe(run, job.settings)
    trained = {
        "run": run.name,
        "recipe": recipe.conditions(),
        "minutes": job.minutes or run.minutes,
        "data": job.sources.describe(),
    }
    conditions = {**trained, "budget": job.budget, "dev_words": DEV_WORDS, "of": run.base_run}
    if run.kind in ("pcfg", "pcfgla"):
        del conditions["recipe"], conditions["minutes"]
        conditions["baseline"] = job.baseline.name if run.kind == "pcfg" and job.baseline else None

    def compute(_: dict[str, Any]) -> dict[str, Any]:
        started = time.perf_counter()
        found = MAKERS[run.kind](run, job, recipe, trained)
        info = {"about": run.about, "seed": recipe.seed, "seconds_now": round(time.perf_counter() - started, 1)}
        return {**info, **origin(job.command), **found}

    return reuse_result(job.out / run.name / RESULT, conditions, compute)


def _fit(run: StudyRun, job: TrainingJob, recipe: FitRecipe, conditions: dict[str, Any]) -> dict[str, Any]:
    folder, model_file = job.out / run.name, job.out / f"{run.name}.model"
    dev = job.short_sentences("dev")

    def train(_: dict[str, Any]) -> dict[str, Any]:
        timed = limit_minutes(recipe, job.minutes or run.minutes, folder)
        names = [sentence.source for sentence in job.sources.train]
        meta = {"name": f"2006-{run.name}", "lang": "en", "version": __version__, **provenance(names)}
        meta.pop("notices")
        fit = BoostingRun(timed, job.sources.train, dev, folder, meta=meta, large=IndirectStore.build_all)
        model, result = fit.run()
        write_atomically(model_file, DtreeParser(model).to_bytes())
        return {"stopped": result.stopped, "corpus": fit.data.report, "notes": result.notes}

    trained, _ = reuse_result(folder / "trained.json", conditions, train, outputs=[model_file])
    parser = load_parser(model_file)
    rows = read_lines(folder / "path" / LOG_FILE)
    best = best_row(rows)
    if best is None:
        raise TrainingDataError(f"{folder}: no λ level was trained; allow more time or a smaller path.lambda_floor")
    return {
        **{key: trained[key] for key in ("stopped", "corpus")},
        "train_seconds": round(seconds_used(rows), 1),
        "best": _short(best),
        "rows": [_short(row) for row in rows],
        **_evaluate_parts(parser, job, job.budget),
        "dev_greedy": measuring.evaluate_with_search(parser, dev, 0),
        "examples": measuring.example_counts(folder, trained["corpus"]["sentences"]),
        "ensemble": measuring.label_statistics(folder, best),
    }


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """A line of the λ path's log, without the data of labels other than LABEL."""
    mine = row["labels"].get(measuring.LABEL, {})
    keys = ("level", "partial", "lambda", "parameters", "leaves", "trees", "f1", "seconds", "weight_lost")
    label = {key: mine.get(key) for key in ("trees", "parameters", "leaves")}
    label["weight_lost"] = mine.get("weight_lost") if mine.get("grown") else None
    return {**{key: row[key] for key in keys}, "f1_evalb": row["scores"].get("f1_evalb"), measuring.LABEL: label}


def _profile(run: StudyRun, job: TrainingJob, recipe: FitRecipe, _: dict[str, Any]) -> dict[str, Any]:
    folder = job.out / str(run.base_run)
    stored = read_result(folder / RESULT)
    if stored is None:
        raise TrainingDataError(
            f"run {run.name!r} needs the stores of run {run.base_run!r}; do that one first (--runs)"
        )
    at = measuring.label_at(folder, stored["best"])
    if at is None:
        raise TrainingDataError(f"run {run.base_run!r} has no label {measuring.LABEL}, so there is nothing to profile")
    ensemble, number = at
    store, data = measuring.open_window(folder)
    penalty, score = stored["best"]["lambda"] * recipe.path.decay, ensemble_scores(store, ensemble)
    seconds, grown = 20 * (job.minutes or run.minutes), {}  # a third of the minutes for each variant
    for name, changes in VARIANTS.items():
        given = replace(recipe.learner, **changes), ensemble, score.copy(), measuring.OTHER_DRAWS
        learner = LabelLearner(store, data, number, measuring.LABEL, *given)
        grown[name] = measuring.profile_trees(learner, penalty, PROFILED, seconds, 2)
    length = stored["examples"]["atoms_per_example"]
    return {"examples": store.n_examples, "atoms": store.n_atoms, "atoms_per_example": length, "variants": grown}


def _scale(run: StudyRun, job: TrainingJob, recipe: FitRecipe, _: dict[str, Any]) -> dict[str, Any]:
    with worker_pool(1, "spawn") as pool:  # so that the memory of its process is only this run's
        given = recipe, job.sources.train, job.out / run.name, job.minutes or run.minutes
        return pool.submit(measuring.measure_scale, *given).result()


def _pcfg(run: StudyRun, job: TrainingJob, recipe: FitRecipe, conditions: dict[str, Any]) -> dict[str, Any]:
    """Train a PCFG of either kind on the short sentences; `recipe` and the plan's minutes are ignored."""
    job.short_sentences("dev")  # raises if there is none
    started, found = time.perf_counter(), dict[str, Any](options=None)
    if run.kind == "pcfg" and job.baseline is not None:
        parser = load_parser(job.baseline)
    else:
        train, meta = [s for s in job.sources.train if len(s.tags) <= DEV_WORDS], {"name": f"2006-{run.name}"}
        if run.kind == "pcfgla":
            latent = LatentOptions(cycles=LATENT_CYCLES, given_tags=True)
            model = train_latent(train, latent, meta, threads=2, workdir=job.out / run.name / "cycles")
            found = {"options": model.meta["options"], "values": int(model.latent[0].sizes.sum())}
        else:
            chosen = PcfgOptions()
            model = train_pcfg(train, chosen, meta)
            extra_options = {"smoothing": chosen.smoothing, "given_tags": chosen.given_tags}
            found["options"] = {"markov": to_stored(chosen.markov), **extra_options}
        parser = PcfgParser(model)
        write_atomically(job.out / f"{run.name}.model", parser.to_bytes())
    return {**found, "train_seconds": round(time.perf_counter() - started, 1), **_evaluate_parts(parser, job, None)}


def _evaluate_parts(parser: Parser, job: TrainingJob, budget: int | None) -> dict[str, Any]:
    """Score a parser on dev, and on test if there is any."""
    parts = {part: job.short_sentences(part) for part in ("dev", "test")}
    return {
        part: measuring.evaluate_with_search(parser, sentences, budget)
        for part, sentences in parts.items()
        if sentences
    }


Maker = Callable[
    [StudyRun, TrainingJob, FitRecipe, dict[str, Any]], dict[str, Any]
]  # the last argument: conditions of the training
MAKERS: dict[str, Maker] = {"fit": _fit, "profile": _profile, "scale": _scale, "pcfg": _pcfg, "pcfgla": _pcfg}
