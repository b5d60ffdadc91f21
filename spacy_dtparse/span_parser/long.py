"""Long sentences: repeated charts over windows; confident spans become units, until one chart covers all units.

The time of a chart grows with the cube of the length, but whether a few words are a constituent hardly depends on
distant words. So charts over overlapping windows compute the probabilities of spans, the most probable spans become
units, and the next charts are over units: they use the same scores, at the remaining gaps between tokens. Every round
halves the number of units, so that time is linear in the length of the sentence.
"""

import numpy as np

from ..dtypes import INDEX, SCORE
from .kernels.chart import select_noncrossing
from .kernels.network import LEFT, RIGHT, probable_spans

ScoredSpans = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Spans, their posteriors, log-probabilities of their labels, in the format of `span_probabilities`."""
WINDOW = 100
"""Maximum number of units of a window; the next window begins half a window later."""
_MARGIN = 8
"""A window scores only spans that are at least the window's length divided by this away from both of its ends."""
_LISTED = 1e-3
"""Minimum posterior probability of spans that a window lists."""


def long_posteriors(gaps: np.ndarray, left_scores: np.ndarray, max_units: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute posterior probabilities of spans of a sentence of any length, by charts over at most `max_units` (≥ 2)
    units.

    `gaps`, `left_scores`: in the format of `kernels.network`. Returns (spans int32 (c, 2), ordered by start, then
    end, without duplicates, including all single tokens, whose posterior is 1; posteriors float64 (c,)). The posterior
    of a span is that in the last chart that has both of its ends, times those of the units at its ends, because a span
    over units exists only if they do (unless units that cross them cover it as well). With one chart over all tokens it
    is the posterior of that chart.
    """
    n = left_scores.shape[1] - 1
    ends, unit_probs = np.arange(n + 1, dtype=INDEX), np.ones(n)
    spans, posteriors = [np.stack([ends[:-1], ends[1:]], axis=1)], [unit_probs]
    gaps = gaps[:, min(LEFT, RIGHT) : max(LEFT, RIGHT) + 1]
    while True:
        units = len(ends) - 1
        unit_scores = (
            np.ascontiguousarray(np.take(gaps, ends, axis=2)),
            np.ascontiguousarray(np.take(left_scores, ends, axis=1)),
        )
        found, probable = _in_windows(*unit_scores, units, max_units)
        starts, stops = found.T
        probable *= unit_probs[starts] * unit_probs[stops - 1]
        if units <= max_units:
            spans.append(ends[found])
            posteriors.append(probable)
            break
        is_left = _remaining_gaps(found, probable, max(max_units, -(-units // 2)), units)
        unit_index = np.cumsum(is_left) - 1
        length = np.where(is_left[starts] & is_left[stops], unit_index[stops] - unit_index[starts], 0)
        spans.append(ends[found[length < 2]])  # later rounds compute the others again
        posteriors.append(probable[length < 2])
        single, new = is_left[:-1] & is_left[1:], length == 1
        before, unit_probs = unit_probs, np.full(unit_index[-1], _LISTED)
        unit_probs[unit_index[:-1][single]] = before[single]
        unit_probs[unit_index[starts[new]]] = probable[new]
        ends = ends[is_left]
    all_spans, all_posteriors = np.concatenate(spans), np.concatenate(posteriors)
    order = np.lexsort((all_spans[:, 1], all_spans[:, 0]))
    return all_spans[order], all_posteriors[order]


def _windows(units: int, max_units: int) -> list[tuple[int, int]]:
    """Return the windows [first, last) over `units` units: a single one if these are at most `max_units`."""
    if units <= max_units:
        return [(0, units)]
    size = min(WINDOW, max_units)
    count = -(-(units - size) // max(size // 2, 1)) + 1
    starts = [(units - size) * k // (count - 1) for k in range(count)]
    return [(first, first + size) for first in starts]


def _in_windows(gaps: np.ndarray, left_scores: np.ndarray, units: int, max_units: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (spans of two or more units int32 (c, 2), their posteriors), each from the window with the largest margin
    around it."""
    windows = _windows(units, max_units)
    spans, posteriors = [], []
    for k, (first, last) in enumerate(windows):
        found, probable = probable_spans(gaps, left_scores, first, last, _LISTED)
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


def _remaining_gaps(spans: np.ndarray, posteriors: np.ndarray, n_wanted: int, units: int) -> np.ndarray:
    """Return which gaps remain, bool (units + 1,), when the most probable spans are merged until `n_wanted` units
    remain (at least half of them). Among equally probable spans (to six digits) the first is merged first. If there are
    too few spans, neighbours are paired."""
    is_left, count = [True] * (units + 1), units
    order = np.lexsort((spans[:, 1], spans[:, 0], -posteriors.round(6)))
    for start, end in zip(spans[order, 0].tolist(), spans[order, 1].tolist(), strict=True):
        if count <= n_wanted:
            break
        if is_left[start] and is_left[end]:
            count -= sum(is_left[start + 1 : end])
            is_left[start + 1 : end] = [False] * (end - start - 1)
    marks = np.array(is_left)
    marks[np.flatnonzero(marks)[1:-1:2][: max(count - n_wanted, 0)]] = False
    return marks


def decode_long(
    scored: ScoredSpans,
    chain_from: np.ndarray,
    chain_labels: np.ndarray,
    penalty: float,
    items: np.ndarray,
    costs: np.ndarray,
) -> int:
    """Decode a long sentence greedily: take spans in order of gain if they cross none that is taken; see `decode`."""
    spans, posteriors, logs = scored
    chains = logs[:, 1:].argmax(axis=1) + 1
    gains = np.diff(chain_from)[chains] * (posteriors * (1.0 - np.exp(logs[:, 0].astype(SCORE))) - penalty)
    order = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]
    chosen = order[select_noncrossing(spans[order])]
    chosen = chosen[np.lexsort((-spans[chosen, 1], spans[chosen, 0]))]
    return write_items(scored, chosen, chains[chosen], chain_from, chain_labels, items, costs)


def write_items(
    scored: ScoredSpans,
    chosen: np.ndarray,
    chains: np.ndarray,
    chain_from: np.ndarray,
    chain_labels: np.ndarray,
    items: np.ndarray,
    costs: np.ndarray,
) -> int:
    """Write the items of the chains over the chosen spans, in pre-order, in the format of `decode`; return their
    number. `chosen`: indices of the spans in `scored`."""
    spans, posteriors, logs = scored
    sizes = np.diff(chain_from)[chains]
    count = int(sizes.sum())
    link = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    items[:count, :2] = np.repeat(spans[chosen], sizes, axis=0)
    items[:count, 2] = chain_labels[np.repeat(chain_from[chains], sizes) + link]
    costs[:count] = np.repeat(-np.log(posteriors[chosen]) - logs[chosen, chains], sizes)
    return count
