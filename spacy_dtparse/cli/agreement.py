"""Compare the trees of two annotators: the same constituents, labels and tags."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DtparseError, TrainingDataError, TreeFormatError
from ..json_text import to_json
from ..trees.bad_input import on_error
from .bad_input import add_errors_argument, report_skipped
from .pipelines import read_tree_file

if TYPE_CHECKING:
    from ..trees.tree import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse agreement`."""
    parser.add_argument("first", metavar="FIRST", help="bracketed trees of one annotator")
    parser.add_argument("second", metavar="SECOND", help="bracketed trees of another annotator")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    add_errors_argument(parser, "tree")


def run(options: argparse.Namespace) -> int:
    """Print the agreement; return the exit code, 1 if something was skipped (--errors)."""
    from ..scoring.annotators import AnnotatorAgreement, align_trees

    names = options.first, options.second
    skipped: list[DtparseError] = []
    agreement = AnnotatorAgreement(
        align_trees(*(read_annotator_trees(name, options.errors, skipped) for name in names))
    )
    code = report_skipped(skipped, "malformed tree", "malformed trees")
    if agreement.sentences == 0:
        raise TrainingDataError(f"{names[0]} and {names[1]} have no sentence in common; give trees of the same text")
    print(to_json(agreement.to_dict(), indent=2) if options.json else agreement.to_table(annotator_names(names)))
    return code


def read_annotator_trees(name: str, errors: str = "strict", skipped: list[DtparseError] | None = None) -> list[Tree]:
    """Return the trees of a file, with function labels, without empty elements. `errors`: one of `bad_input.ERRORS`;
    the errors of trees that are skipped are appended to `skipped`. Raises TrainingDataError if there is no file or no
    tree, TreeFormatError for a malformed tree."""
    from ..pipeline.corpus import read_clean_trees

    bad_trees: list[TreeFormatError] = []
    read = partial(read_clean_trees, functions=True, on_error=on_error(errors), errors=bad_trees)
    trees = read_tree_file(name, read)
    if skipped is not None:
        skipped += bad_trees
    return trees


def annotator_names(paths: Sequence[str]) -> tuple[str, str]:
    """Return names of two annotators by their files: without folders if these differ."""
    first, second = (Path(path).name for path in paths)
    return (first, second) if first != second else (f"{paths[0]} (1)", f"{paths[1]} (2)")
