"""Say which everyday trees break the conventions of assets/everyday/GUIDE.md."""

import argparse
from pathlib import Path

from ..data.conventions import check_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files of bracketed trees")


def run(options: argparse.Namespace) -> int:
    """Print a line for each problem; returns 1 where there is one."""
    found = [problem for path in options.files for problem in check_file(path)]
    print("\n".join(found) if found else "all trees keep to the conventions")
    return bool(found)
