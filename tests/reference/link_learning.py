"""Reference implementation of the learners of links and of their labels: sums of dictionaries, naive averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference.dependencies import Heads, best_trees

Lists = Mapping[tuple[int, int], Sequence[int]]
"""Features of each link (head, dependent) of a sentence."""


def online_pass(
    order: Sequence[int],
    sentences: Sequence[tuple[Lists, Heads]],
    weights: dict[int, float],
    projective: bool,
    total: dict[int, float],
    most: float | None = None,
) -> int:
    """One pass of the perceptron, or, with steps of at most `most`, of MIRA; returns the number of wrong links.

    `weights` change, and after each sentence all of them are added to `total`.
    """
    wrong = 0
    for number in order:
        lists, gold = sentences[number]
        scores = np.full((len(gold), len(gold)), -np.inf)
        for link, features in lists.items():
            scores[link] = sum(weights.get(feature, 0.0) for feature in features)
        ((found, _),) = best_trees(scores, projective)
        missed = [d for d in range(1, len(gold)) if found[d] != gold[d]]
        change: dict[int, float] = {}
        for d in missed:
            for head, sign in ((gold[d], 1.0), (found[d], -1.0)):
                for feature in lists[head, d]:
                    change[feature] = change.get(feature, 0.0) + sign
        step = 1.0
        squares = sum(value * value for value in change.values())
        if most is not None:
            margin = sum(value * weights.get(feature, 0.0) for feature, value in change.items())
            step = min(most, (len(missed) - margin) / squares) if squares else 0.0
        for feature, value in change.items():
            weights[feature] = weights.get(feature, 0.0) + step * value
        for feature, value in weights.items():
            total[feature] = total.get(feature, 0.0) + value
        wrong += len(missed)
    return wrong


def numbered(lists: Sequence[Sequence[int]], numbers: Mapping[int, int]) -> list[list[int]]:
    """The numbers of those keys of each link that have one."""
    return [[numbers[key] for key in keys if key in numbers] for keys in lists]


LabelWeights = dict[tuple[int, int], float]
"""Weights of (feature, label)."""


def label_online_pass(
    order: Sequence[int],
    lists: Sequence[Sequence[int]],
    gold: Sequence[int],
    labels: Sequence[int],
    weights: LabelWeights,
    total: LabelWeights,
) -> int:
    """One pass of the perceptron over links; of `labels` the first of the best is the guess. Returns the number of
    wrong ones; `weights` change, and after each link all of them are added to `total`."""
    wrong = 0
    for link in order:
        scores = {label: sum(weights.get((feature, label), 0.0) for feature in lists[link]) for label in labels}
        guess = next(label for label in labels if scores[label] == max(scores.values()))
        if guess != gold[link]:
            wrong += 1
            for feature in lists[link]:
                for label, sign in ((gold[link], 1.0), (guess, -1.0)):
                    weights[feature, label] = weights.get((feature, label), 0.0) + sign
        for pair, value in weights.items():
            total[pair] = total.get(pair, 0.0) + value
    return wrong
