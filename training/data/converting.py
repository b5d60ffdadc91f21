"""Treebanks into cleaned brackets and into spaCy's binary format."""

from collections.abc import Iterator
from pathlib import Path

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.pipeline.corpus import convert_brackets, read_clean_trees
from spacy_dtparse.text import without_backslashes
from spacy_dtparse.trees import Tree, write_tree

from .treebanks import part_file

PARTS = ("train", "dev")


def clean_trees(path: Path) -> Iterator[Tree]:
    """The trees of a file without empty elements, function tags and backslashes; a tree of nothing else is left out."""
    for tree in read_clean_trees(path):
        words = tuple(map(without_backslashes, tree.words))
        yield tree if words == tree.words else Tree(words, tree.tags, tree.labels, tree.starts, tree.ends)


def convert_file(source: Path, brackets: Path | None = None, docs: Path | None = None, limit: int = 0) -> int:
    """Write the cleaned trees of `source` to `brackets` (one per line) and to `docs` (.spacy); returns their number.

    Raises TrainingDataError when there is no such file or no tree in it, TreeFormatError at a malformed tree.
    """
    if not source.is_file():
        raise TrainingDataError(f"there is no file {source}; give a file of bracketed trees")
    trees = []
    for tree in clean_trees(source):
        trees.append(tree)
        if len(trees) == limit:
            break
    if not trees:
        raise TrainingDataError(f"{source}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
    if brackets is not None:
        brackets.parent.mkdir(parents=True, exist_ok=True)
        brackets.write_text("".join(write_tree(tree) + "\n" for tree in trees), encoding="utf8")
    if docs is not None:
        convert_brackets(source if brackets is None else brackets, docs, limit=limit)
    return len(trees)


def convert_treebank(folder: Path, name: str, out: Path, docs: bool = True) -> dict[str, int]:
    """Convert `folder`/`name`/{train,dev}.mrg (or .psd) to `out`/`name`/{train,dev}.{mrg,spacy}; trees by part.

    The dev part may be missing.
    """
    counts = {}
    for part in PARTS:
        source = part_file(folder, name, part)
        if part == "dev" and not source.is_file():
            continue
        target = out / name / part
        spacy_file = target.with_suffix(".spacy") if docs and part == "dev" else None
        counts[part] = convert_file(source, target.with_suffix(".mrg"), spacy_file)
    return counts
