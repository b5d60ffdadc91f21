"""Reference implementation of the log-linear tagger: integer features by hand, all label sequences by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

Atoms = Sequence[Sequence[int]]
Weights = dict[int, dict[int, float]]
WINDOW_WORDS = {1: 0, 2: -1, 3: 1, 4: -2, 5: 2}
WINDOW_TAGS = {6: 0, 7: -1, 8: 1, 9: -2, 10: 2}
TAG_PAIRS = {11: (-1, 0), 12: (0, 1), 13: (-2, -1), 14: (1, 2), 15: (-1, 1)}
TAG_TRIPLES = {16: (-1, 0, 1), 17: (-2, -1, 0), 18: (0, 1, 2)}
WORD_AND_TAG = {19: (0, 0), 20: (-1, 0), 21: (1, 0), 22: (0, -1), 23: (0, 1)}
WORD_PAIRS = {24: (-1, 0), 25: (0, 1)}


def _key(template: int, first: int, second: int) -> list[int]:
    return [template * 2**48 + first * 2**24 + second] if first > 0 and second > 0 else []


def _key_of_four(template: int, *parts: int) -> list[int]:
    number = 0
    for part in parts:
        number = number * 4096 + part
    return [template * 2**48 + number] if min(parts) > 0 else []


def _joined(first: int, second: int) -> int:
    return first * 4096 + second if first > 0 and second > 0 else 0


def token_features(atoms: Atoms, row: int) -> list[int]:
    """The keys of a token's features without labels."""

    def word(offset: int) -> int:
        return atoms[row + offset][0]

    def tag(offset: int) -> int:
        return atoms[row + offset][1]

    found: list[int] = []
    for template, offset in WINDOW_WORDS.items():
        found += _key(template, 1, word(offset))
    for template, offset in WINDOW_TAGS.items():
        found += _key(template, 1, tag(offset))
    for template, (first, second) in TAG_PAIRS.items():
        found += _key(template, tag(first), tag(second))
    for template, (first, second, third) in TAG_TRIPLES.items():
        found += _key(template, _joined(tag(first), tag(second)), tag(third))
    for template, (of_word, of_tag) in WORD_AND_TAG.items():
        found += _key(template, word(of_word), tag(of_tag))
    for template, (first, second) in WORD_PAIRS.items():
        found += _key(template, word(first), word(second))
    for number, atom in enumerate(atoms[row][3:]):  # shape, four prefixes, four suffixes
        found += _key(26 + number, 1, atom)
    return found


def history_features(atoms: Atoms, row: int, last: int, second: int) -> list[int]:
    """The keys of a token's features with the atoms of the labels before it."""
    word, tag, following = atoms[row][0], atoms[row][1], atoms[row + 1][1]
    return [
        *_key(64, 1, last),
        *_key(65, second, last),
        *_key(66, last, tag),
        *_key(67, word, last),
        *_key_of_four(68, 1, second, last, tag),
        *_key_of_four(69, 1, last, tag, following),
    ]


def score(atoms: Atoms, row: int, last: int, second: int, weights: Weights, label: int) -> float:
    """The sum of weights of a label."""
    keys = token_features(atoms, row) + history_features(atoms, row, last, second)
    return math.fsum(weights.get(key, {}).get(label, 0.0) for key in keys)


def distribution(
    atoms: Atoms, row: int, last: int, second: int, weights: Weights, allowed: Sequence[int], scale: float
) -> dict[int, float]:
    """The probability of each allowed label given the labels before."""
    values = {label: math.exp(scale * score(atoms, row, last, second, weights, label)) for label in allowed}
    return {label: value / sum(values.values()) for label, value in values.items()}


