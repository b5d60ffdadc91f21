"""Commands that estimate grammars."""

import argparse
import time
from functools import partial

from spacy_dtparse.cli.pipelines import natural_number

from . import declaring as arg

BINARISE = arg.choice(
    "--binarise",
    ("left", "right", "center-parent", "center-head"),
    "how to binarise long rules (default: center-head)",
    default="center-head",
)
command = partial(arg.declare, "Parsers")


def horizontal_order(text: str) -> int | None:
    """Parse a horizontal order: an integer, or None for "inf"."""
    if text == "inf":
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no horizontal order; give 0, 1, 2 … or inf")
    return int(text)


@command(
    "train-pcfg --corpus build/corpus --names sample --out build/pcfg.model",
    *arg.treebanks(weight=False),
    arg.option(
        "--vertical",
        "vertical order: 1: plain labels; 2: labels with the parent's label (default)",
        type=int,
        default=2,
    ),
    arg.option("--tag-vertical", "vertical order of tags (default: 2)", type=int, default=2),
    arg.option(
        "--horizontal N|inf",
        "horizontal order: number of siblings in the symbols of binarised rules (default: 1)",
        type=horizontal_order,
        default=1,
    ),
    BINARISE,
    arg.option("--smoothing", "weight of the prior of the parts (default: 0, none)", type=float, default=0.0),
    arg.RECIPE_STEPS,
    arg.option("--max-words", "leave out longer sentences, counted after preprocessing", type=int),
    arg.option("--min-word-count", "rarer words are treated as unknown words (default: 3)", type=int, default=3),
    arg.choice(
        "--parse-tags",
        ("given", "own"),
        "given (default): the parser uses the tags of its input; own: it predicts tags itself",
        default="given",
    ),
    *arg.model_options("pcfg"),
)
def train_pcfg(options: argparse.Namespace) -> None:
    """Estimate a treebank grammar from relative frequencies, and write its parser."""
    from spacy_dtparse.pcfgla.parser import PcfgParser
    from spacy_dtparse.trees import Recipe
    from training.data.treebanks import read_files, training_origin
    from training.pcfgla import Markov, PcfgOptions, train_pcfg

    chosen = PcfgOptions(
        Markov(options.vertical, options.horizontal, options.binarise, options.tag_vertical),
        Recipe.TM2006 if options.recipe_steps == "tm2006" else Recipe.PLAIN,
        options.smoothing,
        options.parse_tags == "given",
        options.max_words,
        options.min_word_count,
    )
    files, _ = arg.parse_treebanks(options)
    start = time.perf_counter()
    meta = {**arg.model_metadata(options), **training_origin(files)}
    model = train_pcfg(read_files(files), chosen, meta)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    PcfgParser(model).to_disk(options.out)
    for name, grammar in (("grammar", model.fine), ("coarse grammar", model.coarse)):
        print(
            f"{name}: {len(grammar.names)} symbols, {len(grammar.binary)} binary and {len(grammar.unary)} unary rules, "
            f"{len(grammar.emissions.symbol)} emissions of {len(model.words)} word classes"
        )
    seconds = time.perf_counter() - start
    left_out = f" ({model.meta['left_out']} longer ones left out)" if model.meta["left_out"] else ""
    print(f"{arg.size(options.out)}, from {model.meta['sentences']} sentences{left_out}, {seconds:.1f} s")


@command(
    "train-pcfgla --corpus build/corpus --names sample --cycles 2 --out build/pcfgla.model",
    *arg.treebanks(weight=False),
    arg.number("--cycles", 4, "split-merge cycles"),
    arg.number("--values", None, "instead of cycles: number of latent values of every symbol"),
    BINARISE,
    arg.number("--horizontal", 0, "horizontal order: number of siblings in the symbols of binarised rules"),
    arg.number("--iterations", 40, "maximum EM steps of a cycle"),
    arg.option(
        "--seeds +",
        "random seeds; a grammar is trained for each, and the parser uses their product",
        type=natural_number,
        default=[0],
    ),
    arg.number("--max-words", None, "leave out longer sentences"),
    arg.choice(
        "--parse-tags",
        ("given", "own"),
        "own (default): the parser predicts tags itself; given: it uses the tags of its input",
        default="own",
    ),
    arg.flag(
        "--candidates",
        "add a grammar of vertical order 2 and horizontal order 1, whose best trees the parser can rerank",
    ),
    arg.number("--threads", 2, "threads of the expectation step", minimum=1),
    arg.workdir("finished cycles"),
    *arg.model_options("pcfgla"),
)
def train_pcfgla(options: argparse.Namespace) -> None:
    """Train a PCFG with latent annotations by EM."""
    from spacy_dtparse.pcfgla.parser import PcfgParser
    from training.data.treebanks import read_files, training_origin
    from training.pcfgla import Markov
    from training.pcfgla.latent_training import LatentOptions, train_latent
    from training.runs.files import write_atomically
    from training.runs.metrics_log import log_metrics

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
    files, _ = arg.parse_treebanks(options)
    start = time.perf_counter()
    meta = {**arg.model_metadata(options), **training_origin(files)}
    model = train_latent(read_files(files), chosen, meta, options.threads, options.workdir, partial(log_metrics, None))
    write_atomically(options.out, PcfgParser(model).to_bytes())
    for part in model.latent:
        n_values, n_probabilities = int(part.sizes.sum()), int((part.values > 0).sum())
        print(f"{n_values} latent values, {len(part.rules)} rules, {n_probabilities} probabilities")
    if model.candidates is not None:
        n_symbols, n_rules = len(model.candidates.names), len(model.candidates.binary) + len(model.candidates.unary)
        print(f"candidates: {n_symbols} symbols, {n_rules} rules")
    print(f"{arg.size(options.out)}, from {model.meta['sentences']} sentences, {time.perf_counter() - start:.0f} s")
