"""Fit distributions over binary trees to given span posteriors."""

import math

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.jit.decorator import kernel
from spacy_dtparse.span_parser.kernels.chart import tree_posteriors

UNLISTED = 1e-3
"""e to the power of the score of a span without a given posterior, in `fit_scores`."""
_STEP, _ROUNDS = 0.3, 10
"""Size and number of the steps of `fit_scores`. Larger steps overshoot, since the spans of a subtree move together."""


@kernel
def score_matrix(spans, scores, n):
    """float32 (n + 1, n + 1): the scores of spans at [i, j]; log(UNLISTED) for other spans, 0 for single tokens.
    `spans` int32 (c, 2) of two or more tokens, `scores` float32 (c,)."""
    found = np.full((n + 1, n + 1), REAL(math.log(UNLISTED)), dtype=REAL)
    for k in range(n):
        found[k, k + 1] = 0
    for c in range(len(spans)):
        found[spans[c, 0], spans[c, 1]] = scores[c]
    return found


@kernel
def fit_scores(spans, posteriors, n):
    """Find span scores whose distribution over the binary trees of n tokens approximates given span posteriors.

    The posteriors may be inconsistent, since they are rounded and small ones are omitted. `spans` int32 (c, 2) of two
    or more tokens, `posteriors` float64 (c,). Returns float32 (c,): natural logarithms; see `score_matrix`. Each round
    moves a score in proportion to the log ratio of the given and the current posterior.
    """
    scores = np.log(np.maximum(posteriors, UNLISTED)).astype(REAL)
    for _ in range(_ROUNDS):
        _, found = tree_posteriors(score_matrix(spans, scores, n))
        for c in range(len(spans)):
            current = found[spans[c, 0], spans[c, 1]]
            scores[c] += _STEP * math.log((posteriors[c] + UNLISTED) / (current + UNLISTED))
    return scores
