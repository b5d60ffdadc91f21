"""The experiments of Matsuzaki, Miyao & Tsujii (2005) on any treebanks: a plan of runs; a run (train, parse dev in all
views, write result.json; finished cycles and views are saved); and results as Markdown, next to the numbers in the
paper's tables. The paper's figures 7 and 8 are plots without numbers to compare with."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.pcfgla.parser import PcfgParser

from ..data.corpus import Sentence
from ..data.evaluate import score_parser
from ..data.treebanks import corpus_files, every, read_files
from ..pcfgla import Markov
from ..pcfgla.latent_training import LatentOptions, describe_latent, train_latent
from ..runs.files import append_line, plain, read_lines, read_result, save_checkpoint, write_atomically
from ..runs.tables import NO, markdown, percent
from .plans import RESULT, PlanItem, Results, Tables, origin
from .sources import Sources, corpus_sources

BINARISATIONS = ("center-parent", "center-head", "left", "right")
VALUES = (1, 2, 4, 8, 16)
SEEDS = (0, 1, 2, 3)
CYCLES = (1, 2, 3, 4, 5, 6)
NOISE = 0.5  # perturbation of the initial probabilities of a grammar without split and merge
DECODERS = ("rerank", "viterbi", "q", "max-rule")


@dataclass(frozen=True)
class View:
    """One way to parse dev. `tags`: "own" (the grammar predicts them), "gold" or "predicted" (by the tagger).
    `settings`: of the parser (PcfgSettings). `max_words`: dev sentences with more words are left out."""

    name: str
    tags: str = "own"
    settings: Mapping[str, Any] = field(default_factory=dict)
    max_words: int | None = None


@dataclass(frozen=True)
class Run(PlanItem):
    """One grammar, or a product of several, trained on one treebank."""

    treebank: str
    options: LatentOptions
    views: tuple[View, ...]


BOTH = (View("own"), View("gold", "gold"))
LENGTHS = tuple(
    View(f"{tags} {max_words}", tags, max_words=max_words)
    for max_words in (40, 100)
    for tags in ("own", "gold", "predicted")
)
DECODED = (
    *(View(decoder, settings={"decoder": decoder}) for decoder in DECODERS),
    *(
        View(f"{decoder} {prune:g}", settings={"decoder": decoder, "prune": prune})
        for decoder in ("viterbi", "q", "max-rule")
        for prune in (1e-2, 1e-3, 1e-5)
    ),
    *(View(f"rerank {n}", settings={"decoder": "rerank", "candidates_n": n}) for n in (10, 100, 300)),
)


def _latent_run(binarisation: str, values: int, seed: int = 0, views: tuple[View, ...] = BOTH, **more: Any) -> Run:
    """A run with a grammar whose symbols all have `values` latent values, as in the paper. `binarisation`: one of
    BINARISATIONS."""
    given = {"markov": Markov(1, 0, binarisation, 1), "values": values, "seeds": (seed,), **more}
    options = LatentOptions(cycles=0, noise=NOISE, smooth_iterations=5, **given)
    return Run(f"{binarisation}-{values}" + (f"-seed{seed}" if seed else ""), "wsj", options, views)


PLAN = (  # in the order of execution
    *(_latent_run("center-parent", values) for values in VALUES[:-1]),
    _latent_run("center-parent", 16, views=(*BOTH, *DECODED), candidates=True),
    *(_latent_run(binarisation, values) for binarisation in BINARISATIONS[1:] for values in VALUES),
    *(_latent_run("center-parent", 16, seed, BOTH[:1]) for seed in SEEDS[1:]),
    *(Run(f"cycles-{cycles}", "wsj", LatentOptions(cycles=cycles, seeds=(0,)), BOTH) for cycles in CYCLES),
    Run("split-merge", "wsj", LatentOptions(seeds=(0,)), (*BOTH, *LENGTHS)),
    Run("product", "wsj", LatentOptions(seeds=SEEDS), (*BOTH, *LENGTHS)),
    Run("craft", "craft", LatentOptions(seeds=(0,), max_words=40), (*BOTH, *LENGTHS)),
    Run("craft-product", "craft", LatentOptions(seeds=(0, 1), max_words=40), LENGTHS),
)

LOG, MODEL = "log.jsonl", "model"
STORED_SCORES = ("all", "evalb", "tag_accuracy", "sentences", "tokens", "seconds", "tokens_per_second", "status")


@cache
def _gold(corpus: Path, treebank: str, scale: float) -> Sources:
    """The trees of a treebank with gold tags."""
    return corpus_sources(corpus, [treebank], None, scale)


@dataclass(frozen=True)
class Study:
    """Arguments common to all runs of a call. `corpus`: folder of treebanks. `tags`: folder of predicted tags; None:
    views with predicted tags are left out. `out`: a run has the folder `out`/NAME. `scale`: fraction of the sentences
    to use."""

    corpus: Path
    tags: Path | None
    out: Path
    threads: int = 2
    scale: float = 1.0
    command: tuple[str, ...] = ()


def execute(run: Run, study: Study) -> tuple[dict[str, Any], bool]:
    """Do a run; returns (its result, whether anything was computed now). Views that are already in a result under the
    same conditions are not repeated. Raises TrainingDataError and ConfigError for unusable input."""
    sources = _gold(study.corpus, run.treebank, study.scale)
    options = {name: value for name, value in describe_latent(run.options).items() if name != "candidates" or value}
    conditions = plain({"run": run.name, "options": options, "data": sources.describe()})
    folder = study.out / run.name
    path, model = folder / RESULT, folder / MODEL
    stored = read_result(path, "views")
    if stored is not None and stored["facts"] != conditions:
        raise TrainingDataError(
            f"{path} was computed with other trees or options; delete its folder to repeat the run, or give another "
            "--out"
        )
    views = {} if stored is None else dict(stored["views"])
    wanted = [view for view in run.views if study.tags is not None or view.tags != "predicted"]
    todo = [view for view in wanted if view.name not in views]
    if stored is not None and not todo:
        return stored, False
    result = stored or {"facts": conditions, **_train(run, study, sources, model)}
    parser = load_parser(model)
    if not isinstance(parser, PcfgParser):
        raise ConfigError(f"{model} is no PCFG; delete {folder} to train it again")
    for view in todo:
        views[view.name] = _parse_view(view, run.treebank, sources.dev, parser, study)
        result |= {"views": views, **origin(study.command)}
        save_checkpoint(path, result)
    return result, True


def _train(run: Run, study: Study, sources: Sources, model: Path) -> dict[str, Any]:
    folder = model.parent
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()

    def log(**conditions: object) -> None:
        append_line(folder / LOG, conditions)

    trained = train_latent(sources.train, run.options, {"name": run.name}, study.threads, folder / "cycles", log)
    write_atomically(model, PcfgParser(trained).to_bytes())
    rows = [row for row in read_lines(folder / LOG) if row["step"] == "em"]
    last = next((row for row in reversed(rows) if row["held_out"] is not None), rows[-1] if rows else None)
    n, step = len(sources.train) - trained.meta["left_out"], run.options.hold_out
    n_learned = n - (-(-n // step) if step and n >= step else 0)
    return {
        "train_seconds": round(time.perf_counter() - started, 1),
        "sentences": n,
        "train_log": None if last is None else last["log_likelihood"] / n_learned,
        "held_out_log": None if last is None else last["held_out"],
        "values": [int(part.sizes.sum()) for part in trained.latent],
        "parameters": [int((part.values > 0).sum()) + len(part.emissions.symbol) for part in trained.latent],
        "megabytes": model.stat().st_size / 1e6,
    }


def _parse_view(view: View, name: str, gold: Sequence[Sentence], parser: PcfgParser, study: Study) -> dict[str, Any]:
    if not gold:
        raise TrainingDataError(f"{name} has no dev part; give a folder with {name}/dev.mrg")
    given = gold
    if view.tags == "predicted":
        given = every(read_files(corpus_files(study.corpus, [name], "dev", study.tags)), study.scale)
    pairs = [
        (a, b.tags) for a, b in zip(gold, given, strict=True) if view.max_words is None or len(a.tags) <= view.max_words
    ]
    if not pairs:
        raise TrainingDataError(f"no dev sentence of {name} has at most {view.max_words} words")
    sentences = [replace(sentence, tags=sentence.tree.tags) for sentence, _ in pairs]
    used = [tags if view.tags == "predicted" else sentence.tree.tags for sentence, tags in pairs]
    chosen = parser.with_settings(tags="own" if view.tags == "own" else "given", **view.settings)
    found = score_parser(chosen, sentences, used)
    return {
        "settings": {**view.settings, "tags": view.tags, "most": view.max_words},
        **{key: found[key] for key in STORED_SCORES},
    }


def count(number: float) -> str:
    """Format a number of parameters."""
    return f"{number / 1e3:,.0f} K" if number < 1e6 else f"{number / 1e6:,.2f} M"


INITIAL: tuple[tuple[str, Callable[[dict[str, Any]], float | None], int, str], ...] = (
    ("log likelihood per training tree", lambda r: r["train_log"], 1, "-114 ± 0.41"),
    ("log likelihood per held-out tree", lambda r: r["held_out_log"], 1, "-114 ± 0.29"),
    ("recall, *evalb*", lambda r: 100 * r["views"]["own"]["evalb"]["recall"], 2, "86.6 ± 0.27"),
    ("precision, *evalb*", lambda r: 100 * r["views"]["own"]["evalb"]["precision"], 2, "86.0 ± 0.48"),
    ("F1, *all*", lambda r: 100 * r["views"]["own"]["all"]["f1"], 2, NO),
)
"""Table 1: name, function of a result, digits, and the paper's mean and standard deviation over four initial values."""


