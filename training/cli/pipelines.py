"""Commands that build whole pipelines."""

import argparse
import shutil
from functools import partial
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from . import declaring as arg

command = partial(arg.declare, "Whole pipelines")


@command(
    "assemble --tagger build/tagger --model build/span.model --names sample --out build/pipeline",
    arg.path("--tagger", "pipeline folder that `train-tagger` wrote", required=True),
    arg.path("--model", "model file that `train-boosted` or `train-span` wrote", required=True),
    arg.path("--dependency-model", "model file that `train-bpm` wrote, for a pipeline with a dependency parser"),
    arg.path("--out", "folder for the pipeline", required=True),
    arg.option("--names NAME[:WEIGHT] +", "treebanks that both were trained on", required=True),
    arg.option("--name", "name of the pipeline (default: dtparse)", default="dtparse"),
    arg.option("--version", "version of the pipeline (default: that of the package)"),
    *arg.LICENCE,
)
def assemble(options: argparse.Namespace) -> None:
    """Combine a tagger's pipeline and a parser into one spaCy pipeline, with license and credits."""
    from training.data.assemble import assemble, check_size

    nlp = assemble(
        options.tagger,
        options.model,
        options.out,
        options.names,
        options.name,
        options.version,
        options.license,
        options.credit,
        options.dependency_model,
    )
    print(
        f"{options.out}: {nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, {', '.join(nlp.pipe_names)}, "
        f"{check_size(options.out) / 1e6:.1f} MB, {nlp.meta['license']}"
    )


@command(
    "package build/pipeline --out build",
    arg.path("pipeline", "pipeline folder"),
    arg.path("--out", "folder for the package, whose folder there is LANG_NAME", required=True),
    arg.option("--name", "name of the package without the language (default: the name of the pipeline)"),
    arg.option("--version", "version of the package (default: that of the pipeline)"),
)
def package(options: argparse.Namespace) -> None:
    """Make an installable package of a pipeline with `spacy package`, with its licence texts."""
    from training.data.packaging import package_pipeline

    folder = package_pipeline(options.pipeline, options.out, options.name, options.version)
    print(f"{folder}: install it with pip install {folder if folder.is_absolute() else f'./{folder}'}")


@command(
    "self-train --teacher build/pcfgla.model --text assets/sample/plain.txt "
    "--workdir build/self_train --out build/self_trained",
    arg.path("--teacher", "model file of the teacher, such as `train-pcfgla` writes", required=True),
    arg.option(
        f"--text {arg.TEXT_SPEC} +",
        "UTF-8 text, one paragraph per line, or a folder of .txt files; wrapped: lines are broken at a fixed width; "
        "spaced: hyphens have blanks around them (two - year)",
        required=True,
    ),
    arg.option("--pipeline", "pipeline that tags and splits sentences: folder or package (default: the embedded one)"),
    arg.ERRORS,
    arg.flag("--keep-hyphens", "do not split words at hyphens, as in the treebanks wsj and genia"),
    arg.number("--min-words", 3, "minimum words of a sentence"),
    arg.number("--max-words", 40, "maximum words of a sentence"),
    arg.path("--exclude FILE +", "bracketed trees, such as a dev part, whose sentences are left out"),
    arg.option(
        "--keep-fraction FRACTION",
        "fraction to keep of each text's sentences of similar length: those in which the teacher is most confident "
        "(default: 0.5)",
        type=float,
        default=0.5,
    ),
    arg.option("--min-confidence P", "minimum confidence per word of a tree to keep, from 0 to 1", type=float),
    arg.option("--sizes N +", "also write the first N trees", type=natural_number),
    arg.number("--seed", 0, "random seed for the order of the trees"),
    arg.number("--workers", 2, "processes"),
    arg.workdir("the parsed sentences", required=True),
    arg.path("--out", "folder for teacher.mrg, teacher.tags and teacher.json", required=True),
)
def self_train(options: argparse.Namespace) -> None:
    """Parse raw text with a teacher and keep its most confident trees, to train a student on them."""
    from training.data.reading import SentenceSelection, load_tagger
    from training.data.text import text_files
    from training.data.treebanks import TreebankFile
    from training.self_training.selecting import Selection, write_selection
    from training.self_training.silver import SilverParsing, parse_silver

    selection = Selection(options.keep_fraction, options.min_confidence, tuple(options.sizes), options.seed)
    excluded = tuple(map(TreebankFile, options.exclude))
    reading = SentenceSelection(options.min_words, options.max_words, options.keep_hyphens, excluded)
    parsing = SilverParsing(options.teacher, text_files(options.text), reading, options.workdir, options.workers)
    silver_trees = parse_silver(parsing, load_tagger(options.pipeline))
    report = write_selection(silver_trees, selection, options.out)
    for file in report["files"]:
        why = ", ".join(f"{reason} {count}" for reason, count in file["dropped"].items() if count)
        print(f"{file['name']}: {file['sentences']} sentences, {file['kept']} kept; left out: {why or 'none'}")
    print(f"{options.out / 'teacher.mrg'}: {report['kept']} trees, {report['kept_words']} words")


