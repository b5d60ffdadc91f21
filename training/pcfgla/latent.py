"""Grammars with latent annotations: their tables, and the steps of EM, splitting, merging and smoothing.

Matsuzaki, Miyao & Tsujii (2005) give every symbol the same number of latent values, which EM estimates; Petrov,
Barrett, Thibaux & Klein (2006) split every value in two, train, and undo the half of the splits that help least.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET, SCORE
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.model_io.segments import any_positive

from .binarise import BinaryTree, Symbol
from .latent_kernels import Blocks, ExpectationWorkspace, expect, merge_losses

CHUNKS = 16
"""Number of chunks of trees whose expected counts are added in order: the same sums with any number of threads."""

TINY = 1e-10
"""Probabilities below this become 0."""


class LatentTrees(NamedTuple):
    """The nodes of T trees, in pre-order.

    `start` int64 (T + 1,): a tree's first node. `symbol` int32 (N,). `left`, `right` int32 (N,): children, relative to
    the tree's first node, -1 for none. `rule` int32 (N,): id of the rule, or of a word's pair (tag, class).
    """

    start: np.ndarray
    symbol: np.ndarray
    left: np.ndarray
    right: np.ndarray
    rule: np.ndarray


@dataclass(frozen=True)
class Backbone:
    """The observable grammar of the treebank. `symbols`: S of them. `rules` int32 (R, 3): parent, left, right (-1:
    unary). `pairs` int32 (P, 2): tag, word class. `root`: id of the root symbol."""

    symbols: tuple[Symbol, ...]
    rules: np.ndarray
    pairs: np.ndarray
    root: int


def encode_trees(trees: Sequence[BinaryTree], classes: Sequence[Sequence[int]]) -> tuple[Backbone, LatentTrees]:
    """Convert binarised trees, whose words have the given classes, to tables. Raises TrainingDataError if there is no
    tree."""
    if not trees:
        raise TrainingDataError("no trees to train a grammar on; give at least one")
    symbols = sorted({symbol for tree in trees for symbol in tree.symbols})
    ids = {symbol: i for i, symbol in enumerate(symbols)}
    rule_of: dict[tuple[int, int, int], int] = {}
    pair_of: dict[tuple[int, int], int] = {}
    start, symbol_column, left, right, rule = [0], [], [], [], []
    for tree, of in zip(trees, classes, strict=True):
        own = [ids[symbol] for symbol in tree.symbols]
        for symbol, token, first, second in zip(own, tree.token, tree.left, tree.right, strict=True):
            if token >= 0:
                rule.append(pair_of.setdefault((symbol, of[token]), len(pair_of)))
            else:
                rule_key = (symbol, own[first], own[second] if second >= 0 else -1)
                rule.append(rule_of.setdefault(rule_key, len(rule_of)))
        start.append(start[-1] + len(own))
        symbol_column += own
        left += tree.left
        right += tree.right
    backbone = Backbone(
        tuple(symbols),
        np.array(list(rule_of), dtype=INDEX).reshape(-1, 3),
        np.array(list(pair_of), dtype=INDEX).reshape(-1, 2),
        ids[trees[0].symbols[0]],
    )
    columns = (np.array(column, dtype=INDEX) for column in (symbol_column, left, right, rule))
    return backbone, LatentTrees(np.array(start, dtype=OFFSET), *columns)


@dataclass(frozen=True)
class LatentGrammar:
    """A grammar with latent annotations. `sizes` int32 (S,): number of latent values of each symbol. `rules`, `words`
    float64: probabilities in blocks (see `latent_kernels.Blocks`)."""

    backbone: Backbone
    sizes: np.ndarray
    rules: np.ndarray
    words: np.ndarray

    @cached_property
    def blocks(self) -> Blocks:
        """The grammar as kernels expect it."""
        wide, rules = _wide(self.sizes), self.backbone.rules
        n_rows, width = wide[rules[:, 1:]].prod(axis=1), wide[rules[:, 0]]
        alive = any_positive(self.rules, offsets(np.repeat(width, n_rows))).astype(np.uint8)
        rule_at, word_at = block_offsets(self.backbone, self.sizes)
        return Blocks(self.sizes, rule_at, self.rules, offsets(n_rows)[:-1], alive, word_at, self.words)

    @property
    def n_parameters(self) -> int:
        """The number of non-zero probabilities."""
        return int(np.count_nonzero(self.rules) + np.count_nonzero(self.words))


def offsets(lengths: np.ndarray) -> np.ndarray:
    """int64 (n + 1,): the offsets of n consecutive pieces of these lengths, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(OFFSET)


def _wide(sizes: np.ndarray) -> np.ndarray:
    """The sizes, followed by 1 as the size of symbol -1 (no right child)."""
    return np.concatenate([sizes, [1]]).astype(OFFSET)