def by_enumeration(
    atoms: Atoms, weights: Weights, allowed: Sequence[Sequence[int]], scale: float
) -> tuple[list[dict[int, float]], tuple[int, ...]]:
    """(The probability of each token's labels, the most probable sequence) over all sequences."""
    marginals: list[dict[int, float]] = [dict.fromkeys(labels, 0.0) for labels in allowed]
    best: tuple[float, tuple[int, ...]] = (-1.0, ())
    for sequence in itertools.product(*allowed):
        chance, last, second = 1.0, 1, 1
        for place, label in enumerate(sequence):
            chance *= distribution(atoms, place + 2, last, second, weights, allowed[place], scale)[label]
            last, second = label + 2, last
        for place, label in enumerate(sequence):
            marginals[place][label] += chance
        best = max(best, (chance, sequence), key=lambda pair: pair[0])
    return marginals, best[1]


def by_beam(
    atoms: Atoms, weights: Weights, allowed: Sequence[Sequence[int]], scale: float, beam: int, share: float
) -> list[dict[int, float]]:
    """The probability of each token's labels if only the likeliest pairs of labels are extended."""
    states = {(1, 1): 1.0}
    marginals = []
    for place, labels in enumerate(allowed):
        sums: dict[tuple[int, int], float] = {}
        for (last, second), chance in states.items():
            for label, own in distribution(atoms, place + 2, last, second, weights, labels, scale).items():
                sums[label + 2, last] = sums.get((label + 2, last), 0.0) + chance * own
        total = sum(sums.values())
        marginals.append({label: sum(v for (a, _), v in sums.items() if a == label + 2) / total for label in labels})
        kept = sorted(sums.items(), key=lambda item: -item[1])[:beam]
        kept = [(pair, chance) for pair, chance in kept if chance >= share * kept[0][1]]
        states = {pair: chance / sum(c for _, c in kept) for pair, chance in kept}
    return marginals


def labels_within_beta(probs: dict[int, float], beta: float) -> list[int]:
    """The labels within a factor of the best one, best first."""
    most = max(probs.values())
    return sorted((k for k in probs if probs[k] >= beta * most and probs[k] > 0), key=lambda k: (-probs[k], k))


def online_epoch(
    sentences: Sequence[tuple[Atoms, Sequence[int]]],
    allowed: Sequence[Sequence[Sequence[int]]],
    weights: Weights,
    greedy: bool,
    step: float,
) -> tuple[int, Weights, list[tuple[int, int]]]:
    """One pass of the perceptron (`step` 0) or of MIRA over sentences of atoms and labels; `weights` are changed where
    there are some. Returns (wrong labels, the sum of all weights after each token, pairs that have no weight)."""
    wrong, sums = 0, {key: dict.fromkeys(row, 0.0) for key, row in weights.items()}
    missing: list[tuple[int, int]] = []
    for (atoms, gold), own_allowed in zip(sentences, allowed, strict=True):
        last = second = 1
        for place, right in enumerate(gold):
            row = place + 2
            keys = token_features(atoms, row) + history_features(atoms, row, last, second)
            keys = [key for key in keys if key in weights]
            scores = {k: math.fsum(weights[key].get(k, 0.0) for key in keys) for k in (*own_allowed[place], right)}
            rivals = sorted((k for k in own_allowed[place] if k != right), key=lambda k: (-scores[k], k))
            chosen, amount = right, 0.0
            if rivals:
                rival = rivals[0]
                if (scores[rival], -rival) > (scores[right], -right):
                    chosen = rival
                if step:
                    both = sum((right in weights[key]) + (rival in weights[key]) for key in keys)
                    margin = scores[right] - scores[rival]
                    amount = min(step, (1 - margin) / max(both, 1)) if margin < 1 else 0.0
                else:
                    amount = float(chosen != right)
            if amount > 0:
                for label, change in ((right, amount), (rival, -amount)):
                    for key in keys:
                        if label in weights[key]:
                            weights[key][label] += change
                        else:
                            missing.append((key, label))
            wrong += chosen != right
            for key, row_weights in weights.items():
                for label, weight in row_weights.items():
                    sums[key][label] += weight
            last, second = (chosen if greedy else right) + 2, last
    return wrong, sums, missing
