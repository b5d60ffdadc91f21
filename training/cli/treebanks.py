"""The options by which trainers name their treebanks, and the files that these mean."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from spacy_dtparse.errors import ConfigError

if TYPE_CHECKING:
    from training.data.treebanks import TreebankFile


def treebank_spec(tags: bool = True, weight: bool = True) -> str:
    """How a file of trees is named, for the help."""
    return f"PATH{'[,tags=PATH]' * tags}{'[,weight=W]' * weight}[,block=K/N][,limit=N][,share=S]"


def add_treebanks(
    parser: argparse.ArgumentParser, dev: str = "", train: str = "to learn from", tags: bool = True, weight: bool = True
) -> None:
    """`--train`, `--corpus`, `--names`; with a `dev`, what its trees are for, `--dev`; with `tags` `--tags`."""
    spec, parts = treebank_spec(tags, weight), "NAME/train.mrg and NAME/dev.mrg" if dev else "NAME/train.mrg"
    parser.add_argument("--train", action="append", default=[], metavar=spec, help=f"trees {train}; repeatable")
    if dev:
        parser.add_argument("--dev", action="append", default=[], metavar=spec, help=f"trees {dev}; repeatable")
    parser.add_argument("--corpus", type=Path, help=f"folder of treebanks: {parts} are used beside the above")
    names = "NAME[:WEIGHT]" if weight else "NAME"
    parser.add_argument("--names", nargs="+", default=[], metavar=names, help="the treebanks of --corpus")
    if tags:
        named = parts.replace(".mrg", ".tags").replace("/", ".")
        parser.add_argument("--tags", type=Path, help=f"folder with {named} for --corpus (default: gold tags)")


def treebanks_of(options: argparse.Namespace) -> tuple[list[TreebankFile], list[TreebankFile]]:
    """(Files to learn from, development files) of the options. Raises ConfigError when there is none to learn from."""
    from training.data.treebanks import TreebankFile, corpus_files

    given = {"train": options.train, "dev": getattr(options, "dev", None)}
    found: dict[str, list[TreebankFile]] = {"train": [], "dev": []}
    for part, texts in given.items():
        if texts is not None:
            found[part] = list(map(TreebankFile.parse, texts))
            if options.corpus is not None:
                found[part] += corpus_files(options.corpus, options.names, part, getattr(options, "tags", None))
    if not found["train"]:
        raise ConfigError("there is nothing to learn from; give --train FILE, or --corpus FOLDER with --names")
    return found["train"], found["dev"]
