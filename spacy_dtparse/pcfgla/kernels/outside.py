"""Outside probabilities of a small grammar, and the symbols that reach a posterior; called after
`pcfgla.kernels.inside.inside`, whose docstring describes grammar, cells and scales."""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from .cky import BINARY_FROM, BINARY_TO, cell_number
from .inside import EMPTY, FEW, is_empty, normalise, power

PAIR = np.dtype([("value", np.float64), ("right", np.int64)])
"""The outside value that a right child gets from a rule with some left child, for all splits of a cell."""


class OutsideChart(NamedTuple):
    """Outside probabilities: `values` float64 (2, cells, S), the true value times 2 ** `scale` int64 (cells,): [1] for
    a symbol on top of its unary chain, [0] anywhere in a chain (both only for the symbols in the inside chart);
    `allowed` uint8 (cells, S): marks the symbols whose posterior reaches the threshold. Scratch: `active` PAIR (R,),
    the part of left child b is [`active_from[b]`, `active_from[b + 1]`), int32 (S + 1,)."""

    values: np.ndarray
    scale: np.ndarray
    allowed: np.ndarray
    active: np.ndarray
    active_from: np.ndarray


class ChildCell(NamedTuple):
    """The left or right cell below another: its `symbols`, their inside values, their outside values, and the `factor`
    of what the cell above adds to the latter."""

    symbols: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    factor: float


@inner_kernel
def raise_scale(row, live, scale, cell, wanted):
    """Raise a cell's scale to at least `wanted`; return the factor for values of that scale. `live`: the symbols whose
    values may be above 0."""
    if is_empty(scale[cell]):
        scale[cell] = wanted
    if wanted <= scale[cell]:
        return power(wanted - scale[cell])
    factor = power(scale[cell] - wanted)
    for symbol in live:
        row[symbol] *= factor
    scale[cell] = wanted
    return 1.0


@inner_kernel
def _within_chains(closure, seen, present, anywhere):
    """Compute outside probabilities of symbols anywhere in a unary chain, `anywhere`, from those on top of it,
    `seen`."""
    n_symbols = len(seen)
    is_sparse = len(present) * FEW < n_symbols
    for a in present:
        value = seen[a]
        if value <= 0.0:
            continue
        if is_sparse:
            for b in present:
                anywhere[b] += value * closure[0, a, b]
        else:
            for b in range(n_symbols):
                anywhere[b] += value * closure[0, a, b]


@inner_kernel
def _allow(present, anywhere, inner, factor, threshold, allowed):
    """Mark the symbols whose posterior reaches the threshold; return whether there are any."""
    some = False
    for a in present:
        if anywhere[a] * inner[a] * factor >= threshold:
            allowed[a] = 1
            some = True
    return some


@inner_kernel
def _list_active(rules, ranges, anywhere, allowed, active, active_from):
    """List, by left child, the outside values that right children get from the rules of allowed parents."""
    count, n_symbols = 0, len(anywhere)
    for b in range(n_symbols):
        active_from[b] = count
        for rule_id in range(ranges[b, BINARY_FROM], ranges[b, BINARY_TO]):
            parent = rules[rule_id]["parent"]
            if allowed[parent] != 0:
                active[count]["value"] = anywhere[parent] * rules[rule_id]["weight"]
                active[count]["right"] = rules[rule_id]["right"]
                count += 1
    active_from[n_symbols] = count


@inner_kernel
def _outside_by_pairs(grammar, anywhere, allowed, left, right):
    """Add a parent cell's contributions to the outside probabilities of two cells, by pairs of children."""
    rules, pair_from, joins = grammar.rules, grammar.pair_from, grammar.joins
    for b in left.symbols:
        for c in right.symbols:
            if joins[b, c] == 0:
                continue
            for rule_id in range(pair_from[b, c], pair_from[b, c + 1]):
                parent = rules[rule_id]["parent"]
                if allowed[parent] != 0:
                    value = anywhere[parent] * rules[rule_id]["weight"]
                    left.outside[b] += left.factor * value * right.inside[c]
                    right.outside[c] += right.factor * value * left.inside[b]


