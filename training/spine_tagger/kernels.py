"""Features of labelled sentences, passes of online learners over them, and expectations of log-linear models. Sentences
are given as the arrays of `SequenceData`: atoms, starts, gold."""

from typing import NamedTuple

import numpy as np

from spacy_dtparse.jit.decorator import inner_kernel, kernel
from spacy_dtparse.linear.kernels.feature_table import find_features
from spacy_dtparse.spine_tagger import kernels as t

MAX_KEYS = t.MAX_TOKEN_KEYS + t.MAX_HISTORY_KEYS


class LearnerTables(NamedTuple):
    """TagTables of a learner: pairs have a label, int32, and a weight, float64; a sum of weights is a log
    probability."""

    slots: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    allowed_from: np.ndarray
    allowed: np.ndarray


@inner_kernel
def _all_keys(atoms, row, last, second, keys):
    """Write the keys of a token's features, given the labels before it; returns their number, at most MAX_KEYS."""
    return t.history_keys(atoms, row, last, second, keys, t.token_keys(atoms, row, keys))


@inner_kernel
def _score_labels(atoms, row, last, second, tables, keys, features, scores):
    """Write a token's features and the scores of all labels, float64 (L,); returns the number of features."""
    count = _all_keys(atoms, row, last, second, keys)
    count = find_features(keys, count, tables.slots, tables.numbers, features)
    scores[:] = 0.0
    for k in range(count):
        for pair in range(tables.starts[features[k]], tables.starts[features[k] + 1]):
            scores[tables.labels[pair]] += tables.weights[pair]
    return count


@kernel
def gold_features(data, first, last, slots, numbers, n_labels, buffer):
    """Write feature * n_labels + label for the features in the table of each token of sentences first to last - 1, with
    gold labels, to `buffer`, uint64 with MAX_KEYS entries per token; or, if there is no table (no slots), the keys of
    all features. Returns (their number, the maximum for a token)."""
    atoms, starts, gold = data
    features = np.empty(MAX_KEYS, np.int32)
    count, max_count = np.int64(0), np.int64(0)
    for sentence in range(first, last):
        for row in range(starts[sentence] + t.EDGE, starts[sentence + 1] - t.EDGE):
            keys = buffer[count:]
            found = _all_keys(atoms, row, gold[row - 1], gold[row - 2], keys)
            if slots.shape[0]:
                found = find_features(keys, found, slots, numbers, features)
                for k in range(found):
                    keys[k] = np.uint64(features[k]) * np.uint64(n_labels) + np.uint64(gold[row] - t.FIRST_LABEL)
            count += found
            max_count = max(max_count, np.int64(found))
    return count, max_count


@inner_kernel
def _pair(starts, labels, feature, label):
    """The index of a feature's pair with a label, -1 if there is none: by binary search, as a feature's pairs are
    sorted by label."""
    low, high = starts[feature], starts[feature + 1]
    while low < high:
        middle = (low + high) // 2
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low if low < starts[feature + 1] and labels[low] == label else -1


@inner_kernel
def _learn(features, count, tables, n_labels, right, wrong, step, clock, sums, missing, n_missing):
    """Add `step` to the weights of the right label, and subtract it from those of the wrong one; returns the new number
    of pairs in `missing`."""
    for label, amount in ((right, step), (wrong, -step)):
        for k in range(count):
            pair = _pair(tables.starts, tables.labels, features[k], label)
            if pair >= 0:
                tables.weights[pair] += amount
                sums[pair] += amount * clock
            elif n_missing < missing.shape[0]:
                missing[n_missing] = np.uint64(features[k]) * np.uint64(n_labels) + np.uint64(label)
                n_missing += 1
    return n_missing


@inner_kernel
def _both(features, count, tables, right, wrong):
    """The number of features with a weight for one label, plus the number with a weight for the other."""
    total = 0
    for k in range(count):
        for label in (right, wrong):
            total += _pair(tables.starts, tables.labels, features[k], label) >= 0
    return total


@kernel
def online_pass(order, data, tables, n_labels, sums, clock, greedy, step, missing):
    """One pass of an online learner, token by token: the perceptron if `step` is 0, else MIRA with steps of at most
    `step` and a margin of 1 (Crammer & Singer 2003); returns (wrong labels, clock, pairs in `missing`). `order`: order
    of the sentences. `greedy`: whether the labels before a token are predicted ones, else gold ones. The average of
    weights over tokens is weights - sums / clock; `clock` starts at 1.0 and counts tokens. `missing`: uint64, receives
    pairs to learn that have no weight, in the format of `gold_features`, until it is full."""
    atoms, starts, gold = data
    keys, features = np.empty(MAX_KEYS, np.uint64), np.empty(MAX_KEYS, np.int32)
    scores = np.empty(n_labels)
    wrong, n_missing = 0, 0
    for sentence in order:
        last, second = np.int32(t.START), np.int32(t.START)
        for row in range(starts[sentence] + t.EDGE, starts[sentence + 1] - t.EDGE):
            count = _score_labels(atoms, row, last, second, tables, keys, features, scores)
            right, rival = gold[row] - t.FIRST_LABEL, -1
            entry = atoms[row, t.ENTRY]
            for k in range(tables.allowed_from[entry], tables.allowed_from[entry + 1]):
                label = tables.allowed[k]
                if label != right and (rival < 0 or scores[label] > scores[rival]):
                    rival = label
            chosen = right
            if rival >= 0:
                margin = scores[right] - scores[rival]
                if margin < 0.0 or (margin == 0.0 and rival < right):
                    chosen = rival
                amount = 0.0
                if step == 0.0:
                    amount = 1.0 if chosen != right else 0.0
                elif margin < 1.0:
                    amount = min(step, (1.0 - margin) / max(_both(features, count, tables, right, rival), 1))
                wrong += chosen != right
                if amount > 0.0:
                    n_missing = _learn(
                        features, count, tables, n_labels, right, rival, amount, clock, sums, missing, n_missing
                    )
            clock += 1.0
            second, last = last, np.int32(t.FIRST_LABEL + chosen) if greedy else gold[row]
    return wrong, clock, n_missing


@kernel
def expectations(atoms, starts, gold, first, last, tables, n_labels, expected):
    """Add the expected counts of all pairs of a feature and a label in sentences first to last - 1, given the gold
    labels before each token, to `expected`, float64 (P,); returns the log likelihood of the gold labels."""
    keys, features = np.empty(MAX_KEYS, np.uint64), np.empty(MAX_KEYS, np.int32)
    scores, probs, by_label = np.empty(n_labels), np.empty(n_labels), np.zeros(n_labels)
    likelihood = 0.0
    for sentence in range(first, last):
        for row in range(starts[sentence] + t.EDGE, starts[sentence + 1] - t.EDGE):
            count = _score_labels(atoms, row, gold[row - 1], gold[row - 2], tables, keys, features, scores)
            entry = atoms[row, t.ENTRY]
            start, end = tables.allowed_from[entry], tables.allowed_from[entry + 1]
            normaliser = t.to_probabilities(scores, tables.allowed, start, end, 1.0, probs)
            likelihood += scores[gold[row] - t.FIRST_LABEL] - normaliser
            for k in range(start, end):
                by_label[tables.allowed[k]] = probs[k - start]
            for k in range(count):
                for pair in range(tables.starts[features[k]], tables.starts[features[k] + 1]):
                    expected[pair] += by_label[tables.labels[pair]]
            for k in range(start, end):
                by_label[tables.allowed[k]] = 0.0
    return likelihood
