"""Decoders of latent charts against every tree of a short sentence: Viterbi complete trees, the approximate
distribution q, exact probabilities of observed trees; `test_kbest` has lists of the best trees."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from spacy_dtparse.dtypes import INDEX, OFFSET
from spacy_dtparse.pcfgla.chart import EVERYTHING, NO_GROUPS, Buffers
from spacy_dtparse.pcfgla.decoders import Candidate, TreeScorer, distinct, rerank, viterbi
from spacy_dtparse.pcfgla.kbest import chart_trees
from spacy_dtparse.pcfgla.kernels.cky import LEXICAL, STEP
from spacy_dtparse.pcfgla.kernels.latent import BEST, UNARY, WORD, latent_inside
from spacy_dtparse.pcfgla.kernels.latent_trees import viterbi_tree
from spacy_dtparse.pcfgla.latent import allocate_chart, expansion_probs, leaves_of, posteriors, spans_of_cells
from spacy_dtparse.pcfgla.model.latent_part import Emissions, LatentPart
from spacy_dtparse.pcfgla.model.model import PART, PHRASE, TAG, PcfgGrammar
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.pcfgla.kernels.test_latent import (
    LENGTHS,
    RULES,
    TAGS,
    anchored,
    block_of,
    decode,
    everything,
    number_in_kernel,
    probability,
    random_part,
    trees,
    vectors,
)

pytestmark = KERNEL_MARKS


def best_annotated(part: LatentPart, words, tree) -> float:
    """The probability of a tree's best annotation: each in turn."""
    symbols = [rule if split == WORD else RULES[rule][0] for _, _, split, rule in tree]
    greatest = 0.0
    for values in itertools.product(*(range(int(part.sizes[symbol])) for symbol in symbols)):
        steps = iter(zip(tree, values, strict=True))

        def below() -> tuple[int, float]:
            (start, _, split, rule), x = next(steps)  # noqa: B023 (called at once)
            if split == WORD:
                return x, float(dict(words[start])[rule][x])
            y, p = below()
            z, other = (0, 1.0) if split == UNARY else below()
            return x, float(block_of(part, rule)[y, z, x]) * p * other

        greatest = max(greatest, below()[1])
    return greatest


def spans(steps) -> list[tuple[int, int, int]]:
    return [(step.start, step.end, step.symbol) for step in steps]


def spans_of(tree) -> list[tuple[int, int, int]]:
    return [(start, end, rule[0]) for start, end, _, rule in anchored(tree)]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_viterbi_finds_the_best_tree_and_annotation(n, seed):
    part = random_part(seed, 2)
    words = vectors(part, n, seed)
    every = [tree for tree in trees(0, 0, n) if n < 4 or probability(part, words, tree) > 0.0]
    if n == 4:  # of many trees only the likely ones: no annotation is more probable than all together
        every = sorted(every, key=lambda tree: -probability(part, words, tree))[:60]
    probs = [best_annotated(part, words, tree) for tree in every]
    at = int(np.argmax(probs))
    found = viterbi(part.kernel, words, everything(n), 0)
    assert found is not None and found.score == pytest.approx(math.log(probs[at]), rel=1e-12)
    assert spans(found.steps) == spans_of(every[at])
    if n == 4:
        assert probs[at] > probability(part, words, every[-1])
    assert viterbi(part.kernel, words, np.zeros_like(everything(n)), 0) is None


def test_a_workspace_that_just_fits_a_viterbi_tree():
    """One entry per node of the tree, and a stack of waiting nodes, to which two are added at a time."""
    part = random_part(0, 2)
    for n in LENGTHS:
        words, allowed = leaves_of(vectors(part, n, 0)), everything(n)
        chart = allocate_chart(part.kernel, allowed)
        step = np.empty((len(chart.whole), 2), dtype=INDEX)
        latent_inside(part.kernel, words, chart, chart.whole, step)

        def count(n_nodes: int, depth: int, given=(words, 0, chart, step)) -> int:
            nodes, stack = np.empty(n_nodes, dtype=BEST), np.empty((depth, 4), dtype=OFFSET)
            return int(viterbi_tree(part.kernel, *given, nodes, stack))

        whole = count(100, 100)
        assert whole >= 2 * n and count(whole, 100) == whole and count(whole - 1, 100) == -1
        least = next(depth for depth in range(1, 100) if count(100, depth) == whole)
        assert 2 <= least <= n + 1 and count(whole, least) == whole
        assert n > 1 or least == 2


def test_viterbi_of_long_sentences():
    """Tiny probabilities stay in range, and with one value each the best complete tree is that of plain CKY."""
    part = random_part(2, 1)
    words = vectors(part, 10 if SLOW else 50, 2)
    tiny = [[(tag, vector * 1e-9) for tag, vector in word] for word in words]
    one, other = (viterbi(part.kernel, of, everything(len(words)), 0) for of in (words, tiny))
    assert one is not None and other is not None  # with the same rules in another order a tree is as probable
    assert other.score == pytest.approx(one.score + len(words) * math.log(1e-9), rel=1e-9)
    grammar, leaves = plain(part, words)
    chart = Buffers().fill(grammar.kernel, *leaves, EVERYTHING, NO_GROUPS)
    assert chart.score(0, len(words), 0) == pytest.approx(one.score, rel=1e-9)


