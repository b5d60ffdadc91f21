"""CKY and inside/outside kernels against plain enumeration of derivations on small random grammars."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import numpy as np
import pytest

from spacy_dtparse.pcfgla.chart import EVERYTHING, NO_GROUPS, Buffers
from spacy_dtparse.pcfgla.kernels.cky import EDGE, LEXICAL, STEP, item_edges
from spacy_dtparse.pcfgla.model.latent_part import Emissions
from spacy_dtparse.pcfgla.model.model import TAG, PcfgGrammar
from tests.jit.harness import KERNEL_MARKS, SLOW

pytestmark = KERNEL_MARKS
SEEDS = range(3 if SLOW else 12)


class Toy:
    """A random grammar as dictionaries, and the same as a PcfgGrammar. Symbol 0 is the root. The last `n_spare` symbols
    are in no rule: where there are many of them, cells have few of all. Binary rules and words are `tiny` times as
    probable as they would be."""

    def __init__(
        self, seed: int, n_symbols: int = 5, n_classes: int = 3, unary: str = "cycles", n_spare: int = 0,
        tiny: float = 1.0,
    ):  # fmt: skip
        rng = random.Random(seed)
        self.n_symbols, self.n_classes = n_symbols + n_spare, n_classes
        everyone = range(n_symbols)
        self.binary = {(a, b, c): rng.uniform(0.01, 0.3) for a, b, c in itertools.product(everyone, repeat=3)
                       if rng.random() < 0.35}  # fmt: skip
        self.unary = {}
        for a, b in itertools.permutations(everyone, 2):
            if rng.random() < 0.35 and (a == 0 if unary == "root" else unary == "cycles" or a < b):
                self.unary[a, b] = rng.uniform(0.01, 0.3)
        self.emit = {(a, w): rng.uniform(0.01, 0.3) for a in everyone for w in range(n_classes) if rng.random() < 0.5}
        for w in range(n_classes):
            self.emit[1, w] = rng.uniform(0.01, 0.3)
        self.binary[0, 1, 1] = self.binary[1, 1, 1] = 0.2
        self.unary.setdefault((0, 1), 0.1)
        if unary == "none":
            self.unary = {}
        for table in (self.binary, self.emit):
            table.update({key: p * tiny for key, p in table.items()})
        rows = sorted((w, a, p) for (a, w), p in self.emit.items())
        emissions = Emissions(
            np.searchsorted([w for w, _, _ in rows], np.arange(n_classes + 1)).astype(np.int64),
            np.array([a for _, a, _ in rows], dtype=np.int32),
            np.log([p for _, _, p in rows]),
            np.full(self.n_symbols, -20.0),
        )
        self.grammar = PcfgGrammar(
            tuple(f"S{a}" for a in range(self.n_symbols)),
            np.full(self.n_symbols, TAG, dtype=np.int8),
            np.arange(self.n_symbols, dtype=np.int32),
            np.arange(self.n_symbols, dtype=np.int32),
            np.full(self.n_symbols, 1 / self.n_symbols),
            np.array(list(self.binary), dtype=np.int32).reshape(-1, 3),
            np.log(list(self.binary.values())),
            np.array(list(self.unary), dtype=np.int32).reshape(-1, 2),
            np.log(list(self.unary.values())) if self.unary else np.zeros(0),
            emissions,
        )

    def sentence(self, seed: int, n: int) -> np.ndarray:
        rng = random.Random(seed)
        return np.array([rng.randrange(self.n_classes) for _ in range(n)], dtype=np.int32)

    def fill(self, classes, allowed=EVERYTHING, groups=NO_GROUPS):
        return Buffers().fill(self.grammar.kernel, *self.grammar.leaves(classes, None), allowed, groups)

    def posterior(self, classes, threshold: float, beam: float = 0.0, given=EVERYTHING):
        leaves = self.grammar.leaves(classes, None)
        return Buffers().posterior(self.grammar, *leaves, 0, beam, threshold, given)


def derivations(toy: Toy, classes, symbol: int, most_unary: int) -> list[tuple[float, tuple]]:
    """(probability, derivation) of every derivation with chains of at most `most_unary` unary rules; a derivation is
    (symbol, start, end, children), children being derivations."""

    def based(a, i, j):
        found = []
        if j == i + 1 and (a, int(classes[i])) in toy.emit:
            found.append((toy.emit[a, int(classes[i])], (a, i, j, ())))
        for (parent, b, c), p in toy.binary.items():
            if parent == a:
                for split in range(i + 1, j):
                    for (pl, left), (pr, right) in itertools.product(whole(b, i, split), whole(c, split, j)):
                        found.append((p * pl * pr, (a, i, j, (left, right))))
        return found

    held: dict = {}

    def whole(a, i, j, most=None):
        most = most_unary if most is None else most
        if (a, i, j, most) not in held:
            found = based(a, i, j)
            if most:
                for (parent, b), p in toy.unary.items():
                    if parent == a:
                        found += [(p * q, (a, i, j, (below,))) for q, below in whole(b, i, j, most - 1)]
            held[a, i, j, most] = found
        return held[a, i, j, most]

    return whole(symbol, 0, len(classes))


def tables(toy: Toy, classes, given=None):
    """Viterbi and inside tables by plain loops, chains summed until nothing changes: (i, j, symbol) -> probability.

    `given` (cells, S): symbols allowed below and above a cell's chains of unary rules; None: all.
    """
    n = len(classes)
    best: dict = defaultdict(float)
    total: dict = defaultdict(float)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            for table, plus in ((best, max), (total, lambda x, y: x + y)):
                base = [0.0] * toy.n_symbols
                for a in range(toy.n_symbols):
                    if width == 1:
                        base[a] = toy.emit.get((a, int(classes[i])), 0.0)
                for (a, b, c), p in toy.binary.items():
                    for split in range(i + 1, j):
                        base[a] = plus(base[a], p * table[i, split, b] * table[split, j, c])
                may = [given is None or bool(given[j * (j - 1) // 2 + i, a]) for a in range(toy.n_symbols)]
                base = [p if here else 0.0 for p, here in zip(base, may, strict=True)]
                level, whole = base, list(base)
                for _ in range(300):
                    new = [0.0] * toy.n_symbols
                    for (a, b), p in toy.unary.items():
                        new[a] = plus(new[a], p * level[b])
                    level = new
                    whole = [plus(x, y) for x, y in zip(whole, level, strict=True)]
                for a in range(toy.n_symbols):
                    table[i, j, a] = whole[a] if may[a] else 0.0
    return best, total


def rebuild(toy: Toy, steps, classes):
    """(probability, labelled spans) of a derivation's steps, each rule looked up anew."""
    place = 0

    def read():
        nonlocal place
        symbol, rule, i, j = steps[place].tolist()
        place += 1
        spans = [(symbol, i, j)]
        if rule == LEXICAL:
            assert j == i + 1
            return toy.emit[symbol, int(classes[i])], spans
        first = steps[place]["symbol"]
        p, below = read()
        spans += below
        if toy.grammar.kernel.rules[rule]["right"] < 0:
            return p * toy.unary[symbol, int(first)], spans
        second = steps[place]["symbol"]
        q, below = read()
        return p * q * toy.binary[symbol, int(first), int(second)], spans + below

    p, spans = read()
    assert place == len(steps)
    return p, spans


