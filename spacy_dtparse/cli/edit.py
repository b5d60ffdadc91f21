"""Change bracketed trees: Tsurgeon's operations on the matches of a Tregex pattern, such as "PP=pp > NP" "prune pp".

The exit code is 0, or 1 for bad input or if trees were skipped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError, DtparseError, EditError
from ..trees.bad_input import on_error
from .bad_input import StopAtError, add_errors_argument, report_skipped
from .lines import is_piped
from .pipelines import positive_number
from .streams import batches, flush_if_live
from .tree_files import AddedTop, numbered_trees, tree_files

if TYPE_CHECKING:
    from ..query import Edit
    from ..trees.tree import Tree

BATCH_SIZE = 1000
FORMATS = ("brackets", "pretty")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse edit`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = (
        "dtparse edit [OPTIONS] PATTERN OPERATIONS [FILE ...]\n       dtparse edit [OPTIONS] --script SCRIPT [FILE ...]"
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="PATTERN OPERATIONS FILE",
        help="a Tregex pattern in quotes; operations on its names in quotes, with ; or a line end between them; files "
        "of bracketed trees, or folders with .mrg or .psd files: without any, or with -, standard input",
    )
    parser.add_argument(
        "--script",
        metavar="SCRIPT",
        help="a file with patterns and operations, instead of PATTERN and OPERATIONS: a pattern, a blank line, its "
        "operations, one on each line, a blank line, and so on; %% begins a comment",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="brackets", help="one tree per line (default), or indented trees"
    )
    parser.add_argument(
        "--max-changes", type=positive_number, default=1000, metavar="N",
        help="maximum number of changes of a tree by one pattern (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--clean", action="store_true", help="leave out empty elements and function tags, as `dtparse evaluate` does"
    )
    add_errors_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print the trees after all changes."""
    from ..trees.bracket_writer import write_tree, write_tree_pretty

    edits, names = _edits_and_files(options)
    write = write_tree if options.format == "brackets" else write_tree_pretty
    skipped: list[DtparseError] = []
    for name in list(tree_files(names or ["-"])):
        for trees in _changed_trees(name, edits, options, skipped):
            sys.stdout.writelines(write(tree) + "\n" for tree in trees)
            flush_if_live(is_piped([name]))
    return report_skipped(skipped, "tree")


def _edits_and_files(options: argparse.Namespace) -> tuple[list[Edit], Sequence[str]]:
    """The compiled changes, and the names of the files."""
    from ..query import compile_edit, parse_script

    if options.script is not None:
        try:
            script = Path(options.script).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise EditError(f"{options.script} is not UTF-8 ({error}); give a text file with the script") from None
        return parse_script(script), options.files
    if len(options.files) < 2:
        raise ConfigError(
            f"found {'a pattern without operations' if options.files else 'no pattern'}; give a pattern and "
            "operations, `dtparse edit 'PP=pp > NP' 'prune pp' FILE`, or a file with them: --script FILE"
        )
    return [compile_edit(options.files[0], options.files[1])], options.files[2:]


def _changed_trees(
    name: str, edits: Sequence[Edit], options: argparse.Namespace, skipped: list[DtparseError]
) -> Iterator[list[Tree]]:
    """Yield the trees of a file after all changes, in batches. Raises DtparseError after the trees before it, unless
    such trees are skipped."""
    from ..query.edits import edit_results

    stop = StopAtError()
    numbered = stop.before_error(numbered_trees(name, on_error(options.errors), skipped, clean=options.clean))
    for batch in batches(numbered, BATCH_SIZE, is_piped([name])):
        trees = [_clean(tree) if options.clean else tree for _, tree in batch]
        done: list[Tree] = []
        results = edit_results(trees, edits, max_changes=options.max_changes)
        for (number, _), result in zip(batch, results, strict=True):
            if not isinstance(result, EditError):
                done.append(_without_added_top(result))
                continue
            error = EditError(f"{'standard input' if name == '-' else name}: tree {number}: {result}")
            if options.errors == "strict":
                yield done
                raise error
            skipped.append(error)
        yield done
    stop.check()


def _clean(tree: Tree) -> Tree:
    """The tree without empty elements and function tags; a root that was added stays recognizable."""
    from ..trees.transforms import strip_empty

    clean = strip_empty(tree)
    return clean.with_labels((tree.labels[0], *clean.labels[1:])) if isinstance(tree.labels[0], AddedTop) else clean


def _without_added_top(tree: Tree) -> Tree:
    """The tree without a root that was added when it was read, if it still is a tree then."""
    from ..trees.tree import Tree

    if not isinstance(tree.labels[0], AddedTop) or len(tree) == 1 or tree.ends[1] - tree.starts[1] != len(tree.words):
        return tree
    return Tree.unchecked(tree.words, tree.tags, tree.labels[1:], tree.starts[1:], tree.ends[1:])