@inner_kernel
def _outside_by_active(active, active_from, left, right):
    """Do the same as `_outside_by_pairs` with the list of `_list_active`, for cells with many symbols."""
    for b in left.symbols:
        for at in range(active_from[b], active_from[b + 1]):
            c = active[at]["right"]
            if right.inside[c] > 0.0:
                value = active[at]["value"]
                left.outside[b] += left.factor * value * right.inside[c]
                right.outside[c] += right.factor * value * left.inside[b]


@noalloc_kernel
def outside(grammar, root, n, threshold, chart, outer):
    """Compute outside probabilities from the root down, and mark the symbols of a cell with a posterior of at least
    `threshold`.

    Call it after `inside`, which filled `chart` for n words; `outer` is filled. The posterior of a symbol is its
    expected number over the cell in a tree of the sentence: its outside value anywhere in a chain times its inside
    value with unary chains on top, by the probability of the sentence. A symbol below the threshold is not expanded, so
    the posteriors below it are smaller by its contribution; with a threshold of 0 all symbols are expanded. Return the
    log of the sentence's probability, -inf if there is no tree (then nothing is filled).
    """
    ranges, closure = grammar.ranges, grammar.closure
    values, scale, live, n_live = chart
    out, out_scale, allowed, active, active_from = outer
    n_symbols = len(ranges)
    top = cell_number(0, n)
    total = values[1, top, root]
    if is_empty(scale[top]) or total <= 0.0:
        return -np.inf
    for cell in range(cell_number(0, n + 1)):
        out_scale[cell] = EMPTY
        allowed[cell] = 0
        for a in live[cell, : n_live[cell]]:
            out[0, cell, a] = 0.0
            out[1, cell, a] = 0.0
    max_visits = 1.0  # maximum expected number of visits to a symbol in a chain of unary rules
    for a in range(n_symbols):
        max_visits = max(max_visits, closure[0, a, a])
    out[1, top, root] = 1.0
    out_scale[top] = 0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            cell = cell_number(i, j)
            seen, anywhere = out[1, cell], out[0, cell]
            if n_live[cell] == 0 or is_empty(out_scale[cell]):
                continue
            present = live[cell, : n_live[cell]]
            out_scale[cell] = normalise(seen, present, out_scale[cell])
            if is_empty(out_scale[cell]):
                continue
            factor = power(out_scale[cell] + scale[cell] - scale[top]) / total
            outside_sum = 0.0
            for a in present:
                outside_sum += seen[a] * values[1, cell, a]
            if outside_sum * factor * max_visits < threshold:  # no symbol here can reach it
                continue
            _within_chains(closure, seen, present, anywhere)
            if not _allow(present, anywhere, values[1, cell], factor, threshold, allowed[cell]) or width == 1:
                continue
            is_listed = False
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                if n_live[left] == 0 or n_live[right] == 0:
                    continue
                of_left, of_right, out_left, out_right = values[1, left], values[1, right], out[1, left], out[1, right]
                lefts, rights = live[left, : n_live[left]], live[right, : n_live[right]]
                to_left = raise_scale(out_left, lefts, out_scale, left, out_scale[cell] + scale[right])
                to_right = raise_scale(out_right, rights, out_scale, right, out_scale[cell] + scale[left])
                left_cell = ChildCell(lefts, of_left, out_left, to_left)
                right_cell = ChildCell(rights, of_right, out_right, to_right)
                if len(rights) * FEW < n_symbols:
                    _outside_by_pairs(grammar, anywhere, allowed[cell], left_cell, right_cell)
                    continue
                if not is_listed:
                    _list_active(grammar.rules, ranges, anywhere, allowed[cell], active, active_from)
                    is_listed = True
                _outside_by_active(active, active_from, left_cell, right_cell)
    return math.log(total) + scale[top] * math.log(2.0)
