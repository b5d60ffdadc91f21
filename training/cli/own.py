"""Commands that go all the way for a treebank: from its files to a pipeline, at one size or at several."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.models import embedded_pipeline
from spacy_dtparse.trees import read_trees

from ..data.sizes import sizes_for
from ..runs.files import file_digest, write_json
from ..runs.steps import Step, Steps
from .declaring import CONVERTING, LICENCE, choice, conversion_flags, declare, each, number, option, path, say

command = partial(declare, "Whole pipelines")
RECIPES = Path(__file__).resolve().parents[1] / "recipes"
EMBEDDED = "embedded"
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
    option(
        "--tagger",
        "a pipeline whose tags the parser reads in place of the treebank's, by folder (embedded: the English one); "
        "none is trained then",
        metavar="PIPELINE",
    ),
    option("--reader-tagger", "see fit", metavar="PIPELINE"),
    path("--recipe", "of the boosted trees (default: one for the treebank's size)", metavar="FILE"),
    option("--workers", "processes (default: 2)", type=positive_number, default=2),
    option("--name", "the pipeline's name, for its package (default: the treebank's)"),
    option("--version", "the pipeline's version (default: the package's)"),
    *LICENCE,
    option(
        "--with",
        "these options without dashes, as variables of a spaCy project can hold them: --with parser=span limit=500",
        nargs="*",
        metavar="NAME=VALUE",
    ),
)
"""The options of `pipeline` and `curve`."""


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
            rows += [{"reader": reader, "trees": size, "cpu_seconds": seconds, **record} for record in judged]
    write_json(options.out / "curve.json", rows)
    say(curve_table(rows))


def curve_table(rows: list[dict[str, Any]]) -> str:
    """The records of `curve` as a text table."""
    lines = [f"{'reader':12}{'trees':>7}  {'scored on':12}{'tags':>10}{'F1 all':>8}{'F1 evalb':>9}{'exact':>7}"
             f"{'tag acc':>8}{'CPU s':>9}"]  # fmt: skip
    for row in rows:
        f1, evalb, exact = row["all"]["f1"], row["evalb"]["f1"], row["all"]["exact_match"]
        tags = "-" if row["tag_accuracy"] is None else f"{100 * row['tag_accuracy']:.2f}"
        lines.append(
            f"{row['reader']:12}{row['trees']:7}  {row['file']:12}{row['tags']:>10}{100 * f1:8.2f}{100 * evalb:9.2f}"
            f"{100 * exact:7.2f}{tags:>8}{row['cpu_seconds']:9.0f}"
        )
    return "\n".join(lines)


def run_pipeline(options: argparse.Namespace, out: Path, reader: Path | None) -> tuple[list[dict[str, Any]], float]:
    """Do what is not yet done of all steps; the records of `evaluate`, and the CPU seconds of all steps before it.
    Raises what the steps raise, ConfigError for options that do not go together, TrainingDataError where there is no
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
    steps = Steps(out / "steps.json", [file_digest(file) for file in (*files, *given)], run_command, say)
    name = options.treebank.resolve().name
    steps.do(convert_step(options, out, name))
    train = out / "corpus" / name / "train.mrg"
    for step in training_steps(options, out, name, _words(train), reader):
        steps.do(step)
    training = steps.cpu_seconds
    scored = [p for part in ("dev", *options.also) if (p := out / "corpus" / name / f"{part}.mrg").is_file()]
    if not scored:
        say("there is no dev part, so nothing is scored; --dev 1/10 takes one from train")
        return [], training
    scores, kinds = out / "scores.json", ("predicted",) if options.tagger else ("gold", "predicted")
    steps.do(_step(scores, None, "evaluate", out / "pipeline", *scored, "--tags", *kinds, "--json", scores, "--record"))
    return json.loads(scores.read_text(encoding="utf8")), training


