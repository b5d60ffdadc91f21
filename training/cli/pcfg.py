"""Make a treebank grammar and its parser, from relative frequencies."""

import argparse
import time

from .settings import add_model, model_facts
from .treebanks import add_treebanks, treebanks_of

RECIPES = ("plain", "tm2006")


def horizontal_order(text: str) -> int | None:
    """A horizontal order: a whole number, or None for "inf"."""
    if text == "inf":
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no horizontal order; give 0, 1, 2 … or inf")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pcfg`."""
    add_treebanks(parser, weight=False)
    parser.add_argument("--vertical", type=int, default=2, help="1: labels as they are; 2: with the parent's (default)")
    parser.add_argument("--tag-vertical", type=int, default=2, help="the same for parts of speech (default: 2)")
    parser.add_argument(
        "--horizontal", type=horizontal_order, default=1, metavar="N|inf", help="children remembered (default: 1)"
    )
    parser.add_argument(
        "--binarise",
        default="center-head",
        choices=("left", "right", "center-parent", "center-head"),
        help="how long rules are cut up (default: center-head)",
    )
    parser.add_argument("--smoothing", type=float, default=0.0, help="weight of the parts' prior (default: 0, none)")
    parser.add_argument("--recipe-steps", default="plain", choices=RECIPES, help="preprocessing (default: plain)")
    parser.add_argument("--max-words", type=int, help="leave out longer sentences, counted after preprocessing")
    parser.add_argument("--min-word-count", type=int, default=3, help="rarer words go by their looks (default: 3)")
    parser.add_argument(
        "--parse-tags",
        default="given",
        choices=("given", "own"),
        help="whether the parser keeps to a token's tag (default) or chooses tags itself",
    )
    add_model(parser, "pcfg")


def run(options: argparse.Namespace) -> None:
    """Make the grammar, write the model, say how large it is."""
    from spacy_dtparse.parsers.pcfg import PcfgParser
    from spacy_dtparse.trees import Recipe
    from training.data.treebanks import origin_of, read_files
    from training.pcfg import Markov, PcfgOptions, train_pcfg

    chosen = PcfgOptions(
        Markov(options.vertical, options.horizontal, options.binarise, options.tag_vertical),
        Recipe.TM2006 if options.recipe_steps == "tm2006" else Recipe.PLAIN,
        options.smoothing,
        options.parse_tags == "given",
        options.max_words,
        options.min_word_count,
    )
    files, _ = treebanks_of(options)
    began = time.perf_counter()
    meta = {**model_facts(options), **origin_of(files)}
    model = train_pcfg(read_files(files), chosen, meta)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    PcfgParser(model).to_disk(options.out)
    for name, grammar in (("grammar", model.fine), ("coarse grammar", model.coarse)):
        print(
            f"{name}: {len(grammar.names)} symbols, {len(grammar.binary)} binary and {len(grammar.unary)} unary rules, "
            f"{len(grammar.emissions.symbol)} emissions of {len(model.words)} word classes"
        )
    left_out = f" ({model.meta['left_out']} longer ones left out)" if model.meta["left_out"] else ""
    print(
        f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB, "
        f"from {model.meta['sentences']} sentences{left_out}, {time.perf_counter() - began:.1f} s"
    )
