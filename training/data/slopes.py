"""The loss of a sentence's brackets and its derivative by the scores of spans, for all networks that score spans."""

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.kernels.span.spans import tree_posteriors

_FORBIDDEN = REAL(-60.0)
"""Score of a span that crosses a constituent: e^-60 of a tree's probability for each."""


def bracket_slopes(scores: np.ndarray, crossing: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(Loss, its derivative by every span's score, posteriors among trees without crossing spans) of a sentence; nats.

    `scores` float32, `crossing` bool, the two that are returned float64: all (n + 1, n + 1), at [i, j].
    """
    log_all, all_spans = tree_posteriors(without_tokens(scores))
    log_right, right_spans = tree_posteriors(without_tokens(np.where(crossing, _FORBIDDEN, scores)))
    return log_all - log_right, all_spans - right_spans, right_spans


def believed_slopes(scores: np.ndarray, believed: np.ndarray) -> tuple[float, np.ndarray]:
    """(Loss, its derivative by every span's score): -ln of the probability of a tree, in the mean over the trees of a
    teacher who believes in spans with these probabilities; nats.

    `scores`, `believed` float32 (n + 1, n + 1), at [i, j]; `believed` is 0 for single tokens.
    """
    log_all, all_spans = tree_posteriors(without_tokens(scores))
    return log_all - float(np.vdot(believed, scores)), all_spans - believed


def without_tokens(scores: np.ndarray) -> np.ndarray:
    """A copy of spans' scores, float32 (n + 1, n + 1), with 0 for single tokens."""
    scores = np.array(scores, dtype=REAL)
    np.fill_diagonal(scores[:, 1:], 0)
    return scores
