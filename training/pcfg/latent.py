"""Grammars with latent annotations: their tables, and the steps of EM, splitting, merging and smoothing.

Matsuzaki, Miyao & Tsujii (2005) give every symbol the same number of latent values and let EM find what they mean;
Petrov, Barrett, Thibaux & Klein (2006) split in two, train, and take back the half of the splits that helped least.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET, SCORE
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.model.segments import any_positive

from .binarise import BinaryTree, Symbol
from .latent_kernels import expect, likelihood, merge_losses

CHUNKS = 16
"""Expected counts are added up by so many chunks of trees, in order: the same sums with any number of threads."""

TINY = 1e-10
"""Probabilities below this become 0."""


class LatentTrees(NamedTuple):
    """T trees, node after node in pre-order.

    `start` int64 (T + 1,): a tree's first node. `symbol` int32 (N,). `left`, `right` int32 (N,): children, counted from
    the tree's first node, -1 for none. `rule` int32 (N,): number of the rule, or of a word's pair (tag, class).
    """

    start: np.ndarray
    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    rule: np.ndarray

    @property
    def longest(self) -> int:
        """Most nodes of a tree."""
        return int(np.diff(self.start).max(initial=0))


@dataclass(frozen=True)
class Backbone:
    """What the treebank fixes. `symbols`: S of them. `rules` int32 (R, 3): parent, left, right (-1: unary). `pairs`
    int32 (P, 2): tag, word class. `root`: number of the root symbol."""

    symbols: tuple[Symbol, ...]
    rules: np.ndarray
    pairs: np.ndarray
    root: int

    @property
    def is_tag(self) -> np.ndarray:
        """bool (S,)"""
        found = np.zeros(len(self.symbols), dtype=bool)
        found[self.pairs[:, 0]] = True
        return found


def read_trees(
    trees: Sequence[BinaryTree], classes: Sequence[Sequence[int]], known: Backbone | None = None
) -> tuple[Backbone, LatentTrees, int]:
    """(backbone, trees, trees left out): the tables of binarised trees whose words have the given classes.

    With a `known` backbone trees that have other symbols, rules or words are left out. Raises TrainingDataError when
    there is no tree.
    """
    if known is None:
        if not trees:
            raise TrainingDataError("there are no trees to learn a grammar from; give at least one")
        symbols = sorted({symbol for tree in trees for symbol in tree.symbols})
    else:
        symbols = list(known.symbols)
    number = {symbol: place for place, symbol in enumerate(symbols)}
    rule_of: dict[tuple[int, int, int], int] = {}
    pair_of: dict[tuple[int, int], int] = {}
    if known is not None:
        rule_of = {(a, b, c): k for k, (a, b, c) in enumerate(known.rules.tolist())}
        pair_of = {(a, b): k for k, (a, b) in enumerate(known.pairs.tolist())}
    start, symbol_column, left, right, rule = [0], [], [], [], []
    skipped = 0
    for tree, of in zip(trees, classes, strict=True):
        own = [number.get(symbol, -1) for symbol in tree.symbols]
        used = []
        for k, symbol in enumerate(own):
            if tree.token[k] >= 0:
                pair = (symbol, of[tree.token[k]])
                used.append(pair_of.get(pair, -1) if known else pair_of.setdefault(pair, len(pair_of)))
            else:
                made = (symbol, own[tree.left[k]], own[tree.right[k]] if tree.right[k] >= 0 else -1)
                used.append(rule_of.get(made, -1) if known else rule_of.setdefault(made, len(rule_of)))
        if min(used) < 0 or min(own) < 0:
            skipped += 1
            continue
        start.append(start[-1] + len(own))
        symbol_column += own
        left += tree.left
        right += tree.right
        rule += used
    if known is None:
        known = Backbone(
            tuple(symbols),
            np.array(list(rule_of), dtype=INDEX).reshape(-1, 3),
            np.array(list(pair_of), dtype=INDEX).reshape(-1, 2),
            number[trees[0].symbols[0]],
        )
    columns = (np.array(column, dtype=INDEX) for column in (symbol_column, left, right, rule))
    return known, LatentTrees(np.array(start, dtype=OFFSET), *columns), skipped


@dataclass(frozen=True)
class LatentGrammar:
    """`sizes` int32 (S,): latent values of each symbol. `rules`, `words` float64: probabilities in blocks (see
    `latent_kernels`), at `rule_at`, `word_at` int64."""

    backbone: Backbone
    sizes: np.ndarray
    rule_at: np.ndarray
    rules: np.ndarray
    word_at: np.ndarray
    words: np.ndarray

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(where each rule's rows begin int64 (R,), whether a row has a probability above 0 uint8 (rows,))."""
        wide = np.concatenate([self.sizes, [1]]).astype(OFFSET)
        n_rows, width = wide[self.backbone.rules[:, 1:]].prod(axis=1), wide[self.backbone.rules[:, 0]]
        row_at = np.cumsum(n_rows) - n_rows
        start = np.concatenate([[0], np.cumsum(np.repeat(width, n_rows))])
        return row_at, any_positive(self.rules, start).astype(np.uint8)

    @property
    def n_parameters(self) -> int:
        """Probabilities that are not 0."""
        return int(np.count_nonzero(self.rules) + np.count_nonzero(self.words))


