"""Training of taggers compared with slow reference implementations: counts, passes of online learners, gradients,
minimisers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference import tagging as slow
from tests.tagger_models import SENTENCES, allowed_labels, small_parts
from training.spine_tagger.kernels import expectations, online_pass
from training.spine_tagger.learners import Lbfgs, Likelihood, gis_step, list_features, make_data, with_pairs

pytestmark = KERNEL_MARKS


def test_pairs_are_counted() -> None:
    parts = small_parts()
    data = make_data(SENTENCES, parts)
    wanted: Counter[tuple[int, int]] = Counter()
    most = 0
    for words, tags, labels in SENTENCES:
        atoms, gold = parts.encode(words, tags).tolist(), parts.labels.encode(labels).tolist()
        for place, label in enumerate(gold):
            last, second = ([1, 1, *(k + 2 for k in gold)][place + 1 - k] for k in (0, 1))
            keys = slow.token_features(atoms, place + 2) + slow.history_features(atoms, place + 2, last, second)
            wanted.update((key, label) for key in keys)
            most = max(most, len(keys))
    for least in (1, 3):
        counts: Counter[int] = Counter()
        for (key, _), times in wanted.items():
            counts[key] += times
        listing = list_features(data, parts, least)
        assert listing.keys.tolist() == sorted(key for key in counts if counts[key] >= least)
        n = len(parts.labels)
        found = {
            (int(listing.keys[code // n]), code % n): times
            for code, times in zip(listing.codes.tolist(), listing.counts.tolist(), strict=True)
        }
        assert found == {pair: times for pair, times in wanted.items() if counts[pair[0]] >= least}
        if least == 1:
            assert listing.max_features == most


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.05])
def test_a_pass_of_an_online_learner(greedy: bool, step: float) -> None:
    parts = small_parts(cutoff=99)
    data = make_data(SENTENCES, parts)
    listing = list_features(data, parts, 1)
    n = len(parts.labels)
    values = np.random.default_rng(3).integers(-2, 3, len(listing.codes)) / 8.0
    weights: slow.Weights = defaultdict(dict)
    for code, value in zip(listing.codes.tolist(), values.tolist(), strict=True):
        weights[int(listing.keys[code // n])][code % n] = value
    weights = dict(weights)
    order = np.array([2, 0, 4, 1, 3])
    atoms = [parts.encode(s.words, s.tags) for s in SENTENCES]
    examples = [(atoms[k].tolist(), parts.labels.encode(SENTENCES[k].labels).tolist()) for k in order]
    allowed = [allowed_labels(parts, atoms[k]) for k in order]
    wrong, sums, missing = slow.online_epoch(examples, allowed, weights, greedy, step)
    assert wrong > 3 and missing
    found, kernel_sums, buffer = values.copy(), np.zeros(len(values)), np.zeros(5000, np.uint64)
    tables = listing.tables(parts, listing.codes, found)
    kernel_wrong, clock, n_missing = online_pass(order, data, tables, n, kernel_sums, 1.0, greedy, step, buffer)
    tokens = sum(len(s.words) for s in SENTENCES)
    assert (kernel_wrong, clock) == (wrong, 1.0 + tokens)
    flat = [(int(listing.keys[code // n]), code % n) for code in listing.codes.tolist()]
    assert found == pytest.approx([weights[key][label] for key, label in flat])
    mean = found - kernel_sums / clock
    wanted = [(sums[key][label] + start) / clock for (key, label), start in zip(flat, values.tolist(), strict=True)]
    assert mean == pytest.approx(wanted), "the average over tokens, and the weights before the first"
    codes = buffer[:n_missing].tolist()
    assert Counter((int(listing.keys[code // n]), code % n) for code in codes) == Counter(missing)
    little = np.zeros(2, np.uint64)
    assert online_pass(order, data, tables, n, kernel_sums, 1.0, greedy, step, little)[2] <= 2, "until it is full"


def test_pairs_can_be_added() -> None:
    codes, values = np.array([2, 5, 9], np.uint64), np.array([1.0, 2.0, 3.0])
    merged, (grown,) = with_pairs(codes, np.array([5, 7, 1], np.uint64), values)
    assert merged.tolist() == [1, 2, 5, 7, 9] and grown.tolist() == [0, 1, 2, 0, 3]


def test_the_gradient_is_that_of_the_likelihood() -> None:
    parts = small_parts(cutoff=99)
    data = make_data(SENTENCES, parts)
    listing = list_features(data, parts, 1)
    function = Likelihood(data, parts, listing, sigma=0.8, workers=2)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(len(listing.codes))
    value, gradient = function(weights)
    for place in rng.permutation(len(weights))[: 5 if SLOW else 40]:
        moved = weights.copy()
        moved[place] += 1e-5
        above = function(moved)[0]
        moved[place] -= 2e-5
        assert gradient[place] == pytest.approx((above - function(moved)[0]) / 2e-5, rel=1e-4, abs=1e-6)
    by_key: slow.Weights = defaultdict(dict)
    n, wanted = len(parts.labels), 0.0
    for code, weight in zip(listing.codes.tolist(), weights.tolist(), strict=True):
        by_key[int(listing.keys[code // n])][code % n] = weight
    for words, tags, labels in SENTENCES:
        atoms, gold = parts.encode(words, tags), parts.labels.encode(labels).tolist()
        last, second = 1, 1
        for place, allowed in enumerate(allowed_labels(parts, atoms)):
            probs = slow.distribution(atoms.tolist(), place + 2, last, second, by_key, allowed, 1.0)
            wanted += math.log(probs[gold[place]])
            last, second = gold[place] + 2, last
    function(weights)
    assert function.likelihood == pytest.approx(wanted)
    assert value == pytest.approx(weights @ weights / (2 * 0.8**2) - wanted)


def test_expectations_add_up() -> None:
    parts = small_parts()
    data = make_data(SENTENCES, parts)
    listing = list_features(data, parts, 1)
    tables = listing.tables(parts, listing.codes, np.zeros(len(listing.codes)))
    whole, sums = np.zeros(len(listing.codes)), np.zeros(len(listing.codes))
    total = expectations(*data, 0, 5, tables, len(parts.labels), whole)
    pieces = [expectations(*data, k, k + 1, tables, len(parts.labels), sums) for k in range(5)]
    assert total == pytest.approx(sum(pieces)) and whole == pytest.approx(sums) and total < 0


def rosenbrock(point: np.ndarray) -> tuple[float, np.ndarray]:
    x, y = point
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2, np.array([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])


def test_lbfgs_finds_minima_and_continues_from_a_state() -> None:
    search = Lbfgs(rosenbrock, np.array([-1.2, 1.0]))
    halfway: list[dict[str, np.ndarray]] = []
    values = [search.value]
    while search.iterations < 100 and search.advance():
        values.append(search.value)
        if search.iterations == 12:
            halfway.append(search.state())
    assert values == sorted(values, reverse=True) and search.point == pytest.approx([1.0, 1.0], abs=1e-6)
    again = Lbfgs(rosenbrock, **halfway[0])
    while again.iterations < 100 and again.advance():
        pass
    assert again.point.tolist() == search.point.tolist() and again.iterations == search.iterations
    at_the_end = Lbfgs(rosenbrock, np.array([1.0, 1.0]))
    assert not at_the_end.advance() and at_the_end.point.tolist() == [1.0, 1.0]


def test_lbfgs_solves_a_quadratic() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((30, 30))
    matrix = matrix @ matrix.T + np.eye(30)
    wanted = rng.standard_normal(30)
    search = Lbfgs(lambda x: (float((x - wanted) @ matrix @ (x - wanted)) / 2, matrix @ (x - wanted)), np.zeros(30))
    for _ in range(200):
        if not search.advance():
            break
    assert search.point == pytest.approx(wanted, abs=1e-5)


def test_a_gis_step_meets_its_equation() -> None:
    rng = np.random.default_rng(2)
    weights, seen = rng.standard_normal(500) * 2, rng.integers(1, 5000, 500).astype(float)
    expected = np.exp(rng.uniform(-20, 9, 500))
    for most, variance in ((3, 0.25), (36, 1.0), (36, 100.0)):
        step = gis_step(weights, seen, expected, most, variance)
        left = expected * np.exp(most * step) + (weights + step) / variance
        assert left == pytest.approx(seen, rel=1e-5)
