"""Treebanks into cleaned brackets and into spaCy's binary format."""

from pathlib import Path

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.pipeline.corpus import convert_brackets, read_clean_trees
from spacy_dtparse.text import without_backslashes
from spacy_dtparse.trees import Tree, write_tree

from .treebanks import PARTS, part_file


def convert_treebank(folder: Path, name: str, out: Path) -> dict[str, int]:
    """Convert `folder`/`name`/{train,dev}.mrg (or .psd) to `out`/`name`/{train,dev}.mrg and dev.spacy; trees by part.

    What is written are trees without empty elements, function tags and backslashes, one per line; a tree of nothing
    else is left out. The dev part may be missing. Raises TrainingDataError when there is no other file or no tree in
    it, TreeFormatError at a malformed tree.
    """
    counts = {}
    for part in PARTS:
        source, target = part_file(folder, name, part), out / name / f"{part}.mrg"
        if part == "dev" and not source.is_file():
            continue
        if not source.is_file():
            raise TrainingDataError(f"there is no file {source}; give a file of bracketed trees")
        lines = []
        for tree in read_clean_trees(source):
            words = tuple(map(without_backslashes, tree.words))
            lines.append(write_tree(Tree(words, tree.tags, tree.labels, tree.starts, tree.ends)) + "\n")
        if not lines:
            raise TrainingDataError(f"{source}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(lines), encoding="utf8")
        if part == "dev":
            convert_brackets(target, target.with_suffix(".spacy"))
        counts[part] = len(lines)
    return counts
