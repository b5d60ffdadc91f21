"""Leaf values: weights, sums, steps that never pass the minimum and together reach it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import boosting as naive
from training.dtree.boosting.leaves import (
    all_weights,
    leaf_curvatures,
    leaf_sums,
    log_loss,
    majoriser_step,
    newton_step,
    signed_bias,
    step_units,
    update_scores,
)

pytestmark = pytest.mark.kernel
GRID = naive.GRID


def random_examples(seed: int, n: int = 3000):
    rng = np.random.default_rng(seed)
    score = (rng.normal(0, 6, n) / GRID).astype(np.int32)
    bias = (rng.choice([-1, 1], n) * rng.exponential(1, n)).astype(np.float32)
    leaf = rng.integers(0, 7, n).astype(np.uint16)
    return rng, score, bias, leaf


def exact_weights(score, bias):
    margin = score * GRID * np.sign(bias)
    return bias.astype(np.float64) * np.exp(-np.logaddexp(0, margin))


def test_weights_agree_with_float64():
    _, score, bias, _ = random_examples(0)
    score[:6] = np.array([0, 70, -70, 1, -1, 30000]) * 65536
    weight = np.empty_like(bias)
    all_weights(score, bias, weight)
    expected = exact_weights(score, bias)
    assert np.allclose(weight, expected, rtol=3e-6, atol=1e-36)
    assert (np.sign(weight[1:]) == np.sign(bias[1:])).all()


def test_sums_and_curvatures_agree_with_plain_sums():
    _, score, bias, leaf = random_examples(1, 1003)
    bias[:5] = 0
    weight = np.empty_like(bias)
    all_weights(score, bias, weight)
    sums, curvature = np.empty((9, 2)), np.empty(9)
    leaf_sums(leaf, weight, sums)
    leaf_curvatures(leaf, weight, bias, curvature)
    for node in range(9):
        inside = leaf == node
        w = weight[inside].astype(np.float64)
        assert sums[node] == pytest.approx([w[w > 0].sum(), -w[w < 0].sum()], rel=1e-12)
        p = 1 / (1 + np.exp(-score[inside] * GRID))
        expected = (np.abs(bias[inside]) * p * (1 - p)).sum()
        assert curvature[node] == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_update_changes_only_members_of_moved_leaves():
    _, score, bias, leaf = random_examples(2, 5000)
    leaf[:2100] = 6  # whole blocks that do not move
    weight = np.empty_like(bias)
    all_weights(score, bias, weight)
    units = np.zeros(7, np.int32)
    units[[1, 4]] = [70_000, -123]
    before, old = score.copy(), weight.copy()
    update_scores(leaf, units, bias, score, weight)
    assert (score - before == units[leaf]).all()
    expected = np.empty_like(bias)
    all_weights(score, bias, expected)
    assert (weight == expected).all()
    assert (weight[:2048] == old[:2048]).all()


@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("penalty", [0.0001, 1.0, 20.0])
def test_steps_descend_and_reach_the_minimum(penalty, newton):
    zero = moved = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        score = (rng.normal(0, 2, n) / GRID).astype(np.int32)
        share = rng.choice([0.0, 0.3, 1.0])
        classes = np.where(rng.random(n) < share, 1, -1)
        bias = (classes * rng.exponential(1, n)).astype(np.float32)
        margins = (score * GRID * classes).tolist()
        facts = (margins, np.abs(bias).tolist(), classes.tolist())
        target = naive.best_step(*facts, penalty)
        leaf, weight, units = np.zeros(n, np.uint16), np.empty_like(bias), np.zeros(1, np.int64)
        all_weights(score, bias, weight)
        value = naive.objective(*facts, 0.0, penalty)
        for _ in range(400):
            sums, curvature = np.empty((1, 2)), np.empty(1)
            leaf_sums(leaf, weight, sums)
            leaf_curvatures(leaf, weight, bias, curvature)
            step = step_units(sums, penalty, units, curvature if newton else None)
            if not step.any():
                break
            units += step
            update_scores(leaf, step, bias, score, weight)
            now = naive.objective(*facts, units[0] * GRID, penalty)
            assert now <= value + 1e-9 * abs(value), "the objective rose"
            assert abs(units[0] * GRID) <= abs(target) + 1e-3 * abs(target) + 2 * GRID, "passed the minimum"
            value = now
        assert value <= naive.objective(*facts, target, penalty) + 2e-3
        slope = abs(exact_weights(np.array(margins) * classes / GRID, bias).sum())  # before any step
        assert (target == 0) == (units[0] == 0) or abs(slope - penalty) < 1e-3
        zero, moved = zero + (units[0] == 0), moved + (units[0] != 0)
    assert moved >= (0 if penalty == 20 else 6) and zero >= (1 if penalty == 20 else 0)


def test_closed_forms():
    assert majoriser_step(3.0, 2.0, 1.0, 0.0) == 0.0
    assert majoriser_step(4.0, 0.0, 1.0, 0.0) == pytest.approx(np.log(4.0))
    assert majoriser_step(0.0, 4.0, 1.0, 0.0) == pytest.approx(-np.log(4.0))
    a = majoriser_step(5.0, 2.0, 1.0, 0.0)
    assert a == pytest.approx(np.log((-1 + np.sqrt(1 + 4 * 5 * 2)) / (2 * 2)))
    assert majoriser_step(0.1, 3.0, 1.0, 0.5) == -0.5, "a step across 0 stops at the kink"
    assert newton_step(3.0, 2.0, 1.0, 1.0, 0.0) == 0.0
    assert newton_step(5.0, 2.0, 4.0, 1.0, 0.0) == pytest.approx(np.log1p(2.0 / 4.0))
    assert newton_step(0.0, 3.0, 0.5, 1.0, 0.25) == -0.25


def test_signed_bias_and_loss():
    gold = np.array([2, 0, -1, 2], np.int16)
    b_pos, b_neg = np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)
    bias = signed_bias(gold, b_pos, b_neg, 2)
    assert bias.tolist() == [1, -6, -7, 4]
    score = np.array([65536, 0, -65536, 0], np.int32)
    expected = np.log1p(np.exp(-1)) + 6 * np.log(2) + 7 * np.log1p(np.exp(-1)) + 4 * np.log(2)
    assert log_loss(score, bias) == pytest.approx(expected)
