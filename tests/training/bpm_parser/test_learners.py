"""Learners of links and labels, and their data, compared with reference implementations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.bpm_parser.kernels.link_labels import MAX_LABEL_KEYS, tree_label_keys
from spacy_dtparse.bpm_parser.kernels.links import make_guide, tree_keys
from tests.jit.harness import SLOW
from tests.reference.dependencies import trees
from tests.reference.link_learning import LabelWeights, label_online_pass, numbered, online_pass
from tests.training.bpm_parser.samples import FEW, examples_of, sentences
from training.bpm_parser.kernels import label_pass, link_pass
from training.bpm_parser.learning import (
    FeatureListing,
    feature_keys,
    label_list,
    open_listing,
    train_labels,
    write_listing,
)


class Listing:
    """Random features of all links of a few short sentences, for kernels and reference implementations."""

    def __init__(self, seed: int, n_features: int = 25):
        rng = np.random.default_rng(seed)
        self.n_features, self.sentences = n_features, []
        features, ends, gold = [], [], []
        self.feature_from, self.end_from, self.gold_from = [0], [0], [0]
        for n in (1, 2, 4, 3) if SLOW else (1, 2, 4, 3, 4, 2, 4):
            lists: dict[tuple[int, int], list[int]] = {}
            own: list[int] = []
            for head in range(n + 1):
                for d in range(1, n + 1):
                    if head != d:
                        lists[head, d] = rng.choice(n_features, rng.integers(0, 5), replace=False).tolist()
                        own += lists[head, d]
                    ends.append(len(own))
            heads = trees(n)[rng.integers(len(trees(n)))]
            features += own
            gold += heads
            self.sentences.append((lists, heads))
            for places, size in ((self.feature_from, features), (self.end_from, ends), (self.gold_from, gold)):
                places.append(len(size))
        self.features, self.ends, self.gold = (np.array(part, np.int32) for part in (features, ends, gold))

    @property
    def arrays(self) -> FeatureListing:
        starts = [np.array(places) for places in (self.feature_from, self.end_from, self.gold_from)]
        return FeatureListing(self.features, starts[0], self.ends, starts[1], self.gold, starts[2])


def dense(weights: dict[int, float], n: int) -> np.ndarray:
    return np.array([weights.get(feature, 0.0) for feature in range(n)])


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("most", [None, 1 / 16, 10.0])
def test_passes_are_those_of_the_reference_implementation(most: float | None, projective: bool) -> None:
    """Steps are exact unless MIRA takes its full ones, with which these data have no equals."""
    for seed in range(1 if SLOW else 4):
        listing, rng = Listing(seed), np.random.default_rng(seed)
        n = listing.n_features
        weights, sums, clock, change = np.zeros(n), np.zeros(n), 1.0, np.zeros(n)
        expected: dict[int, float] = {}
        total: dict[int, float] = {}
        steps = 0
        for _ in range(3):
            order = rng.permutation(len(listing.sentences))
            given = order, listing.arrays, weights, sums, clock, projective, most or 0.0, change
            wrong, clock = link_pass(*given)
            assert wrong == online_pass(order.tolist(), listing.sentences, expected, projective, total, most)
            steps += len(order)
            assert clock == steps + 1 and not change.any()
            assert np.allclose(weights, dense(expected, n), atol=1e-12)
            # The weights before the first sentence, which are 0, count in the average, too.
            assert np.allclose(weights - sums / clock, dense(total, n) / (steps + 1), atol=1e-12)
        assert weights.any()


@pytest.mark.kernel
@pytest.mark.parametrize("root", [0, 2, 3])
def test_a_pass_over_labels_is_that_of_the_reference_implementation(root: int) -> None:
    rng, n_links, n_features, n_labels = np.random.default_rng(root), 15, 12, 4
    lists = [rng.choice(n_features, rng.integers(0, 5), replace=False).tolist() for _ in range(n_links)]
    allowed = [label for label in range(n_labels) if label != root]
    gold = rng.choice(allowed, n_links).astype(np.int32)
    listed = np.array([feature for own in lists for feature in own], np.int32)
    starts = np.cumsum([0, *map(len, lists)])
    weights, sums, clock = (*(np.zeros((n_features, n_labels), np.float32) for _ in range(2)), 1.0)
    expected: LabelWeights = {}
    total: LabelWeights = {}
    steps, every = 0, []
    for _ in range(3):
        order = rng.permutation(n_links)[: n_links - 2]
        wrong, clock = label_pass(order, listed, starts, gold, root, weights, sums, clock)
        assert wrong == label_online_pass(order.tolist(), lists, gold.tolist(), allowed, expected, total)
        every.append(wrong)
        steps += len(order)
        assert clock == steps + 1 and np.array_equal(weights, label_array(expected, weights.shape))
        # The weights before the first link, which are 0, count in the average, too.
        average = label_array(total, weights.shape) / (steps + 1)
        assert np.allclose(weights - sums / clock, average, atol=1e-5)
    assert 0 < every[-1] < every[0] and not weights[:, root].any()


def label_array(weights: LabelWeights, shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(shape)
    for pair, value in weights.items():
        found[pair] = value
    return found


@pytest.mark.parametrize("least", [1, 2, 3])
def test_features_are_those_of_gold_links_in_enough_sentences(least: int) -> None:
    examples = examples_of(sentences())
    counts: Counter[int] = Counter()
    for example in examples:
        buffer = np.zeros(100_000, np.uint64)
        counts.update(set(buffer[: tree_keys(example.atoms, make_guide(None), example.heads, buffer)].tolist()))
    keys = feature_keys(examples, least)
    assert keys.dtype == np.uint64 and keys.tolist() == sorted(key for key in counts if counts[key] >= least)


def test_a_listing_is_read_as_it_was_written(tmp_path: Path) -> None:
    examples = examples_of(sentences())
    keys = feature_keys(examples)
    listed = write_listing(examples, keys, tmp_path)
    again = open_listing(tmp_path)
    assert len(again.gold_from) - 1 == len(examples)
    assert all(np.array_equal(one, other) for one, other in zip(listed, again, strict=True))
    for number, example in enumerate(examples):
        n = len(example.heads) - 1
        assert np.array_equal(again.gold[again.gold_from[number] : again.gold_from[number + 1]], example.heads)
        ends = again.ends[again.end_from[number] : again.end_from[number + 1]]
        assert len(ends) == n * (n + 1) and ends[-1] == again.feature_from[number + 1] - again.feature_from[number]
        buffer = np.zeros(100_000, np.uint64)
        gold = set(buffer[: tree_keys(example.atoms, make_guide(None), example.heads, buffer)].tolist())
        own = again.features[again.feature_from[number] : again.feature_from[number + 1]]
        starts = np.concatenate([[0], ends[:-1]])
        links = [int(head) * n + d - 1 for d, head in enumerate(example.heads[1:], 1)]
        assert {int(keys[f]) for link in links for f in own[starts[link] : ends[link]]} == gold
    empty = write_listing(examples, np.zeros(0, np.uint64), tmp_path / "empty")
    assert len(empty.features) == 0 and not empty.ends.any()


def test_labels_are_listed_by_frequency() -> None:
    assert label_list([("b", "root", "c"), ("c", "a", "root")]) == ("root", "c", "a", "b")
    assert label_list([("root",)]) == ("root",)


def test_labels_are_learned() -> None:
    train = sentences()
    labels, examples = [sentence.labels for sentence in train], examples_of(train)
    names = label_list(labels)
    options = replace(FEW, label_epochs=6, label_members=2)
    keys, weights = train_labels(examples, labels, names, options)
    assert weights.shape == (len(keys), len(names)) and not weights[:, 0].any(), "the root's is never a guess"
    members = [train_labels(examples, labels, names, replace(options, label_members=1))[1], weights * 2]
    assert not np.array_equal(*members), "another member has another shuffle"
    fewer, _ = train_labels(examples, labels, names, replace(options, label_min_count=3))
    assert 0 < len(fewer) < len(keys) and np.isin(fewer, keys).all()


@pytest.mark.parametrize("least", [1, 2, 4])
def test_labels_are_learned_from_the_features_of_each_link(least: int) -> None:
    """Some links have no feature that is frequent enough."""
    train = sentences()
    labels, examples = [sentence.labels for sentence in train], examples_of(train)
    names = label_list(labels)
    options = replace(FEW, label_epochs=2, label_min_count=least)
    keys, weights = train_labels(examples, labels, names, options)
    lists = []
    for example in examples:
        n = len(example.heads) - 1
        written, ends = np.zeros(n * MAX_LABEL_KEYS, np.uint64), np.zeros(n + 1, np.int64)
        tree_label_keys(example.atoms, make_guide(example.heads), written, ends)
        lists += [written[ends[d - 1] : ends[d]].tolist() for d in range(1, n + 1)]
    features = numbered(lists, {key: number for number, key in enumerate(keys.tolist())})
    gold = [names.index(label) for own in labels for label in own]
    links = np.flatnonzero(gold)
    expected: LabelWeights = {}
    total: LabelWeights = {}
    for epoch in range(2):
        order = np.random.default_rng((options.seed, 1000, 0, epoch)).permutation(links).tolist()
        label_online_pass(order, features, gold, list(range(1, len(names))), expected, total)
    assert np.allclose(weights, label_array(total, weights.shape) / (2 * len(links) + 1), atol=1e-5)