def block_offsets(backbone: Backbone, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rule_at, word_at): where the blocks of rules and words begin; one entry more for the end."""
    wide = np.concatenate([sizes, [1]]).astype(OFFSET)  # -1, no right child, counts once
    lengths = wide[backbone.rules].prod(axis=1)
    rule_at = np.concatenate([[0], np.cumsum(lengths)]).astype(OFFSET)
    word_at = np.concatenate([[0], np.cumsum(wide[backbone.pairs[:, 0]])]).astype(OFFSET)
    return rule_at, word_at


def _parents(backbone: Backbone, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(of rules, of words, of symbols): the latent parent of every number in the blocks, numbered through all symbols;
    and where each symbol's latent values begin."""
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(OFFSET)
    found = []
    for table, at in zip((backbone.rules, backbone.pairs), block_offsets(backbone, sizes), strict=True):
        n = np.diff(at)
        parent = table[:, 0]
        inner = np.arange(int(at[-1])) - np.repeat(at[:-1], n)
        found.append(np.repeat(base[parent], n) + inner % np.repeat(sizes[parent].astype(OFFSET), n))
    return found[0], found[1], base


def normalised(backbone: Backbone, sizes: np.ndarray, counts: np.ndarray, word_counts: np.ndarray) -> LatentGrammar:
    """The grammar of relative frequencies: the M step. A latent symbol without counts gets none at all."""
    rule_at, word_at = block_offsets(backbone, sizes)
    of_rule, of_word, base = _parents(backbone, sizes)
    totals = np.bincount(of_rule, counts, int(base[-1])) + np.bincount(of_word, word_counts, int(base[-1]))
    share = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0.0)
    rules, words = counts * share[of_rule], word_counts * share[of_word]
    rules[rules < TINY] = 0.0
    words[words < TINY] = 0.0
    return LatentGrammar(backbone, sizes.astype(INDEX), rule_at, rules, word_at, words)


def treebank_grammar(backbone: Backbone, trees: LatentTrees) -> LatentGrammar:
    """One latent value per symbol: relative frequencies."""
    sizes = np.ones(len(backbone.symbols), dtype=INDEX)
    is_word = trees.left < 0
    counts = np.bincount(trees.rule[~is_word], minlength=len(backbone.rules)).astype(SCORE)
    word_counts = np.bincount(trees.rule[is_word], minlength=len(backbone.pairs)).astype(SCORE)
    return normalised(backbone, sizes, counts, word_counts)


class Expected(NamedTuple):
    """Expected counts (shaped like a grammar's rules and words), log likelihood, trees without probability."""

    rules: np.ndarray
    words: np.ndarray
    log: float
    lost: int


def _scratch(trees: LatentTrees, grammar: LatentGrammar) -> tuple[np.ndarray, ...]:
    n, k = max(trees.longest, 1), int(grammar.sizes.max())
    return np.zeros((n, k)), np.zeros((n, k)), np.zeros(n), np.zeros(n)


def _chunks(trees: LatentTrees) -> list[tuple[int, int]]:
    """Chunks of trees with about as many nodes each."""
    n = len(trees.start) - 1
    bounds = np.searchsorted(trees.start, np.linspace(0, int(trees.start[-1]), CHUNKS + 1))
    bounds[0], bounds[-1] = 0, n
    return [(int(a), int(b)) for a, b in itertools.pairwise(bounds) if a < b]


