"""Reference implementation of the posteriors of long sentences: all windows for every span, all trees enumerated."""

from __future__ import annotations

import numpy as np

from tests.reference.spans import posteriors

Span = tuple[int, int]


def windows(units: int, most: int) -> list[Span]:
    """Windows of `most` units from the first to the last, evenly spread, half of one apart at most."""
    if units <= most:
        return [(0, units)]
    number = 1
    while (units - most) / number > max(most // 2, 1):
        number += 1
    return [(k * (units - most) // number, k * (units - most) // number + most) for k in range(number + 1)]


def reach(span: Span, window: Span, units: int) -> float:
    """How far the window reaches beyond the span; the ends of the sentence are no ends of it."""
    before = float("inf") if window[0] == 0 else span[0] - window[0]
    after = float("inf") if window[1] == units else window[1] - span[1]
    return min(before, after)


def look(scores: np.ndarray, ends: list[int], most: int, share: int, least: float) -> dict[Span, float]:
    """The posterior of each span of units, from the best window for it, where that reaches far enough."""
    units, found = len(ends) - 1, {}
    charts = {}
    for first, last in windows(units, most):
        part = scores[np.ix_(ends[first : last + 1], ends[first : last + 1])].astype(float)
        charts[first, last] = posteriors(part)[1]
    for i in range(units):
        for j in range(i + 2, units + 1):
            best = max(charts, key=lambda window: (reach((i, j), window, units), -window[0]))
            if reach((i, j), best, units) >= (best[1] - best[0]) // share:
                posterior = charts[best][i - best[0], j - best[0]]
                if posterior >= least:
                    found[i, j] = float(posterior)
    return found


def long_posteriors(scores: np.ndarray, most: int, share: int, least: float) -> dict[Span, float]:
    """{span: posterior} of a sentence whose spans have these `scores` (n + 1, n + 1)."""
    n = len(scores) - 1
    ends, confidence = list(range(n + 1)), [1.0] * n
    found = {(t, t + 1): 1.0 for t in range(n)}
    while True:
        units = len(ends) - 1
        here = {
            (i, j): p * confidence[i] * confidence[j - 1]
            for (i, j), p in look(scores, ends, most, share, least).items()
        }
        if units <= most:
            return found | {(ends[i], ends[j]): p for (i, j), p in here.items()}
        wanted, pieces = max(most, (units + 1) // 2), [(t, t + 1) for t in range(units)]
        for i, j in sorted(here, key=lambda span: (-round(here[span], 6), span)):
            starts, stops = [a for a, _ in pieces], [b for _, b in pieces]
            if len(pieces) > wanted and i in starts and j in stops:
                pieces[starts.index(i) : stops.index(j) + 1] = [(i, j)]
        at = 0
        while len(pieces) > wanted:
            pieces[at : at + 2] = [(pieces[at][0], pieces[at + 1][1])]
            at += 1
        borders = {0, *(b for _, b in pieces)}
        for (i, j), p in here.items():
            if not {i, j} <= borders or (i, j) in pieces:
                found[ends[i], ends[j]] = p
        confidence = [confidence[i] if j - i == 1 else here.get((i, j), least) for i, j in pieces]
        ends = [ends[t] for t in sorted(borders)]
