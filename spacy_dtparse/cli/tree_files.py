"""Files of bracketed trees named on the command line, and their trees with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DtparseError, TrainingDataError, TreeFormatError
from .streams import standard_input

if TYPE_CHECKING:
    from ..trees.tree import Tree


def tree_files(names: Sequence[str]) -> Iterator[str]:
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


class AddedTop(str):
    """The label TOP of a root that a tree does not have in its file."""

    __slots__ = ()


def numbered_trees(
    name: str, on_error: str, errors: list[DtparseError], *, clean: bool = False
) -> Iterator[tuple[int, Tree]]:
    """The trees of a file ("-": standard input) with their numbers, from 1, which count malformed ones too.

    A tree without a root gets one that is an AddedTop. `on_error`, `errors`: see `read_trees`. `clean`: without trees
    that consist of empty elements only. Raises TreeFormatError.
    """
    from ..trees.brackets import read_trees
    from ..trees.labels import EMPTY_TAG
    from ..trees.tree import TOP

    found: list[TreeFormatError] = []
    source = standard_input() if name == "-" else name
    reported = 0
    trees = read_trees(source, top=AddedTop(TOP), keep_root=True, on_error=on_error, errors=found)
    for count, tree in enumerate(trees, 1):
        errors += found[reported:]
        reported = len(found)
        if not clean or set(tree.tags) != {EMPTY_TAG}:
            yield count + reported, tree
    errors += found[reported:]


def read_aligned_trees(path: str, on_error: str, errors: list[DtparseError], limit: int = 0) -> list[Tree | None]:
    """The clean trees of a file (see `read_clean_trees`), with None for each malformed one, which is skipped and its
    error appended to `errors`: so that two files of the same sentences stay aligned. `limit`: maximum number; 0 is all.

    Raises TreeFormatError, and TrainingDataError if there is no file or no tree in it.
    """
    from ..pipeline.corpus import read_clean_trees
    from .pipelines import read_tree_file

    found: list[TreeFormatError] = []

    def read(source: str) -> Iterator[Tree | None]:
        count = 0
        for tree in read_clean_trees(source, on_error=on_error, errors=found):
            yield from [None] * (len(found) - count)
            count = len(found)
            yield tree
        yield from [None] * (len(found) - count)

    trees = read_tree_file(path, read, limit)
    errors += found
    return trees