def initial(results: Results) -> str:
    """The same model with different initial values (Table 1)."""
    names = ["center-parent-16", *(f"center-parent-16-seed{seed}" for seed in SEEDS[1:])]
    have = [results[name] for name in names if name in results]
    rows = []
    for name, value, digits, paper in INITIAL:
        found = [value(result) for result in have]
        known = np.array([number for number in found if number is not None])
        spread = f"{known.mean():.{digits}f} ± {known.std(ddof=1):.2f}" if len(known) > 1 else NO
        rows.append([name, *(NO if number is None else f"{number:.{digits}f}" for number in found), spread, paper])
    seeds = [f"seed {result['facts']['options']['seeds'][0]}" for result in have]
    return markdown(["", *seeds, "mean ± sd", "paper (section 22)"], rows)


def binarisations(results: Results) -> str:
    """F1 against parameters for each binarisation and number of values (Figure 7)."""
    named = [(name, str(values), results.get(f"{name}-{values}")) for name in BINARISATIONS for values in VALUES]
    rows = [[name, values, *_score_cells(result)] for name, values, result in named if result is not None]
    if "split-merge" in results:
        result = results["split-merge"]
        rows.append(["center-head", f"split-merge, {result['values'][0]} in all", *_score_cells(result)])
    return markdown(["binarisation", "\\|H\\|", *COLUMNS], rows)


