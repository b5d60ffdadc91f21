"""Decoding with latent annotations: the calls of the kernels, and the product of several grammars."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX, OFFSET, SCORE
from .kernels.latent import ANCHOR, UNARY, WORD, LatentChart, LatentRules, latent_inside, lay_out
from .kernels.latent_outside import OutsideValues, latent_outside
from .kernels.latent_trees import max_rule_tree, read_tree

MIN_POSTERIOR = 1e-7
"""Minimum posterior of rules in trees; in a product, rules below it count with this posterior."""

NO_TREE = -2
_Word = Sequence[tuple[int, np.ndarray]]
"""The possible symbols of a word, each with the probabilities of the word under its latent values."""


class DecodingStep(NamedTuple):
    """A symbol of a tree over [start, end), and the log of the score of its expansion: its posterior, or, depending on
    the decoder, its fraction of the symbol's expansions or its probability."""

    symbol: int
    start: int
    end: int
    posterior: float


class Decoded(NamedTuple):
    """A tree: its steps in pre-order, the log of the decoder's objective, and the number of rules it was chosen
    from."""

    steps: list[DecodingStep]
    score: float
    n_rules: int


@lru_cache(maxsize=256)
def spans_of_cells(n: int) -> np.ndarray:
    """int32 (cells, 2), read-only: the span of each cell of a sentence of n words."""
    ends = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    starts = np.arange(len(ends)) - ends * (ends - 1) // 2
    cells = np.stack([starts, ends], axis=1).astype(INDEX)
    cells.setflags(write=False)
    return cells


