"""Sentences longer than the chart limit: posteriors against the reference, trees, marginals, determinism."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from spacy_dtparse.span_parser import long
from spacy_dtparse.span_parser.kernels.network import probable_spans, score_spans
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference import span_long as reference
from tests.span_models import SENTENCES, random_model, with_attach_table

pytestmark = KERNEL_MARKS


def sentence(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    words, tags = SENTENCES[0]
    return [rng.choice(words) for _ in range(n)], [rng.choice(tags) for _ in range(n)]


@pytest.mark.parametrize("share", [2, 4, 8])
@pytest.mark.parametrize("most", [2, 3, 5, 6])
def test_posteriors_are_those_of_the_reference(monkeypatch, most: int, share: int) -> None:
    monkeypatch.setattr(long, "_MARGIN", share)
    for n in (1, 2, 7, 13) if SLOW else (1, 2, 3, 6, 7, 9, 13, 24):
        gaps, own, *_ = SpanParser(random_model(2, seed=n)).run_networks(*sentence(n, n))
        scores = np.empty((n + 1, n + 1), dtype=np.float32)
        score_spans(gaps, own, 0, n, scores)
        right = reference.long_posteriors(scores, most, share, 1e-3)
        spans, posteriors = long.long_posteriors(gaps, own, most)
        found = dict(zip(map(tuple, spans.tolist()), posteriors.tolist(), strict=True))
        assert list(found) == sorted(right), "in order, none twice"
        assert found == pytest.approx(right, abs=1e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_of_a_short_sentence_they_are_the_chart_s(n: int) -> None:
    gaps, own, *_ = SpanParser(random_model()).run_networks(*sentence(n))
    spans, posteriors = probable_spans(gaps, own, 0, n, 1e-3)
    found = long.long_posteriors(gaps, own, max(n, 2))
    assert np.array_equal(found[0], spans) and np.array_equal(found[1], posteriors)


def test_windows_meet_and_lie_within() -> None:
    for units in range(1, 60):
        for most in range(2, 30):
            windows = long._windows(units, most)
            assert windows == reference.windows(units, most)
            assert windows[0][0] == 0 and windows[-1][1] == units
            assert all(0 < b - a <= most for a, b in windows)
            assert all(0 < b[0] - a[0] <= max(most // 2, 1) for a, b in itertools.pairwise(windows))


def test_units_are_halved_whatever_is_probable() -> None:
    none = np.empty((0, 2), dtype=np.int32), np.empty(0)
    for units in range(3, 30):
        left = long._remaining_gaps(*none, -(-units // 2), units)
        assert left[0] and left[-1] and left.sum() - 1 == -(-units // 2), "neighbours are paired"
    spans = np.array([[0, 2], [1, 3], [4, 9], [5, 7]], dtype=np.int32)
    left = long._remaining_gaps(spans, np.array([0.6, 0.9, 0.7, 0.8]), 5, 10)
    assert np.flatnonzero(left).tolist() == [0, 1, 3, 4, 9, 10], "the most probable, then what has them whole"
    left = long._remaining_gaps(spans, np.array([0.6, 0.9, 0.7, 0.8]), 8, 10)
    assert np.flatnonzero(left).tolist() == [0, 1, 3, 4, 5, 7, 8, 9, 10]


@pytest.mark.parametrize("penalty", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("most", [0, 2, 5, 9])
def test_trees_are_well_formed_and_the_same_in_any_batch(most: int, penalty: float) -> None:
    parser = SpanParser(with_attach_table(random_model())).with_settings(max_tokens=most, penalty=penalty)
    rows = [sentence(n, n) for n in ((3, 12) if SLOW else (3, 10, 11, 30, 60))]
    results = [parser.parse(*row) for row in rows]
    assert parser.parse_batch(rows[::-1]) == results[::-1]
    for (words, tags), result in zip(rows, results, strict=True):
        tree = result.tree
        assert tree == Tree(words, tags, tree.labels, tree.starts, tree.ends)
        assert result.status == ("greedy" if len(words) > max(most, 2) else "optimal")
        assert all(cost >= -1e-6 for cost in result.costs) and result.cost == pytest.approx(sum(result.costs))


@pytest.mark.parametrize("penalty", [0.0, 0.3, 0.6])
def test_spans_are_selected_by_gain_if_they_cross_none(penalty: float) -> None:
    """A span gains for each label of its likeliest chain what the label is probable, less the penalty."""
    chain_from, chain_labels = np.array([0, 0, 1, 3, 6], np.int32), np.array([4, 5, 6, 7, 8, 9], np.int32)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        spans = np.array([(i, j) for i in range(7) for j in range(i + 1, 8) if rng.random() < 0.7], np.int32)
        posteriors, logits = rng.random(len(spans)), rng.standard_normal((len(spans), 4)).astype(np.float32)
        logs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
        gains, chains = [], logs[:, 1:].argmax(axis=1) + 1
        for p, log, chain in zip(posteriors, logs, chains, strict=True):
            gains.append(int(chain) * (p * (1.0 - np.exp(np.float64(log[0]))) - penalty))  # chain c has c labels here
        taken: list[int] = []
        for at in sorted(range(len(spans)), key=lambda at: -gains[at]):
            i, j = spans[at].tolist()
            if gains[at] > 0 and not any(a < i < b < j or i < a < j < b for a, b in spans[taken].tolist()):
                taken.append(at)
        taken.sort(key=lambda at: (spans[at, 0], -spans[at, 1]))
        wanted = [
            ([*spans[at].tolist(), label], -np.log(posteriors[at]) - logs[at, chains[at]])
            for at in taken
            for label in chain_labels[chain_from[chains[at]] : chain_from[chains[at] + 1]].tolist()
        ]
        items, costs = np.zeros((100, 3), np.int32), np.zeros(100)
        count = long.decode_long((spans, posteriors, logs), chain_from, chain_labels, penalty, items, costs)
        assert items[:count].tolist() == [item for item, _ in wanted]
        assert costs[:count] == pytest.approx([cost for _, cost in wanted])


def test_posteriors_and_marginals_are_those_of_the_tree() -> None:
    parser = SpanParser(random_model()).with_settings(max_tokens=6)
    words, tags = sentence(12 if SLOW else 40)
    result, found = parser.parse(words, tags), parser.span_posteriors(words, tags)
    assert len(result.tree) > 2 and found[0, len(words), "TOP"] == 1.0
    assert all(0 < p <= 1 for p in found.values())
    for span, cost in list(zip(result.tree.spans(), result.costs, strict=True))[1:]:
        assert found[span] >= np.exp(-cost) - 1e-5
    (marginals,) = parser.marginals([(words, tags)])
    spans = [tuple(span) for span in marginals.spans.tolist()]
    assert spans == sorted(set(spans)) and {span[:2] for span in result.tree.spans()[1:]} <= set(spans)
    assert (marginals.span_probs >= 0.002).all() and (marginals.chain_probs[:, 0] <= marginals.span_probs + 1e-9).all()
