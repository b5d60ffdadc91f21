"""Commands that run all steps from a treebank to a pipeline, for one number of training trees or for several."""

import argparse
import json
import logging
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.models import embedded_pipeline

from ..data.bad_input import read_trees
from ..data.sizes import WITH_RELATIONS, sizes_for
from ..data.treebanks import TreebankFile
from ..runs.files import file_digest, write_json
from ..runs.steps import Step, Steps
from . import declaring as arg

logger = logging.getLogger(__name__)
command = partial(arg.declare, "Whole pipelines")
RECIPES = Path(__file__).resolve().parents[1] / "recipes"
EMBEDDED = "embedded"
PARSERS = ("combined", "span", "boosted")
OPTIONS = (
    arg.path(
        "treebank FOLDER",
        "folder of the treebank, with train.mrg, train.psd or a CoNLL-U file, and optionally a dev file",
    ),
    *arg.CONVERTING,
    arg.ERRORS,
    arg.choice(
        "--parser",
        PARSERS,
        "combined (default): boosted trees that use a span model; span: the span model alone; boosted: boosted trees "
        "alone",
        default="combined",
    ),
    arg.path("--heads FILE", "head rules in JSON (default: see train-span and train-boosted)"),
    arg.flag(
        "--dependencies", "from a CoNLL-U treebank: train a dependency parser as well, and add it to the pipeline"
    ),
    arg.number("--folds", 4, "number of folds: each has a tagger and a span model trained without it", minimum=1),
    arg.option(
        "--seeds +",
        "seeds of the networks of the span model, whose probabilities are multiplied (default: 0; with --parser span "
        "and a CoNLL-U treebank of at most 40,000 tokens: 0 1 2)",
        type=natural_number,
    ),
    arg.path("--clusters FILE", "word clusters for the taggers and the span model, written by the command clusters"),
    arg.each("--tagger-set NAME=VALUE", "setting of the taggers, as in train-tagger --set; repeatable"),
    arg.each("--span-set NAME=VALUE", "setting of the span model, as in train-span --set; repeatable"),
    arg.each(
        f"--pretrain-trees {arg.treebank_spec()}",
        "with --parser span: trees to train the parser on first, such as those of another language with the same "
        "labels and tags; repeatable",
    ),
    arg.each("--boosted-set NAME=VALUE", "setting of the boosted trees, as in train-boosted --set; repeatable"),
    arg.option(
        "--tagger PIPELINE",
        "pipeline folder whose tags the parser uses instead of the treebank's (embedded: the English pipeline); no "
        "tagger is trained then",
    ),
    arg.option("--span-model-tagger PIPELINE", "see train-boosted"),
    arg.path("--recipe FILE", "recipe of the boosted trees (default: chosen by the size of the treebank)"),
    arg.number("--workers", 2, "processes", minimum=1),
    arg.option("--name", "name of the pipeline, for its package (default: the name of the treebank)"),
    arg.option("--version", "version of the pipeline (default: that of the package)"),
    *arg.LICENCE,
)
"""The options of `pipeline` and `learning-curve`."""


