"""Options that trainers share: settings, and what a model's meta says."""

import argparse
from pathlib import Path
from typing import Any


def add_settings(parser: argparse.ArgumentParser, of: str) -> None:
    """--set NAME=VALUE …: one or several at a time, repeatable. `of`: what they are settings of, with an example."""
    parser.add_argument(
        "--set", action="extend", nargs="*", default=[], metavar="NAME=VALUE", help=f"settings of {of}; repeatable"
    )


def add_model(
    parser: argparse.ArgumentParser,
    name: str,
    *,
    of: str = "treebanks",
    licence: bool = False,
    credit: str = "",
    out: str = "the model file to write",
) -> None:
    """`--name`, `--lang` and `--out`; with `licence` `--license`, with a `credit`, what it is, `--credit`."""
    parser.add_argument("--name", default=name, help="the model's name in its meta")
    parser.add_argument("--lang", default="en", help=f"language of the {of} (default: en)")
    if licence:
        parser.add_argument("--license", default="", help="licence of the model, for its meta")
    if credit:
        parser.add_argument("--credit", action="append", default=[], metavar="TEXT", help=credit)
    parser.add_argument("--out", type=Path, required=True, help=out)


def model_facts(options: argparse.Namespace) -> dict[str, Any]:
    """What the options of `add_model` say, for a model's meta."""
    names = {"name": "name", "lang": "lang", "license": "license", "credits": "credit"}
    return {key: getattr(options, option) for key, option in names.items() if hasattr(options, option)}