def expectations(trees: LatentTrees, grammar: LatentGrammar, threads: int = 1) -> Expected:
    """The E step; the same sums to the bit with any number of threads."""

    def one(chunk: tuple[int, int]) -> Expected:
        counts, word_counts = np.zeros_like(grammar.rules), np.zeros_like(grammar.words)
        log, lost = expect(
            trees, *chunk, grammar.sizes, grammar.rule_at, grammar.rules, *grammar.rows, grammar.word_at, grammar.words,
            counts, word_counts, *_scratch(trees, grammar),
        )  # fmt: skip
        return Expected(counts, word_counts, log, int(lost))

    whole = Expected(np.zeros_like(grammar.rules), np.zeros_like(grammar.words), 0.0, 0)
    with ThreadPoolExecutor(threads) as pool:
        for part in _in_order(pool, one, _chunks(trees), threads):
            np.add(whole.rules, part.rules, out=whole.rules)
            np.add(whole.words, part.words, out=whole.words)
            whole = whole._replace(log=whole.log + part.log, lost=whole.lost + part.lost)
    return whole


def _in_order(
    pool: ThreadPoolExecutor, task: Callable, items: Sequence[tuple[int, int]], ahead: int
) -> Iterable[Expected]:
    """Results in the order of the items, few at a time: each holds arrays as large as the grammar."""
    waiting = []
    for item in items:
        waiting.append(pool.submit(task, item))
        if len(waiting) > ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def log_likelihood(trees: LatentTrees, grammar: LatentGrammar) -> tuple[float, int]:
    """(Log likelihood, trees without probability, which are not counted.)"""
    inside, _, factor, _ = _scratch(trees, grammar)
    n = len(trees.start) - 1
    return likelihood(
        trees, 0, n, grammar.sizes, grammar.rule_at, grammar.rules, *grammar.rows, grammar.word_at, grammar.words,
        inside, factor,
    )  # fmt: skip


def resized(grammar: LatentGrammar, sizes: np.ndarray, source: Sequence[np.ndarray], weights: Sequence[np.ndarray],
            spread: bool) -> LatentGrammar:  # fmt: skip
    """The grammar with other latent values: new value k of symbol X comes from `source[X][k]`.

    Splitting (`spread`): a child's probability is shared out by `weights[X][k]`. Merging: `source[X]` maps old values
    to new ones, children's probabilities add up, and parents' are averaged by `weights[X]`, of the old values.
    """
    backbone, old = grammar.backbone, grammar.sizes
    rule_at, word_at = block_offsets(backbone, sizes)
    rules, words = np.zeros(int(rule_at[-1])), np.zeros(int(word_at[-1]))
    maps = [_matrix(source[s], weights[s], int(old[s]), int(sizes[s]), spread) for s in range(len(sizes))]
    for r, (parent, left, right) in enumerate(backbone.rules.tolist()):
        block = grammar.rules[grammar.rule_at[r] : grammar.rule_at[r + 1]]
        if right < 0:
            new = maps[left][1].T @ block.reshape(old[left], old[parent]) @ maps[parent][0]
        else:
            new = block.reshape(old[left], old[right], old[parent])
            new = np.einsum("yzx,yb,zc,xa->bca", new, maps[left][1], maps[right][1], maps[parent][0], optimize=True)
        rules[rule_at[r] : rule_at[r + 1]] = new.ravel()
    for p, tag in enumerate(backbone.pairs[:, 0].tolist()):
        words[word_at[p] : word_at[p + 1]] = grammar.words[grammar.word_at[p] : grammar.word_at[p + 1]] @ maps[tag][0]
    return LatentGrammar(backbone, sizes.astype(INDEX), rule_at, rules, word_at, words)


def _matrix(source: np.ndarray, weight: np.ndarray, old: int, new: int, spread: bool) -> tuple[np.ndarray, np.ndarray]:
    """(for a parent, for a child): float64 (old, new)."""
    parent, child = np.zeros((old, new)), np.zeros((old, new))
    if spread:
        parent[source, np.arange(new)] = 1.0
        child[source, np.arange(new)] = weight
    else:
        totals = np.bincount(source, weight, new)
        share = np.divide(weight, totals[source], out=np.zeros(old), where=totals[source] > 0.0)
        parent[np.arange(old), source] = share
        child[np.arange(old), source] = 1.0
    return parent, child