class PackedForest(NamedTuple):
    """A packed forest: anchored rules (anchors), and the best tree of every symbol over every cell.

    `parent`, `left`, `right` int32 (R,): rules. `anchors` ANCHOR, cells from wide to narrow. `cells` int32 (cells, 2):
    spans. `score` float64 (cells, S): greatest log product, `back` int32 (cells, S): the anchor at its top, -1 none.
    `root`: the root symbol.
    """

    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    anchors: np.ndarray
    cells: np.ndarray
    score: np.ndarray
    back: np.ndarray
    root: int

    def parts(self, cell: int, anchor: int) -> tuple[tuple[int, int], ...]:
        """Return (cell, symbol) of the children of an anchor of a cell."""
        split, rule = int(self.anchors["split"][anchor]), int(self.anchors["rule"][anchor])
        if split == WORD:
            return ()
        if split == UNARY:
            return ((cell, int(self.left[rule])),)
        start, end = self.cells[cell].tolist()
        return (
            (split * (split - 1) // 2 + start, int(self.left[rule])),
            (end * (end - 1) // 2 + split, int(self.right[rule])),
        )

    def step(self, cell: int, symbol: int, anchor: int) -> DecodingStep:
        """Return the step of a symbol that an anchor expands."""
        start, end = self.cells[cell].tolist()
        return DecodingStep(symbol, start, end, float(self.anchors["posterior"][anchor]))


class Leaves(NamedTuple):
    """Words in the format of the kernels. `leaves` int32 (L, 2): symbols and offsets of their vectors in `emissions`
    float64; the leaves of word t are [leaf_from[t], leaf_from[t + 1])."""

    leaves: np.ndarray
    leaf_from: np.ndarray
    emissions: np.ndarray

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.leaf_from) - 1


class PackedWord(NamedTuple):
    """The leaves of a word as bytes, which are faster to join than arrays: number of symbols, total number of their
    values, the symbols and the offsets of their values int32 (symbols, 2), the values float64."""

    n_symbols: int
    n_values: int
    leaves: bytes
    values: bytes


def pack(word: _Word) -> PackedWord:
    """Pack the possible symbols of a word, with its probabilities under their latent values, for `join`."""
    leaves = np.zeros((len(word), 2), dtype=INDEX)
    leaves[:, 0] = [symbol for symbol, _ in word]
    leaves[1:, 1] = np.cumsum([len(vector) for _, vector in word[:-1]])
    values = np.concatenate([vector for _, vector in word]).astype(SCORE) if word else np.zeros(0)
    return PackedWord(len(word), len(values), leaves.tobytes(), values.tobytes())


def join(words: Sequence[PackedWord]) -> Leaves:
    """Join the leaves of words to those of a sentence."""
    counts, lengths, leaves_of, values_of = zip(*words, strict=True)
    leaf_from = np.zeros(len(words) + 1, dtype=INDEX)
    np.cumsum(counts, out=leaf_from[1:])
    leaves = np.frombuffer(bytearray().join(leaves_of), dtype=INDEX).reshape(-1, 2)
    leaves[:, 1] += np.repeat(np.cumsum(lengths) - lengths, counts).astype(INDEX)
    return Leaves(leaves, leaf_from, np.frombuffer(bytearray().join(values_of), dtype=SCORE))


def flatten(vectors: Sequence[_Word]) -> Leaves:
    """Concatenate the symbols of all words, with the word's probabilities under their latent values."""
    return join([pack(word) for word in vectors])


Vectors = Leaves | Sequence[_Word]
"""For each word its possible symbols, with its probabilities under their latent values."""


def leaves_of(vectors: Vectors) -> Leaves:
    """Return vectors in the format of the kernels."""
    return vectors if isinstance(vectors, Leaves) else flatten(vectors)


def allocate_chart(rules: LatentRules, allowed: np.ndarray) -> LatentChart:
    """Allocate a chart. `allowed` uint8 (cells, S): allowed symbols of each cell."""
    where, symbol_from = np.empty(allowed.shape, dtype=INDEX), np.empty(len(allowed) + 1, dtype=INDEX)
    symbols = np.empty(int(np.count_nonzero(allowed)), dtype=INDEX)
    length = int(lay_out(allowed, rules.sizes, where, symbols, symbol_from))
    base, whole = np.empty(length, dtype=SCORE), np.empty(length, dtype=SCORE)
    return LatentChart(where, symbols, symbol_from, base, whole, np.empty(len(where), dtype=OFFSET))


def posteriors(
    rules: LatentRules, vectors: Vectors, allowed: np.ndarray, root: int, min_posterior: float = MIN_POSTERIOR
) -> tuple[np.ndarray, float] | None:
    """Return (anchored rules with log posteriors (ANCHOR), log probability of the sentence); None if there is no tree.

    `vectors`: for each word its symbols with the word's probabilities under their latent values. `allowed` uint8
    (cells, S): allowed symbols of each cell.
    """
    words = leaves_of(vectors)
    n, chart = words.n_words, allocate_chart(rules, allowed)
    spare = np.empty(max(int(rules.sizes.sum()), 1), dtype=SCORE)
    outer = OutsideValues(np.empty_like(chart.whole), np.empty_like(chart.whole), spare)
    latent_inside(rules, words, chart, spare, np.empty((0, 2), dtype=INDEX))
    capacity = 1 << 14
    while True:
        anchors = np.empty(capacity, dtype=ANCHOR)
        count = int(latent_outside(rules, n, root, min_posterior, chart, outer, anchors))
        if count == NO_TREE:
            return None
        if count >= 0:
            top = n * (n - 1) // 2
            log = np.log(chart.whole[chart.where[top, root]]) + chart.scale[top] * np.log(2.0)
            return anchors[:count], float(log)
        capacity *= 4


def expected_counts(rules: LatentRules, anchors: np.ndarray, n_cells: int) -> np.ndarray:
    """float64 (cells, S): expected number of occurrences of each symbol over each cell."""
    counts = np.zeros((n_cells, len(rules.sizes)), dtype=SCORE)
    np.add.at(counts, (anchors["cell"], expanded_symbols(rules, anchors)), np.exp(anchors["posterior"]))
    return counts


def expanded_symbols(rules: LatentRules, anchors: np.ndarray) -> np.ndarray:
    """int (A,): the symbol that each anchor expands."""
    words = anchors["split"] == WORD
    return np.where(words, anchors["rule"], rules.parent[np.where(words, 0, anchors["rule"])])


def narrow_allowed(rules: LatentRules, anchors: np.ndarray, allowed: np.ndarray, min_posterior: float) -> np.ndarray:
    """Return `allowed` without the symbols whose posterior in a cell is below `min_posterior`."""
    counts = expected_counts(rules, anchors, len(allowed))
    return (allowed.astype(bool) & (counts >= min_posterior)).astype(np.uint8)


def _product(parts: Sequence[tuple[LatentRules, np.ndarray]], cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (rules int32 (R, 3), the union of all anchors with sums of log posteriors)."""
    keys, logs = [], []
    for grammar, anchors in parts:
        rule_ids = anchors["rule"]
        words = anchors["split"] == WORD
        anchor_rules = rule_ids % len(grammar.parent)
        triples = np.stack(
            [grammar.parent[anchor_rules], grammar.left[anchor_rules], grammar.right[anchor_rules]], axis=1
        )
        triples[words] = np.stack([rule_ids[words], rule_ids[words], np.full(int(words.sum()), -2)], axis=1)
        keys.append(np.concatenate([anchors["cell"][:, None], anchors["split"][:, None], triples], axis=1))
        logs.append(anchors["posterior"])
    unique, inverse = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    total = np.full(len(unique), len(parts) * np.log(MIN_POSTERIOR))
    np.add.at(total, inverse.ravel(), np.concatenate(logs) - np.log(MIN_POSTERIOR))
    rules, rule_of = np.unique(unique[:, 2:], axis=0, return_inverse=True)
    out = np.empty(len(unique), dtype=ANCHOR)
    out["posterior"], out["cell"], out["split"] = total, unique[:, 0], unique[:, 1]
    out["rule"] = np.where(unique[:, 1] == WORD, unique[:, 2], rule_of.ravel())
    width = (cells[:, 1] - cells[:, 0])[out["cell"]]
    return rules.astype(INDEX), out[np.lexsort((out["cell"], -width))]


def expansion_probs(rules: LatentRules, anchors: np.ndarray, n_symbols: int) -> np.ndarray:
    """Return the anchors with the logs of q (Matsuzaki et al. 2005, section 3.2) instead of posteriors.

    An item of the packed forest is a symbol over a cell. q of one of its expansions is the expected number of times
    that trees expand the item this way, divided by the expected number of times that trees have the item: the closed
    form of the distribution of this shape that is nearest to that of the trees (minimum KL(p || q)). In a chain of
    unary rules one item follows another in the same cell; a tree that has an item twice (a cycle) counts twice, in both
    numbers, which is still the closed form of q as a process from item to item. Expansions whose posterior is too small
    for an anchor are not in the forest.
    """
    symbol = expanded_symbols(rules, anchors)
    items, item_of = np.unique(anchors["cell"].astype(np.int64) * n_symbols + symbol, return_inverse=True)
    total = np.bincount(item_of.ravel(), np.exp(anchors["posterior"]), len(items))
    found = anchors.copy()
    found["posterior"] -= np.log(total)[item_of.ravel()]
    return found


def all_posteriors(
    parts: Sequence[tuple[LatentRules, Vectors]], allowed: np.ndarray, root: int, narrow: float = 0.0
) -> list[np.ndarray] | None:
    """Return the anchors of every grammar; None if one of them has no tree. `narrow`: symbols with a smaller posterior
    under one grammar are skipped in the next ones."""
    found: list[np.ndarray] = []
    for rules, vectors in parts:
        result = posteriors(rules, vectors, allowed, root)
        if result is None:
            return None
        found.append(result[0])
        if len(found) < len(parts) and narrow > 0.0:
            allowed = narrow_allowed(rules, result[0], allowed, narrow)
    return found


def forest(
    parts: Sequence[tuple[LatentRules, Vectors]],
    allowed: np.ndarray,
    root: int,
    narrow: float = 0.0,
    decoder: str = "max-rule",
) -> PackedForest | None:
    """Build the forest of anchored rules with the product, over grammars, of posteriors ("max-rule") or of
    `expansion_probs` ("q"), and the best trees; None if one of the grammars has no tree. `narrow`: see
    `all_posteriors`."""
    found = all_posteriors(parts, allowed, root, narrow)
    if found is None:
        return None
    if decoder == "q":
        found = [
            expansion_probs(rules, anchors, allowed.shape[1]) for (rules, _), anchors in zip(parts, found, strict=True)
        ]
    n = leaves_of(parts[0][1]).n_words
    cells = spans_of_cells(n)
    if len(found) == 1:
        [(rules, _)], [anchors] = parts, found
        table = np.stack([rules.parent, rules.left, rules.right], axis=1)
    else:
        table, anchors = _product([(rules, anchored) for (rules, _), anchored in zip(parts, found, strict=True)], cells)
    score = np.empty(allowed.shape, dtype=SCORE)
    back = np.empty(allowed.shape, dtype=INDEX)
    parent, left, right = (np.ascontiguousarray(column) for column in table.T)
    max_rule_tree(parent, left, right, anchors, len(anchors), cells, score, back)
    return (
        PackedForest(parent, left, right, anchors, cells, score, back, root)
        if back[len(cells) - n, root] >= 0
        else None
    )


def best(found: PackedForest) -> Decoded:
    """Return the best tree of a forest."""
    top = len(found.cells) - int(found.cells[-1, 1])
    length = 4 * int(found.cells[-1, 1]) + 64
    while True:
        steps = np.empty((length, 2), dtype=INDEX)
        count = int(read_tree(found.left, found.right, found.anchors, found.cells, found.back, top, found.root, steps))
        if count >= 0:
            break
        length *= 2
    cells, symbols = steps[:count].T
    anchors = found.back[cells, symbols]
    columns = (symbols, *found.cells[cells].T, found.anchors["posterior"][anchors])
    named = [DecodingStep(*entry) for entry in zip(*(column.tolist() for column in columns), strict=True)]
    return Decoded(named, float(found.score[top, found.root]), len(found.anchors))
