"""Scores of all candidate inferences of one state: features and rules together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .features import OWN, SHARED, AtomMap, FeatureScratch, TemplateTable, extract, fold, mix, window_head
from .heads import HeadTable
from .jit import bare_kernel, kernel
from .rules import RuleScratch, RuleSet, rules_add, rules_start, rules_sum
from .state import SHIFT_REDUCE, Grammar

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_S29 = np.uint64(29)
_WINDOW = np.uint64(0x8CB92BA72F3D8DD7)
_SHIFT = np.uint64(0x5851F42D4C957F2D)


class SearchModel(NamedTuple):
    """All that search reads. The atom maps give the compact atom numbers of their rule sets: one for windows (all
    labels), one for the shift classifier (a single label)."""

    grammar: Grammar
    heads: HeadTable
    table: TemplateTable
    window_atoms: AtomMap
    shift_atoms: AtomMap
    window_rules: RuleSet
    shift_rules: RuleSet


class SearchScratch(NamedTuple):
    """Working memory of one thread: `frontier` int32 (n + 1,), `windows_i`, `windows_j` int32 (most windows of a
    state,),
    `scores` float64 (most windows, labels), `shift` float64 (1,), and the scratch of features and rules."""

    frontier: np.ndarray
    windows_i: np.ndarray
    windows_j: np.ndarray
    scores: np.ndarray
    shift: np.ndarray
    features: FeatureScratch
    window: RuleScratch
    shifts: RuleScratch


@bare_kernel
def inference_cost(h):
    """ln(1 + exp(-h)), without overflow."""
    if h > 0.0:
        return math.log1p(math.exp(-h))
    return -h + math.log1p(math.exp(h))


class ScoreCache(NamedTuple):
    """Scores of the windows met in one sentence's search, by everything that the templates can see of them.

    `keys` uint64 (H,), a power of two, 0 = empty; `rows` int32 (H,); `scores` float64 (R, labels), a shift's score in
    the first column; `used` int64 (1,): rows in use. H = 2 turns it off.
    """

    keys: np.ndarray
    rows: np.ndarray
    scores: np.ndarray
    used: np.ndarray


@kernel
def make_cache(size, n_labels):
    """An empty cache of `size` entries (a power of two) with half as many rows."""
    return ScoreCache(
        np.zeros(size, dtype=np.uint64),
        np.zeros(size, dtype=np.int32),
        np.empty((size // 2, n_labels), dtype=np.float64),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def grow_cache(cache):
    """A cache of twice the size with the same content."""
    size = 2 * cache.keys.shape[0]
    bigger = make_cache(size, cache.scores.shape[1])
    mask = np.uint64(size - 1)
    for k in range(cache.keys.shape[0]):
        if cache.keys[k] != _ZERO:
            at = (cache.keys[k] >> _S29) & mask
            while bigger.keys[at] != _ZERO:
                at = (at + _ONE) & mask
            bigger.keys[at] = cache.keys[k]
            bigger.rows[at] = cache.rows[k]
    n_labels = cache.scores.shape[1]
    for r in range(cache.used[0]):
        for label in range(n_labels):
            bigger.scores[r, label] = cache.scores[r, label]
    bigger.used[0] = cache.used[0]
    return bigger


@bare_kernel
def _window_key(grammar, nodes, frontier, low, size, i, j, seed):
    """Hash of all that the templates can see from window [i, j)."""
    first = i
    if grammar.options[0] != SHIFT_REDUCE:  # there, what is left of a window is always unread tokens
        first = max(low, i - grammar.options[5])
    last = min(size, j + grammar.options[6])
    key = mix(mix(mix(seed, i - first), j - i), last - j)
    for k in range(first, last):
        key = fold(key, nodes.key[frontier[k]])
    return key | _ONE


@bare_kernel
def _cached_row(cache, key):
    """(row, 1) of a key in the cache, or (a new row for it, 0). There must be room."""
    mask = np.uint64(cache.keys.shape[0] - 1)
    at = (key >> _S29) & mask
    while cache.keys[at] != _ZERO:
        if cache.keys[at] == key:
            return np.int64(cache.rows[at]), 1
        at = (at + _ONE) & mask
    row = cache.used[0]
    cache.keys[at] = key
    cache.rows[at] = row
    cache.used[0] = row + 1
    return np.int64(row), 0


@bare_kernel
def score_windows(model, tokens, n_tokens, nodes, frontier, low, size, n_windows, scratch, cache):
    """Fill scratch.scores[w] for every listed window.

    What the templates see left of and at a window's start is the same for all windows that start there, so its rules
    are applied once. `cache`: see ScoreCache; it must have room for n_windows more rows.
    """
    features = scratch.features
    atoms = features.atoms
    n_labels = scratch.scores.shape[1]
    keep = cache.keys.shape[0] > 2
    start = np.int64(-1)
    shared = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
        row = np.int64(-1)
        if keep:
            row, known = _cached_row(cache, _window_key(model.grammar, nodes, frontier, low, size, i, j, _WINDOW))
            if known == 1:
                for label in range(n_labels):
                    scratch.scores[w, label] = cache.scores[row, label]
                continue
        features.mark[0] += 1
        if i != start:
            start = i
            shared = extract(
                model.table, model.window_atoms, np.int64(SHARED), nodes, frontier, low, size, tokens, n_tokens,
                i, j, i, features, np.int64(0),
            )  # fmt: skip
            rules_start(model.window_rules, atoms, 0, shared, scratch.window.shared)
        h = np.int64(window_head(model.heads, nodes, frontier, i, j, features.children))
        count = extract(
            model.table, model.window_atoms, np.int64(OWN), nodes, frontier, low, size, tokens, n_tokens,
            i, j, h, features, shared,
        )  # fmt: skip
        rules_add(model.window_rules, scratch.window.shared, atoms, shared, count, scratch.window.live)
        rules_sum(model.window_rules, scratch.window.live, scratch.scores[w])
        if row >= 0:
            for label in range(n_labels):
                cache.scores[row, label] = scratch.scores[w, label]


@bare_kernel
def score_shift(model, tokens, n_tokens, nodes, frontier, low, size, cursor, scratch, cache):
    """Fill scratch.shift[0] with the score of a shift; `cache` must have room for one more row."""
    features = scratch.features
    atoms = features.atoms
    keep = cache.keys.shape[0] > 2
    i, j = cursor - 1, cursor
    row = np.int64(-1)
    if keep:
        row, known = _cached_row(cache, _window_key(model.grammar, nodes, frontier, low, size, i, j, _SHIFT))
        if known == 1:
            scratch.shift[0] = cache.scores[row, 0]
            return
    features.mark[0] += 1
    count = extract(
        model.table, model.shift_atoms, np.int64(SHARED), nodes, frontier, low, size, tokens, n_tokens,
        i, j, i, features, np.int64(0),
    )  # fmt: skip
    count = extract(
        model.table, model.shift_atoms, np.int64(OWN), nodes, frontier, low, size, tokens, n_tokens,
        i, j, i, features, count,
    )  # fmt: skip
    rules_start(model.shift_rules, atoms, 0, count, scratch.shifts.shared)
    rules_sum(model.shift_rules, scratch.shifts.shared, scratch.shift)
    if row >= 0:
        cache.scores[row, 0] = scratch.shift[0]
