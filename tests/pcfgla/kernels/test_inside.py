"""Inside and outside probabilities against plain enumeration of derivations on small random grammars."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from tests.jit.harness import KERNEL_MARKS, SLOW

from .test_cky import SEEDS, Toy, derivations, tables

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("seed", SEEDS)
def test_inside_is_the_sum_over_all_derivations(seed):
    toy = Toy(seed, n_symbols=3, unary="acyclic")
    for n in (1, 2, 3):
        classes = toy.sentence(seed, n)
        whole = math.fsum(p for p, _ in derivations(toy, classes, 0, most_unary=2))
        total, _ = toy.posterior(classes, 0.0)
        assert math.exp(total) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_inside_sums_cycles(seed):
    toy = Toy(seed)
    n = 3 if SLOW else 5
    classes = toy.sentence(seed, n)
    _, inside = tables(toy, classes)
    total, _ = toy.posterior(classes, 0.0)
    assert math.exp(total) == pytest.approx(inside[0, n, 0], rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_are_fractions_of_derivations(seed):
    toy = Toy(seed, n_symbols=3, unary="acyclic")
    n = 3
    classes = toy.sentence(seed, n)
    every = derivations(toy, classes, 0, most_unary=2)
    whole = math.fsum(p for p, _ in every)
    counts: dict = defaultdict(float)
    for p, top in every:
        todo = [top]
        while todo:
            symbol, i, j, children = todo.pop()
            counts[i, j, symbol] += p / whole
            todo += children
    for threshold in (0.0, 0.03, 0.3):
        total, allowed = toy.posterior(classes, threshold)
        assert math.exp(total) == pytest.approx(whole, rel=1e-9)
        found = {
            (i, j, symbol)
            for j in range(1, n + 1) for i in range(j) for symbol in range(toy.n_symbols)
            if allowed[j * (j - 1) // 2 + i, symbol]
        }  # fmt: skip
        if threshold == 0.0:
            # what fits below but not above has posterior 0; it may or may not be let in
            assert found >= {key for key, p in counts.items() if p > 0}
        else:
            assert found <= {key for key, p in counts.items() if p >= threshold - 1e-12}
            top_down = {key for key, p in counts.items() if p >= threshold + toy.n_symbols * n * threshold}
            assert found >= top_down


def test_a_threshold_and_a_beam_leave_things_out():
    toy = Toy(1)
    classes = toy.sentence(1, 4 if SLOW else 7)
    counts = []
    for threshold, beam in ((0.0, 0.0), (0.02, 0.0), (0.3, 0.0), (0.02, 0.3)):
        _, allowed = toy.posterior(classes, threshold, beam)
        chart = toy.fill(classes, allowed, np.arange(toy.n_symbols + 1, dtype=np.int32))
        counts.append((int(allowed.sum()), len(chart.items), chart.tried))
    for more, fewer in ((counts[0], counts[1]), (counts[1], counts[2]), (counts[1], counts[3])):
        assert all(a > b for a, b in zip(more, fewer, strict=True)), counts


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threshold", [0.0, 0.02])
def test_tiny_probabilities_change_no_posterior(seed, threshold):
    """All trees of n words have n - 1 binary rules, so all become less probable by the same factor."""
    n, tiny = 5, 1e-100
    plain, small = Toy(seed), Toy(seed, tiny=tiny)
    classes = plain.sentence(seed, n)
    (total, allowed), (less, same) = (toy.posterior(classes, threshold) for toy in (plain, small))
    assert less == pytest.approx(total + (2 * n - 1) * math.log(tiny), rel=1e-9)
    assert np.array_equal(allowed, same) and allowed.any()