class SetOption(argparse.Action):
    """`--set NAME=VALUE …` has the same effect as `--NAME VALUE …`."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        """Set the named options of the command. Raises ArgumentError for a name that is not an option."""
        options_by_name = {
            name: kwargs for name, kwargs in arg.COMMANDS[parser.prog.split()[-1]].options if name.startswith("--")
        }
        for text in values:
            name, sign, value = text.partition("=")
            option = f"--{name}"
            if not sign or option == self.option_strings[0] or option not in options_by_name:
                raise argparse.ArgumentError(self, f"{text!r} is not NAME=VALUE with an option's name, as in limit=500")
            parser_of_one = argparse.ArgumentParser(prog=parser.prog, add_help=False)
            parser_of_one.add_argument(option, **{**options_by_name[option], "required": False})
            parser_of_one.parse_args([f"{option}={value}"], namespace)


SET = arg.option(
    "--set NAME=VALUE *",
    "these options without dashes, as the variables of a spaCy project need them: --set parser=span limit=500; "
    "repeatable",
    action=SetOption,
)


@command(
    "pipeline assets/sample --lang en --out build/mine",
    *OPTIONS,
    SET,
    arg.path(
        "--span-model",
        "a trained span model to use unchanged, with --parser combined: a model file, or en for the English one",
    ),
    arg.path("--out", "folder for all files; the result is OUT/pipeline", required=True),
)
def pipeline(options: argparse.Namespace) -> None:
    """Train a spaCy pipeline from a treebank and score it: all steps, with settings that suit the treebank's size.

    Prints the command of each step. Finished steps are not repeated, so repeat the command to resume a run.
    """
    run_pipeline(options, options.out, options.span_model)
    print(
        f"{options.out / 'pipeline'}: load it with spacy.load, or build a package: "
        f"python -m spacy package {options.out / 'pipeline'} {options.out} --build wheel"
    )


@command(
    "learning-curve assets/sample --sizes 50 100 --span-models none en --out build/curve",
    *OPTIONS,
    SET,
    arg.option("--sizes +", "numbers of training trees: the first N of train", type=positive_number, required=True),
    arg.option(
        "--span-models MODEL +",
        "none: train one on the same trees; en or model files: trained models to use unchanged",
        default=["none"],
    ),
    arg.path("--out", "folder for the pipelines and curve.json", required=True),
)
def learning_curve(options: argparse.Namespace) -> None:
    """Train a pipeline on each of several numbers of trees, and compare their scores.

    The parts given with --splits are scored, or else the dev part. Repeat the command to resume a run.
    """
    rows: list[dict[str, Any]] = []
    for span_model in options.span_models:
        for size in options.sizes:
            options.limit = size
            out = options.out / f"{Path(span_model).stem}_{size}"
            records, seconds = run_pipeline(options, out, None if span_model == "none" else Path(span_model))
            scored_records = [r for r in records if r["file"] != "dev.mrg"] or records
            rows += [
                {"reader": span_model, "trees": size, "cpu_seconds": seconds, **record} for record in scored_records
            ]
    write_json(options.out / "curve.json", rows)
    print(curve_table(rows))


def curve_table(rows: list[dict[str, Any]]) -> str:
    """The records of `learning-curve` as a text table."""
    lines = [
        f"{'span model':12}{'trees':>7}  {'scored on':12}{'tags':>10}{'F1 all':>8}{'F1 evalb':>9}{'exact':>7}"
        f"{'tag acc':>8}{'CPU s':>9}"
    ]
    for row in rows:
        f1, evalb, exact = row["all"]["f1"], row["evalb"]["f1"], row["all"]["exact_match"]
        tags = "-" if row["tag_accuracy"] is None else f"{100 * row['tag_accuracy']:.2f}"
        lines.append(
            f"{row['reader']:12}{row['trees']:7}  {row['file']:12}{row['tags']:>10}{100 * f1:8.2f}{100 * evalb:9.2f}"
            f"{100 * exact:7.2f}{tags:>8}{row['cpu_seconds']:9.0f}"
        )
    return "\n".join(lines)


def run_pipeline(options: argparse.Namespace, out: Path, span_model: Path | None) -> tuple[list[dict[str, Any]], float]:
    """Run all unfinished steps; returns the records of `evaluate` and the CPU seconds of all steps before it. Raises
    the errors of the steps, ConfigError for incompatible options, TrainingDataError if there is no treebank."""
    from . import run_command

    if not options.treebank.is_dir():
        raise TrainingDataError(
            f"there is no folder {options.treebank}; give the one that holds the treebank's train.mrg"
        )
    if span_model is not None and options.parser != "combined":
        raise ConfigError(f"--span-model is for --parser combined, not {options.parser}; leave one of them out")
    if options.pretrain_trees and options.parser != "span":
        raise ConfigError(f"--pretrain-trees is for --parser span, not {options.parser}; leave one of them out")
    english = {"--span-model": span_model, "--tagger": options.tagger}
    if options.lang != "en" and (used := [name for name, value in english.items() if str(value) in ("en", EMBEDDED)]):
        verb = "name" if len(used) > 1 else "names"
        logger.info(f"note: {' and '.join(used)} {verb} English models, but --lang is {options.lang}")
    files = sorted(file for file in options.treebank.resolve().iterdir() if file.suffix in (".mrg", ".psd", ".conllu"))
    if options.clusters is not None and options.tagger and (span_model is not None or options.parser == "boosted"):
        raise ConfigError("--clusters are for taggers and span models that are trained, but none is; leave it out")
    given = options.scheme, options.heads, options.recipe, options.clusters, span_model
    inputs = [file for file in given if file and file.is_file()]
    inputs += [TreebankFile.parse(text).path for text in options.pretrain_trees]
    steps = Steps(out / "steps.json", [file_digest(file) for file in (*files, *inputs)], run_command)
    name = options.treebank.resolve().name
    steps.do(convert_step(options, out, name))
    train = out / "corpus" / name / "train.mrg"
    if options.dependencies and not train.with_suffix(".conllu").is_file():
        raise ConfigError(f"--dependencies needs a CoNLL-U treebank; {options.treebank} has trees of constituents")
    for step in training_steps(options, out, name, _words(train), span_model):
        steps.do(step)
    training = steps.cpu_seconds
    scored = [p for part in ("dev", *options.splits) if (p := out / "corpus" / name / f"{part}.mrg").is_file()]
    if not scored:
        print("there is no dev part, so nothing is scored; use --dev 1/10 to take one from train")
        return [], training
    scores, kinds = out / "scores.json", ("predicted",) if options.tagger else ("gold", "predicted")
    steps.do(
        _make_step(scores, None, "evaluate", out / "pipeline", *scored, "--tags", *kinds, "--json", scores, "--record")
    )
    return json.loads(scores.read_text(encoding="utf8")), training


def convert_step(options: argparse.Namespace, out: Path, name: str) -> Step:
    """The step that cleans the trees."""
    inputs = options.treebank.parent if options.treebank.name == name else options.treebank.resolve().parent
    arguments = inputs, name, "--out", out / "corpus", *arg.conversion_flags(options)
    return _make_step(out / "corpus" / name / "train.mrg", None, "convert", *arguments)


def training_steps(
    options: argparse.Namespace, out: Path, name: str, words: int, span_model: Path | None
) -> list[Step]:
    """The steps from cleaned trees, with `words` tokens in all, to the pipeline."""
    sizes, tags, model, network = sizes_for(words), out / "tags", out / "parser.model", out / "network.model"
    corpus: tuple[Any, ...] = ("--corpus", out / "corpus", "--names", name)
    tagged = tags / f"{name}.train.tags"
    lang, named = ("--lang", options.lang), ("--name", options.name or name)
    heads = () if options.heads is None else ("--heads", options.heads)
    workers = ("--workers", options.workers)
    clusters = () if options.clusters is None else ("--clusters", options.clusters)
    if options.tagger:
        pipeline = () if options.tagger == EMBEDDED else ("--pipeline", options.tagger)
        steps = [_make_step(tagged, None, "teacher", "retag", *corpus, *pipeline, *workers, "--out", tags)]
    else:
        learn, tagger = (*corpus, *lang, "--out", tags), out / "tagger"
        settings = (*clusters, "--set", *sizes.tagger, *options.tagger_set)
        steps = [
            _make_step(tagged, tags / "folds", "jackknife-tags", *learn, "--folds", options.folds, *settings),
            _make_step(tagger / "meta.json", None, "train-tagger", *learn, "--model", tagger, *settings),
        ]
    corpus += ("--tags", tags)
    is_from_dependencies = (out / "corpus" / name / "train.conllu").is_file()
    is_span_of_dependencies = is_from_dependencies and options.parser == "span"
    seeds = options.seeds or range(sizes.networks if is_span_of_dependencies else 1)
    relations = WITH_RELATIONS if is_span_of_dependencies and sizes.networks > 1 else ()
    settings = ("--seeds", *seeds, *workers, *clusters, "--set", *sizes.span, *relations, *options.span_set)
    if options.parser == "span" or (options.parser == "combined" and span_model is None):
        target, workdir = model if options.parser == "span" else network, out / "span"
        first = [part for text in options.pretrain_trees for part in ("--pretrain-trees", text)]
        arguments = (*corpus, *lang, *heads, *named, *first, *settings, "--workdir", workdir, "--out", target)
        steps.append(_make_step(target, workdir, "train-span", *arguments))
    span_options: tuple[Any, ...] = ()
    if options.parser == "combined" and span_model is None:
        marginals, workdir = out / "marginals", out / "jackknife"
        arguments = (*corpus, "--folds", options.folds, *settings, "--workdir", workdir, "--out", marginals)
        steps.append(_make_step(marginals / f"{name}.train.marginals.npz", workdir, "jackknife-marginals", *arguments))
        span_options = ("--span-model", network, "--marginals", marginals)
    elif options.parser == "combined":
        tagger_option = ("--span-model-tagger", options.span_model_tagger) if options.span_model_tagger else ()
        span_options = ("--span-model", span_model, *tagger_option)
    if options.parser != "span":
        recipe, workdir = options.recipe or RECIPES / f"{sizes.recipe}.json", out / "fit"
        boosted_only = () if span_options or options.recipe else ("templates=standard", "filter_bits=16")
        arguments = ("--recipe", recipe, *corpus, *lang, *heads, *span_options, *named, "--workdir", workdir)
        changes = f"n_workers={options.workers}", *boosted_only, *options.boosted_set
        steps.append(_make_step(model, workdir, "train-boosted", *arguments, "--out", model, "--set", *changes))
    meta_options = [part for credit in options.credit for part in ("--credit", credit)]
    meta_options += ["--license", options.license] if options.license else []
    meta_options += ["--version", options.version] if options.version else []
    parts = ("--tagger", tagger_folder(options, out), "--model", model, "--names", name)
    pipeline_folder, links = out / "pipeline", out / "dependencies.model"
    if options.dependencies:
        folder = out / "corpus" / name
        train, dev = (f"{folder / part}.conllu,tags={tags / name}.{part}.tags" for part in ("train", "dev"))
        files = ("--train", train, *(("--dev", dev) if (folder / "dev.mrg").is_file() else ()))
        learners = ("--set", "stages=1", "members=4", "max_features=500000")
        arguments = (*files, *lang, *workers, *learners, "--workdir", out / "dependencies", "--out", links)
        steps.append(_make_step(links, out / "dependencies", "train-bpm", *arguments))
        meta_options += ["--dependency-model", str(links)]
    arguments = (*parts, *named, *meta_options, "--out", pipeline_folder)
    return [*steps, _make_step(pipeline_folder / "meta.json", None, "assemble", *arguments)]


def _make_step(output: Path, workdir: Path | None, *arguments: Any) -> Step:
    words = list(map(str, arguments))
    return Step(words[1] if words[0] == "teacher" else words[0], words, output, workdir)


def tagger_folder(options: argparse.Namespace, out: Path) -> Path:
    """The pipeline folder of the tagger."""
    if not options.tagger:
        return out / "tagger"
    return embedded_pipeline() if options.tagger == EMBEDDED else Path(options.tagger)


def _words(path: Path) -> int:
    return sum(tree.n_tokens for tree in read_trees(path))
