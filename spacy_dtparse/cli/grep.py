"""Search bracketed trees for a pattern: Tregex, such as "NP < (PP < of)".

The exit code is 0 if something matches, 1 if nothing does or trees were skipped, and 2 for a bad pattern or file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TrainingDataError, TreeFormatError
from .pipelines import natural_number

if TYPE_CHECKING:
    from ..query import Match, Pattern
    from ..trees.tree import Tree

BAD_INPUT = 2
"""The exit code for bad input; 1 means that nothing matches."""

ERRORS = ("strict", "skip", "replace")
OUTPUTS = ("subtree", "tree", "words")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse grep`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("pattern", metavar="PATTERN", help="a Tregex pattern in quotes")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files of bracketed trees, or folders with .mrg or .psd files; without any, or with -, standard input",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-c", "--count", action="store_true", help="only the number of matches in each file")
    what.add_argument("-l", "--files-with-matches", action="store_true", help="only the names of files with a match")
    what.add_argument("--json", action="store_true", help="each match as a JSON object on a line, with its names")
    parser.add_argument("-n", "--tree-number", action="store_true", help="the number of the tree, from 1, before each")
    parser.add_argument(
        "-o",
        "--output",
        choices=OUTPUTS,
        default="subtree",
        help="print the matching subtree (default), the whole tree, once, or the words of the subtree",
    )
    parser.add_argument(
        "-m", "--max-count", type=natural_number, default=0, metavar="N", help="maximum matches per file; 0 is all"
    )
    parser.add_argument(
        "--clean", action="store_true", help="leave out empty elements and function tags, as `dtparse evaluate` does"
    )
    parser.add_argument(
        "--errors",
        choices=ERRORS,
        default="strict",
        help="at a malformed tree or byte: stop (strict, default); skip the tree; or also replace such bytes by U+FFFD",
    )


def run(options: argparse.Namespace) -> int:
    """Print the matches; return 0 if there are any, else 1."""
    from ..query import compile_pattern

    pattern = compile_pattern(options.pattern)
    files = list(_files(options.files or ["-"]))
    total = 0
    skipped: list[TreeFormatError] = []
    for name in files:
        shown = f"{name}:" if len(files) > 1 else ""
        limit = 1 if options.files_with_matches else options.max_count
        count = 0
        printed = 0
        for tree_number, tree, match in search_file(pattern, name, options.clean, options.errors, skipped):
            count += 1
            if options.json:
                print(json.dumps(as_dict(name, tree_number, tree, match), ensure_ascii=False))
            elif not (options.count or options.files_with_matches or printed == tree_number):
                number = f"{tree_number}:" if options.tree_number else ""
                print(f"{shown}{number}{_text(tree, match, options.output)}")
                printed = tree_number if options.output == "tree" else 0
            if count == limit:
                break
        if options.count:
            print(f"{shown}{count}")
        elif options.files_with_matches and count:
            print(name)
        total += count
    if skipped:
        count = len(skipped)
        trees = "1 malformed tree was" if count == 1 else f"{count} malformed trees were"
        print(f"dtparse: warning: {trees} skipped; the first: {skipped[0]}", file=sys.stderr)
    return 0 if total and not skipped else 1


def _files(names: Sequence[str]) -> Iterator[str]:
    """The files named, and the treebank files in the folders named. Raises TrainingDataError for a name that is
    neither."""
    for name in names:
        path = Path(name)
        if name == "-" or path.is_file():
            yield name
            continue
        found = sorted(inner for inner in path.rglob("*") if inner.suffix in (".mrg", ".psd")) if path.is_dir() else []
        if not found:
            raise TrainingDataError(
                f"there is no file {name}; give files of bracketed trees, or folders with .mrg files"
            )
        yield from map(str, found)


def search_file(
    pattern: Pattern,
    name: str,
    clean: bool = False,
    errors: str = "strict",
    skipped: list[TreeFormatError] | None = None,
) -> Iterator[tuple[int, Tree, Match]]:
    """The matches in a file ("-": standard input), each with the number of its tree, from 1, and the tree.

    `clean`: without empty elements and function tags. `errors`: one of ERRORS; "skip" and "replace" append the errors
    of the trees that they skip, which are numbered too, to `skipped`. Raises TreeFormatError with file, line and
    column, after the matches before it, and PatternError.
    """
    from ..query.pattern import forests
    from ..trees.brackets import read_trees
    from ..trees.labels import EMPTY_TAG
    from ..trees.transforms import strip_empty

    skipped = [] if skipped is None else skipped
    before = len(skipped)
    trees: Iterator[Tree] = read_trees(
        sys.stdin.buffer if name == "-" else name,
        keep_root=True,
        on_error="raise" if errors == "strict" else errors,
        errors=skipped,
    )
    numbers: list[int] = []
    stopped: list[TreeFormatError] = []

    def record_numbers() -> Iterator[Tree]:
        try:
            for count, tree in enumerate(trees, 1):
                if not clean or set(tree.tags) != {EMPTY_TAG}:
                    numbers.append(count + len(skipped) - before)
                    yield strip_empty(tree) if clean else tree
        except TreeFormatError as error:
            stopped.append(error)

    for forest in forests(record_numbers(), batch_size=1000):
        first = len(numbers) - len(forest.trees)
        for match in pattern.search(forest):
            yield numbers[first + match.node.tree], forest.trees[match.node.tree], match
    if stopped:
        raise stopped[0]


def _text(tree: Tree, match: Match, output: str) -> str:
    from ..query import write_node
    from ..trees.bracket_writer import write_tree

    if output == "words":
        return " ".join(tree.words[match.node.start : match.node.end])
    return write_tree(tree) if output == "tree" else write_node(tree, match.node)


def as_dict(name: str, tree_number: int, tree: Tree, match: Match) -> dict[str, Any]:
    """A match as plain data: file and number of the tree; for the node and each named one its kind, label, tokens (from
    0), words and brackets."""
    from ..query import write_node

    def node(what: Any) -> dict[str, Any]:
        return {
            "kind": what.kind,
            "label": what.label,
            "start": what.start,
            "end": what.end,
            "words": list(tree.words[what.start : what.end]),
            "brackets": write_node(tree, what),
        }

    names = {key: node(what) for key, what in match.names.items()}
    return {"file": name, "tree": tree_number, **node(match.node), "names": names}
