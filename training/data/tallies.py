"""Count numbers that do not all fit into memory."""

from collections.abc import Iterable

import numpy as np


def tallied(chunks: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(The distinct numbers in all chunks, uint64, ascending; their counts, int64)."""
    found, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    for chunk in chunks:
        values, times = np.unique(chunk, return_counts=True)
        found, places = np.unique(np.concatenate([found, values]), return_inverse=True)
        sums = np.bincount(places, weights=np.concatenate([counts, times]), minlength=len(found))
        counts = sums.astype(np.int64)
    return found, counts