def q_of(part: LatentPart, words, every) -> tuple[dict, list[float]]:
    """(log q of every anchor, log q of every tree), from the definition."""
    p = [probability(part, words, tree) for tree in every]
    counts: dict = {}
    items: dict = {}
    for tree, value in zip(every, p, strict=True):
        for anchor, span in zip(tree, spans_of(tree), strict=True):
            counts[anchor] = counts.get(anchor, 0.0) + value
            items[span] = items.get(span, 0.0) + value
    logs = {}
    for tree in every:
        for anchor, span in zip(tree, spans_of(tree), strict=True):
            logs[anchor] = math.log(counts[anchor] / items[span])
    return logs, [sum(logs[anchor] for anchor in tree) for tree in every]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("seeds", [(0,), (3,), (2, 4)])
def test_q_is_the_best_tree_of_the_approximate_distribution(n, seeds):
    parts = [random_part(seed) for seed in seeds]
    words = [vectors(part, n, seed) for part, seed in zip(parts, seeds, strict=True)]
    every = list(trees(0, 0, n))
    of_each = [q_of(part, of, every)[1] for part, of in zip(parts, words, strict=True)]
    if len(parts) == 1:
        assert sum(math.exp(log) for log in of_each[0]) == pytest.approx(1.0)
    logs = np.sum(of_each, axis=0)
    found = decode([(part.kernel, of) for part, of in zip(parts, words, strict=True)], everything(n), 0, decoder="q")
    at = int(np.argmax(logs))
    assert found is not None and found.score == pytest.approx(logs[at], rel=1e-6, abs=1e-9)
    assert spans(found.steps) == spans_of(every[at])
    assert sum(step.posterior for step in found.steps) == pytest.approx(found.score)


@pytest.mark.parametrize("seed", [0, 6])
def test_q_is_where_gradient_descent_ends(seed):
    """No other distribution of the packed forest's shape is nearer to the trees' own: KL(p || q) made small by steps
    down its gradient, each item's q a softmax."""
    n, part = 3, random_part(seed)
    words = vectors(part, n, seed)
    every = list(trees(0, 0, n))
    p = np.array([probability(part, words, tree) for tree in every])
    p /= p.sum()
    names = sorted({anchor for tree in every for anchor in tree})
    place = {anchor: k for k, anchor in enumerate(names)}
    symbol = {anchor: span for tree in every for anchor, span in zip(tree, spans_of(tree), strict=True)}
    items = sorted(set(symbol.values()))
    item = np.array([items.index(symbol[anchor]) for anchor in names])
    uses = np.zeros((len(every), len(names)))
    for k, tree in enumerate(every):
        np.add.at(uses[k], [place[anchor] for anchor in tree], 1.0)
    counts = p @ uses
    weight = np.zeros(len(names))

    def log_q(weight: np.ndarray) -> np.ndarray:
        return weight - np.log(np.bincount(item, np.exp(weight), len(items)))[item]

    mass = np.bincount(item, counts, len(items))
    for _ in range(4000):  # the gradient of −Σ p log q, per item, over the item's own mass
        weight += (counts - np.exp(log_q(weight)) * mass[item]) / mass[item]
    anchors, _ = posteriors(part.kernel, words, everything(n), 0, 1e-14)
    number, cells = number_in_kernel(part), spans_of_cells(n)
    closed = np.full(len(names), -np.inf)
    for anchor in expansion_probs(part.kernel, anchors, 5):
        start, end = cells[anchor["cell"]].tolist()
        for key in names:
            rule = key[3] if key[2] == WORD else number[RULES[key[3]]]
            if (start, end, int(anchor["split"]), int(anchor["rule"])) == (*key[:3], rule):
                closed[place[key]] = float(anchor["posterior"])
    np.testing.assert_allclose(np.exp(closed), np.exp(log_q(weight)), atol=5e-4)  # rare ones are slow

    def distance(logs: np.ndarray) -> float:
        return float(p @ (np.log(p) - uses @ logs))

    assert 0.0 <= distance(closed) <= distance(log_q(weight)) + 1e-12 <= distance(closed) + 1e-4
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assert distance(log_q(closed + rng.normal(0.0, 0.1, len(names)))) > distance(closed)


