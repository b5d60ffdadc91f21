"""Make the parser of a pipeline faster on a kind of text.

A tagger learns from its trees which spines it will need.
"""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError

from .settings import add_settings

SPEC = "PATH[,tags=PATH][,block=K/N][,limit=N][,share=S]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `adapt`."""
    parser.add_argument(
        "pipeline",
        help="a spaCy pipeline with dtparse or pcfgla, by folder or package name (embedded: the English one)",
    )
    parser.add_argument(
        "--text", nargs="+", default=[], metavar="PATH[,wrapped][,spaced]",
        help="UTF-8, a paragraph per line, or a folder of .txt files; options as of self-train",
    )  # fmt: skip
    parser.add_argument(
        "--parser", nargs="?", type=Path, metavar="MODEL",
        help="boosted trees or a grammar in place of the pipeline's own parser (embedded: the English trees, "
        "embedded-pcfgla: the English grammar); a pcfgla takes grammars alone",
    )  # fmt: skip
    parser.add_argument(
        "--treebank", nargs="*", default=[], metavar=SPEC, help="trees that the tagger learns from, too"
    )
    parser.add_argument("--dev", nargs="*", default=[], metavar=SPEC, help="trees to score the parser on")
    parser.add_argument("--categories", default="sided", help="sided (default): spines with sides, or spine")
    parser.add_argument("--limit", type=natural_number, metavar="N", help="only the first N sentences of the text")
    parser.add_argument("--min-words", type=natural_number, default=3, help="of a sentence (default: 3)")
    parser.add_argument("--max-words", type=natural_number, default=100, help="of a sentence (default: 100)")
    parser.add_argument(
        "--sizes", nargs="*", type=natural_number, metavar="N",
        help="a tagger for each of these numbers of the parser's trees (default: one for all that there are); the last "
        "one goes into the pipeline",
    )  # fmt: skip
    parser.add_argument(
        "--betas", nargs="*", type=float, metavar="BETA",
        help="of the search: which spines it may use, relative to the likeliest, in each try (default: the parser's)",
    )  # fmt: skip
    parser.add_argument(
        "--tune", nargs="*", metavar="BETA,BETA,…",
        help="choose the betas: each tagger gets those with which the parser is fastest at no less F1 than alone on "
        "every other sentence of --dev; it is scored on the others (default choices: 0.5,0.05 to 0.01,0.001)",
    )  # fmt: skip
    parser.add_argument(
        "--annotate-betas", nargs="*", type=float, metavar="BETA",
        help="while it parses the text, the parser reads the spines of a tagger of the treebanks within these betas "
        "(default: a grammar 0.1 0.01, if that does no harm on --dev; without numbers it parses the text alone)",
    )  # fmt: skip
    parser.add_argument("--estimator", default="perceptron", help="perceptron (default), mira, gis or lbfgs")
    add_settings(parser, "training.loglinear_tagger.options.SequenceOptions (epochs=5 cutoff=10 sigma=0.5)")
    parser.add_argument("--workers", type=positive_number, default=2, help="processes and threads (default: 2)")
    parser.add_argument("--workdir", type=Path, help="folder that keeps what is parsed, trained and measured")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pipeline")


def betas_of(text: str) -> tuple[float, ...]:
    """Numbers with commas between. Raises ConfigError for anything else."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--tune {text}: give numbers with commas between, such as 0.1,0.01") from None


def run(options: argparse.Namespace) -> None:
    """Parse, train, measure, write; the last lines are the tables."""
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
    found = adapt(adaptation, options.out, options.workdir, options.workers, lambda line: print(line, flush=True))
    print(found)
    print(f"{options.out}: a pipeline with a spine_tagger before its parser; use it with spacy.load")
