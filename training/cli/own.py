"""Commands that go all the way for a treebank: from its files to a pipeline, at one size or at several."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..runs.files import file_digest, read_result, write_json
from .declaring import CONVERTING, LICENCE, choice, conversion_flags, declare, each, number, option, path, say

command = partial(declare, "Whole pipelines")
RECIPES = Path(__file__).resolve().parents[1] / "recipes"
PARSERS = ("read", "span", "trees")
OPTIONS = (
    path("treebank", "its folder, with train.mrg or train.psd and perhaps dev.mrg", metavar="FOLDER"),
    *CONVERTING,
    choice(
        "--parser",
        PARSERS,
        "read (default): boosted trees over a network; span: the network alone; trees: boosted trees alone",
        default="read",
    ),
    path("--heads", "head rules in JSON (default: see span and fit)", metavar="FILE"),
    number("--folds", 4, "taggers and networks of which each leaves out what it reads", least=1),
    option("--seeds", "of networks, which are multiplied (default: 0)", nargs="+", type=natural_number, default=[0]),
    each("--tagger-set", "a setting of the taggers, as of tag --set; repeatable", metavar="NAME=VALUE"),
    each("--span-set", "a setting of the networks, as of span --set; repeatable", metavar="NAME=VALUE"),
    each("--fit-set", "a setting of the boosted trees, as of fit --set; repeatable", metavar="NAME=VALUE"),
    path("--recipe", "of the boosted trees (default: one for the treebank's size)", metavar="FILE"),
    option("--workers", "processes (default: 2)", type=positive_number, default=2),
    option("--name", "the pipeline's name, for its package (default: the treebank's)"),
    option("--version", "the pipeline's version (default: the package's)"),
    *LICENCE,
)
"""The options of `pipeline` and `curve`."""


@dataclass(frozen=True)
class Step:
    """A command of `python -m training`, its arguments, and what it writes last."""

    name: str
    arguments: tuple[str, ...]
    written: Path = field(default=Path())


@command(
    "pipeline assets/sample --lang en --out build/mine",
    *OPTIONS,
    path("--reader", "a network that stays as it is, for --parser read: a model file, or en, the English one"),
    path("--out", "folder for all that is made; OUT/pipeline is the result", required=True),
)
def pipeline(options: argparse.Namespace) -> None:
    """Go from a treebank to a spaCy pipeline and its scores: all steps, with settings for the treebank's size.

    Each step is printed as the command that it is. What is done is not done again; a killed run goes on where it
    stopped.
    """
    run_pipeline(options, options.out, options.reader)
    say(f"{options.out / 'pipeline'}: spacy.load takes it; an installable package of it: "
        f"python -m spacy package {options.out / 'pipeline'} {options.out} --build wheel")  # fmt: skip


@command(
    "curve assets/sample --sizes 50 100 --readers none en --out build/curve",
    *OPTIONS,
    option("--sizes", "numbers of trees, the first of train", nargs="+", type=positive_number, required=True),
    option("--readers", "none: learn all from the trees; en or model files: networks that stay as they are",
           nargs="+", default=["none"], metavar="READER"),
    path("--out", "folder for the pipelines and curve.json", required=True),
)  # fmt: skip
def curve(options: argparse.Namespace) -> None:
    """Train a pipeline for each of some numbers of trees, and tell their scores beside one another.

    Scored are the parts of --also where there are some, else the dev part. A killed run goes on where it stopped.
    """
    rows: list[dict[str, Any]] = []
    for reader in options.readers:
        for size in options.sizes:
            options.limit = size
            out = options.out / f"{Path(reader).stem}_{size}"
            records, seconds = run_pipeline(options, out, None if reader == "none" else Path(reader))
            judged = [r for r in records if r["file"] != "dev.mrg"] or records
            rows += [{"reader": reader, "trees": size, "training_seconds": seconds, **record} for record in judged]
    write_json(options.out / "curve.json", rows)
    say(curve_table(rows))


def curve_table(rows: list[dict[str, Any]]) -> str:
    """The records of `curve` as a text table."""
    lines = [f"{'reader':12}{'trees':>7}  {'scored on':12}{'tags':>10}{'F1 all':>8}{'F1 evalb':>9}{'exact':>7}"
             f"{'tag acc':>8}{'seconds':>9}"]  # fmt: skip
    for row in rows:
        f1, evalb, exact = row["all"]["f1"], row["evalb"]["f1"], row["all"]["exact_match"]
        lines.append(
            f"{row['reader']:12}{row['trees']:7}  {row['file']:12}{row['tags']:>10}{100 * f1:8.2f}{100 * evalb:9.2f}"
            f"{100 * exact:7.2f}{100 * row['tag_accuracy']:8.2f}{row['training_seconds']:9.0f}"
        )
    return "\n".join(lines)


def run_pipeline(options: argparse.Namespace, out: Path, reader: Path | None) -> tuple[list[dict[str, Any]], float]:
    """Do what is not yet done of all steps; the records of `evaluate`, and the seconds of all steps before it. Raises
    what the steps raise, ConfigError for options that do not go together, TrainingDataError where there is no
    treebank."""
    from . import run_command

    if not options.treebank.is_dir():
        raise TrainingDataError(
            f"there is no folder {options.treebank}; give the one that holds the treebank's train.mrg"
        )
    if reader is not None and options.parser != "read":
        raise ConfigError(f"--reader is for --parser read, not {options.parser}; leave one of them out")
    files = sorted(file for file in options.treebank.resolve().iterdir() if file.suffix in (".mrg", ".psd"))
    given = [file for file in (options.scheme, options.heads, options.recipe, reader) if file and file.is_file()]
    facts = {str(file): file_digest(file) for file in (*files, *given)}
    kept = out / "steps.json"
    held = read_result(kept, "steps") if kept.is_file() else None
    steps = held["steps"] if held is not None and held["facts"] == facts else {}
    done: dict[str, Any] = {}

    def do(step: Step) -> None:
        before = steps.get(step.name)
        fresh = all(one["fresh"] for one in done.values())
        if fresh and before and before["arguments"] == list(step.arguments) and step.written.exists():
            done[step.name] = {**before, "fresh": True}
            say(f"{step.name}: done before, in {before['seconds']:.0f} s")
            return
        say(f"$ python -m training {' '.join(step.arguments)}")
        began = time.perf_counter()
        run_command(list(step.arguments))
        seconds = round(time.perf_counter() - began, 1)
        done[step.name] = {"arguments": list(step.arguments), "seconds": seconds, "fresh": False}
        write_json(kept, {"facts": facts, "steps": done})
        say(f"{step.name}: {seconds:.0f} s")

    name = options.treebank.resolve().name
    do(convert_step(options, out, name))
    train = out / "corpus" / name / "train.mrg"
    for step in training_steps(options, out, name, _words(train), reader):
        do(step)
    training = sum(one["seconds"] for step, one in done.items())
    scored = [p for part in ("dev", *options.also) if (p := out / "corpus" / name / f"{part}.mrg").is_file()]
    if not scored:
        say("there is no dev part, so nothing is scored; --dev 1/10 takes one from train")
        return [], training
    scores = out / "scores.json"
    do(Step("evaluate", ("evaluate", str(out / "pipeline"), *map(str, scored), "--tags", "gold", "predicted",
                         "--json", str(scores), "--record"), scores))  # fmt: skip
    return _records(scores), training


def convert_step(options: argparse.Namespace, out: Path, name: str) -> Step:
    """The step that cleans the trees."""
    folder = options.treebank.resolve().parent
    given = options.treebank.parent if options.treebank.name == name else folder
    words = ("convert", str(given), name, "--out", str(out / "corpus"), *conversion_flags(options))
    return Step("convert", words, out / "corpus" / name / "train.mrg")


def training_steps(options: argparse.Namespace, out: Path, name: str, words: int, reader: Path | None) -> list[Step]:
    """The steps from cleaned trees, of so many `words`, to the pipeline."""
    from training.data.sizes import sizes_for

    sizes = sizes_for(words)
    corpus = ("--corpus", str(out / "corpus"), "--names", name)
    lang, heads = ("--lang", options.lang), () if options.heads is None else ("--heads", str(options.heads))
    tagger = ("--set", *sizes.tagger, *options.tagger_set)
    networks = ("--seeds", *map(str, options.seeds), "--workers", str(options.workers), "--set", *sizes.span,
                *options.span_set)  # fmt: skip
    tags, model, network = out / "tags", out / "parser.model", out / "network.model"
    called = options.name or name
    steps = [
        Step("jackknife", ("jackknife", *corpus, *lang, "--folds", str(options.folds), "--out", str(tags), *tagger),
             tags / f"{name}.train.tags"),
        Step("tag", ("tag", *corpus, *lang, "--out", str(tags), "--model", str(out / "tagger"), *tagger),
             out / "tagger" / "meta.json"),
    ]  # fmt: skip
    tagged, beliefs = (*corpus, "--tags", str(tags)), tuple[str, ...]()
    if options.parser == "span" or (options.parser == "read" and reader is None):
        target = model if options.parser == "span" else network
        steps.append(Step("span", ("span", *tagged, *lang, *heads, "--name", called, *networks, "--workdir",
                                   str(out / "span"), "--out", str(target)), target))  # fmt: skip
    if options.parser == "read" and reader is None:
        folder = out / "beliefs"
        steps.append(Step("readers", ("readers", *tagged, "--folds", str(options.folds), *networks, "--workdir",
                                      str(out / "readers"), "--out", str(folder)),
                          folder / f"{name}.train.beliefs.npz"))  # fmt: skip
        beliefs = ("--beliefs", str(folder))
    if options.parser != "span":
        recipe = options.recipe or RECIPES / f"{sizes.recipe}.json"
        over = ("--reader", str(reader or network), *beliefs) if options.parser == "read" else ()
        alone = () if options.parser == "read" or options.recipe else ("templates=standard", "gate_bits=16")
        steps.append(Step("fit", ("fit", "--recipe", str(recipe), *tagged, *lang, *heads, *over, "--name", called,
                                  "--workdir", str(out / "fit"), "--out", str(model), "--set",
                                  f"n_workers={options.workers}", *alone, *options.fit_set), model))  # fmt: skip
    terms = [part for credit in options.credit for part in ("--credit", credit)]
    terms += ["--license", options.license] if options.license else []
    version = ("--version", options.version) if options.version else ()
    words_ = ("assemble", "--tagger", str(out / "tagger"), "--model", str(model), "--names", name, "--name", called,
              *version, *terms, "--out", str(out / "pipeline"))  # fmt: skip
    return [*steps, Step("assemble", words_, out / "pipeline" / "meta.json")]


def _words(path: Path) -> int:
    from spacy_dtparse.trees import read_trees

    return sum(tree.n_tokens for tree in read_trees(path))


def _records(path: Path) -> list[dict[str, Any]]:
    import json

    return json.loads(path.read_text(encoding="utf8"))
