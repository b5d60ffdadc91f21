"""Which fold each sentence of a treebank is in, for taggers and learners that must not have seen it."""

import numpy as np

_BLOCK = 10
"""Neighbouring sentences share a fold: fewer documents are torn apart, and yet each fold has a part of every genre."""


def fold_numbers(size: int, folds: int, block: int = 200) -> np.ndarray:
    """int32 [size]: the fold of each sentence. Blocks of consecutive sentences go round the folds in turn.

    Blocks (of at most ``block`` sentences, shorter in small treebanks so that each fold gets about four) keep
    most of a document on one side, and still show every fold each genre of a treebank sorted by genre.
    """
    if folds < 2:
        raise ValueError(f"jackknifing needs at least 2 folds, seen: {folds}")
    block = max(1, min(block, size // (4 * folds)))
    return ((np.arange(size) // block) % folds).astype(np.int32)


def folds_of(n: int, folds: int) -> np.ndarray:
    """The fold of each of n sentences, int64."""
    return np.arange(n) // _BLOCK % folds
