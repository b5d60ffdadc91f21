"""Charts over binary trees whose score is a sum over their spans: posteriors, the best tree, greedy splits.

Matrices are (n + 1, n + 1) over the gaps between n tokens and mirrored, so that all parts that share an end of a span
lie in one row: what is true of the span [i, j) is at [i, j] and at [j, i]. Sums run in the domain of probabilities,
where they are products of rows; every span of two or more tokens takes the same factor, chosen by the best tree's
score, so that numbers stay within float64 for sentences of ordinary length. `log_posteriors` is the slow twin without
such a limit, and `tree_posteriors` takes whichever of the two is needed. Scores are natural logarithms.
"""

import math

import numpy as np

from ...dtypes import INDEX, REAL
from ..jit import LOOSE_SUMS, bare_kernel, kernel

_NOTHING = 1e-9
"""Spans of a smaller posterior probability hand nothing on."""
_MOST_EXPONENT = 700.0
"""e to a greater power is beyond float64."""
_LEAST_WHOLE, _MOST_WHOLE = 0.5, 1e200
"""Range of the sum over all trees, of which the best alone counts 1: outside of it numbers were lost."""
_MISSING = 1e-3
"""By how much, per token, the posteriors of a tree's n - 1 spans may miss n - 1."""


@bare_kernel(fastmath=True, error_model="numpy")
def best_inside(scores, n, best):
    """Fill `best` float32 (n + 1, n + 1), mirrored, with the score of the best binary tree over every span; a span of
    one token scores its own. `scores` float32 (n + 1, n + 1): of spans, at [i, j]. Returns the score over [0, n)."""
    for i in range(n):
        best[i, i + 1] = scores[i, i + 1]
        best[i + 1, i] = scores[i, i + 1]
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            left, right = best[i, i + 1 : j], best[j, i + 1 : j]
            most = REAL(-3e38)
            for k in range(width - 1):
                most = max(most, left[k] + right[k])
            most += scores[i, j]
            best[i, j] = most
            best[j, i] = most
    return best[0, n]


@bare_kernel
def best_spans(best, n, spans):
    """Fill `spans` int32 (2 n + 2, 2) with the 2 n - 1 spans of the best tree, in pre-order; of equally good splits the
    leftmost. `best` (n + 1, n + 1): of `best_inside`. Returns their number. The last rows serve as a stack."""
    base = len(spans) - 1
    spans[base, 0], spans[base, 1] = 0, n
    top, count = 1, 0
    while top > 0:
        top -= 1
        i, j = spans[base - top, 0], spans[base - top, 1]
        spans[count, 0], spans[count, 1] = i, j
        count += 1
        if j - i < 2:
            continue
        at, most = i + 1, best[i, i + 1] + best[i + 1, j]
        for k in range(i + 2, j):
            if best[i, k] + best[k, j] > most:
                most = best[i, k] + best[k, j]
                at = k
        spans[base - top, 0], spans[base - top, 1] = at, j
        spans[base - top - 1, 0], spans[base - top - 1, 1] = i, at
        top += 2
    return count


