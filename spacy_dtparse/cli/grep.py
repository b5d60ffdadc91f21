"""Search bracketed trees for a pattern: Tregex, such as "NP < (PP < of)".

The exit code is 0 if something matches, 1 if nothing does or trees were skipped, and 2 for a bad pattern or file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DtparseError
from ..json_text import to_json
from ..trees.bad_input import on_error
from .bad_input import StopAtError, add_errors_argument, report_skipped
from .lines import is_piped
from .pipelines import natural_number
from .streams import batches, flush_if_live
from .terminal import printable_path
from .tree_files import numbered_trees, tree_files

if TYPE_CHECKING:
    from ..query import Match, Pattern
    from ..trees.tree import Tree

BAD_INPUT = 2
"""The exit code for bad input; 1 means that nothing matches."""

BATCH_SIZE = 1000
"""Number of trees that are searched at once, so that matches are printed while a file is read."""
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
    add_errors_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print the matches; return 0 if there are any, else 1."""
    from ..query import compile_pattern

    pattern = compile_pattern(options.pattern)
    files = list(tree_files(options.files or ["-"]))
    total = 0
    skipped: list[DtparseError] = []
    for name in files:
        shown = f"{printable_path(name)}:" if len(files) > 1 else ""
        limit = 1 if options.files_with_matches else options.max_count
        count = 0
        printed = 0
        for tree_number, tree, match in search_file(pattern, name, options.clean, options.errors, skipped):
            count += 1
            if options.json:
                print(to_json(as_dict(printable_path(name), tree_number, tree, match)))
            elif not (options.count or options.files_with_matches or printed == tree_number):
                number = f"{tree_number}:" if options.tree_number else ""
                print(f"{shown}{number}{_text(tree, match, options.output)}")
                printed = tree_number if options.output == "tree" else 0
            if count == limit:
                break
        if options.count:
            print(f"{shown}{count}")
        elif options.files_with_matches and count:
            print(printable_path(name))
        total += count
    return report_skipped(skipped) or (0 if total else 1)


def search_file(
    pattern: Pattern, name: str, clean: bool = False, errors: str = "strict", skipped: list[DtparseError] | None = None
) -> Iterator[tuple[int, Tree, Match]]:
    """The matches in a file ("-": standard input), each with the number of its tree, from 1, and the tree.

    `clean`: without empty elements and function tags. `errors`: one of `bad_input.ERRORS`; "skip" and "replace" append
    the errors of the trees that they skip, which are numbered too, to `skipped`. Raises TreeFormatError with file, line
    and column, after the matches before it, and PatternError.
    """
    from ..query import Forest
    from ..trees.transforms import strip_empty

    stop = StopAtError()
    trees = numbered_trees(name, on_error(errors), [] if skipped is None else skipped, clean=clean)
    for batch in batches(stop.before_error(trees), BATCH_SIZE, is_piped([name])):
        numbers = [number for number, _ in batch]
        forest = Forest([strip_empty(tree) if clean else tree for _, tree in batch])
        for match in pattern.search(forest):
            yield numbers[match.node.tree], forest.trees[match.node.tree], match
        flush_if_live(is_piped([name]))
    stop.check()


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
