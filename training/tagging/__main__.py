"""Command line: ``python -m training.tagging jackknife …`` and ``python -m training.tagging train …``."""

# ruff: noqa: E402 - the thread settings below must come before numpy is loaded
from __future__ import annotations

import argparse
import os
from pathlib import Path

# Matrix products here are too small to gain from threads; must be set before numpy is loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from spacy_dtparse.errors import ConfigError
from training.settings import changed_fields
from training.tagging.config import FINAL, JACKKNIFE
from training.tagging.final import train_final
from training.tagging.jackknife import jackknife
from training.tagging.treebanks import Treebank


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(prog="python -m training.tagging", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--treebank",
        action="append",
        required=True,
        metavar="PATH[:WEIGHT]",
        help="folder with train.mrg and dev.mrg, or of shards that a teacher has annotated, or a CoNLL-U file; "
        "repeat to pool them; weight: showings per pass",
    )
    common.add_argument("--out", type=Path, required=True, help="folder for tags and log.jsonl")
    common.add_argument(
        "--set", action="append", default=[], metavar="SECTION.NAME=VALUE", help="change a setting"
    )
    knife = commands.add_parser(
        "jackknife", parents=[common], help="tag the training trees, each by a blind tagger"
    )
    knife.add_argument("--folds", type=int, default=10)
    knife.add_argument("--run", default="pooled", help="name of this run, for its checkpoints and the log")
    train = commands.add_parser(
        "train", parents=[common], help="fit the final pipeline and tag the dev parts"
    )
    train.add_argument("--model", type=Path, required=True, help="folder to save the spaCy pipeline in")
    train.add_argument("--start", type=Path, metavar="PIPELINE", help="go on from a pipeline that this command made")
    train.add_argument("--no-senter", action="store_true", help="a tagger only")
    train.add_argument(
        "--splits-hyphens",
        action="append",
        default=[],
        metavar="NAME",
        help="treebank that splits hyphenated words, as evidence for augment.split_hyphens; repeatable",
    )
    options = parser.parse_args(arguments)
    treebanks = [Treebank.read(argument) for argument in options.treebank]
    try:
        config = changed_fields(FINAL if options.command == "train" else JACKKNIFE, options.set)
    except ConfigError as error:
        parser.error(f"--set {error}")
    if options.command == "train":
        senter = not options.no_senter
        scores = train_final(
            treebanks, options.model, options.out, config, senter, options.splits_hyphens, options.start
        )
        print("\n".join(f"{name}: {100 * value:.2f} %" for name, value in scores.items()))
        return
    for name, value in jackknife(treebanks, options.out, options.folds, config, options.run).items():
        print(f"{name}: {100 * value:.2f} % of the jackknifed tags are right")


if __name__ == "__main__":
    main()
