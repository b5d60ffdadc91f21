"""The option that changes settings of a trainer."""

from __future__ import annotations

import argparse


def add_settings(parser: argparse.ArgumentParser, of: str) -> None:
    """--set NAME=VALUE …: one or several at a time, repeatable. `of`: what they are settings of, with an example."""
    parser.add_argument(
        "--set", action="extend", nargs="*", default=[], metavar="NAME=VALUE", help=f"settings of {of}; repeatable"
    )