@pytest.mark.parametrize("seed", SEEDS)
def test_best_derivation_is_the_best_of_all(seed):
    toy = Toy(seed, n_symbols=3)
    for n in (1, 2, 3):
        classes = toy.sentence(seed, n)
        chart = toy.fill(classes)
        every = derivations(toy, classes, 0, most_unary=2)
        best = max((p for p, _ in every), default=0.0)
        score = chart.score(0, n, 0)
        assert math.exp(score) == pytest.approx(best, rel=1e-9)
        steps = chart.derivation(0, n, 0)
        assert steps.dtype == STEP and bool(len(steps)) == bool(every)
        if every:
            p, _ = rebuild(toy, steps, classes)
            assert math.log(p) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_item_is_that_of_the_plain_loops(seed):
    toy = Toy(seed)
    classes = toy.sentence(seed, 3 if SLOW else 6)
    best, _ = tables(toy, classes)
    chart = toy.fill(classes)
    for (i, j, symbol), p in best.items():
        assert math.exp(chart.score(i, j, symbol)) == pytest.approx(p, rel=1e-9, abs=1e-300)
        if p > 0:
            q, _ = rebuild(toy, chart.derivation(i, j, symbol), classes)
            assert q == pytest.approx(p, rel=1e-9)


def cell_items(toy: Toy, classes, best) -> dict[tuple[int, int], list[int]]:
    """The symbols that have a derivation, by span."""
    n = len(classes)
    spans = [(i, j) for j in range(1, n + 1) for i in range(j)]
    return {span: [a for a in range(toy.n_symbols) if best[(*span, a)] > 0.0] for span in spans}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("unary", ["none", "root"])
