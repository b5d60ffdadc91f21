"""Passes of online learners over the listed features of dependencies (links), and of label features."""

import numpy as np

from spacy_dtparse.bpm_parser.kernels.link_labels import best_label
from spacy_dtparse.bpm_parser.kernels.spanning import projective_tree, spanning_tree
from spacy_dtparse.jit.decorator import inner_kernel, kernel


@kernel
def _decode(features, ends, n, weights, projective):
    """Decode a sentence: (scores of its links, float64 (n + 1, n + 1), from its lists (see
    `bpm_parser.kernels.links.list_features`); heads of the best tree, int32 (n + 1,))."""
    scores, found = np.zeros((n + 1, n + 1)), np.empty(n + 1, np.int32)
    first = np.int64(0)
    for h in range(n + 1):
        for d in range(1, n + 1):
            end = np.int64(ends[h * n + d - 1])
            total = 0.0
            for k in range(first, end):
                total += weights[features[k]]
            scores[h, d] = total
            first = end
    if projective:
        projective_tree(scores, found)
    else:
        spanning_tree(scores, found)
    return scores, found


@inner_kernel
def _feature_range(ends, n, h, d):
    """(First, end) of a link's features."""
    link = h * n + d - 1
    return np.int64(ends[link - 1]) if link > 0 else np.int64(0), np.int64(ends[link])


@inner_kernel
def _prefer(features, ends, heads, found, d, amount, values):
    """Add `amount` to the values of the gold link's features, and subtract it from those of the predicted link."""
    for h, change in ((heads[d], amount), (found[d], -amount)):
        first, end = _feature_range(ends, heads.shape[0] - 1, h, d)
        for k in range(first, end):
            values[features[k]] += change


@inner_kernel
def _mira_step(features, ends, heads, found, loss, margin, max_step, change):
    """The shortest step, at most `max_step`, after which the gold tree is better than the predicted one by `loss`."""
    n, squares = heads.shape[0] - 1, 0.0
    for d in range(1, n + 1):
        if found[d] != heads[d]:
            _prefer(features, ends, heads, found, d, 1.0, change)
    for d in range(1, n + 1):
        if found[d] != heads[d]:
            for h in (heads[d], found[d]):
                first, end = _feature_range(ends, n, h, d)
                for k in range(first, end):
                    squares += change[features[k]] * change[features[k]]
                    change[features[k]] = 0.0  # so a feature of two links counts once, and all are 0 at the end
    return min(max_step, (loss - margin) / squares) if squares > 0.0 else 0.0


@kernel
def link_pass(order, listing, weights, sums, clock, projective, max_step, change):
    """One pass of a learner that updates for each wrong link of the best tree: the perceptron if `max_step` is 0, else
    single-best MIRA (McDonald, Crammer & Pereira 2005) with steps of at most `max_step`; returns (wrong links, clock).
    `listing`: see `learning.FeatureListing`. `order`: order of the sentences. The average of `weights` over sentences
    is weights - sums / clock; `clock` starts at 1.0 and counts sentences. `change`: workspace of MIRA, float64 zeros,
    as many as weights."""
    features, feature_from, ends, end_from, gold, gold_from = listing
    wrong = 0
    for i in order:
        sentence_features = features[feature_from[i] : feature_from[i + 1]]
        sentence_ends = ends[end_from[i] : end_from[i + 1]]
        heads = gold[gold_from[i] : gold_from[i + 1]]
        n = heads.shape[0] - 1
        scores, found = _decode(sentence_features, sentence_ends, n, weights, projective)
        loss, margin = 0, 0.0
        for d in range(1, n + 1):
            if found[d] != heads[d]:
                loss += 1
                margin += scores[heads[d], d] - scores[found[d], d]
        wrong += loss
        step = 1.0
        if loss and max_step > 0.0:
            step = _mira_step(sentence_features, sentence_ends, heads, found, loss, margin, max_step, change)
        for d in range(1, n + 1):
            if found[d] != heads[d]:
                _prefer(sentence_features, sentence_ends, heads, found, d, step, weights)
                _prefer(sentence_features, sentence_ends, heads, found, d, step * clock, sums)
        clock += 1.0
    return wrong, clock


@kernel
def label_pass(order, features, feature_from, gold, root_label, weights, sums, clock):
    """One pass of the perceptron over links to learn their labels; returns (wrong labels, clock). Link i has
    features[feature_from[i]:feature_from[i + 1]] and the label gold[i]; `root_label` is never predicted. `weights`,
    `sums`: float32 (features, labels); otherwise as `link_pass`."""
    wrong, n_labels = 0, weights.shape[1]
    scores = np.empty(n_labels)
    for i in order:
        scores[:] = 0.0
        first, last = feature_from[i], feature_from[i + 1]
        for k in range(first, last):
            for label in range(n_labels):
                scores[label] += weights[features[k], label]
        best = best_label(scores, root_label)
        if best != gold[i]:
            wrong += 1
            for k in range(first, last):
                weights[features[k], gold[i]] += np.float32(1.0)
                weights[features[k], best] -= np.float32(1.0)
                sums[features[k], gold[i]] += np.float32(clock)
                sums[features[k], best] -= np.float32(clock)
        clock += 1.0
    return wrong, clock
