"""Decoding with latent annotations: the calls of the kernels, and the product of several grammars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, OFFSET, SCORE
from ...kernels.latent import (
    ANCHOR,
    UNARY,
    WORD,
    LatentRules,
    best_tree,
    latent_inside,
    latent_outside,
    lay_out,
)

LEAST = 1e-7
"""Rules with a smaller posterior are left out of trees; in a product such a rule has this posterior."""

NO_TREE = -2
_Vectors = Sequence[Sequence[tuple[int, np.ndarray]]]


class Step(NamedTuple):
    """A symbol of a tree over [start, end), and the log of the posterior of its expansion."""

    symbol: int
    start: int
    end: int
    posterior: float


class Decoded(NamedTuple):
    """The steps of a tree in pre-order, the log of the product of posteriors, and how many rules it was chosen from."""

    steps: list[Step]
    score: float
    n_rules: int


def spans_of_cells(n: int) -> np.ndarray:
    """int32 (cells, 2): the span of each cell of a sentence of n words."""
    ends = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    starts = np.arange(len(ends)) - ends * (ends - 1) // 2
    return np.stack([starts, ends], axis=1).astype(INDEX)


def posteriors(
    rules: LatentRules, vectors: _Vectors, allowed: np.ndarray, root: int, least: float = LEAST
) -> tuple[np.ndarray, float] | None:
    """(rules at their places with log posteriors (ANCHOR), log probability of the sentence); None: there is no tree.

    `vectors`: for each word its symbols with the word's probabilities under their latent values. `allowed` uint8
    (cells, S): which symbols may stand where.
    """
    n, (n_cells, n_symbols) = len(vectors), allowed.shape
    leaf_from = np.concatenate([[0], np.cumsum([len(word) for word in vectors])]).astype(INDEX)
    flat = [entry for word in vectors for entry in word]
    emissions = np.concatenate([vector for _, vector in flat]) if flat else np.zeros(0)
    places = np.cumsum([0, *(len(vector) for _, vector in flat)])
    leaves = np.array([(symbol, at) for (symbol, _), at in zip(flat, places, strict=False)], dtype=INDEX).reshape(-1, 2)
    where = np.empty((n_cells, n_symbols), dtype=INDEX)
    symbols, symbol_from = np.empty(int(np.count_nonzero(allowed)), dtype=INDEX), np.empty(n_cells + 1, dtype=INDEX)
    length = int(lay_out(allowed, rules.sizes, where, symbols, symbol_from))
    base, whole, above, anywhere = (np.empty(length, dtype=SCORE) for _ in range(4))
    scale, spare = np.empty(n_cells, dtype=OFFSET), np.empty(max(int(rules.sizes.sum()), 1), dtype=SCORE)
    chart = (where, symbols, symbol_from, base, whole, scale)
    latent_inside(rules, leaves, leaf_from, emissions, *chart, spare)
    room = 1 << 14
    while True:
        anchors = np.empty(room, dtype=ANCHOR)
        count = int(latent_outside(rules, n, root, least, *chart, above, anywhere, spare, anchors))
        if count == NO_TREE:
            return None
        if count >= 0:
            top = n * (n - 1) // 2
            return anchors[:count], float(np.log(whole[where[top, root]]) + scale[top] * np.log(2.0))
        room *= 4


def narrowed(rules: LatentRules, anchors: np.ndarray, allowed: np.ndarray, least: float) -> np.ndarray:
    """`allowed` without the symbols whose posterior in a cell is below `least`."""
    number, words = anchors["rule"], anchors["split"] == WORD
    symbol = np.where(words, number, rules.parent[np.where(words, 0, number)])
    mass = np.zeros(allowed.shape, dtype=SCORE)
    np.add.at(mass, (anchors["cell"], symbol), np.exp(anchors["posterior"]))
    return (allowed.astype(bool) & (mass >= least)).astype(np.uint8)


def _product(parts: Sequence[tuple[LatentRules, np.ndarray]], cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rules int32 (R, 3), anchors with the sums of log posteriors): each anchor that some grammar has."""
    keys, logs = [], []
    for grammar, anchors in parts:
        number = anchors["rule"]
        words = anchors["split"] == WORD
        made = np.stack([grammar.parent[number % len(grammar.parent)], grammar.left[number % len(grammar.parent)],
                         grammar.right[number % len(grammar.parent)]], axis=1)  # fmt: skip
        made[words] = np.stack([number[words], number[words], np.full(int(words.sum()), -2)], axis=1)
        keys.append(np.concatenate([anchors["cell"][:, None], anchors["split"][:, None], made], axis=1))
        logs.append(anchors["posterior"])
    unique, inverse = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    total = np.full(len(unique), len(parts) * np.log(LEAST))
    np.add.at(total, inverse.ravel(), np.concatenate(logs) - np.log(LEAST))
    rules, rule_of = np.unique(unique[:, 2:], axis=0, return_inverse=True)
    out = np.empty(len(unique), dtype=ANCHOR)
    out["posterior"], out["cell"], out["split"] = total, unique[:, 0], unique[:, 1]
    out["rule"] = np.where(unique[:, 1] == WORD, unique[:, 2], rule_of.ravel())
    width = (cells[:, 1] - cells[:, 0])[out["cell"]]
    return rules.astype(INDEX), out[np.lexsort((out["cell"], -width))]


def decode(
    parts: Sequence[tuple[LatentRules, _Vectors]],
    allowed: np.ndarray,
    root: int,
    pruners: Sequence[tuple[LatentRules, _Vectors]] = (),
    prune: float = 0.0,
    narrow: float = 0.0,
) -> Decoded | None:
    """The tree with the greatest product, over grammars and over its rules, of the rules' posteriors; None where one of
    the grammars has no tree.

    `pruners`: smaller grammars that are asked first; what has a posterior below `prune` under one is left out of all
    that come after. `narrow`: the same for the grammars themselves.
    """
    n = len(parts[0][1])
    cells = spans_of_cells(n)
    for rules, vectors in pruners:
        made = posteriors(rules, vectors, allowed, root)
        if made is None:
            return None
        allowed = narrowed(rules, made[0], allowed, prune)
    found = []
    for rules, vectors in parts:
        made = posteriors(rules, vectors, allowed, root)
        if made is None:
            return None
        found.append((rules, made[0]))
        if len(found) < len(parts) and narrow > 0.0:
            allowed = narrowed(rules, made[0], allowed, narrow)
    if len(found) == 1:
        (rules, anchors) = found[0]
        table = np.stack([rules.parent, rules.left, rules.right], axis=1)
    else:
        table, anchors = _product(found, cells)
    score = np.empty(allowed.shape, dtype=SCORE)
    back = np.empty(allowed.shape, dtype=INDEX)
    parent, left, right = (np.ascontiguousarray(column) for column in table.T)
    best_tree(parent, left, right, anchors, len(anchors), cells, score, back)
    top = n * (n - 1) // 2
    if back[top, root] < 0:
        return None
    steps, stack = [], [(top, root)]
    while stack:
        cell, symbol = stack.pop()
        start, end = cells[cell].tolist()
        anchor = anchors[back[cell, symbol]]
        steps.append(Step(symbol, start, end, float(anchor["posterior"])))
        split, rule = int(anchor["split"]), int(anchor["rule"])
        if split == WORD:
            continue
        if split != UNARY:
            stack.append((end * (end - 1) // 2 + split, int(right[rule])))
        stack.append((cell if split == UNARY else split * (split - 1) // 2 + start, int(left[rule])))
    return Decoded(steps, float(score[top, root]), len(anchors))
