"""Score a parser on treebank files, with gold or predicted tags, at several search budgets."""

import argparse
import json
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evaluate`."""
    parser.add_argument("source", type=Path, help="a model file, or the folder of a spaCy pipeline")
    spec = "PATH[,tags=PATH][,block=K/N][,limit=N][,share=S]"
    parser.add_argument("files", nargs="*", metavar=spec, help="bracketed gold trees")
    parser.add_argument("--corpus", type=Path, help="folder of treebanks: NAME/dev.mrg are used beside the above")
    parser.add_argument("--names", nargs="+", default=[], metavar="NAME[:WEIGHT]", help="the treebanks of --corpus")
    parser.add_argument(
        "--tags", nargs="+", choices=("gold", "predicted"), default=["gold"], help="tags to parse with (default: gold)"
    )
    parser.add_argument(
        "--budgets",
        nargs="+",
        type=natural_number,
        metavar="N",
        help="inferences scored per sentence; 0 is greedy (default: the model's own setting)",
    )
    parser.add_argument(
        "--decoder",
        choices=("max-rule", "viterbi", "q", "rerank"),
        help="how a grammar with latent annotations chooses a tree (default: max-rule)",
    )
    parser.add_argument(
        "--candidates-n", type=natural_number, metavar="N", help="trees that the decoder rerank looks at (default: 100)"
    )
    parser.add_argument("--networks", type=natural_number, metavar="N", help="most networks that a span parser asks")
    parser.add_argument(
        "--confident", type=float, metavar="S",
        help="score up to which a span parser's first network is believed; 0 asks all networks always",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the records there")
    parser.add_argument("--record", action="store_true", help="keep the figures in the pipeline's meta.json")


def run(options: argparse.Namespace) -> None:
    """Print a table."""
    from training.data.evaluate import evaluate, record_performance, table
    from training.data.treebanks import TreebankFile, corpus_files

    files = [TreebankFile.parse(text) for text in options.files]
    if options.corpus is not None:
        files += corpus_files(options.corpus, options.names, "dev")
    if not files:
        raise ConfigError("there is nothing to score on; give bracketed files, or --corpus FOLDER with --names")
    names = ("decoder", "candidates_n", "networks", "confident")
    changes = {name: getattr(options, name) for name in names}
    settings = {name: value for name, value in changes.items() if value is not None}
    records = evaluate(options.source, files, options.tags, options.budgets or [None], settings)
    print(table(records))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf8")
    if options.record:
        record_performance(options.source, records)
