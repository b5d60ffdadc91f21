"""Charts over binary trees whose score is the sum of the scores of their spans: posteriors, the best tree, selection of
spans that do not cross.

Matrices are (n + 1, n + 1) over the gaps between n tokens and mirrored: the value of the span [i, j) is at [i, j] and
at [j, i], so all parts that share an end of a span are in one row. Sums are computed on probabilities, as products of
rows. Every span of two or more tokens is scaled by the same factor, chosen from the best tree's score, so that values
stay in the range of float64 for sentences of usual length. `log_posteriors` is the reference implementation without
such a limit; `tree_posteriors` uses whichever is needed. Scores are natural logarithms.
"""

import math

import numpy as np

from ...dtypes import INDEX, REAL
from ...jit.decorator import REORDERED_SUMS, kernel, noalloc_kernel

_NEGLIGIBLE = 1e-9
"""Spans of a smaller posterior probability contribute nothing to smaller spans."""
_MAX_EXPONENT = 700.0
"""Maximum exponent of e in float64, rounded down."""
_MIN_TOTAL, _MAX_TOTAL = 0.5, 1e200
"""Allowed range of the sum over all trees, where the best tree alone counts 1: outside of it, precision was lost."""
_TOLERANCE = 1e-3
"""Allowed difference, per token, between the sum of the posteriors and n - 1, the number of spans of a tree."""


@noalloc_kernel(fastmath=True, error_model="numpy")
def best_inside(scores, n, best):
    """Fill `best` float32 (n + 1, n + 1), mirrored, with the score of the best binary tree over every span; for a span
    of one token that is its score. `scores` float32 (n + 1, n + 1): scores of spans, at [i, j]. Return the score over
    [0, n)."""
    for i in range(n):
        best[i, i + 1] = scores[i, i + 1]
        best[i + 1, i] = scores[i, i + 1]
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            left, right = best[i, i + 1 : j], best[j, i + 1 : j]
            highest = REAL(-3e38)
            for k in range(width - 1):
                highest = max(highest, left[k] + right[k])
            highest += scores[i, j]
            best[i, j] = highest
            best[j, i] = highest
    return best[0, n]


@noalloc_kernel
def best_spans(best, n, spans):
    """Fill `spans` int32 (2 n + 2, 2) with the 2 n - 1 spans of the best tree, in pre-order; of equally good splits the
    leftmost wins. `best` (n + 1, n + 1): from `best_inside`. Return their number. The last rows are used as a stack."""
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
        at, highest = i + 1, best[i, i + 1] + best[i + 1, j]
        for k in range(i + 2, j):
            if best[i, k] + best[k, j] > highest:
                highest = best[i, k] + best[k, j]
                at = k
        # Written and waiting spans are different ones of the 2 n - 1, so the stack never reaches the written rows.
        spans[base - top, 0], spans[base - top, 1] = at, j
        spans[base - top - 1, 0], spans[base - top - 1, 1] = i, at
        top += 2
    return count


@noalloc_kernel(fastmath=REORDERED_SUMS, error_model="numpy")
def span_posteriors(scores, n, best_score, inside, outside, weights):
    """Compute the posterior probability of every span under the distribution over binary trees, P(tree) ∝ e^(sum of
    scores of its spans of two or more tokens).

    `scores` float32 (n + 1, n + 1): at [i, j], 0 for single tokens. `best_score`: score of the best tree. Filled:
    `outside` float64 (n + 1, n + 1): the posteriors of spans of two or more tokens at [i, j], i < j; the rest of it is
    scratch, as are `inside` and `weights` of the same shape. Return the log of the sum over all trees, or nan if a
    value left the range of float64.
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
            if not above_mean < _MAX_EXPONENT:
                return math.nan
            weight = math.exp(above_mean)
            weights[i, j] = weight
            total *= weight
            inside[i, j] = total
            inside[j, i] = total
    all_trees = inside[0, n]
    outside[:] = 0.0
    if not _MIN_TOTAL < all_trees < _MAX_TOTAL:
        return math.nan
    outside[0, n] = 1.0 / all_trees
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
            if posterior < _NEGLIGIBLE:
                continue
            above *= weights[i, j]
            left, right = inside[i, i + 1 : j], inside[j, i + 1 : j]
            to_left, to_right = outside[i, i + 1 : j], outside[j, i + 1 : j]
            for k in range(width - 1):
                to_left[k] += above * right[k]
            for k in range(width - 1):
                to_right[k] += above * left[k]
    if not abs(found - (n - 1)) < _TOLERANCE * n:
        return math.nan
    return math.log(all_trees) + shift * (n - 1)


@noalloc_kernel
def log_posteriors(scores, n, inside, outside):
    """Reference implementation of `span_posteriors`, in logarithms: for any length and any finite scores."""
    for i in range(n):
        inside[i, i + 1] = 0.0
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            highest = -math.inf
            for k in range(i + 1, j):
                highest = max(highest, inside[i, k] + inside[k, j])
            total = 0.0
            for k in range(i + 1, j):
                total += math.exp(inside[i, k] + inside[k, j] - highest)
            inside[i, j] = highest + math.log(total) + scores[i, j]
    outside[:] = 0.0
    outside[0, n] = 1.0
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            j = i + width
            posterior = outside[i, j]
            if posterior < _NEGLIGIBLE:
                continue
            rest = inside[i, j] - scores[i, j]
            for k in range(i + 1, j):
                part = posterior * math.exp(inside[i, k] + inside[k, j] - rest)
                outside[i, k] += part
                outside[k, j] += part
    return inside[0, n]


@kernel
def tree_posteriors(scores):
    """Compute the posterior probability of every span by `span_posteriors`, or by `log_posteriors` if values leave the
    range of float64.

    `scores` float32 (n + 1, n + 1): at [i, j], 0 for single tokens. Return (the log of the sum over all trees,
    posteriors float64 (n + 1, n + 1) at [i, j]: 0 except for spans of two or more tokens).
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
def select_noncrossing(spans):
    """Select spans greedily, in the order of `spans` int32 (c, 2), each unless it crosses one selected before; return
    bool (c,)."""
    n = 0
    for c in range(len(spans)):
        n = max(n, spans[c, 1])
    selected = np.zeros(len(spans), dtype=np.bool_)
    first, last = np.empty(n + 1, dtype=INDEX), np.empty(n + 1, dtype=INDEX)
    for t in range(n + 1):
        first[t] = last[t] = t  # of the selected spans that end (start) at this gap: the leftmost start (rightmost end)
    for c in range(len(spans)):
        i, j = spans[c, 0], spans[c, 1]
        crosses = False
        for t in range(i + 1, j):
            if first[t] < i or last[t] > j:
                crosses = True
                break
        if not crosses:
            selected[c] = True
            first[j], last[i] = min(first[j], i), max(last[i], j)
    return selected