def parse_betas(text: str) -> tuple[float, ...]:
    """The numbers of a comma-separated list. Raises ConfigError for anything else."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--tune {text}: give numbers separated by commas, such as 0.1,0.01") from None


@command(
    "adapt embedded --parser embedded --text assets/sample/plain.txt --out build/adapted",
    arg.option("pipeline", "spaCy pipeline with dtparse or pcfgla: folder or package name (embedded: the English one)"),
    arg.option(
        f"--text {arg.TEXT_SPEC} +",
        "UTF-8 text, one paragraph per line, or a folder of .txt files; options as in self-train",
    ),
    arg.path(
        "--parser MODEL ?",
        "boosted trees or a grammar to use instead of the pipeline's parser (embedded: the English trees, "
        "embedded-pcfgla: the English grammar); a pcfgla component accepts grammars only",
    ),
    arg.option(f"--treebank {arg.READ_SPEC} *", "additional gold trees to train the tagger on"),
    arg.option(f"--dev {arg.READ_SPEC} *", "trees to score the parser on"),
    arg.ERRORS,
    arg.option("--categories", "directional (default): with sides, or spine", default="directional"),
    arg.number("--limit", None, "use only the first N sentences of the text"),
    arg.number("--min-words", 3, "minimum words of a sentence"),
    arg.number("--max-words", 100, "maximum words of a sentence"),
    arg.option(
        "--sizes N *",
        "train a tagger on each of these numbers of the parser's trees (default: one on all of them); the last one is "
        "put into the pipeline",
        type=natural_number,
    ),
    arg.option(
        "--betas BETA *",
        "for each attempt of the search, the minimum probability of a spine, relative to the most probable one "
        "(default: those of the parser)",
        type=float,
    ),
    arg.option(
        "--tune BETA,BETA,… *",
        "choose the betas: for each tagger those with which the parser is fastest without losing F1 on every other "
        "sentence of --dev; it is scored on the remaining ones (default choices: 0.5,0.05 to 0.01,0.001)",
        default=None,
    ),
    arg.option(
        "--annotate-betas BETA *",
        "restrict the parser, while it parses the text, to the spines that a tagger trained on the treebanks allows "
        "with these betas (default: 0.1 0.01 for a grammar, if F1 does not fall on --dev; no numbers: no restriction)",
        type=float,
        default=None,
    ),
    arg.option("--estimator", "perceptron (default), mira, gis or lbfgs", default="perceptron"),
    arg.settings("training.spine_tagger.options.SequenceOptions (epochs=5 cutoff=10 sigma=0.5)"),
    arg.number("--workers", 2, "processes and threads", minimum=1),
    arg.workdir("intermediate results"),
    arg.path("--out", "folder for the pipeline", required=True),
)
def adapt(options: argparse.Namespace) -> None:
    """Make the parser of a pipeline faster on one kind of text.

    Trains a tagger on the parser's own trees that predicts which spines the parser will need.
    """
    from training.data.reading import SentenceSelection
    from training.data.text import text_files
    from training.data.treebanks import TreebankFile
    from training.runs.settings import apply_field_settings
    from training.spine_tagger.options import SequenceOptions
    from training.supertag_adaptation.running import BETAS, Adaptation, adapt

    adaptation = Adaptation(
        options.pipeline,
        text_files(options.text),
        SentenceSelection(options.min_words, options.max_words, limit=options.limit),
        options.parser,
        tuple(TreebankFile.parse(text) for text in options.treebank),
        tuple(TreebankFile.parse(text) for text in options.dev),
        options.categories,
        apply_field_settings(SequenceOptions(options.estimator), options.set, but=("estimator",)),
        tuple(options.betas) if options.betas else None,
        tuple(options.sizes) if options.sizes else None,
        () if options.tune is None else tuple(map(parse_betas, options.tune)) or BETAS,
        None if options.annotate_betas is None else tuple(options.annotate_betas),
    )
    found = adapt(adaptation, options.out, options.workdir, options.workers)
    print(found)
    print(f"{options.out}: a pipeline with a spine_tagger before its parser; use it with spacy.load")


@command("clean build/sample", arg.path("folder", "a folder below build/ in the current folder"))
def clean(options: argparse.Namespace) -> None:
    """Remove a folder below build/ that the project wrote."""
    build = Path("build").resolve()
    folder = options.folder.resolve()
    if build not in folder.parents:
        raise ConfigError(f"{options.folder} is not below build/; only folders there can be removed")
    if not folder.is_dir():
        print(f"{options.folder}: nothing to remove")
        return
    shutil.rmtree(folder)
    print(f"{options.folder}: removed")
