"""Leaf values: weights, sums, steps that never pass the minimum and together reach it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import boosting as naive
from training.dtparse.boosting.leaves import all_weights, leaf_sums, step_units, update_scores

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
    sums, plain = np.empty((2, 9, 3))
    leaf_sums(leaf, weight, bias, True, sums)
    leaf_sums(leaf, weight, bias, False, plain)
    assert (plain[:, :2] == sums[:, :2]).all() and (plain[:, 2] == np.inf).all()
    for node in range(9):
        inside = leaf == node
        w = weight[inside].astype(np.float64)
        assert sums[node, :2] == pytest.approx([w[w > 0].sum(), -w[w < 0].sum()], rel=1e-12)
        p = 1 / (1 + np.exp(-score[inside] * GRID))
        expected = (np.abs(bias[inside]) * p * (1 - p)).sum()
        assert sums[node, 2] == pytest.approx(expected, rel=1e-4, abs=1e-9)


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
            sums = np.empty((1, 3))
            leaf_sums(leaf, weight, bias, newton, sums)
            step = step_units(sums, penalty, units)
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


def step(positive: float, negative: float, penalty: float, value: float, curvature: float = np.inf) -> float:
    sums, units = np.array([[positive, negative, curvature]]), np.array([round(value / GRID)])
    return float(step_units(sums, penalty, units)[0] * GRID)


def test_closed_forms():
    near = {"abs": GRID}
    assert step(3.0, 2.0, 1.0, 0.0) == 0.0
    assert step(4.0, 0.0, 1.0, 0.0) == pytest.approx(np.log(4.0), **near)
    assert step(0.0, 4.0, 1.0, 0.0) == pytest.approx(-np.log(4.0), **near)
    a = step(5.0, 2.0, 1.0, 0.0)
    assert a == pytest.approx(np.log((-1 + np.sqrt(1 + 4 * 5 * 2)) / (2 * 2)), **near)
    assert step(0.1, 3.0, 1.0, 0.5) == -0.5, "a step across 0 stops at the kink"
    assert step(3.0, 2.0, 1.0, 0.0, 1.0) == 0.0
    assert step(5.0, 2.0, 1.0, 0.0, 4.0) == pytest.approx(np.log1p(2.0 / 4.0), **near)
    assert step(5.0, 2.0, 1.0, 0.0, 40.0) == a, "the longer of the two"
    assert step(0.0, 3.0, 1.0, 0.25, 0.5) == -0.25
