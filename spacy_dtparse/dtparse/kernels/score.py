"""Scores of all candidate inferences of one state: feature extraction and rules combined."""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from ...trees.kernels import HeadTable
from .atoms import AtomMap, fold, mix
from .features import SHARED, UNSHARED, FeatureScratch, TemplateTable, Windows, extract, window_head
from .marginals import has_marginals
from .pruning import mark_wanted_labels
from .rules import RuleScratch, RuleSet, rules_batch
from .state import SHIFT_REDUCE, Grammar

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_S29 = np.uint64(29)
WINDOW_SEED = np.uint64(0x8CB92BA72F3D8DD7)
SHIFT_SEED = np.uint64(0x5851F42D4C957F2D)


class SearchModel(NamedTuple):
    """All model arrays that the search uses. The atom maps give the compact atom ids of their rule sets: one for
    windows (all labels), one for the shift classifier (a single label). `window_filter` int16: weights of the window
    filter; of length 1 if there is none. `labels` uint64 (2, LEVELS, chains + 1): see `dtparse.kernels.pruning`; unused
    without a span model."""

    grammar: Grammar
    heads: HeadTable
    table: TemplateTable
    window_atoms: AtomMap
    shift_atoms: AtomMap
    window_rules: RuleSet
    shift_rules: RuleSet
    window_filter: np.ndarray
    labels: np.ndarray


class SearchScratch(NamedTuple):
    """Scratch arrays of one thread: `frontier` int32 (n + 1,), `windows` of a state, as many as it can have, `scores`
    float64 (max windows, labels), `shift` float64 (1, 1), `window_keys` int64: see
    `dtparse.kernels.window_filter.window_keys`, and the scratch arrays of features and rules."""

    frontier: np.ndarray
    windows: Windows
    scores: np.ndarray
    shift: np.ndarray
    window_keys: np.ndarray
    features: FeatureScratch
    window: RuleScratch
    shifts: RuleScratch


class Scorer(NamedTuple):
    """All that scores windows by one of the two rule sets: of windows (all labels), or of the shift. `atoms`: the map
    with its compact ids. `seed`: seed of its keys in the cache. `scores` float64 (windows, labels): the output."""

    grammar: Grammar
    heads: HeadTable
    table: TemplateTable
    labels: np.ndarray
    atoms: AtomMap
    rules: RuleSet
    scratch: RuleScratch
    seed: np.uint64
    scores: np.ndarray


@noalloc_kernel
def inference_cost(h):
    """ln(1 + exp(-h)), without overflow."""
    if h > 0.0:
        return math.log1p(math.exp(-h))
    return -h + math.log1p(math.exp(h))


CACHE_ENTRY = np.dtype([("key", np.uint64), ("row", np.int64)], align=True)
"""An entry of the cache's hash table: the key (0: empty) and the row of its scores."""


class ScoreCache(NamedTuple):
    """Cache of the scores of windows in one sentence's search; the key covers everything that the templates use.

    `entries` CACHE_ENTRY (H,), a power of two; `scores` float64 (R, labels), a shift's score in the first column;
    `used` int64 (1,): number of rows in use. H = 2 disables it.
    """

    entries: np.ndarray
    scores: np.ndarray
    used: np.ndarray