def test_every_rule_that_is_tried_is_counted(seed, unary):
    """Binary rules of a left child, for every split with a right child; unary rules of every item, once each if no
    other unary rules apply to their results."""
    toy = Toy(seed, unary=unary)
    classes = toy.sentence(seed, 3 if SLOW else 6)
    items = cell_items(toy, classes, tables(toy, classes)[0])
    of_left = [sum(rule[1] == a for rule in toy.binary) for a in range(toy.n_symbols)]
    of_child = [sum(rule[1] == a for rule in toy.unary) for a in range(toy.n_symbols)]
    tried = sum(
        of_left[a] for i, j in items for split in range(i + 1, j) if items[split, j] for a in items[i, split]
    ) + sum(of_child[a] for symbols in items.values() for a in symbols)
    assert toy.fill(classes).tried == tried


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_are_all_ways_to_make_an_item(seed):
    toy = Toy(seed, n_symbols=3)
    classes = toy.sentence(seed, 3)
    leaves, best, chart = toy.grammar.leaves(classes, None), tables(toy, classes)[0], toy.fill(classes)
    rules, _, lefts = toy.grammar.kernel
    number = {(int(rule["parent"]), int(lefts[k]), int(rule["right"])): k for k, rule in enumerate(rules)}
    for i, j, symbol in best:
        wanted = {}
        if j == i + 1 and (symbol, int(classes[i])) in toy.emit:
            wanted[LEXICAL, -1, -1, -1] = toy.emit[symbol, int(classes[i])]
        for (parent, child), p in toy.unary.items():
            if parent == symbol and best[i, j, child]:
                wanted[number[parent, child, -1], -1, child, -1] = p * best[i, j, child]
        for (parent, left, right), p in toy.binary.items():
            for split in range(i + 1, j):
                if parent == symbol and (both := best[i, split, left] * best[split, j, right]):
                    wanted[number[parent, left, right], split, left, right] = p * both
        edges = np.empty(len(wanted), dtype=EDGE)
        given = chart, *leaves, i, j, symbol
        assert item_edges(*given, edges) == len(wanted)
        names = [tuple(edge) for edge in edges[["rule", "split", "left", "right"]].tolist()]
        assert dict(zip(names, np.exp(edges["total"]), strict=True)) == pytest.approx(wanted, rel=1e-9)
        if len(wanted) > 1:
            assert item_edges(*given, edges[1:]) == -1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_chart_that_allows_everything_is_the_whole_chart(seed):
    toy = Toy(seed)
    classes = toy.sentence(seed, 4)
    whole = toy.fill(classes)
    items, cells = whole.items.copy(), whole.cells.copy()
    allowed = np.ones((10, toy.n_symbols), dtype=np.uint8)
    same = toy.fill(classes, allowed, np.arange(toy.n_symbols + 1, dtype=np.int32))
    assert items.tobytes() == same.items.tobytes() and cells.tobytes() == same.cells.tobytes()


def test_only_allowed_symbols_are_in_the_chart():
    toy = Toy(3)
    classes = toy.sentence(3, 5)
    allowed = (np.random.default_rng(0).random((15, toy.n_symbols)) < 0.6).astype(np.uint8)
    chart = toy.fill(classes, allowed, np.arange(toy.n_symbols + 1, dtype=np.int32))
    assert len(chart.items)
    for cell, (low, high) in enumerate(chart.cells.tolist()):
        symbols = chart.items[low:high]["symbol"].tolist()
        assert symbols == sorted(symbols) and all(allowed[cell, symbol] for symbol in symbols)


def test_groups_of_fine_symbols():
    """A coarse symbol admits all symbols of its group, and only these."""
    toy = Toy(5)
    classes = toy.sentence(5, 3)
    groups = np.array([0, 2, 5], dtype=np.int32)
    allowed = np.ones((6, 2), dtype=np.uint8)
    allowed[3, 1] = 0  # cell (0, 3)
    chart = toy.fill(classes, allowed, groups)
    for cell in range(6):
        low, high = chart.cells[cell].tolist()
        assert set(chart.items[low:high]["symbol"].tolist()) <= (set(range(2)) if cell == 3 else set(range(5)))


