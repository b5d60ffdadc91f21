"""Charts over binary trees against the enumeration of all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spacy_dtparse.span_parser.kernels.chart import (
    best_inside,
    best_spans,
    log_posteriors,
    select_noncrossing,
    span_posteriors,
    tree_posteriors,
)
from tests.jit.harness import KERNEL_MARKS
from tests.reference.spans import binary_trees, not_crossing, posteriors, tree_score

pytestmark = KERNEL_MARKS


def random_scores(n: int, seed: int, spread: float = 2.0) -> np.ndarray:
    scores = (np.random.default_rng(seed).standard_normal((n + 1, n + 1)) * spread).astype(np.float32)
    scores[np.arange(n), np.arange(1, n + 1)] = 0
    return scores


def square(n: int, kind: type = np.float64) -> np.ndarray:
    return np.full((n + 1, n + 1), np.nan, dtype=kind)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_tree_and_all_posteriors(n: int, seed: int) -> None:
    scores, best = random_scores(n, seed), square(n, np.float32)
    score = best_inside(scores, n, best)
    trees = binary_trees(0, n)
    assert score == pytest.approx(max(tree_score(tree, scores) for tree in trees), abs=1e-4)
    spans = np.empty((2 * n + 2, 2), dtype=np.int32)
    count = best_spans(best, n, spans)
    assert count == 2 * n - 1
    found = [(i, j) for i, j in spans[:count].tolist()]
    assert found == sorted(found, key=lambda span: (span[0], -span[1])), "pre-order"
    assert frozenset(found) in trees and tree_score(frozenset(found), scores) == pytest.approx(score, abs=1e-4)
    total, right = posteriors(scores)
    inside, outside = square(n), square(n)
    assert span_posteriors(scores, n, score, inside, outside, square(n)) == pytest.approx(total, abs=1e-5)
    assert np.allclose(np.triu(outside, 2), right, atol=1e-7)
    assert log_posteriors(scores, n, inside, outside) == pytest.approx(total, abs=1e-5)
    assert np.allclose(np.triu(outside, 2), right, atol=1e-7)
    log, spans_of_trees = tree_posteriors(scores)
    assert log == pytest.approx(total, abs=1e-5) and np.allclose(spans_of_trees, right, atol=1e-7)


def test_of_equal_trees_the_leftmost_split_is_taken() -> None:
    n, best = 4, square(4, np.float32)
    best_inside(np.zeros((5, 5), dtype=np.float32), n, best)
    spans = np.empty((10, 2), dtype=np.int32)
    best_spans(best, n, spans)
    assert spans[:7].tolist() == [[0, 4], [0, 1], [1, 4], [1, 2], [2, 4], [2, 3], [3, 4]]


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("spread", [5.0, 50.0, 300.0, 3000.0])
def test_long_sentences_and_wild_scores(spread: float, seed: int) -> None:
    n = 12
    scores = random_scores(n, seed, spread)
    inside, outside, twin = square(n), square(n), square(n)
    score = best_inside(scores, n, square(n, np.float32))
    total = span_posteriors(scores, n, score, inside, outside, square(n))
    right = log_posteriors(scores, n, inside, twin)
    assert np.triu(twin, 2).sum() == pytest.approx(n - 1, rel=1e-6), "a binary tree has n - 1 spans"
    assert not math.isnan(total) if spread < 100 else spread < 1000 or math.isnan(total), "what left its range is said"
    if not math.isnan(total):
        assert total == pytest.approx(right, rel=1e-6)
        assert np.allclose(np.triu(outside, 2), np.triu(twin, 2), atol=1e-6)
    log, spans_of_trees = tree_posteriors(scores)
    assert log == pytest.approx(right, rel=1e-6) and np.allclose(spans_of_trees, np.triu(twin, 2), atol=1e-6)


@pytest.mark.parametrize("high", [700, 790])
def test_a_best_tree_whose_probability_is_lost_is_noticed(high: int) -> None:
    n = 4
    scores = np.zeros((n + 1, n + 1), dtype=np.float32)
    scores[0, 2], scores[2, 4], scores[0, 4] = -high - 50, high, 50  # e^-750 is 0 in float64
    scores[0, 3] = scores[1, 3] = -40
    scores[1, 4] = -900
    score = best_inside(scores, n, square(n, np.float32))
    assert score == 0
    assert math.isnan(span_posteriors(scores, n, score, square(n), square(n), square(n)))
    _, found = tree_posteriors(scores)
    assert np.allclose([found[0, 4], found[0, 2], found[2, 4]], 1, atol=1e-6) and found.sum() == pytest.approx(3)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("seed", range(4))
def test_spans_that_cross_are_left_out(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    rows = np.array([spans[k] for k in rng.permutation(len(spans))[: rng.integers(1, 4 * n)]], dtype=np.int32)
    taken = select_noncrossing(rows)
    assert taken.tolist() == not_crossing([tuple(row) for row in rows.tolist()]) and taken[0]
    assert len(select_noncrossing(rows[:0])) == 0
