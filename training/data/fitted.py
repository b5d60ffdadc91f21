"""Distributions over binary trees that are fitted to a teacher's posteriors of spans, stored compactly."""

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL, STORED_REAL
from spacy_dtparse.span_parser.kernels.chart import tree_posteriors

from .kernels import fit_scores, score_matrix

SCORE = np.dtype([("start", np.uint8), ("end", np.uint8), ("score", STORED_REAL)])
"""The score of a span of two or more tokens."""


def fit_span_scores(starts: np.ndarray, ends: np.ndarray, probs: np.ndarray, n: int) -> np.ndarray:
    """Fit scores to a teacher's distribution over labelled spans of a sentence of n tokens; an array of SCORE."""
    long = ends - starts > 1
    spans, index = np.unique(np.stack([starts[long], ends[long]], axis=1), axis=0, return_inverse=True)
    found = np.empty(len(spans), dtype=SCORE)
    found["start"], found["end"] = spans.T
    found["score"] = fit_scores(spans.astype(INDEX), np.bincount(index.ravel(), probs[long], len(spans)), n)
    return found


def fitted_posteriors(scored: np.ndarray, n: int) -> np.ndarray:
    """float32 (n + 1, n + 1): the posteriors of the spans under the distribution with scores of `fit_span_scores`, 0
    for single tokens."""
    spans = np.column_stack([scored["start"], scored["end"]]).astype(INDEX)
    found: np.ndarray = tree_posteriors(score_matrix(spans, scored["score"].astype(REAL), n))[1]
    return found.astype(REAL)
