"""Pruning by span marginals: the windows and labels that the span model considers possible, and their costs."""

import numpy as np

from ...jit.decorator import inner_kernel
from .marginals import (
    BUILD_COST,
    CHAIN,
    CHAIN_2,
    CHAIN_PROB,
    COST_UNIT,
    DECISION,
    NO_MARGINAL_COST,
    OTHER_COST,
    SECOND_COST,
    SKIP_COST,
    SPAN_PROB,
    TOTAL_SKIP_COST,
    span_row,
)
from .state import is_label_legal

LEVELS, AFTER, MAIN, NAMED, PASSED = 7, 3, 4, 5, 6
"""Rows of a table that maps label chains to sets of labels. Rows 0, 1, 2: by the most likely chain, if it is unlikely,
likely, almost certain. AFTER: by the second most likely chain. MAIN: the main labels of a chain. NAMED: the label of a
chain of one or two labels, for the window and for the single item that it becomes, if the span model's decisions are
accepted for this chain. PASSED: not 0 if its decision that there is no constituent is accepted although this chain is
the most likely one."""
LABEL_BITS = 64
"""Maximum number of labels in such a set."""
LIKELY, CERTAIN = 7, 12
"""First bin of levels 1 and 2 of the most likely chain's probability (0.5, 0.98)."""
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@inner_kernel
def confidence_level(bin_id):
    """The level (0, 1, 2) of a bin of the most likely chain's probability."""
    return 1 * (bin_id >= LIKELY) + 1 * (bin_id >= CERTAIN)


@inner_kernel
def marginal_labels(labels, tokens, row, unary):
    """The labels, as bits, that the marginals allow a window over the span of a row. `labels` uint64 (2, LEVELS, chains
    + 1): by whether the window is one inferred item, by level, and by chain (the last: none)."""
    level = confidence_level(tokens[row, CHAIN_PROB])
    found = labels[unary, level, tokens[row, CHAIN]]
    if level < 2:
        found |= labels[unary, AFTER, tokens[row, CHAIN_2]]
    return found


@inner_kernel
def mark_wanted_labels(grammar, labels, state, i, j, wanted):
    """Mark in `wanted` bool (L,) the labels to be scored over a window: those that the marginals allow, regardless of
    the labels below it, and TOP if the frontier has only one item."""
    tokens, item, frontier, top = state.tokens, state.nodes.item, state.frontier, np.int64(grammar.options[4])
    row = span_row(tokens, np.int64(item[frontier[i]]["start"]), np.int64(item[frontier[j - 1]]["end"]))
    found = _ZERO
    if row >= 0:
        unary = 1 if j - i == 1 and item[frontier[i]]["first"] >= 0 else 0
        found = marginal_labels(labels, tokens, row, unary)
    for label in range(len(wanted)):
        wanted[label] = found & (_ONE << np.uint64(label)) != _ZERO
    if state.size - state.low == 1:
        wanted[top] = True


@inner_kernel
def prune_by_marginals(grammar, labels, state, windows, n_windows):
    """Keep the windows that have a label allowed both by the marginals and by `is_label_legal`, in their order.

    Return their number; whether one of them, of several items or of a token, is a constituent with a probability of at
    least 0.5; and whether the span model is confident of the first remaining window and its label, in which case only
    this one is kept. Windows are dropped if it is confident that they are no constituents. The labels of each remaining
    window are written too. The matrix must have marginals."""
    tokens, item, frontier = state.tokens, state.nodes.item, state.frontier
    top = np.int64(grammar.options[4])
    top_bit = _ONE << np.uint64(top)  # a model with a span model has at most LABEL_BITS labels
    n_kept, likely = np.int64(0), False
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        found, is_item, is_certain = _ZERO, item[frontier[i]]["first"] >= 0, False
        if is_label_legal(grammar, state, i, j, top):
            found = top_bit
        row = span_row(tokens, np.int64(item[frontier[i]]["start"]), np.int64(item[frontier[j - 1]]["end"]))
        if row >= 0:
            unary = 1 if j - i == 1 and is_item else 0
            decision, chain = tokens[row, DECISION], np.int64(tokens[row, CHAIN])
            is_certain = decision == 1 and labels[0, NAMED, chain] != _ZERO
            if is_certain:
                found |= labels[unary, NAMED, chain]
            elif decision != -1 or labels[0, PASSED, chain] == _ZERO:
                found |= marginal_labels(labels, tokens, row, unary) & ~top_bit
            if found and j - i == 1:
                for label in range(top):
                    if found & (_ONE << np.uint64(label)):
                        if not is_label_legal(grammar, state, i, j, label):
                            found ^= _ONE << np.uint64(label)
            elif j - i > 1:
                found &= ~top_bit
        if found:
            # n_kept <= w: nothing that is still to be read is overwritten
            windows.i[n_kept], windows.j[n_kept], windows.labels[n_kept] = i, j, found
            n_kept += 1
            if row >= 0 and tokens[row, SPAN_PROB] >= LIKELY and (j - i > 1 or not is_item):
                likely = True
            if is_certain and n_kept == 1 and not found & (found - _ONE):
                return n_kept, likely, True
    return n_kept, likely, False


@inner_kernel
def build_cost(tokens, nodes, frontier, i, j):
    """Cost, by the marginals, of a constituent over a window; 0 if there is one already. The matrix must have
    marginals."""
    item = nodes.item
    if j - i == 1 and item[frontier[i]]["first"] >= 0:
        return 0.0
    start = np.int64(item[frontier[i]]["start"])
    row = span_row(tokens, start, np.int64(item[frontier[j - 1]]["end"]))
    return (tokens[row, BUILD_COST] if row >= 0 else tokens[start, NO_MARGINAL_COST]) / COST_UNIT


@inner_kernel
def label_cost(labels, tokens, nodes, frontier, i, j, label):
    """Cost, by the marginals, of a label over a window, in addition to that of the constituent. The matrix must have
    marginals."""
    item = nodes.item
    start = np.int64(item[frontier[i]]["start"])
    row = span_row(tokens, start, np.int64(item[frontier[j - 1]]["end"]))
    if row < 0:
        return 0.0
    unary = 1 if j - i == 1 and item[frontier[i]]["first"] >= 0 else 0
    bit = _ONE << np.uint64(label)
    if labels[unary, MAIN, tokens[row, CHAIN]] & bit:
        return 0.0
    second = labels[unary, MAIN, tokens[row, CHAIN_2]] & bit
    return (tokens[row, SECOND_COST] if second else tokens[row, OTHER_COST]) / COST_UNIT


@inner_kernel
def skip_cost(tokens, nodes, node):
    """Cost, by the marginals, of building no more constituents that start where the item `node` does. The matrix must
    have marginals."""
    item = nodes.item
    start = np.int64(item[node]["start"])
    cost, end = np.int64(tokens[start, TOTAL_SKIP_COST]), np.int64(-1)
    while item[node]["first"] >= 0 and cost > 0:
        if item[node]["end"] != end:
            end = np.int64(item[node]["end"])
            row = span_row(tokens, start, end)
            if row >= 0:
                cost -= tokens[row, SKIP_COST]
        node = np.int64(item[node]["first"])
    return cost / COST_UNIT
