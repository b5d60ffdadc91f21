"""Files of word vectors, and the rows of a span network's table that begin with them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.nn.vocabularies import UNKNOWN_WORD
from spacy_dtparse.span_parser.features import WORD, WordParts

from ..runs.resuming import open_arrays, save_arrays


class WordVectors(NamedTuple):
    """Normalised words, their vectors float32 (words, width), and their counts, int64 (words,)."""

    words: tuple[str, ...]
    vectors: np.ndarray
    counts: np.ndarray


def save_vectors(path: Path, found: WordVectors) -> None:
    """Write an .npz file: `words`, one per line, `vectors` float16, `counts`."""
    text = np.frombuffer("\n".join(found.words).encode(), dtype=np.uint8)
    save_arrays(path, {"words": text, "vectors": found.vectors.astype(np.float16), "counts": found.counts})


def read_vectors(path: Path) -> WordVectors:
    """Read a file of `save_vectors`. Raises TrainingDataError if it cannot be read."""
    with open_arrays(path) as arrays:
        words = tuple(arrays["words"].tobytes().decode().split("\n"))
        vectors, counts = arrays["vectors"].astype(REAL), arrays["counts"]
    if not len(words) == len(vectors) == len(counts) or vectors.ndim != 2:
        raise TrainingDataError(
            f"{path}: {len(words)} words with vectors {vectors.shape} and {len(counts)} counts; write the file again: "
            "python -m training teacher vectors …"
        )
    return WordVectors(words, vectors, counts)


_ROW_RMS = REAL(0.4)
"""Root mean square of the rows, equal to that of random rows (`nn.layers.init_layers`)."""


def project_vectors(found: WordVectors, width: int, rng: np.random.Generator) -> np.ndarray:
    """Project word vectors to `width` dimensions; float32 (words, width) with a root mean square of 1.

    The columns are the principal components (words weighted by the square root of their counts), each divided by the
    fourth root of its variance, then rotated at random so that no column is larger than the others. Raises
    TrainingDataError if the vectors are narrower than `width`."""
    if found.vectors.shape[1] < width:
        raise TrainingDataError(
            f"the word vectors have {found.vectors.shape[1]} dimensions, the table {width}; set shape.width lower"
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


def init_from_vectors(table: np.ndarray, words: WordParts, found: WordVectors, rng: np.random.Generator) -> int:
    """Initialise the rows of `table`, float32 (rows, width), from word vectors, in place.

    The row of unlisted words becomes the mean of the rarest tenth. Returns the number of listed words with a vector.
    Raises TrainingDataError as `project_vectors` does."""
    listed = list(words.tables[WORD])
    index = {word: i for i, word in enumerate(found.words)}
    at = np.array([index.get(word, -1) for word in listed], dtype=np.int64)
    rows = words.encode(listed, [""] * len(listed))[1:-1, WORD]
    vectors = _ROW_RMS * project_vectors(found, table.shape[1], rng)
    table[rows[at >= 0]] = vectors[at[at >= 0]]
    table[UNKNOWN_WORD] = vectors[np.argsort(found.counts)[: max(1, len(vectors) // 10)]].mean(axis=0)
    return int((at >= 0).sum())
