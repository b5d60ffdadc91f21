"""Commands that make whole pipelines."""

from __future__ import annotations

import argparse
import shutil
from functools import partial
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError

from .declaring import LICENCE, READ_SPEC, TEXT_SPEC, declare, flag, number, option, path, say, settings

command = partial(declare, "Whole pipelines")


@command(
    "assemble --tagger build/tagger --model build/span.model --names sample --out build/pipeline",
    path("--tagger", "pipeline folder that `tag` made", required=True),
    path("--model", "model file that `fit` made", required=True),
    path("--out", "folder for the pipeline", required=True),
    option("--names", "treebanks that both learned from", nargs="+", required=True, metavar="NAME[:WEIGHT]"),
    option("--name", "the pipeline's name (default: dtparse)", default="dtparse"),
    option("--version", "the pipeline's version (default: the package's)"),
    *LICENCE,
)
def assemble(options: argparse.Namespace) -> None:
    """Put a tagger's pipeline and a parser together into one spaCy pipeline with licence and credits."""
    from training.data.assemble import assemble, check_size

    nlp = assemble(options.tagger, options.model, options.out, options.names, options.name, options.version,
                   options.license, options.credit)  # fmt: skip
    print(
        f"{options.out}: {nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, {', '.join(nlp.pipe_names)}, "
        f"{check_size(options.out) / 1e6:.1f} MB, {nlp.meta['license']}"
    )


@command(
    "self-train --teacher build/pcfgla.model --text assets/sample/plain.txt "
    "--workdir build/self_train --out build/taught",
    path("--teacher", "a model file, such as `pcfgla` writes", required=True),
    option(
        "--text",
        "UTF-8, a paragraph per line, or a folder of .txt files; wrapped: lines broken at a width; spaced: "
        "hyphens set apart (two - year)",
        nargs="+",
        required=True,
        metavar=TEXT_SPEC,
    ),
    option("--pipeline", "tags and finds sentences: a folder or package (default: the embedded one)"),
    flag("--keep-hyphens", "words with hyphens stay whole, as in the treebanks wsj and genia"),
    number("--min-words", 3, "of a sentence"),
    number("--max-words", 40, "of a sentence"),
    path(
        "--without",
        "bracketed trees, such as a dev part, none of whose sentences may be kept",
        nargs="+",
        default=[],
        metavar="FILE",
    ),
    option(
        "--sure",
        "of each text's sentences of similar length, keep the share that the teacher is surest of (default: 0.5)",
        type=float,
        default=0.5,
        metavar="SHARE",
    ),
    option("--least-sure", "keep none below this sureness per word, from 0 to 1", type=float, metavar="S"),
    option("--sizes", "also write the first N trees", nargs="+", type=natural_number, default=[], metavar="N"),
    number("--seed", 0, "of the trees' order"),
    number("--workers", 2, "processes"),
    path("--workdir", "folder that keeps what is parsed", required=True),
    path("--out", "folder for teacher.mrg, teacher.tags and teacher.json", required=True),
)
def self_train(options: argparse.Namespace) -> None:
    """Let a teacher parse raw text and keep the trees that it is sure of, for a student to learn from."""
    from training.data.reading import Reading, load_tagger
    from training.data.text import text_files
    from training.data.treebanks import TreebankFile
    from training.self_train.selecting import Selection, write_selection
    from training.self_train.teaching import Teaching, teach

    selection = Selection(options.sure, options.least_sure, tuple(options.sizes), options.seed)
    without = tuple(map(TreebankFile, options.without))
    reading = Reading(options.min_words, options.max_words, options.keep_hyphens, without)
    teaching = Teaching(options.teacher, text_files(options.text), reading, options.workdir, options.workers)
    lesson = teach(teaching, load_tagger(options.pipeline), say)
    report = write_selection(lesson, selection, options.out)
    for file in report["files"]:
        why = ", ".join(f"{reason} {count}" for reason, count in file["dropped"].items() if count)
        print(f"{file['name']}: {file['sentences']} sentences, {file['kept']} kept; left out: {why or 'none'}")
    print(f"{options.out / 'teacher.mrg'}: {report['kept']} trees, {report['kept_words']} words")