def block_offsets(backbone: Backbone, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rule_at, word_at): the offsets of the blocks of rules and words, and the ends."""
    wide = _wide(sizes)
    return offsets(wide[backbone.rules].prod(axis=1)), offsets(wide[backbone.pairs[:, 0]])


def _totals(
    backbone: Backbone, sizes: np.ndarray, counts: np.ndarray, word_counts: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """(Counts of all latent values of all symbols; for the entries in the blocks of rules and of words, the index of
    their latent parent)."""
    base, found = offsets(sizes), []
    for table, at in zip((backbone.rules, backbone.pairs), block_offsets(backbone, sizes), strict=True):
        n, parent = np.diff(at), table[:, 0]
        inner = np.arange(int(at[-1])) - np.repeat(at[:-1], n)
        found.append(np.repeat(base[parent], n) + inner % np.repeat(sizes[parent].astype(OFFSET), n))
    size = int(base[-1])
    return np.bincount(found[0], counts, size) + np.bincount(found[1], word_counts, size), found


def normalise(backbone: Backbone, sizes: np.ndarray, counts: np.ndarray, word_counts: np.ndarray) -> LatentGrammar:
    """The M step: the grammar of relative frequencies. A latent symbol without counts has probabilities 0."""
    totals, (of_rule, of_word) = _totals(backbone, sizes, counts, word_counts)
    factor = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0.0)
    rules, words = counts * factor[of_rule], word_counts * factor[of_word]
    rules[rules < TINY] = 0.0
    words[words < TINY] = 0.0
    return LatentGrammar(backbone, sizes.astype(INDEX), rules, words)


def treebank_grammar(backbone: Backbone, trees: LatentTrees) -> LatentGrammar:
    """The grammar of relative frequencies, with one latent value per symbol."""
    sizes = np.ones(len(backbone.symbols), dtype=INDEX)
    is_word = trees.left < 0
    counts = np.bincount(trees.rule[~is_word], minlength=len(backbone.rules)).astype(SCORE)
    word_counts = np.bincount(trees.rule[is_word], minlength=len(backbone.pairs)).astype(SCORE)
    return normalise(backbone, sizes, counts, word_counts)


class Expected(NamedTuple):
    """Expected counts (shaped like a grammar's rules and words), log likelihood, number of trees with probability 0."""

    rules: np.ndarray
    words: np.ndarray
    log: float
    lost: int


def _make_workspace(trees: LatentTrees, grammar: LatentGrammar) -> ExpectationWorkspace:
    n, k = int(np.diff(trees.start).max(initial=1)), int(grammar.sizes.max())
    return ExpectationWorkspace(np.ones((n + 1, k)), np.ones((n + 1, k)), np.zeros(n), np.zeros(n))


def _chunks(trees: LatentTrees) -> list[tuple[int, int]]:
    """Divide the trees into chunks with about the same number of nodes."""
    n = len(trees.start) - 1
    bounds = np.searchsorted(trees.start, np.linspace(0, int(trees.start[-1]), CHUNKS + 1))
    bounds[0], bounds[-1] = 0, n
    return [(int(a), int(b)) for a, b in itertools.pairwise(bounds) if a < b]


def expectations(trees: LatentTrees, grammar: LatentGrammar, threads: int = 1) -> Expected:
    """The E step; sums are bit-identical with any number of threads."""

    def one(chunk: tuple[int, int]) -> Expected:
        counts, word_counts = np.zeros_like(grammar.rules), np.zeros_like(grammar.words)
        log, lost = expect(trees, *chunk, grammar.blocks, counts, word_counts, _make_workspace(trees, grammar))
        return Expected(counts, word_counts, log, int(lost))

    total = Expected(np.zeros_like(grammar.rules), np.zeros_like(grammar.words), 0.0, 0)
    with ThreadPoolExecutor(threads) as pool:
        for part in _in_order(pool, one, _chunks(trees), threads):
            np.add(total.rules, part.rules, out=total.rules)
            np.add(total.words, part.words, out=total.words)
            total = total._replace(log=total.log + part.log, lost=total.lost + part.lost)
    return total


def _in_order(
    pool: ThreadPoolExecutor, task: Callable, items: Sequence[tuple[int, int]], ahead: int
) -> Iterable[Expected]:
    """Results in the order of the items, only a few at a time, because each has arrays as large as the grammar."""
    waiting = []
    for item in items:
        waiting.append(pool.submit(task, item))
        if len(waiting) > ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def log_likelihood(trees: LatentTrees, grammar: LatentGrammar) -> tuple[float, int]:
    """(Log likelihood, number of trees with probability 0, which are left out)."""
    none = np.zeros(0)
    return expect(trees, 0, len(trees.start) - 1, grammar.blocks, none, none, _make_workspace(trees, grammar))


def _resize(grammar: LatentGrammar, maps: Sequence[tuple[np.ndarray, np.ndarray]]) -> LatentGrammar:
    """Change the latent values of a grammar. `maps`: for each symbol two float64 (old values, new values): weights with
    which a new value gets the old ones' probabilities as a parent, and as a child."""
    backbone, old = grammar.backbone, grammar.sizes
    sizes = np.array([parent.shape[1] for parent, _ in maps], dtype=INDEX)
    (of_rule, of_word), (rule_at, word_at) = block_offsets(backbone, old), block_offsets(backbone, sizes)
    rules, words = np.zeros(int(rule_at[-1])), np.zeros(int(word_at[-1]))
    for r, (parent, left, right) in enumerate(backbone.rules.tolist()):
        block = grammar.rules[of_rule[r] : of_rule[r + 1]]
        if right < 0:
            new = maps[left][1].T @ block.reshape(old[left], old[parent]) @ maps[parent][0]
        else:
            new = block.reshape(old[left], old[right], old[parent])
            new = np.einsum("yzx,yb,zc,xa->bca", new, maps[left][1], maps[right][1], maps[parent][0], optimize=True)
        rules[rule_at[r] : rule_at[r + 1]] = new.ravel()
    for p, tag in enumerate(backbone.pairs[:, 0].tolist()):
        words[word_at[p] : word_at[p + 1]] = grammar.words[of_word[p] : of_word[p + 1]] @ maps[tag][0]
    return LatentGrammar(backbone, sizes, rules, words)


def split_values(grammar: LatentGrammar, seed: int, noise: float = 0.01, values: int = 2) -> LatentGrammar:
    """Split every latent value, except the root's, into `values`; their probabilities are perturbed by up to `noise`.

    Into two: Petrov et al. 2006; a treebank grammar into more: Matsuzaki et al. 2005, section 2.2. `seed`: for the
    noise.
    """
    maps = []
    for s, size in enumerate(grammar.sizes.tolist()):
        n = 1 if s == grammar.backbone.root else values
        parent = np.repeat(np.eye(size), n, axis=1)
        maps.append((parent, parent / n))
    wide, rng = _resize(grammar, maps), np.random.default_rng(seed)
    rules = wide.rules * (1.0 + noise * rng.uniform(-1.0, 1.0, len(wide.rules)))
    words = wide.words * (1.0 + noise * rng.uniform(-1.0, 1.0, len(wide.words)))
    return normalise(wide.backbone, wide.sizes, rules, words)


def latent_totals(grammar: LatentGrammar, expected: Expected) -> list[np.ndarray]:
    """For each symbol the expected number of nodes with each of its latent values."""
    totals, _ = _totals(grammar.backbone, grammar.sizes, expected.rules, expected.words)
    return np.split(totals, np.cumsum(grammar.sizes)[:-1])


def merge_values(
    trees: LatentTrees, grammar: LatentGrammar, expected: Expected, fraction: float = 0.5
) -> tuple[LatentGrammar, float]:
    """Undo this fraction of the last splits, those with the lowest loss of likelihood; returns (grammar, their loss in
    nats).

    `expected`: counts under this grammar, whose values 2k and 2k + 1 were one before the last split.
    """
    sizes, common = grammar.sizes, latent_totals(grammar, expected)
    pairs = sizes // 2
    pair_at = offsets(pairs)
    frequencies = np.concatenate([of[: 2 * n] for of, n in zip(common, pairs, strict=True)])
    losses = np.zeros(int(pair_at[-1]))
    counts, word_counts = np.zeros_like(grammar.rules), np.zeros_like(grammar.words)
    merge_losses(
        trees, pair_at, frequencies, grammar.blocks, counts, word_counts, losses, _make_workspace(trees, grammar)
    )
    ranks = np.argsort(np.argsort(losses, kind="stable"))
    merged = ranks < round(fraction * len(losses))
    maps = []
    for s, (size, weight) in enumerate(zip(sizes.tolist(), common, strict=True)):
        steps = np.ones(size, dtype=np.int64)
        steps[1 : 2 * pairs[s] : 2] = ~merged[pair_at[s] : pair_at[s + 1]]
        new = np.cumsum(steps) - 1
        totals = np.bincount(new, weight)
        child = np.eye(len(totals))[new]
        weight_of = np.divide(weight, totals[new], out=np.zeros(size), where=totals[new] > 0.0)
        maps.append((child * weight_of[:, None], child))
    return _resize(grammar, maps), float(losses[merged].sum())


def smooth(grammar: LatentGrammar, rules: float = 0.01, words: float = 0.1) -> LatentGrammar:
    """Interpolate every latent value's probabilities with the mean over its symbol's values, with these weights of the
    mean (Petrov et al. 2006, section 2.4)."""
    new_rules, new_words, backbone = grammar.rules.copy(), grammar.words.copy(), grammar.backbone
    rule_at, word_at = block_offsets(backbone, grammar.sizes)
    for table, at, values, part in (
        (backbone.rules, rule_at, new_rules, rules),
        (backbone.pairs, word_at, new_words, words),
    ):
        for k, parent in enumerate(table[:, 0].tolist()):
            n = int(grammar.sizes[parent])
            if n > 1:
                block = values[at[k] : at[k + 1]].reshape(-1, n)
                block += part * (block.mean(axis=1, keepdims=True) - block)
    return replace(grammar, rules=new_rules, words=new_words)
