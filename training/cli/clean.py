"""Remove a folder that the project wrote below build/."""

import argparse
import shutil
from pathlib import Path

from spacy_dtparse.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `clean`."""
    parser.add_argument("folder", type=Path, help="a folder below build/ in the current folder")


def run(options: argparse.Namespace) -> None:
    """Remove it, or say that there is nothing to remove."""
    build = Path("build").resolve()
    folder = options.folder.resolve()
    if build not in folder.parents:
        raise ConfigError(f"{options.folder} is not below build/; only what the project wrote there is removed")
    if not folder.is_dir():
        print(f"{options.folder}: nothing to remove")
        return
    shutil.rmtree(folder)
    print(f"{options.folder}: removed")
