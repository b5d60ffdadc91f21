"""Vectors of words as a file, and as the rows that a network's table begins with."""

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.span.wordparts import UNKNOWN_WORD, WORD, WordParts

from ..data.word_vectors import WordVectors

_SPREAD = REAL(0.4)
"""Root mean square of the rows, as of those drawn at random (`network.first_values`)."""


def reduced(found: WordVectors, width: int, rng: np.random.Generator) -> np.ndarray:
    """float32 (words, width): the vectors along their principal directions (of words weighted by the root of their
    counts), each divided by the root of its spread, turned at random so that no column is greater than the others, with
    a root mean square of 1. Raises TrainingDataError where they are narrower than `width`."""
    if found.vectors.shape[1] < width:
        raise TrainingDataError(
            f"the word vectors have {found.vectors.shape[1]} numbers, the table {width}; set shape.width lower"
        )
    weights = np.sqrt(found.counts).astype(REAL)
    weights /= weights.sum()
    centred = found.vectors - weights @ found.vectors
    spreads, directions = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    best = np.argsort(-spreads)[:width]
    along = centred @ directions[:, best] / np.maximum(spreads[best], 1e-12) ** 0.25
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    along = along @ turn
    return (along / np.sqrt((weights @ np.square(along)).mean())).astype(REAL)


def begin_with(table: np.ndarray, words: WordParts, found: WordVectors, rng: np.random.Generator) -> int:
    """Set the rows of words that have a vector, `table` float32 (rows, width) being changed, and those of words not
    listed to the mean of the rarest tenth; returns how many words had one. Raises as `reduced`."""
    listed = list(words.tables[WORD])
    place = {word: number for number, word in enumerate(found.words)}
    at = np.array([place.get(word, -1) for word in listed], dtype=np.int64)
    rows = words.encode(listed, [""] * len(listed))[1:-1, WORD]
    vectors = _SPREAD * reduced(found, table.shape[1], rng)
    table[rows[at >= 0]] = vectors[at[at >= 0]]
    table[UNKNOWN_WORD] = vectors[np.argsort(found.counts)[: max(1, len(vectors) // 10)]].mean(axis=0)
    return int((at >= 0).sum())