def test_the_workspace_grows_in_the_middle_of_a_sentence():
    toy = Toy(2)
    classes = toy.sentence(2, 4 if SLOW else 12)
    whole = toy.fill(classes)
    items = whole.items.copy()
    small = Buffers()
    small.items = small.items[: toy.n_symbols]
    again = small.fill(toy.grammar.kernel, *toy.grammar.leaves(classes, None), EVERYTHING, NO_GROUPS)
    assert again.items.tobytes() == items.tobytes() and again.tried == whole.tried


@pytest.mark.skipif(SLOW, reason="too long a sentence for plain Python")
def test_long_sentences_neither_underflow_nor_recurse():
    """Probabilities far below 1e-308, against logs of the plain recurrence A -> A A, A -> w."""
    toy = Toy(0, n_symbols=2, n_classes=1, unary="none")
    toy.binary, toy.emit = {(0, 1, 1): 0.2, (1, 1, 1): 0.2}, {(1, 0): 1e-6}
    grammar = PcfgGrammar(
        ("S0", "S1"), np.full(2, TAG, dtype=np.int8), np.arange(2, dtype=np.int32), np.arange(2, dtype=np.int32),
        np.full(2, 0.5), np.array(list(toy.binary), dtype=np.int32), np.log([0.2, 0.2]),
        np.zeros((0, 2), dtype=np.int32), np.zeros(0),
        Emissions(np.array([0, 1]), np.array([1], dtype=np.int32), np.log([1e-6]), np.full(2, -20.0)),
    )  # fmt: skip
    toy.grammar = grammar
    n = 300
    classes = np.zeros(n, dtype=np.int32)
    total, allowed = toy.posterior(classes, 0.0)
    trees = math.lgamma(2 * n - 1) - math.lgamma(n + 1) - math.lgamma(n)  # ln of the Catalan number n - 1
    assert total == pytest.approx(trees + (n - 1) * math.log(0.2) + n * math.log(1e-6), rel=1e-9)
    assert allowed[:, 1].all()
    chart = toy.fill(classes)
    assert chart.score(0, n, 0) == pytest.approx((n - 1) * math.log(0.2) + n * math.log(1e-6), rel=1e-9)
    assert len(chart.derivation(0, n, 0)) == 2 * n - 1


def test_a_sentence_without_a_tree():
    toy = Toy(4, unary="none")
    toy.grammar.binary_weight[:] = -np.inf
    classes = toy.sentence(4, 3)
    total, allowed = toy.posterior(classes, 1e-3)
    assert total == -np.inf and not allowed.any()
    chart = toy.fill(classes)
    assert chart.score(0, 3, 0) == -np.inf and not len(chart.derivation(0, 3, 0))


def test_a_chain_longer_than_the_workspace_for_a_derivation():
    """One word, and each symbol over the next: the workspace doubles until all steps fit."""
    toy, n = Toy(0, unary="none"), 150
    numbers = np.arange(n, dtype=np.int32)
    toy.grammar = PcfgGrammar(
        tuple(f"S{a}" for a in numbers), np.full(n, TAG, dtype=np.int8), numbers, numbers, np.full(n, 1 / n),
        np.array([(0, 1, 1)], dtype=np.int32), np.full(1, -np.inf), np.stack([numbers[:-1], numbers[1:]], axis=1),
        np.zeros(n - 1), Emissions(np.array([0, 1]), numbers[-1:], np.zeros(1), np.full(n, -20.0)),
    )  # fmt: skip
    steps = toy.fill(np.zeros(1, dtype=np.int32)).derivation(0, 1, 0)
    assert steps["symbol"].tolist() == numbers.tolist() and steps["rule"][-1] == LEXICAL


def test_ties_are_broken_by_split_then_rule():
    """All derivations are equally probable: left parts are as short as they can be."""
    toy = Toy(0, n_symbols=2, n_classes=1, unary="none")
    grammar = toy.grammar
    toy.grammar = PcfgGrammar(
        grammar.names, grammar.kind, grammar.base, grammar.coarse, grammar.frequency,
        np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=np.int32), np.zeros(3), np.zeros((0, 2), dtype=np.int32),
        np.zeros(0), Emissions(np.array([0, 2]), np.array([0, 1], dtype=np.int32), np.zeros(2), np.zeros(2)),
    )  # fmt: skip
    steps = toy.fill(np.zeros(3, dtype=np.int32)).derivation(0, 3, 0)
    assert [tuple(step.tolist())[2:] for step in steps] == [(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]
    assert steps["symbol"].tolist() == [0, 0, 0, 0, 0]
