"""Lists of segments: pieces of different lengths that stand one after the other in a long array."""

import numpy as np

from ..errors import ModelFormatError


def line_up(start: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(new start int64 (C + 1,), positions to take int64) that line up the segments `chosen` of a list of segments.

    `start` int (S + 1,): segment s is [start[s], start[s + 1]); `chosen` int (C,).
    """
    sizes = np.diff(start)[chosen]
    new = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(sizes, out=new[1:])
    return new, np.arange(new[-1]) + np.repeat(start[:-1][chosen] - new[:-1], sizes)


def ascending(steps: np.ndarray, end: int, what: str) -> np.ndarray:
    """int64: the places that begin at steps[0] and are so far apart. Raises ModelFormatError unless each is above the
    one before and below `end`; `what` is at them."""
    if np.any(steps[1:] < 1) or np.any(steps < 0) or sum(steps.tolist()) >= max(end, 1):
        raise ModelFormatError(f"the places of {what} do not ascend to below {end}; fetch or write the model again")
    return np.cumsum(steps, dtype=np.int64)


def any_positive(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """bool (S,): whether a segment has a number above 0; an empty one has none."""
    before = np.concatenate([[0], np.cumsum(values > 0.0)])
    return before[start[1:]] > before[start[:-1]]