def betas_of(text: str) -> tuple[float, ...]:
    """Numbers with commas between. Raises ConfigError for anything else."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--tune {text}: give numbers with commas between, such as 0.1,0.01") from None


@command(
    "adapt embedded --parser embedded --text assets/sample/plain.txt --out build/adapted",
    option(
        "pipeline", "a spaCy pipeline with dtparse or pcfgla, by folder or package name (embedded: the English one)"
    ),
    option(
        "--text",
        "UTF-8, a paragraph per line, or a folder of .txt files; options as of self-train",
        nargs="+",
        default=[],
        metavar=TEXT_SPEC,
    ),
    path(
        "--parser",
        "boosted trees or a grammar in place of the pipeline's own parser (embedded: the English trees, "
        "embedded-pcfgla: the English grammar); a pcfgla takes grammars alone",
        nargs="?",
        metavar="MODEL",
    ),
    option("--treebank", "trees that the tagger learns from, too", nargs="*", default=[], metavar=READ_SPEC),
    option("--dev", "trees to score the parser on", nargs="*", default=[], metavar=READ_SPEC),
    option("--categories", "sided (default): spines with sides, or spine", default="sided"),
    number("--limit", None, "only the first N sentences of the text"),
    number("--min-words", 3, "of a sentence"),
    number("--max-words", 100, "of a sentence"),
    option(
        "--sizes",
        "a tagger for each of these numbers of the parser's trees (default: one for all that there are); the last "
        "one goes into the pipeline",
        nargs="*",
        type=natural_number,
        metavar="N",
    ),
    option(
        "--betas",
        "of the search: which spines it may use, relative to the likeliest, in each try (default: the parser's)",
        nargs="*",
        type=float,
        metavar="BETA",
    ),
    option(
        "--tune",
        "choose the betas: each tagger gets those with which the parser is fastest at no less F1 than alone on "
        "every other sentence of --dev; it is scored on the others (default choices: 0.5,0.05 to 0.01,0.001)",
        nargs="*",
        metavar="BETA,BETA,…",
    ),
    option(
        "--annotate-betas",
        "while it parses the text, the parser reads the spines of a tagger of the treebanks within these betas "
        "(default: a grammar 0.1 0.01, if that does no harm on --dev; without numbers it parses the text alone)",
        nargs="*",
        type=float,
        metavar="BETA",
    ),
    option("--estimator", "perceptron (default), mira, gis or lbfgs", default="perceptron"),
    settings("training.loglinear_tagger.options.SequenceOptions (epochs=5 cutoff=10 sigma=0.5)"),
    option("--workers", "processes and threads (default: 2)", type=positive_number, default=2),
    path("--workdir", "folder that keeps what is parsed, trained and measured"),
    path("--out", "folder for the pipeline", required=True),
)
def adapt(options: argparse.Namespace) -> None:
    """Make the parser of a pipeline faster on a kind of text.

    A tagger learns from its trees which spines it will need.
    """
    from training.data.reading import Reading
    from training.data.text import text_files
    from training.data.treebanks import TreebankFile
    from training.loglinear_tagger.options import SequenceOptions
    from training.runs.settings import changed_fields
    from training.supertag_adaptation.running import BETAS, Adaptation, adapt

    adaptation = Adaptation(
        options.pipeline,
        text_files(options.text),
        Reading(options.min_words, options.max_words, limit=options.limit),
        options.parser,
        tuple(TreebankFile.parse(text) for text in options.treebank),
        tuple(TreebankFile.parse(text) for text in options.dev),
        options.categories,
        changed_fields(SequenceOptions(options.estimator), options.set, but=("estimator",)),
        tuple(options.betas) if options.betas else None,
        tuple(options.sizes) if options.sizes else None,
        () if options.tune is None else tuple(map(betas_of, options.tune)) or BETAS,
        None if options.annotate_betas is None else tuple(options.annotate_betas),
    )
    found = adapt(adaptation, options.out, options.workdir, options.workers, say)
    print(found)
    print(f"{options.out}: a pipeline with a spine_tagger before its parser; use it with spacy.load")


@command("clean build/sample", path("folder", "a folder below build/ in the current folder"))
def clean(options: argparse.Namespace) -> None:
    """Remove a folder that the project wrote below build/."""
    build = Path("build").resolve()
    folder = options.folder.resolve()
    if build not in folder.parents:
        raise ConfigError(f"{options.folder} is not below build/; only what the project wrote there is removed")
    if not folder.is_dir():
        print(f"{options.folder}: nothing to remove")
        return
    shutil.rmtree(folder)
    print(f"{options.folder}: removed")
