"""What `tag` and `jackknife` have in common: the treebanks and the settings of the taggers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from spacy_dtparse.errors import ConfigError

from .settings import add_settings

if TYPE_CHECKING:
    from training.pos_tagger.config import TaggingConfig
    from training.pos_tagger.treebanks import Treebank


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options of both."""
    parser.add_argument(
        "--treebank", action="append", default=[], metavar="PATH[:WEIGHT]",
        help="folder with train.mrg and dev.mrg, or of shards that a teacher has annotated, or a CoNLL-U file; "
        "repeat to pool them; weight: showings per pass",
    )  # fmt: skip
    parser.add_argument("--corpus", type=Path, help="folder of treebanks: NAME/train.mrg, dev.mrg before the above")
    parser.add_argument("--names", nargs="+", default=[], metavar="NAME[:WEIGHT]", help="the treebanks of --corpus")
    parser.add_argument("--out", type=Path, required=True, help="folder for tags and log.jsonl")
    add_settings(parser, "training.pos_tagger.config.TaggingConfig (fit.epochs=8 network.width=48)")


def treebanks_and_config(options: argparse.Namespace, start: TaggingConfig) -> tuple[list[Treebank], TaggingConfig]:
    """What the options name. Raises ConfigError, TrainingDataError."""
    from training.pos_tagger.treebanks import Treebank
    from training.runs.settings import changed_fields

    if options.names and options.corpus is None:
        raise ConfigError("--names needs --corpus, the folder that the treebanks are in")
    named = [*(f"{options.corpus}/{name}" for name in options.names), *options.treebank]
    if not named:
        raise ConfigError("there is nothing to learn from; give --treebank PATH, or --corpus FOLDER with --names")
    return [Treebank.read(text) for text in named], changed_fields(start, options.set)
