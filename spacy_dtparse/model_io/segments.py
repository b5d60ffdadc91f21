"""Segments: pieces of different lengths, concatenated in one array."""

import numpy as np

from ..errors import ModelFormatError


def select_segments(start: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Select the segments `chosen` of a list of segments: return (new start int64 (C + 1,), positions to take int64).

    `start` int (S + 1,): segment s is [start[s], start[s + 1]); `chosen` int (C,).
    """
    sizes = np.diff(start)[chosen]
    new = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(sizes, out=new[1:])
    return new, np.arange(new[-1]) + np.repeat(start[:-1][chosen] - new[:-1], sizes)


def ascending(steps: np.ndarray, end: int, what: str) -> np.ndarray:
    """int64: the cumulative sums of `steps`. Raises ModelFormatError unless each is greater than the one before and
    below `end`; `what`: the name of the positions in the message."""
    if np.any(steps[1:] < 1) or np.any(steps < 0) or sum(steps.tolist()) >= max(end, 1):
        raise ModelFormatError(f"the positions of {what} do not ascend below {end}; fetch or write the model again")
    return np.cumsum(steps, dtype=np.int64)


def any_positive(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """bool (S,): whether each segment has a value above 0; empty segments do not."""
    before = np.concatenate([[0], np.cumsum(values > 0.0)])
    return before[start[1:]] > before[start[:-1]]
