"""Train the tagger and the sentence boundaries of a spaCy pipeline, and tag the dev parts."""

import argparse
from pathlib import Path

from .tagging import add_common, treebanks_and_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tag`."""
    add_common(parser)
    parser.add_argument("--model", type=Path, required=True, help="folder to save the spaCy pipeline in")
    parser.add_argument("--start", type=Path, metavar="PIPELINE", help="go on from a pipeline that this command made")
    parser.add_argument("--no-senter", action="store_true", help="a tagger only")
    parser.add_argument(
        "--splits-hyphens", action="append", default=[], metavar="NAME",
        help="treebank that splits hyphenated words, as evidence for augment.split_hyphens; repeatable",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Train, write the pipeline and the tags, print the scores."""
    from training.pos_tagger.config import FINAL
    from training.pos_tagger.running import train_final

    treebanks, config = treebanks_and_config(options, FINAL)
    scores = train_final(
        treebanks, options.model, options.out, config, not options.no_senter, options.splits_hyphens, options.start
    )
    print("\n".join(f"{name}: {100 * value:.2f} %" for name, value in scores.items()))