@bare_kernel(fastmath=LOOSE_SUMS, error_model="numpy")
def span_posteriors(scores, n, best_score, inside, outside, weights):
    """Posterior probability of every span under the distribution over binary trees, P(tree) ∝ e^(sum of scores of its
    spans of two or more tokens).

    `scores` float32 (n + 1, n + 1): at [i, j], those of single tokens 0. `best_score`: of the best tree. Filled:
    float64 (n + 1, n + 1), of which `outside` holds the posteriors of spans of two or more tokens at [i, j], i < j; the
    rest of it, `inside` and `weights` are room. Returns the log of the sum over all trees, or nan where a number left
    the range of float64.
    """
    shift = best_score / max(n - 1, 1)
    for i in range(n):
        inside[i, i + 1] = 1.0
        inside[i + 1, i] = 1.0
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            left, right = inside[i, i + 1 : j], inside[j, i + 1 : j]
            total = 0.0
            for k in range(width - 1):
                total += left[k] * right[k]
            above_mean = scores[i, j] - shift
            if not above_mean < _MOST_EXPONENT:
                return math.nan
            weight = math.exp(above_mean)
            weights[i, j] = weight
            total *= weight
            inside[i, j] = total
            inside[j, i] = total
    whole = inside[0, n]
    outside[:] = 0.0
    if not _LEAST_WHOLE < whole < _MOST_WHOLE:
        return math.nan
    outside[0, n] = 1.0 / whole
    found = 0.0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            above = outside[i, j] + outside[j, i]
            posterior = above * inside[i, j]
            outside[i, j] = posterior
            if width < 2:
                continue
            found += posterior
            if posterior < _NOTHING:
                continue
            above *= weights[i, j]
            left, right = inside[i, i + 1 : j], inside[j, i + 1 : j]
            to_left, to_right = outside[i, i + 1 : j], outside[j, i + 1 : j]
            for k in range(width - 1):
                to_left[k] += above * right[k]
            for k in range(width - 1):
                to_right[k] += above * left[k]
    if not abs(found - (n - 1)) < _MISSING * n:
        return math.nan
    return math.log(whole) + shift * (n - 1)


@bare_kernel
def log_posteriors(scores, n, inside, outside):
    """The slow twin of `span_posteriors`, in logarithms: any length, any finite scores."""
    for i in range(n):
        inside[i, i + 1] = 0.0
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            most = -math.inf
            for k in range(i + 1, j):
                most = max(most, inside[i, k] + inside[k, j])
            total = 0.0
            for k in range(i + 1, j):
                total += math.exp(inside[i, k] + inside[k, j] - most)
            inside[i, j] = most + math.log(total) + scores[i, j]
    outside[:] = 0.0
    outside[0, n] = 1.0
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j = i + width
            posterior = outside[i, j]
            if posterior < _NOTHING:
                continue
            rest = inside[i, j] - scores[i, j]
            for k in range(i + 1, j):
                share = posterior * math.exp(inside[i, k] + inside[k, j] - rest)
                outside[i, k] += share
                outside[k, j] += share
    return inside[0, n]


@kernel
def tree_posteriors(scores):
    """Posterior probability of every span, as `span_posteriors` defines it, or by `log_posteriors` where numbers leave
    its range.

    `scores` float32 (n + 1, n + 1): at [i, j], those of single tokens 0. Returns (the log of the sum over all trees,
    posteriors float64 (n + 1, n + 1) at [i, j]: 0 but for spans of two or more tokens).
    """
    size = len(scores)
    n = size - 1
    inside, outside = np.empty((size, size)), np.empty((size, size))
    best_score = best_inside(scores, n, np.empty((size, size), dtype=REAL))
    total = span_posteriors(scores, n, best_score, inside, outside, np.empty((size, size)))
    if math.isnan(total):
        total = log_posteriors(scores, n, inside, outside)
    for i in range(size):
        outside[i, : i + 2] = 0.0
    return total, outside


@kernel(error_model="numpy")
def without_crossing(spans):
    """Which of `spans` int32 (c, 2) are taken, bool (c,): one after the other, each that crosses none which was taken
    before it."""
    n = 0
    for c in range(len(spans)):
        n = max(n, spans[c, 1])
    taken = np.zeros(len(spans), dtype=np.bool_)
    first, last = np.empty(n + 1, dtype=INDEX), np.empty(n + 1, dtype=INDEX)
    for t in range(n + 1):
        first[t] = last[t] = t  # the furthest ends of what was taken and ends, begins, at this gap
    for c in range(len(spans)):
        i, j = spans[c, 0], spans[c, 1]
        crosses = False
        for t in range(i + 1, j):
            if first[t] < i or last[t] > j:
                crosses = True
                break
        if not crosses:
            taken[c] = True
            first[j], last[i] = min(first[j], i), max(last[i], j)
    return taken