COLUMNS = ("parameters", "own tags: F1 *all* / *evalb*", "gold tags: F1 *all* / *evalb*", "tokens/s, own")


def _score_cells(result: dict[str, Any]) -> list[str]:
    own, gold = result["views"]["own"], result["views"]["gold"]
    return [count(result["parameters"][0]), *(_f1(view) for view in (own, gold)), f"{own['tokens_per_second']:,.0f}"]


def _f1(view: dict[str, Any]) -> str:
    return f"{percent(view['all']['f1'])} / {percent(view['evalb']['f1'])}"


def cycles(results: Results) -> str:
    """F1 by the number of split-merge cycles (Petrov et al. 2006)."""
    have = [(number, results[f"cycles-{number}"]) for number in CYCLES if f"cycles-{number}" in results]
    rows = [[number, result["values"][0], *_score_cells(result)] for number, result in have]
    return markdown(["cycles", "latent values", *COLUMNS], rows)


def decoders(results: Results) -> str:
    """F1 against time of the decoders, for one grammar (Figure 8)."""
    views = results["center-parent-16"]["views"]
    rows = []
    for decoder in DECODERS:
        of = [(name, view) for name, view in views.items() if view["settings"].get("decoder") == decoder]
        for _, view in sorted(of, key=lambda pair: -pair[1]["tokens_per_second"]):
            settings = view["settings"]
            what = f"N = {settings['candidates_n']}" if "candidates_n" in settings else ""
            what = f"prune {settings['prune']:g}" if "prune" in settings else what or "default"
            seconds = view["seconds"] / view["sentences"]
            rows.append([decoder, what, f"{1000 * seconds:,.1f}", _f1(view)])
    return markdown(["decoder", "candidates", "ms per sentence", "F1 *all* / *evalb*"], rows)


LENGTH_RUNS = {
    "split-merge": "wsj, one grammar",
    "product": "wsj, four grammars",
    "craft": "craft, one grammar",
    "craft-product": "craft, two grammars",
}


def lengths(results: Results) -> str:
    """Recall, precision and crossing brackets of short sentences and of nearly all sentences (Table 2)."""
    rows = []
    for name, what in LENGTH_RUNS.items():
        views = results.get(name, {"views": {}})["views"]
        for max_words, tags, view in ((one.max_words, one.tags, views.get(one.name)) for one in LENGTHS):
            if view is not None:
                scores = view["evalb"]
                f1, recall, precision = map(percent, (view["all"]["f1"], scores["recall"], scores["precision"]))
                crossing = f"{scores['crossing']:.2f}", percent(scores["no_crossing"], 1)
                speed = f"{view['tokens_per_second']:,.0f}"
                rows.append([what, f"≤ {max_words}", tags, f1, recall, precision, *crossing, speed])
    rows += [
        ["paper, section 23", "≤ 40", "own", NO, "86.7", "86.6", "1.19", "61.1", NO],
        ["paper, section 23", "≤ 100", "own", NO, "86.0", "86.1", "1.39", "58.3", NO],
    ]
    return markdown(["grammar", "words", "tags", "F1 *all*", "LR", "LP", "CB", "0CB %", "tokens/s"], rows)


TABLES: Tables = {
    "initial": (("center-parent-16",), initial),
    "binarisations": (tuple(f"{name}-{values}" for name in BINARISATIONS for values in VALUES), binarisations),
    "cycles": (tuple(f"cycles-{number}" for number in CYCLES), cycles),
    "decoders": (("center-parent-16",), decoders),
    "lengths": (tuple(LENGTH_RUNS), lengths),
}