def convert_step(options: argparse.Namespace, out: Path, name: str) -> Step:
    """The step that cleans the trees."""
    given = options.treebank.parent if options.treebank.name == name else options.treebank.resolve().parent
    return _step(out / "corpus" / name / "train.mrg", None, "convert", given, name, "--out", out / "corpus",
                 *conversion_flags(options))  # fmt: skip


def training_steps(options: argparse.Namespace, out: Path, name: str, words: int, reader: Path | None) -> list[Step]:
    """The steps from cleaned trees, of so many `words`, to the pipeline."""
    sizes, tags, model, network = sizes_for(words), out / "tags", out / "parser.model", out / "network.model"
    corpus: tuple[Any, ...] = ("--corpus", out / "corpus", "--names", name)
    tagged = tags / f"{name}.train.tags"
    lang, called = ("--lang", options.lang), options.name or name
    heads = () if options.heads is None else ("--heads", options.heads)
    workers = ("--workers", options.workers)
    if options.tagger:
        pipeline = () if options.tagger == EMBEDDED else ("--pipeline", options.tagger)
        steps = [_step(tagged, None, "teacher", "retag", *corpus, *pipeline, *workers, "--out", tags)]
    else:
        learn = (*corpus, *lang, "--out", tags)
        chosen = ("--set", *sizes.tagger, *options.tagger_set)
        steps = [
            _step(tagged, tags / "folds", "jackknife", *learn, "--folds", options.folds, *chosen),
            _step(out / "tagger" / "meta.json", None, "tag", *learn, "--model", out / "tagger", *chosen),
        ]
    corpus += ("--tags", tags)
    chosen = ("--seeds", *options.seeds, *workers, "--set", *sizes.span, *options.span_set)
    if options.parser == "span" or (options.parser == "read" and reader is None):
        target = model if options.parser == "span" else network
        steps.append(_step(target, out / "span", "span", *corpus, *lang, *heads, "--name", called, *chosen,
                           "--workdir", out / "span", "--out", target))  # fmt: skip
    over: tuple[Any, ...] = ()
    if options.parser == "read" and reader is None:
        beliefs = out / "beliefs"
        steps.append(_step(beliefs / f"{name}.train.beliefs.npz", out / "readers", "readers", *corpus, "--folds",
                           options.folds, *chosen, "--workdir", out / "readers", "--out", beliefs))  # fmt: skip
        over = ("--reader", network, "--beliefs", beliefs)
    elif options.parser == "read":
        asked = ("--reader-tagger", options.reader_tagger) if options.reader_tagger else ()
        over = ("--reader", reader, *asked)
    if options.parser != "span":
        recipe = options.recipe or RECIPES / f"{sizes.recipe}.json"
        alone = () if over or options.recipe else ("templates=standard", "gate_bits=16")
        steps.append(_step(model, out / "fit", "fit", "--recipe", recipe, *corpus, *lang, *heads, *over, "--name",
                           called, "--workdir", out / "fit", "--out", model, "--set", f"n_workers={options.workers}",
                           *alone, *options.fit_set))  # fmt: skip
    terms = [part for credit in options.credit for part in ("--credit", credit)]
    terms += ["--license", options.license] if options.license else []
    terms += ["--version", options.version] if options.version else []
    steps.append(_step(out / "pipeline" / "meta.json", None, "assemble", "--tagger", folder_of_tagger(options, out),
                       "--model", model, "--names", name, "--name", called, *terms, "--out",
                       out / "pipeline"))  # fmt: skip
    return steps


def _step(written: Path, workdir: Path | None, *arguments: Any) -> Step:
    words = list(map(str, arguments))
    return Step(words[1] if words[0] == "teacher" else words[0], words, written, workdir)


def folder_of_tagger(options: argparse.Namespace, out: Path) -> Path:
    """The folder of the pipeline that tags."""
    if not options.tagger:
        return out / "tagger"
    return embedded_pipeline() if options.tagger == EMBEDDED else Path(options.tagger)


def _words(path: Path) -> int:
    return sum(tree.n_tokens for tree in read_trees(path))
