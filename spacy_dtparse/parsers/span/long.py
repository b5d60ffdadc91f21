"""Long sentences: charts over windows, sure spans made units, and again, until one chart over all units is left.

A chart's time grows with the cube of the length, but whether a few words are a constituent hardly depends on what is
far from them. So charts over overlapping windows say what spans are probable, the most probable become units, and the
next charts are over units: the same scores, of the gaps that are left. Every round leaves about half of the gaps, so
that time is linear in the length of the sentence.
"""

from __future__ import annotations

import numpy as np

from ...dtypes import INDEX
from ...kernels.span.network import LEFT, RIGHT, probable_spans

WINDOW = 100
"""Units of a window, at most; the next window begins half a window later."""
_MARGIN = 8
"""A span is looked at in windows that reach beyond it by at least their length divided by this on either side."""
_KEPT = 0.5
"""Share of the units, at least, that a round leaves."""
_LISTED = 1e-3
"""Posterior probability from which on spans are listed."""


def long_posteriors(gaps: np.ndarray, own: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The posterior probabilities of spans of a sentence that has more than `most` (from 2 on) tokens.

    `gaps`, `own` as `kernels.span.network` has them. Returns (spans int32 (c, 2), ordered by start, then end, none
    twice, among them all single tokens; their posteriors float64 (c,), 0.001 at least). Each span's is that of the last
    chart which has both of its ends.
    """
    n = own.shape[1] - 1
    ends = np.arange(n + 1, dtype=INDEX)
    spans, posteriors = [np.stack([ends[:-1], ends[1:]], axis=1)], [np.ones(n)]
    gaps = gaps[:, min(LEFT, RIGHT) : max(LEFT, RIGHT) + 1]
    while True:
        here = np.ascontiguousarray(np.take(gaps, ends, axis=2)), np.ascontiguousarray(np.take(own, ends, axis=1))
        found, probable = _in_windows(*here, len(ends) - 1, most)
        if len(ends) - 1 <= most:
            break
        left = _left(found, probable, len(ends) - 1, max(most, int(np.ceil(_KEPT * (len(ends) - 1)))))
        number = np.cumsum(left)
        starts, stops = found.T
        again = left[starts] & left[stops] & (number[stops] - number[starts] > 1)
        spans.append(ends[found[~again]])
        posteriors.append(probable[~again])
        ends = ends[left]
    spans.append(ends[found])
    posteriors.append(probable)
    all_spans, all_posteriors = np.concatenate(spans), np.concatenate(posteriors)
    order = np.lexsort((all_spans[:, 1], all_spans[:, 0]))
    return all_spans[order], all_posteriors[order]


def _windows(units: int, most: int) -> list[tuple[int, int]]:
    """The windows [first, last) over so many units: one where these are at most `most`."""
    if units <= most:
        return [(0, units)]
    size = min(WINDOW, most)
    count = -(-(units - size) // max(size // 2, 1)) + 1
    firsts = [(units - size) * k // (count - 1) for k in range(count)]
    return [(first, first + size) for first in firsts]


def _in_windows(gaps: np.ndarray, own: np.ndarray, units: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """(Spans of two or more units int32 (c, 2), their posteriors), each from the window that reaches furthest beyond
    it."""
    windows = _windows(units, most)
    spans, posteriors = [], []
    for k, (first, last) in enumerate(windows):
        found, probable = probable_spans(gaps, own, first, last, _LISTED)
        margin = _margin(found, windows[k], units)
        best = (margin >= (last - first) // _MARGIN) & (found[:, 1] - found[:, 0] > 1)
        if k:
            best &= margin > _margin(found, windows[k - 1], units)
        if k + 1 < len(windows):
            best &= margin >= _margin(found, windows[k + 1], units)
        spans.append(found[best])
        posteriors.append(probable[best])
    return np.concatenate(spans), np.concatenate(posteriors)


def _margin(spans: np.ndarray, window: tuple[int, int], units: int) -> np.ndarray:
    """How many units the window reaches beyond spans on the shorter side, below 0 where it does not have them; the ends
    of the sentence are as good as far away."""
    first, last = window
    before = spans[:, 0] - (first if first else -units)
    after = (last if last < units else 2 * units) - spans[:, 1]
    return np.minimum(before, after)


def _left(spans: np.ndarray, posteriors: np.ndarray, units: int, wanted: int) -> np.ndarray:
    """Which gaps are left, bool (units + 1,), when the most probable spans become units until there are `wanted`, of
    equally probable ones the first; where spans are too few, neighbours are paired."""
    left, count = [True] * (units + 1), units
    order = np.lexsort((spans[:, 1], spans[:, 0], -posteriors))
    for start, end in zip(spans[order, 0].tolist(), spans[order, 1].tolist(), strict=True):
        if count <= wanted:
            break
        if left[start] and left[end]:
            count -= sum(left[start + 1 : end])
            left[start + 1 : end] = [False] * (end - start - 1)
    marks = np.array(left)
    gaps = np.flatnonzero(marks)
    marks[gaps[1:-1:2][: max(count - wanted, 0)]] = False
    return marks
