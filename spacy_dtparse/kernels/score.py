"""Scores of all candidate inferences of one state: features and rules together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .features import OWN, SHARED, AtomMap, FeatureScratch, TemplateTable, extract, window_head
from .heads import HeadTable
from .jit import kernel
from .rules import RuleScratch, RuleSet, rules_add, rules_start, rules_sum
from .state import Grammar


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
    """Working memory of one thread: `frontier` int32 (n + 1,), `windows_i`, `windows_j` int32 (most windows of a state,),
    `scores` float64 (most windows, labels), `shift` float64 (1,), and the scratch of features and rules."""

    frontier: np.ndarray
    windows_i: np.ndarray
    windows_j: np.ndarray
    scores: np.ndarray
    shift: np.ndarray
    features: FeatureScratch
    window: RuleScratch
    shifts: RuleScratch


@kernel
def inference_cost(h):
    """ln(1 + exp(-h)), without overflow."""
    if h > 0.0:
        return math.log1p(math.exp(-h))
    return -h + math.log1p(math.exp(h))


@kernel
def score_state(model, tokens, n_tokens, nodes, frontier, low, size, cursor, n_windows, can_shift, scratch):
    """Fill scratch.scores[w] for every listed window and scratch.shift[0] for the shift candidate (if there is one).

    What the templates see left of and at a window's start is the same for all windows that start there, so its rules
    are applied once.
    """
    features = scratch.features
    atoms = features.atoms
    start = np.int64(-1)
    shared = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
        features.mark[0] += 1
        if i != start:
            start = i
            shared = extract(
                model.table, model.window_atoms, SHARED, nodes, frontier, low, size, tokens, n_tokens, i, j, i,
                features, np.int64(0),
            )  # fmt: skip
            rules_start(model.window_rules, atoms, 0, shared, scratch.window.shared)
        h = np.int64(window_head(model.heads, nodes, frontier, i, j, features.children))
        count = extract(
            model.table, model.window_atoms, OWN, nodes, frontier, low, size, tokens, n_tokens, i, j, h, features,
            shared,
        )  # fmt: skip
        rules_add(model.window_rules, scratch.window.shared, atoms, shared, count, scratch.window.live)
        rules_sum(model.window_rules, scratch.window.live, scratch.scores[w])
    if can_shift:
        i, j = cursor - 1, cursor
        features.mark[0] += 1
        count = extract(
            model.table, model.shift_atoms, SHARED, nodes, frontier, low, size, tokens, n_tokens, i, j, i, features,
            np.int64(0),
        )  # fmt: skip
        count = extract(
            model.table, model.shift_atoms, OWN, nodes, frontier, low, size, tokens, n_tokens, i, j, i, features,
            count,
        )  # fmt: skip
        rules_start(model.shift_rules, atoms, 0, count, scratch.shifts.shared)
        rules_sum(model.shift_rules, scratch.shifts.shared, scratch.shift)