def split(grammar: LatentGrammar, seed: int, noise: float = 0.01) -> LatentGrammar:
    """Every latent value but the root's in two, the numbers of each disturbed by up to `noise`, drawn with `seed`."""
    sizes = grammar.sizes * 2
    sizes[grammar.backbone.root] = 1
    source, weights = [], []
    for s, size in enumerate(sizes.tolist()):
        whole = s == grammar.backbone.root
        source.append(np.zeros(1, dtype=np.int64) if whole else np.arange(size) // 2)
        weights.append(np.ones(1) if whole else np.full(size, 0.5))
    return _disturbed(resized(grammar, sizes, source, weights, spread=True), seed, noise)


def spread(grammar: LatentGrammar, values: int, seed: int, noise: float = 0.01) -> LatentGrammar:
    """A treebank grammar with `values` latent values for every symbol but the root, the numbers of each disturbed by up
    to `noise`, drawn with `seed` (Matsuzaki et al. 2005, section 2.2)."""
    sizes = np.full(len(grammar.sizes), values, dtype=INDEX)
    sizes[grammar.backbone.root] = 1
    source = [np.zeros(size, dtype=np.int64) for size in sizes.tolist()]
    weights = [np.full(size, 1.0 / size) for size in sizes.tolist()]
    return _disturbed(resized(grammar, sizes, source, weights, spread=True), seed, noise)


def _disturbed(grammar: LatentGrammar, seed: int, noise: float) -> LatentGrammar:
    rng = np.random.default_rng(seed)
    rules = grammar.rules * (1.0 + noise * rng.uniform(-1.0, 1.0, len(grammar.rules)))
    words = grammar.words * (1.0 + noise * rng.uniform(-1.0, 1.0, len(grammar.words)))
    return normalised(grammar.backbone, grammar.sizes, rules, words)


def latent_totals(grammar: LatentGrammar, expected: Expected) -> list[np.ndarray]:
    """For each symbol the expected numbers of nodes with each of its latent values."""
    of_rule, of_word, base = _parents(grammar.backbone, grammar.sizes)
    n = int(base[-1])
    totals = np.bincount(of_rule, expected.rules, n) + np.bincount(of_word, expected.words, n)
    return [totals[a:b] for a, b in itertools.pairwise(base.tolist())]


def merge(
    trees: LatentTrees, grammar: LatentGrammar, expected: Expected, share: float = 0.5
) -> tuple[LatentGrammar, float]:
    """(The grammar without the `share` of the last splits that the likelihood misses least, their loss in nats.)

    `expected`: counts under this very grammar, whose values 2k and 2k + 1 were one before the last split.
    """
    sizes = grammar.sizes
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(OFFSET)
    common = np.concatenate(latent_totals(grammar, expected))
    pairs = sizes // 2
    pair_at = np.concatenate([[0], np.cumsum(pairs)]).astype(OFFSET)
    shares = np.concatenate([common[base[s] : base[s] + 2 * pairs[s]] for s in range(len(sizes))])
    losses = np.zeros(int(pair_at[-1]))
    merge_losses(
        trees, 0, len(trees.start) - 1, sizes, pair_at, shares, grammar.rule_at, grammar.rules, *grammar.rows,
        grammar.word_at, grammar.words, np.zeros_like(grammar.rules), np.zeros_like(grammar.words), losses,
        *_scratch(trees, grammar),
    )  # fmt: skip
    order = np.argsort(losses, kind="stable")
    joined = np.zeros(len(losses), dtype=bool)
    joined[order[: round(share * len(losses))]] = True
    source, weights, new_sizes = [], [], sizes.copy()
    for s in range(len(sizes)):
        if pairs[s] == 0:
            source.append(np.arange(sizes[s]))
        else:
            both = joined[pair_at[s] : pair_at[s + 1]]
            steps = np.ones(2 * pairs[s], dtype=np.int64)
            steps[1::2] = ~both
            source.append(np.cumsum(steps) - 1)
        new_sizes[s] = int(source[-1][-1]) + 1
        weights.append(common[base[s] : base[s + 1]])
    return resized(grammar, new_sizes, source, weights, spread=False), float(losses[joined].sum())


def smooth(grammar: LatentGrammar, rules: float = 0.01, words: float = 0.1) -> LatentGrammar:
    """Every latent value's probabilities drawn towards the mean over its symbol's values, by these shares (Petrov et
    al. 2006, section 2.4)."""
    if not (0.0 <= rules <= 1.0 and 0.0 <= words <= 1.0):
        raise ConfigError(f"smoothing by {rules} and {words}; both must be from 0 to 1")
    new_rules, new_words = grammar.rules.copy(), grammar.words.copy()
    sizes = grammar.sizes
    for table, at, values, part in (
        (grammar.backbone.rules, grammar.rule_at, new_rules, rules),
        (grammar.backbone.pairs, grammar.word_at, new_words, words),
    ):
        for k, parent in enumerate(table[:, 0].tolist()):
            n = int(sizes[parent])
            if n > 1:
                block = values[at[k] : at[k + 1]].reshape(-1, n)
                block += part * (block.mean(axis=1, keepdims=True) - block)
    return replace(grammar, rules=new_rules, words=new_words)
