"""Count numbers that do not all fit into memory."""

from collections.abc import Iterable

import numpy as np


def count_distinct(chunks: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(The distinct numbers in all chunks, uint64, ascending; their counts, int64)."""
    values_so_far, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    for chunk in chunks:
        values, times = np.unique(chunk, return_counts=True)
        values_so_far, indices = np.unique(np.concatenate([values_so_far, values]), return_inverse=True)
        sums = np.bincount(indices, weights=np.concatenate([counts, times]), minlength=len(values_so_far))
        counts = sums.astype(np.int64)
    return values_so_far, counts
