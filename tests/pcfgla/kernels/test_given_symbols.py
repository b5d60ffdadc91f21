"""Inside and outside probabilities of the symbols allowed in a cell, against plain loops and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.pcfgla.chart import EVERYTHING
from spacy_dtparse.pcfgla.kernels import inside as kernels
from spacy_dtparse.pcfgla.kernels.inside import EMPTY, FEW, InsideChart, InsideScratch, SmallGrammar, inside
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.pcfgla.kernels.test_cky import SEEDS, Toy, derivations, tables

pytestmark = KERNEL_MARKS
add_pairs, normalise = callable_from_python(kernels.add_pairs), callable_from_python(kernels.normalise)
is_empty, above_zero = callable_from_python(kernels.is_empty), callable_from_python(kernels._above_zero)
SPARE = (0, 2 * FEW, 6 * FEW)
"""Symbols that no rule has: without them no cell counts as having few of all symbols, with many of them each one."""


def some_cells(toy: Toy, seed: int, n: int) -> np.ndarray:
    """The symbols allowed in the cells of n words: most symbols, in some cells none, the root over all words."""
    rng = np.random.default_rng(seed)
    given = (rng.random((n * (n + 1) // 2, toy.n_symbols)) < 0.7).astype(np.uint8)
    given[rng.random(len(given)) < 0.1] = 0
    given[n * (n - 1) // 2, 0] = 1
    return given


@pytest.mark.parametrize("n_spare", SPARE)
@pytest.mark.parametrize("seed", SEEDS)
def test_inside_of_given_symbols_is_that_of_the_plain_loops(seed, n_spare):
    """Every cell, including those with no allowed symbol."""
    toy, found = Toy(seed, n_spare=n_spare), 0
    n, s = 3 if SLOW else 6, toy.n_symbols
    classes, given = toy.sentence(seed, n), some_cells(toy, seed, n)
    leaves, leaf_from = toy.grammar.leaves(classes, None)
    leaves["score"] = np.exp(leaves["score"])
    chart, scale = np.full((2, len(given), s), np.nan), np.full(len(given), 7, dtype=np.int64)
    live, n_live = np.empty((len(given), s), dtype=np.int32), np.empty(len(given), dtype=np.int32)
    of, (rules, ranges, _) = toy.grammar, toy.grammar.probabilities
    grammar = SmallGrammar(rules, ranges, of.pair_from, of.joins, of.closure, of.frequency)
    ids = np.empty((s + 2, s), dtype=np.int32)
    scratch = InsideScratch(np.empty((s, s)), ids[0], ids[2:], ids[1])
    inside(grammar, 0.0, leaves, leaf_from, given, InsideChart(chart, scale, live, n_live), scratch)
    for cell, count in enumerate(n_live):
        assert live[cell, :count].tolist() == np.flatnonzero(chart[1, cell] > 0.0).tolist()
    _, expected = tables(toy, classes, given)
    for (i, j, symbol), p in expected.items():
        cell = j * (j - 1) // 2 + i
        q = float(chart[1, cell, symbol]) if symbol in live[cell, : n_live[cell]] else 0.0
        assert (math.ldexp(q, int(scale[cell])) if q else 0.0) == pytest.approx(p, rel=1e-9)
        assert given[cell, symbol] or q == 0.0
        found += q > 0.0
    assert found
    total, _ = toy.posterior(classes, 0.0, given=given)
    assert (math.exp(total) if total > -np.inf else 0.0) == pytest.approx(expected[0, n, 0], rel=1e-9)


def symbols_of(top: tuple) -> set[tuple[int, int, int]]:
    """(start, end, symbol) of all of a derivation (see `derivations`)."""
    found, todo = set(), [top]
    while todo:
        symbol, i, j, children = todo.pop()
        found.add((i, j, symbol))
        todo += children
    return found


@pytest.mark.parametrize("n_spare", SPARE)
@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_of_given_symbols(seed, n_spare):
    """All derivations of the given symbols remain, no others are admitted, and without chains nothing else counts."""
    n = 3
    for unary in ("none", "acyclic"):
        toy = Toy(seed, n_symbols=3, unary=unary, n_spare=n_spare)
        classes = toy.sentence(seed, n)
        for draw in range(5):
            given = some_cells(toy, 100 * seed + draw, n)
            left = [
                (p, found)
                for p, found in ((p, symbols_of(top)) for p, top in derivations(toy, classes, 0, most_unary=2))
                if all(given[j * (j - 1) // 2 + i, symbol] for i, j, symbol in found)
            ]
            total, allowed = toy.posterior(classes, 0.0, given=given)
            assert np.all(allowed <= given)
            assert all(allowed[j * (j - 1) // 2 + i, symbol] for _, found in left for i, j, symbol in found)
            whole = math.fsum(p for p, _ in left)
            if unary == "none":
                assert (math.exp(total) if total > -np.inf else 0.0) == pytest.approx(whole, rel=1e-9)
            else:
                assert whole == 0.0 or math.exp(total) >= whole * (1 - 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_threshold_is_a_fraction_of_all_derivations(seed):
    """Symbols below the threshold are not expanded, so the symbols under them have smaller sums."""
    n, checked = 3, [0, 0]
    toy = Toy(seed, n_symbols=3, unary="none")
    for draw in range(4):
        classes = toy.sentence(10 * seed + draw, n)
        all_found = [(p, symbols_of(top)) for p, top in derivations(toy, classes, 0, most_unary=0)]
        whole = math.fsum(p for p, _ in all_found)
        if not whole:
            continue
        expansion_probs: dict[tuple[int, int, int], float] = {}
        for p, found in all_found:
            for symbol in found:
                expansion_probs[symbol] = expansion_probs.get(symbol, 0.0) + p / whole
        for threshold in (0.02, 0.1, 0.3, 0.45, 0.6, 0.9):
            _, allowed = toy.posterior(classes, threshold)
            followed = dict.fromkeys(expansion_probs, 0.0)
            for p, found in all_found:
                if all(expansion_probs[symbol] >= threshold for symbol in found):
                    for symbol in found:
                        followed[symbol] += p / whole
            for (i, j, symbol), share in expansion_probs.items():
                there = allowed[j * (j - 1) // 2 + i, symbol]
                if share < threshold * (1 - 1e-9):
                    assert not there
                    checked[0] += 1
                elif followed[i, j, symbol] > threshold * (1 + 1e-9):
                    assert there
                    checked[1] += 1
    assert min(checked) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_do_not_depend_on_how_many_symbols_no_rule_has(seed):
    for threshold in (0.0, 0.05):
        found = []
        for n_spare in SPARE:
            toy = Toy(seed, n_spare=n_spare)
            total, allowed = toy.posterior(toy.sentence(seed, 6), threshold)
            found.append((total, allowed[:, :5]))
            assert not allowed[:, 5:].any()
        for total, allowed in found[1:]:
            assert total == pytest.approx(found[0][0], rel=1e-12)
            assert np.array_equal(allowed, found[0][1])


@pytest.mark.parametrize("seed", SEEDS)
def test_given_everything_is_not_given_anything(seed):
    toy = Toy(seed)
    classes = toy.sentence(seed, 4)
    plain, same = (
        toy.posterior(classes, 0.02, 0.1, given) for given in (EVERYTHING, np.ones((10, toy.n_symbols), np.uint8))
    )
    assert plain[0] == same[0] and plain[1].tobytes() == same[1].tobytes()


def test_scales():
    """The largest number is scaled into [1/2, 1), represented values stay the same; the scale of nothing is EMPTY."""
    row = np.array([0.0, 3.0, 0.75, 1e-3])
    scale = normalise(row, np.arange(4), 5)
    assert 0.5 <= row.max() < 1.0 and (row * 2.0**scale == np.array([0.0, 3.0, 0.75, 1e-3]) * 2.0**5).all()
    assert normalise(np.zeros(4), np.arange(4), 5) == normalise(row, np.arange(0), 5) == EMPTY
    assert all(is_empty(scale) for scale in (EMPTY, 2 * EMPTY, EMPTY + 10**6, EMPTY - 10**6))
    assert not any(is_empty(scale) for scale in (0, 10**6, -(10**6)))


def test_symbols_are_listed_where_they_are_above_zero():
    listed = np.full(5, 9, dtype=np.int32)
    assert above_zero(np.array([0.0, 1e-300, 0.0, 2.0, 0.0]), listed) == 2 and listed[:2].tolist() == [1, 3]
    assert above_zero(np.zeros(5, dtype=np.uint8), listed) == 0


@pytest.mark.parametrize("n", [2 * FEW, 2 * FEW + 1])
def test_pairs_are_listed_while_they_are_few(n):
    """Right children are listed where a cell has fewer than one in FEW of the symbols, until a cell has more."""
    rng = np.random.default_rng(n)
    joins = np.ones((n, n), dtype=np.uint8)
    joins[:, 1] = 0
    pairs, met, rights = np.full((n, n), np.nan), np.zeros(n, dtype=np.int32), np.zeros((n, n), dtype=np.int32)
    met[3] = -1
    scratch = InsideScratch(pairs, met, rights, met)
    lefts, most_few = np.array([0, 3, 5]), (n - 1) // FEW
    cells = [rng.choice(n, most_few, replace=False) for _ in range(5 * n)]
    sums, listed = np.zeros((n, n)), set()
    for rights_of in (*cells, np.arange(n)[: most_few + 1]):
        left, right = np.zeros(n), np.zeros(n)
        left[lefts], right[rights_of] = rng.random(3), rng.random(len(rights_of))
        add_pairs(joins, left, right, lefts, np.sort(rights_of), 0.5, scratch)
        sums += 0.5 * np.outer(left, right)
        assert met[3] == -1 and not met[[1, 2, 4]].any()
        if len(rights_of) <= most_few:
            listed |= set(rights_of.tolist()) - {1}
            for b in (0, 5):
                assert met[b] == len(listed) + 1 and set(rights[b, : met[b] - 1].tolist()) == listed
    assert len(listed) == n - 1 and (met[[0, 5]] > n + 1).all()
    for b in (0, 5):
        assert pairs[b, list(listed)] == pytest.approx(sums[b, list(listed)])


def test_a_full_list_is_a_list_still():
    """All symbols are listed, each met by itself: one more cell with few of them needs no whole row."""
    n = 2 * FEW
    joins = np.ones((n, n), dtype=np.uint8)
    pairs, met, rights = np.zeros((n, n)), np.zeros(n, dtype=np.int32), np.zeros((n, n), dtype=np.int32)
    for c in (*range(n), 0):
        scratch = InsideScratch(pairs, met, rights, met)
        add_pairs(joins, np.ones(n), np.ones(n), np.array([0]), np.array([c]), 1.0, scratch)
        assert met[0] == min(c + 2 if met[0] <= n else n + 1, n + 1)
    assert rights[0].tolist() == [*range(n)] and pairs[0].tolist() == [2.0, *[1.0] * (n - 1)]
