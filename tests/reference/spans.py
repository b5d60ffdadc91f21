"""Reference implementation of the span network's kernels, by numpy and by enumeration."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np

from spacy_dtparse.span_parser.kernels.network import SpanNetwork

LEAK = 0.1


@cache
def binary_trees(start: int, end: int) -> tuple[frozenset[tuple[int, int]], ...]:
    """All binary trees over [start, end) as sets of spans, tokens included."""
    if end - start == 1:
        return (frozenset({(start, end)}),)
    return tuple(
        left | right | {(start, end)}
        for cut in range(start + 1, end)
        for left, right in product(binary_trees(start, cut), binary_trees(cut, end))
    )


def tree_score(tree: frozenset[tuple[int, int]], scores: np.ndarray) -> float:
    """The sum over spans of two or more tokens."""
    return float(sum(scores[i, j] for i, j in tree if j - i > 1))


def posteriors(scores: np.ndarray) -> tuple[float, np.ndarray]:
    """(log of the sum over all trees, posterior of every span of two or more tokens)."""
    n = len(scores) - 1
    trees = binary_trees(0, n)
    logs = np.array([tree_score(tree, scores) for tree in trees])
    total = float(np.logaddexp.reduce(logs))
    found = np.zeros((n + 1, n + 1))
    for tree, log in zip(trees, logs, strict=True):
        for i, j in tree:
            if j - i > 1:
                found[i, j] += math.exp(log - total)
    return total, found


def not_crossing(spans: list[tuple[int, int]]) -> list[bool]:
    """Whether each span is selected: it is if it crosses no span selected before it."""
    taken: list[tuple[int, int]] = []
    found = []
    for i, j in spans:
        found.append(not any(a < i < b < j or i < a < j < b for a, b in taken))
        taken += [(i, j)] if found[-1] else []
    return found


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def run_units(numbers, inputs, recurrent, bias):
    """(states, outputs) of one sentence; float64."""
    n, _, _, d = numbers.shape
    states, outputs = np.zeros((n, 2, d)), np.zeros((n, 2, d))
    for q in range(2):
        before = np.zeros(d)
        for t in range(n) if q == 0 else reversed(range(n)):
            forget = logistic(numbers[t, q, 1] + recurrent[q, 0] * before + bias[q, 0])
            reset = logistic(numbers[t, q, 2] + recurrent[q, 1] * before + bias[q, 1])
            before = forget * before + (1 - forget) * numbers[t, q, 0]
            states[t, q] = before
            outputs[t, q] = reset * before + (1 - reset) * inputs[t, q]
    return states, outputs


def rectified(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, LEAK * x)


def int8_product(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x @ weights, the rows of x and the columns of the weights rounded to 127 steps on each side of 0; float64."""
    steps = np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-30) / 127
    column_steps = np.maximum(np.abs(weights).max(axis=0), 1e-30) / 127
    return (np.rint(x / steps) @ np.rint(weights / column_steps)) * steps * column_steps


def read_layers(network, numbers: np.ndarray) -> np.ndarray:
    """The outputs of the last layer of a network for a sentence, (tokens, 2 d); float64."""
    x = (network.table[numbers].astype(float) * network.factor[numbers][..., None]).sum(axis=1)
    d = network.recurrent.shape[3]
    for layer, weights in enumerate(network.weights):
        units = int8_product(x, weights).reshape(len(x), 2, -1, d)
        carried = units[:, :, 3] if units.shape[2] == 4 else x.reshape(len(x), 2, d)
        _, outputs = run_units(units, carried, network.recurrent[layer], network.bias[layer])
        x = outputs.reshape(len(x), 2 * d)
    return x


def read(network: SpanNetwork, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(scores of spans (n + 1, n + 1), left and right label projections) of a sentence; float64."""
    x, d = read_layers(network, numbers), network.recurrent.shape[3]
    gaps = np.hstack([x[:-1, :d], x[1:, d:]])
    m = len(network.from_left)
    left, right, label_left, label_right = (
        int8_product(gaps, network.edges[:, k * m : (k + 1) * m])
        + (network.edge_bias[k * m : (k + 1) * m] if k < 3 else 0)
        for k in range(4)
    )
    left, right = rectified(left), rectified(right)
    scores = left @ network.bilinear @ right.T + left @ network.from_left[:, None] + right @ network.from_right
    return scores, label_left, label_right


def label_logs(network: SpanNetwork, label_left: np.ndarray, label_right: np.ndarray, i: int, j: int) -> np.ndarray:
    """Unnormalised log-probabilities of the labels of span [i, j)."""
    return rectified(label_left[i] + label_right[j]) @ network.labels + network.label_bias


def sets_of_options(chosen: list[tuple[int, int, float]]) -> list[tuple[float, frozenset[int]]]:
    """(What it gains, its options by number) of all sets of options (start, end, gain) of which no two cross or have
    the same span, best first."""
    found = []
    for mask in range(1 << len(chosen)):
        own = [number for number in range(len(chosen)) if mask >> number & 1]
        pairs = [(chosen[a][:2], chosen[b][:2]) for a in own for b in own if a < b]
        if all(x != y and not (x[0] < y[0] < x[1] < y[1] or y[0] < x[0] < y[1] < x[1]) for x, y in pairs):
            found.append((sum(chosen[number][2] for number in own), frozenset(own)))
    return sorted(found, key=lambda one: -one[0])