def plain(part: LatentPart, words) -> tuple[PcfgGrammar, tuple[np.ndarray, np.ndarray]]:
    """(a grammar of one value for each symbol, the leaves of a sentence)."""
    assert (part.sizes == 1).all()
    binary = [k for k, rule in enumerate(RULES) if rule[2] >= 0]
    unary = [k for k, rule in enumerate(RULES) if rule[2] < 0]
    logs = np.log(part.values)
    grammar = PcfgGrammar(
        ("TOP", "A", "B", "c", "d"), np.array([PHRASE, PHRASE, PHRASE, TAG, TAG], dtype=np.int8),
        np.array([0, 1, 2, 0, 1], dtype=np.int32), np.arange(5, dtype=np.int32), np.full(5, 0.2),
        np.array([RULES[k] for k in binary], dtype=np.int32), logs[binary],
        np.array([RULES[k][:2] for k in unary], dtype=np.int32), logs[unary],
        Emissions(np.array([0, 2], dtype=OFFSET), np.array(TAGS, dtype=np.int32), np.zeros(2), np.full(5, -1.0)),
    )  # fmt: skip
    leaves, leaf_from = grammar.leaves(np.zeros(len(words), dtype=np.int32), None)
    rows, bounds = [], [0]
    for t, word in enumerate(words):
        mine = leaves[leaf_from[t] : leaf_from[t + 1]].copy()
        mine = mine[np.isin(mine["symbol"], [tag for tag, _ in word])]
        mine["score"] = [math.log(float(dict(word)[int(tag)][0])) for tag in mine["symbol"]]
        rows.append(mine)
        bounds.append(bounds[-1] + len(mine))
    return grammar, (np.concatenate(rows), np.array(bounds, dtype=np.int32))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("seeds", [(0,), (4, 5)])
def test_reranking_uses_the_sum_over_all_annotations(n, seeds):
    """Candidates of a grammar with two symbols for each coarse phrase; every list position against brute-force sums."""
    own = random_part(9, 1)
    parts = [random_part(seed) for seed in seeds]
    words = [vectors(part, n, seed) for part, seed in zip(parts, seeds, strict=True)]
    grammar, leaves = plain(own, vectors(own, n, 9))
    chart = Buffers().fill(grammar.kernel, *leaves, EVERYTHING, NO_GROUPS)
    every = {tuple(spans_of(tree)): tree for tree in trees(0, 0, n)}
    found = distinct(chart_trees(chart, *leaves, 0), grammar, 50)
    assert len(found) == min(50, len(every)) and [c.log for c in found] == sorted((c.log for c in found), reverse=True)
    observed = [TreeScorer(part.kernel, grammar) for part in parts]
    ranked = list(rerank(found, grammar, observed, words))
    scores = []
    for made in ranked:
        tree = every[tuple(spans(made.steps))]
        exact = sum(math.log(probability(part, of, tree)) for part, of in zip(parts, words, strict=True))
        assert made.score == pytest.approx(exact, rel=1e-12)
        scores.append(made.score)
    assert scores == sorted(scores, reverse=True) and len(scores) == len(found)


def test_candidates_of_no_probability_come_last():
    own, part = random_part(9, 1), random_part(0)
    grammar, leaves = plain(own, vectors(own, 2, 9))
    chart = Buffers().fill(grammar.kernel, *leaves, EVERYTHING, NO_GROUPS)
    found = distinct(chart_trees(chart, *leaves, 0), grammar, 50)
    lame = [word for word in vectors(part, 2, 0)]
    lame[1] = [entry for entry in lame[1] if entry[0] != 4]  # the second word is no d
    ranked = list(rerank(found, grammar, [TreeScorer(part.kernel, grammar)], [lame]))
    has_d = [any((s.start, s.symbol) == (1, 4) for s in made.steps) for made in ranked]
    assert any(has_d) and not all(has_d) and has_d == sorted(has_d)
    tail = [made.score for made, lame_one in zip(ranked, has_d, strict=True) if lame_one]
    assert tail == sorted(tail, reverse=True)
    without = LatentPart(part.sizes, part.rules[1:], part.values[part.starts[1] :], part.emissions)  # no root over A
    assert all(
        TreeScorer(without.kernel, grammar).log(c.steps, TreeScorer(without.kernel, grammar).words(vectors(part, 2, 0)))
        == -math.inf
        for c in found
        if (0, 2, 1) in zip(c.steps["start"].tolist(), c.steps["end"].tolist(), c.steps["symbol"].tolist(), strict=True)
        and c.steps["symbol"][1] == 1
    )


def test_derivations_of_one_tree_count_once():
    """Two derivations that differ only in a part are one tree; the first one stays in the list."""
    grammar, _ = plain(random_part(9, 1), vectors(random_part(9, 1), 1, 0))
    parts = PcfgGrammar(
        grammar.names, np.array([PHRASE, PART, PART, TAG, TAG], dtype=np.int8), grammar.base, grammar.coarse,
        grammar.frequency, grammar.binary, grammar.binary_weight, grammar.unary, grammar.unary_weight,
        grammar.emissions,
    )  # fmt: skip

    def steps(part):
        rows = [(0, 0, 0, 2), (part, 1, 0, 2), (3, LEXICAL, 0, 1), (4, LEXICAL, 1, 2)]
        return np.array(rows, dtype=STEP)

    found = distinct(iter([(-1.0, steps(1)), (-2.0, steps(2)), (-3.0, steps(1)[:1])]), parts, 5)
    assert [one.log for one in found] == [-1.0, -3.0] and isinstance(found[0], Candidate)
    assert len(distinct(((-float(k), steps(1)) for k in itertools.count()), parts, 2)) == 1  # gives up
