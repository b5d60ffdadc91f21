"""Train a PCFG with latent annotations by EM.

The same command goes on where a killed run stopped.
"""

import argparse
import time
from functools import partial
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .settings import add_model, model_facts
from .treebanks import add_treebanks, treebanks_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pcfgla`."""
    add_treebanks(parser, weight=False)
    parser.add_argument("--cycles", type=natural_number, default=4, help="of splitting and merging (default: 4)")
    parser.add_argument(
        "--values", type=natural_number, help="instead of cycles: so many latent values for every symbol at once"
    )
    parser.add_argument(
        "--binarise",
        default="center-head",
        choices=("left", "right", "center-parent", "center-head"),
        help="how long rules are cut up (default: center-head)",
    )
    parser.add_argument("--horizontal", type=natural_number, default=0, help="children remembered (default: 0)")
    parser.add_argument("--iterations", type=natural_number, default=40, help="most EM steps of a cycle (default: 40)")
    parser.add_argument(
        "--seeds", type=natural_number, nargs="+", default=[0], help="a grammar for each; the parser multiplies them"
    )
    parser.add_argument("--max-words", type=natural_number, help="leave out longer sentences")
    parser.add_argument(
        "--parse-tags",
        default="own",
        choices=("given", "own"),
        help="whether the parser chooses tags itself (default) or keeps to a token's tag",
    )
    parser.add_argument(
        "--candidates",
        action="store_true",
        help="add a grammar of vertical order 2 and horizontal order 1, whose best trees the parser can rerank",
    )
    parser.add_argument("--threads", type=natural_number, default=2, help="of the expectation step (default: 2)")
    parser.add_argument("--workdir", type=Path, help="folder that keeps finished cycles")
    add_model(parser, "pcfgla")


def run(options: argparse.Namespace) -> None:
    """Train, write the model, say how large it is."""
    from spacy_dtparse.parsers.pcfg import PcfgParser
    from training.data.treebanks import origin_of, read_files
    from training.pcfg import Markov
    from training.pcfg.latent_training import LatentOptions, train_latent
    from training.runs.files import write_atomically
    from training.runs.telling import tell

    chosen = LatentOptions(
        markov=Markov(1, options.horizontal, options.binarise, 1),
        cycles=0 if options.values is not None else options.cycles,
        values=options.values if options.values is not None else LatentOptions.values,
        iterations=options.iterations,
        seeds=tuple(options.seeds),
        max_words=options.max_words,
        given_tags=options.parse_tags == "given",
        candidates=options.candidates,
    )
    if options.threads < 1:
        raise ConfigError("--threads is 0; give 1 or more")
    files, _ = treebanks_of(options)
    began = time.perf_counter()
    meta = {**model_facts(options), **origin_of(files)}
    model = train_latent(read_files(files), chosen, meta, options.threads, options.workdir, partial(tell, None))
    write_atomically(options.out, PcfgParser(model).to_bytes())
    for part in model.latent:
        n_values, n_numbers = int(part.sizes.sum()), int((part.values > 0).sum())
        print(f"{n_values} latent values, {len(part.rules)} rules, {n_numbers} probabilities")
    if model.candidates is not None:
        n_symbols, n_rules = len(model.candidates.names), len(model.candidates.binary) + len(model.candidates.unary)
        print(f"candidates: {n_symbols} symbols, {n_rules} rules")
    print(
        f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB, from {model.meta['sentences']} sentences, "
        f"{time.perf_counter() - began:.0f} s"
    )
