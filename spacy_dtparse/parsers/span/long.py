"""Long sentences: repeated charts over windows; confident spans become units, until one chart covers all units.

The time of a chart grows with the cube of the length, but whether a few words are a constituent hardly depends on
distant words. So charts over overlapping windows compute the probabilities of spans, the most probable spans become
units, and the next charts are over units: they use the same scores, at the remaining gaps between tokens. Every round
halves the number of units, so that time is linear in the length of the sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, SCORE
from ...kernels.span.network import LEFT, RIGHT, probable_spans
from ...kernels.span.spans import without_crossing

Told = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Spans, their posteriors, log-probabilities of their labels, in the format of `span_probabilities`."""


class Made(NamedTuple):
    """The decoded tree of a sentence: items (start, end, label) in pre-order, their scores, the number of labelled
    spans, the status; and the inputs: `numbers` (ids of its tokens), `parts` (output of the networks), `told` (spans
    with posteriors, for a long sentence)."""

    items: list[list[int]]
    costs: list[float]
    tried: int
    status: str
    numbers: np.ndarray
    parts: tuple[np.ndarray, ...]
    told: Told | None


WINDOW = 100
"""Maximum number of units of a window; the next window begins half a window later."""
_MARGIN = 8
"""A window scores only spans that are at least the window's length divided by this away from both of its ends."""
_LISTED = 1e-3
"""Minimum posterior probability of spans that a window lists."""


def long_posteriors(gaps: np.ndarray, own: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute posterior probabilities of spans of a sentence of any length, by charts over at most `most` (≥ 2) units.

    `gaps`, `own`: in the format of `kernels.span.network`. Returns (spans int32 (c, 2), ordered by start, then end,
    without duplicates, including all single tokens, whose posterior is 1; posteriors float64 (c,)). The posterior of a
    span is that in the last chart that has both of its ends, times those of the units at its ends, because a span over
    units exists only if they do (unless units that cross them cover it as well). With one chart over all tokens it is
    the posterior of that chart.
    """
    n = own.shape[1] - 1
    ends, sure = np.arange(n + 1, dtype=INDEX), np.ones(n)
    spans, posteriors = [np.stack([ends[:-1], ends[1:]], axis=1)], [sure]
    gaps = gaps[:, min(LEFT, RIGHT) : max(LEFT, RIGHT) + 1]
    while True:
        units = len(ends) - 1
        here = np.ascontiguousarray(np.take(gaps, ends, axis=2)), np.ascontiguousarray(np.take(own, ends, axis=1))
        found, probable = _in_windows(*here, units, most)
        starts, stops = found.T
        probable *= sure[starts] * sure[stops - 1]
        if units <= most:
            spans.append(ends[found])
            posteriors.append(probable)
            break
        left = _left(found, probable, max(most, -(-units // 2)), units)
        number = np.cumsum(left) - 1
        length = np.where(left[starts] & left[stops], number[stops] - number[starts], 0)
        spans.append(ends[found[length < 2]])  # later rounds compute the others again
        posteriors.append(probable[length < 2])
        single, new = left[:-1] & left[1:], length == 1
        before, sure = sure, np.full(number[-1], _LISTED)
        sure[number[:-1][single]] = before[single]
        sure[number[starts[new]]] = probable[new]
        ends = ends[left]
    all_spans, all_posteriors = np.concatenate(spans), np.concatenate(posteriors)
    order = np.lexsort((all_spans[:, 1], all_spans[:, 0]))
    return all_spans[order], all_posteriors[order]


def _windows(units: int, most: int) -> list[tuple[int, int]]:
    """Return the windows [first, last) over `units` units: a single one if these are at most `most`."""
    if units <= most:
        return [(0, units)]
    size = min(WINDOW, most)
    count = -(-(units - size) // max(size // 2, 1)) + 1
    firsts = [(units - size) * k // (count - 1) for k in range(count)]
    return [(first, first + size) for first in firsts]


def _in_windows(gaps: np.ndarray, own: np.ndarray, units: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (spans of two or more units int32 (c, 2), their posteriors), each from the window with the largest margin
    around it."""
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
    """Return how many units the window extends beyond each span on the shorter side, below 0 if the span is not inside;
    the ends of the sentence count as far away."""
    first, last = window
    before = spans[:, 0] - (first if first else -units)
    after = (last if last < units else 2 * units) - spans[:, 1]
    return np.minimum(before, after)


def _left(spans: np.ndarray, posteriors: np.ndarray, wanted: int, units: int) -> np.ndarray:
    """Return which gaps remain, bool (units + 1,), when the most probable spans are merged until `wanted` units remain
    (at least half of them). Among equally probable spans (to six digits) the first is merged first. If there are too
    few spans, neighbours are paired."""
    left, count = [True] * (units + 1), units
    order = np.lexsort((spans[:, 1], spans[:, 0], -posteriors.round(6)))
    for start, end in zip(spans[order, 0].tolist(), spans[order, 1].tolist(), strict=True):
        if count <= wanted:
            break
        if left[start] and left[end]:
            count -= sum(left[start + 1 : end])
            left[start + 1 : end] = [False] * (end - start - 1)
    marks = np.array(left)
    marks[np.flatnonzero(marks)[1:-1:2][: max(count - wanted, 0)]] = False
    return marks


def decode_long(
    told: Told, chain_from: np.ndarray, chain_labels: np.ndarray, penalty: float, items: np.ndarray, costs: np.ndarray
) -> int:
    """Decode a long sentence greedily: take spans in order of gain if they cross none that is taken; see `decode`."""
    spans, posteriors, logs = told
    chains = logs[:, 1:].argmax(axis=1) + 1
    gains = np.diff(chain_from)[chains] * (posteriors * (1.0 - np.exp(logs[:, 0].astype(SCORE))) - penalty)
    order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]
    taken = order[without_crossing(spans[order])]
    taken = taken[np.lexsort((-spans[taken, 1], spans[taken, 0]))]
    return write_items(told, taken, chains[taken], chain_from, chain_labels, items, costs)


def write_items(
    told: Told, taken: np.ndarray, chains: np.ndarray, chain_from: np.ndarray, chain_labels: np.ndarray,
    items: np.ndarray, costs: np.ndarray,
) -> int:  # fmt: skip
    """Write the items of the chains over the chosen spans, in pre-order, in the format of `decode`; return their
    number. `taken`: indices of the spans in `told`."""
    spans, posteriors, logs = told
    sizes = np.diff(chain_from)[chains]
    count = int(sizes.sum())
    link = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    items[:count, :2] = np.repeat(spans[taken], sizes, axis=0)
    items[:count, 2] = chain_labels[np.repeat(chain_from[chains], sizes) + link]
    costs[:count] = np.repeat(-np.log(posteriors[taken]) - logs[taken, chains], sizes)
    return count
