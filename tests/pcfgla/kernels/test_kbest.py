"""Lists of the k best trees of forests and charts against every tree of a short sentence, and cycles of unary rules."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from spacy_dtparse.core.kbest import Edges, KBest
from spacy_dtparse.dtypes import OFFSET
from spacy_dtparse.pcfgla.chart import EVERYTHING, NO_GROUPS, Buffers
from spacy_dtparse.pcfgla.decoders import viterbi
from spacy_dtparse.pcfgla.kbest import chart_trees, forest_trees
from spacy_dtparse.pcfgla.kernels.latent import UNARY, WORD
from spacy_dtparse.pcfgla.latent import MIN_POSTERIOR, best, expansion_probs, forest, posteriors
from spacy_dtparse.pcfgla.model.latent_part import Emissions, LatentPart
from spacy_dtparse.pcfgla.spine_masks import label_posteriors, plain_expected_counts
from tests.jit.harness import KERNEL_MARKS
from tests.pcfgla.kernels.test_decoders import plain, q_of, spans, spans_of
from tests.pcfgla.kernels.test_latent import LENGTHS, everything, probability, random_part, trees, vectors

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("decoder, seeds", [("max-rule", (0,)), ("q", (1,)), ("max-rule", (0, 3)), ("q", (2, 4))])
def test_the_k_best_trees_of_a_forest_are_all_trees_in_order(n, decoder, seeds):
    parts = [random_part(seed) for seed in seeds]
    words = [vectors(part, n, seed) for part, seed in zip(parts, seeds, strict=True)]
    every = list(trees(0, 0, n))
    logs = np.zeros(len(every))
    for part, of in zip(parts, words, strict=True):
        if decoder == "q":
            logs += q_of(part, of, every)[1]
            continue
        p = [probability(part, of, tree) for tree in every]
        met: dict = {}
        for tree, value in zip(every, p, strict=True):
            for anchor in tree:
                met[anchor] = met.get(anchor, 0.0) + value / sum(p)
        logs += [sum(min(math.log(max(met[anchor], MIN_POSTERIOR)), 0.0) for anchor in tree) for tree in every]
    made = forest([(part.kernel, of) for part, of in zip(parts, words, strict=True)], everything(n), 0, decoder=decoder)
    assert made is not None
    found = list(itertools.islice(forest_trees(made), 3000))
    assert len(found) == len(every) <= 3000  # the forest leaves out nothing here, and no tree comes twice
    assert found[0] == best(made)
    shown = [tuple(spans(tree.steps)) for tree in found]
    assert sorted(shown) == sorted(tuple(spans_of(tree)) for tree in every) and len(set(shown)) == len(shown)
    scores = [tree.score for tree in found]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(scores))
    np.testing.assert_allclose(scores, sorted(logs.tolist(), reverse=True), rtol=1e-6, atol=1e-8)
    of_tree = {tuple(spans_of(tree)): log for tree, log in zip(every, logs.tolist(), strict=True)}
    for tree, key in zip(found, shown, strict=True):
        assert tree.score == pytest.approx(of_tree[key], rel=1e-6, abs=1e-8)
        assert sum(step.posterior for step in tree.steps) == pytest.approx(tree.score, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_k_best_trees_of_a_chart_are_all_trees_in_order(n, seed):
    part = random_part(seed, 1)
    words = vectors(part, n, seed)
    every = {tuple(spans_of(tree)): math.log(probability(part, words, tree)) for tree in trees(0, 0, n)}
    grammar, leaves = plain(part, words)
    chart = Buffers().fill(grammar.kernel, *leaves, EVERYTHING, NO_GROUPS)
    found = list(itertools.islice(chart_trees(chart, *leaves, 0), len(every) + 1))
    shown = [tuple(zip(s["start"].tolist(), s["end"].tolist(), s["symbol"].tolist(), strict=True)) for _, s in found]
    assert sorted(shown) == sorted(every)
    assert [log for log, _ in found] == pytest.approx(sorted(every.values(), reverse=True))
    assert [log for log, _ in found] == pytest.approx([every[key] for key in shown])
    assert found[0][1].tolist() == chart.derivation(0, n, 0).tolist()
    mass = plain_expected_counts(grammar, leaves, everything(n), 0)
    assert mass is not None
    spans_found = label_posteriors(mass, grammar, ("TOP", "A", "B"), n)
    total = sum(math.exp(log) for log in every.values())
    for key, p in spans_found.items():
        symbol = ("TOP", "A", "B").index(key[2])
        met = sum(math.exp(log) * tree.count((*key[:2], symbol)) for tree, log in every.items()) / total
        assert p == pytest.approx(min(met, 1.0), rel=1e-6, abs=1e-6)
    assert spans_found[0, n, "TOP"] == pytest.approx(1.0)


def test_a_chart_without_a_tree_has_no_list():
    part = random_part(0, 1)
    grammar, leaves = plain(part, vectors(part, 2, 0))
    nothing = np.zeros((3, 5), dtype=np.uint8)
    chart = Buffers().fill(grammar.kernel, *leaves, nothing, np.arange(6, dtype=np.int32))
    assert list(chart_trees(chart, *leaves, 0)) == []
    assert plain_expected_counts(grammar, leaves, nothing, 0) is None


def test_a_cycle_of_unary_rules_repeats_as_often_as_the_list_needs():
    """A -> B (0.5), B -> A (0.5), B -> word (0.5), A -> word (0.25), two items of one cell."""
    half = math.log(0.5)
    edges = {"A": [(half, "B"), (2 * half, None)], "B": [(half, None), (half, "A")]}
    best_of = {"A": 2 * half, "B": half}

    def of(item):
        rows = sorted(
            ((w + (best_of[below] if below else 0.0), k) for k, (w, below) in enumerate(edges[item[1]])),
            key=lambda row: -row[0],
        )
        return Edges([total for total, _ in rows], [k for _, k in rows])

    def parts(item, edge):
        below = edges[item[1]][edge][1]
        return () if below is None else ((0, below),)

    lists = KBest(of, parts)
    scores = [lists.score((0, "A"), rank) for rank in range(40)]
    expected = sorted([2 * half + 2 * half * turns for turns in range(40)] * 2, reverse=True)[
        :40
    ]  # around the cycle, then out by the word of A or by that of B
    assert scores == pytest.approx(expected)
    made = [tuple(name for name in lists.derivation((0, "A"), rank)) for rank in range(40)]
    assert len(set(made)) == 40 and max(len(tree) for tree in made) > 35


def test_a_grammar_with_a_cycle():
    """Root -> A, A -> B (0.4), B -> A (0.3), A -> word (0.6), B -> word (0.7): sums over the turns (chains have up to
    six rules, so not quite over all), and the fractions of q from expected numbers of visits."""
    rules = np.array([(0, 1, -1), (1, 2, -1), (2, 1, -1)], dtype=np.int32)
    nothing = np.zeros(0, dtype=np.int32)
    emissions = Emissions(np.array([0, 0], dtype=OFFSET), nothing, np.zeros(0), np.full(3, -1.0))
    part = LatentPart(np.ones(3, dtype=np.int32), rules, np.array([1.0, 0.4, 0.3]), emissions)
    words, allowed = [[(1, np.array([0.6])), (2, np.array([0.7]))]], np.ones((1, 3), dtype=np.uint8)
    turn = 0.4 * 0.3
    anchors, log = posteriors(part.kernel, words, allowed, 0, 1e-12)
    assert math.exp(log) == pytest.approx((0.6 + 0.4 * 0.7) / (1.0 - turn), rel=1e-2)
    found = {
        (int(a["split"]), int(a["rule"])): math.exp(a["posterior"]) for a in expansion_probs(part.kernel, anchors, 3)
    }
    number = {(0, 1): 0, (1, 2): 1, (2, 1): 2}
    k = part.kernel
    at = {number[int(p), int(c)]: n for n, (p, c) in enumerate(zip(k.parent, k.left, strict=True))}
    whole = [(0.6 + 0.4 * 0.7) / (1.0 - turn), (0.7 + 0.3 * 0.6) / (1.0 - turn)]  # inside numbers of A and B
    assert found[UNARY, at[0]] == pytest.approx(1.0)
    assert found[UNARY, at[1]] == pytest.approx(0.4 * whole[1] / whole[0], rel=1e-2)
    assert found[UNARY, at[2]] == pytest.approx(0.3 * whole[0] / whole[1], rel=1e-2)
    assert found[WORD, 1] + found[UNARY, at[1]] == pytest.approx(1.0)
    assert found[WORD, 2] + found[UNARY, at[2]] == pytest.approx(1.0)
    made = forest([(part.kernel, words)], allowed, 0, decoder="q")
    assert made is not None and spans(best(made).steps) == [(0, 1, 0), (0, 1, 1)]
    several = [spans(tree.steps) for tree in itertools.islice(forest_trees(made), 25)]
    assert len({tuple(tree) for tree in several}) == 25 and several[0] == spans(best(made).steps)
    top = viterbi(part.kernel, words, allowed, 0)
    assert top is not None and spans(top.steps) == several[0] and top.score == pytest.approx(math.log(0.6))


@pytest.mark.parametrize("prefix", [1.0, 0.5])
def test_free_cycles_end(prefix):
    """Rules of probability 1 around a cycle: the list has the requested length, the first tree has no cycle."""
    values = {"A": [(0.0, "B"), (math.log(prefix), None)], "B": [(0.0, "A"), (math.log(prefix) - 1.0, None)]}

    def of(item):
        first = 1 if item[1] == "A" else 0
        return Edges([math.log(prefix), math.log(prefix) - (0.0 if first else 1.0)], [first, 1 - first])

    lists = KBest(of, lambda item, edge: () if values[item[1]][edge][1] is None else ((0, values[item[1]][edge][1]),))
    scores = [lists.score((0, "A"), rank) for rank in range(30)]
    assert None not in scores and scores == pytest.approx([math.log(prefix)] * 30)
    assert lists.derivation((0, "A"), 0) == [((0, "A"), 1)]
