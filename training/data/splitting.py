"""Split the trees of one or several files at random into parts of given sizes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees import write_tree
from training.data.bad_input import read_trees

from ..runs.files import write_atomically


def split_files(
    files: Sequence[Path], parts: Mapping[str, int], out: Path, seed: int = 0, encoding: str = "utf-8"
) -> None:
    """Write `out`/PART.mrg with the given number of trees for each part, unchanged. The parts are disjoint, and of
    trees with the same words only one is used.

    Raises TrainingDataError if there are fewer trees than the parts need, or a file is missing, ConfigError for a size
    below 1.
    """
    if not parts or min(parts.values()) < 1:
        raise ConfigError(f"the parts are {dict(parts)}; give their sizes, each 1 or more: train=500 dev=100")
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise TrainingDataError(f"there is no file {missing[0]}; give files of bracketed trees")
    every = {tree.words: tree for path in files for tree in read_trees(path, top=None, encoding=encoding)}
    trees = list(every.values())
    if sum(parts.values()) > len(trees):
        raise TrainingDataError(
            f"the parts need {sum(parts.values())} trees, but there are only {len(trees)} with different words; "
            "give smaller parts or more files"
        )
    order = iter(np.random.default_rng(seed).permutation(len(trees)).tolist())
    for part, size in parts.items():
        lines = [write_tree(trees[next(order)]) + "\n" for _ in range(size)]
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / f"{part}.mrg", "".join(lines).encode())
