"""Train a span parser.

The same command goes on where a killed run stopped.
"""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .settings import add_model, add_settings, model_facts
from .treebanks import add_treebanks, treebank_spec, treebanks_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `span`."""
    add_treebanks(parser, dev="to be scored on")
    parser.add_argument(
        "--more", action="append", default=[], metavar=treebank_spec(),
        help="trees of a teacher, to begin with; repeatable",
    )  # fmt: skip
    parser.add_argument("--teacher", type=Path, help="model of a span parser whose beliefs are mixed with --more")
    parser.add_argument(
        "--taught", type=Path, action="append", default=[], metavar="DIR", help="shards of teacher annotate; repeatable"
    )
    parser.add_argument("--start", type=Path, help="span model whose networks go on learning, with its lists of words")
    parser.add_argument("--word-vectors", type=Path, metavar="FILE", help="of teacher vectors: where words begin")
    parser.add_argument("--seeds", type=natural_number, nargs="+", default=[0, 1], help="a network for each")
    parser.add_argument("--workers", type=natural_number, default=2, help="processes, as for networks (default: 2)")
    add_settings(parser, "training.span.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)")
    parser.add_argument("--workdir", type=Path, help="folder that keeps unfinished networks")
    add_model(parser, "span", credit="a credit for the meta, as for raw texts")


def run(options: argparse.Namespace) -> None:
    """Train, write the model, say how large it is."""
    from training.data.shards import all_shards
    from training.data.treebanks import TreebankFile
    from training.span.running import fit_span, parse_settings

    if options.workers < 1:
        raise ConfigError("--workers is 0; give 1 or more")
    train, dev = treebanks_of(options)
    more = list(map(TreebankFile.parse, options.more))
    chosen = parse_settings(options.set, tuple(options.seeds))
    shards = all_shards(options.taught)
    seconds = fit_span(train, dev, more, chosen, model_facts(options), options.out, options.workdir, options.workers,
                       options.teacher, shards, options.start, options.word_vectors)  # fmt: skip
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB, {seconds:.0f} s")