def make_cache(size: int, n_labels: int) -> ScoreCache:
    """Allocate an empty cache of `size` entries (a power of two) with half as many rows."""
    return ScoreCache(
        np.zeros(size, dtype=CACHE_ENTRY),
        np.zeros((size // 2, n_labels), dtype=np.float64),
        np.zeros(1, dtype=np.int64),
    )


@noalloc_kernel
def _copy_entries(entries, bigger):
    mask = np.uint64(len(bigger) - 1)
    for k in range(len(entries)):
        key = entries[k]["key"]
        if key != _ZERO:
            at = (key >> _S29) & mask
            while bigger[at]["key"] != _ZERO:
                at = (at + _ONE) & mask
            bigger[at]["key"] = key
            bigger[at]["row"] = entries[k]["row"]


def grow_cache(cache: ScoreCache) -> ScoreCache:
    """A cache of twice the size with the same content."""
    bigger = make_cache(2 * len(cache.entries), cache.scores.shape[1])
    _copy_entries(cache.entries, bigger.entries)
    bigger.scores[: cache.used[0]] = cache.scores[: cache.used[0]]
    bigger.used[0] = cache.used[0]
    return bigger


@inner_kernel
def _window_key(grammar, state, i, j, seed):
    """Hash of everything that the templates use for the window [i, j)."""
    first = i
    if grammar.options[0] != SHIFT_REDUCE:  # under SHIFT_REDUCE, only unread tokens are left of a window
        first = max(state.low, i - grammar.options[5])
    last = min(state.size, j + grammar.options[6])
    key = mix(mix(mix(seed, i - first), j - i), last - j)
    for k in range(first, last):
        key = fold(key, state.nodes.item[state.frontier[k]]["key"])
    return key | _ONE


@inner_kernel
def _cached_row(entries, used, key):
    """(Row, 1) of a key in the cache, or (a new row for it, 0). The cache must have a free row."""
    mask = np.uint64(len(entries) - 1)  # a power of two minus 1
    at = (key >> _S29) & mask
    while entries[at]["key"] != _ZERO:  # there is an empty entry: half as many rows as entries
        if entries[at]["key"] == key:
            return entries[at]["row"], 1
        at = (at + _ONE) & mask
    row = used[0]
    entries[at]["key"] = key
    entries[at]["row"] = row
    used[0] = row + 1
    return row, 0


@inner_kernel
def score_windows(scorer, state, windows, first, last, features, cache):
    """Fill scorer.scores[w - first] for the windows first … last - 1 with the scores of all labels, or of shift. If
    there are marginals, only the labels that they allow a window are scored.

    Windows with the same start share all atoms of the items to the left of and at the start, and many of their other
    atoms, so they are scored together. The cache must have last - first free rows.
    """
    grammar, entries, cached = scorer.grammar, cache.entries, cache.scores
    bits, batch, scores = scorer.scratch, scorer.scratch.batch, scorer.scores
    n_labels = scores.shape[1]
    use_cache = len(entries) > 2
    w = np.int64(first)
    while w < last:
        i = np.int64(windows.i[w])
        n = 0
        count = shared = np.int64(0)
        # Windows are ordered by start; those with one start are at most `rules.BATCH`.
        while w < last and windows.i[w] == i:
            j = np.int64(windows.j[w])
            row, is_cached = np.int64(-1), 0
            if use_cache:
                row, is_cached = _cached_row(entries, cache.used, _window_key(grammar, state, i, j, scorer.seed))
            if is_cached == 1:
                for label in range(n_labels):
                    scores[w - first, label] = cached[row, label]
            else:
                features.mark[0] += 1
                h = np.int64(window_head(scorer.heads, state.nodes, state.frontier, i, j, features.children))
                # A loop instead of two calls: every call of the feature kernel is compiled separately.
                for part in range(SHARED if n == 0 else UNSHARED, UNSHARED + 1):
                    head = i if part == SHARED else h
                    count = extract(scorer.table, scorer.atoms, part, state, i, j, head, features, count)
                    if part == SHARED:
                        shared = count
                if n_labels > 1 and has_marginals(state.tokens):
                    mark_wanted_labels(grammar, scorer.labels, state, i, j, bits.wanted[n])
                batch[n, 0] = count
                batch[n, 1] = w - first
                batch[n, 2] = row
                n += 1
            w += 1
        if n > 0:
            rules_batch(scorer.rules, bits, features.atoms, shared, n, scores)
        if use_cache:
            for k in range(n):
                for label in range(n_labels):
                    cached[batch[k, 2], label] = scores[batch[k, 1], label]
