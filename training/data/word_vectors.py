"""Files of word vectors."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import TrainingDataError

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
