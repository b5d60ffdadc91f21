"""Charts of grammars with latent annotations: inside and outside sums, posteriors of rules, and the tree whose rules
are the most probable together (the max-rule-product of Petrov & Klein 2007).

Every symbol of the observable grammar stands for a vector of latent values; a chart cell holds the vectors of the
symbols that a coarser grammar has left there, one after the other. Of a rule X -> Y Z only those rows [y, z, :] are
kept that have a probability above 0, of X -> Y only such rows [y, :]; after EM that is about one in twenty.

Numbers of a cell are scaled by a power of two, `scale`, so that the largest inside number is near 1. Outside numbers
are scaled so that inside times outside is a posterior, up to the inside number of the root.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import bare_kernel, inner_kernel
from .cky import cell_number
from .posterior import EMPTY, best_scale, normalise, power

BINARY_FROM, BINARY_TO, UNARY_FROM, UNARY_TO = 0, 1, 2, 3
ROUNDS = 6
"""Most steps of a chain of unary rules."""
_ENOUGH = 1e-12

ANCHOR = np.dtype([("posterior", np.float64), ("cell", np.int32), ("split", np.int32), ("rule", np.int32)])
"""A rule at a place of the chart, with the log of its posterior. `split`: UNARY or WORD where there is none; `rule`: of
a word its symbol."""
UNARY, WORD = -1, -2


class LatentRules(NamedTuple):
    """`sizes` int32 (S,): latent values. `ranges` int32 (S, 4): where the binary and unary rules of a left or only
    child stand among the rules; `parent`, `left`, `right` int32 (R,) (-1: unary). `row_from` int32 (R + 1,): a rule's
    rows; `rows` int32 (N, 2): the latent values of the left and the right (0: none) child; `at` int64 (R,): where a
    rule's rows begin in `values` float64, one number for each value of the parent. `pair_from` int32 (S, S + 1): the
    binary rules with the children b and c stand at [pair_from[b, c], pair_from[b, c + 1])."""

    sizes: np.ndarray
    ranges: np.ndarray
    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    row_from: np.ndarray
    rows: np.ndarray
    at: np.ndarray
    values: np.ndarray
    pair_from: np.ndarray


@bare_kernel
def lay_out(allowed, sizes, where, symbols, symbol_from):
    """Give every allowed symbol of every cell a place for its vector.

    `allowed` uint8 (cells, S). Filled: `where` int32 (cells, S), -1 where a symbol may not come; `symbols` int32:
    those of a cell at [symbol_from[cell], symbol_from[cell + 1]). Returns the length of all vectors.
    """
    used, count = 0, 0
    for cell in range(allowed.shape[0]):
        symbol_from[cell] = count
        for s in range(allowed.shape[1]):
            where[cell, s] = -1
            if allowed[cell, s] != 0:
                where[cell, s] = used
                used += sizes[s]
                symbols[count] = s
                count += 1
    symbol_from[allowed.shape[0]] = count
    return used


@inner_kernel
def _region(where, symbols, symbol_from, sizes, cell):
    """(from, to) of a cell's vectors."""
    first, last = symbol_from[cell], symbol_from[cell + 1]
    if first == last:
        return 0, 0
    return where[cell, symbols[first]], where[cell, symbols[last - 1]] + sizes[symbols[last - 1]]


@inner_kernel
def _dot(one, at_one, other, at_other, size):
    """The sum of products of `size` numbers of two arrays."""
    total = 0.0
    for x in range(size):
        total += one[at_one + x] * other[at_other + x]
    return total


@inner_kernel
def _any(row, at, size):
    """Whether one of `size` numbers, none below 0, is above it."""
    total = 0.0
    for x in range(size):
        total += row[at + x]
    return total > 0.0


@inner_kernel
def _add_row(to, at_to, factor, values, at, size):
    """Add factor times `size` numbers of `values`."""
    for x in range(size):
        to[at_to + x] += factor * values[at + x]


@inner_kernel
def _chains(rules, place, of_cell, low, start, row, spare, up):
    """Numbers with chains of unary rules, until they change no more: inside ones, from the child `up` to the parent
    (row = start + U row), or outside ones, from the parent down to the child (row = start + U' row)."""
    for k in range(row.shape[0]):
        row[k] = start[k]
    for _ in range(ROUNDS):
        for k in range(row.shape[0]):
            spare[k] = start[k]
        for symbol in of_cell:
            child = place[symbol] - low
            for number in range(rules.ranges[symbol, UNARY_FROM], rules.ranges[symbol, UNARY_TO]):
                if place[rules.parent[number]] < 0:
                    continue
                at, above, n = rules.at[number], place[rules.parent[number]] - low, rules.sizes[rules.parent[number]]
                for k in range(rules.row_from[number], rules.row_from[number + 1]):
                    below = child + rules.rows[k, 0]
                    if not up:
                        spare[below] += _dot(row, above, rules.values, at, n)
                    elif row[below] > 0.0:
                        _add_row(spare, above, row[below], rules.values, at, n)
                    at += n
        change = 0.0
        for k in range(row.shape[0]):
            change = max(change, spare[k] - row[k])
            row[k] = spare[k]
        if change <= _ENOUGH:
            break


@bare_kernel
def latent_inside(rules, leaves, leaf_from, emissions, where, symbols, symbol_from, base, whole, scale, spare):
    """Inside numbers of all cells.

    `leaves` int32 (L, 2): symbols that a word may have and where their vectors begin in `emissions` float64; those of
    word t at [leaf_from[t], leaf_from[t + 1]). `where`, `symbols`, `symbol_from`: see `lay_out`. Filled: `base`,
    `whole` float64: without and with unary rules on top; `scale` int64 (cells,). `spare` float64: scratch as long as
    the longest cell.
    """
    n = leaf_from.shape[0] - 1
    sizes = rules.sizes
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            cell = cell_number(i, j)
            low, high = _region(where, symbols, symbol_from, sizes, cell)
            scale[cell] = EMPTY
            if low == high:
                continue
            row = base[low:high]
            row[:] = 0.0
            place, of_cell = where[cell], symbols[symbol_from[cell] : symbol_from[cell + 1]]
            top = 0 if i == j - 1 else best_scale(scale, i, j)
            if i == j - 1:
                for k in range(leaf_from[i], leaf_from[i + 1]):
                    to = place[leaves[k, 0]]
                    if to >= 0:
                        _add_row(base, to, 1.0, emissions, leaves[k, 1], sizes[leaves[k, 0]])
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                factor = power(scale[left] + scale[right] - top)
                if top <= EMPTY // 2 or factor <= 0.0:
                    continue
                of_right = symbols[symbol_from[right] : symbol_from[right + 1]]
                for b in symbols[symbol_from[left] : symbol_from[left + 1]]:
                    for c in of_right:
                        at_left, at_right = where[left, b], where[right, c]
                        for number in range(rules.pair_from[b, c], rules.pair_from[b, c + 1]):
                            to = place[rules.parent[number]]
                            if to < 0:
                                continue
                            at, size = rules.at[number], sizes[rules.parent[number]]
                            for k in range(rules.row_from[number], rules.row_from[number + 1]):
                                both = whole[at_left + rules.rows[k, 0]] * whole[at_right + rules.rows[k, 1]] * factor
                                if both > 0.0:
                                    _add_row(base, to, both, rules.values, at, size)
                                at += size
            scale[cell] = normalise(row, top)
            if scale[cell] <= EMPTY // 2:
                whole[low:high] = 0.0
            else:
                _chains(rules, place, of_cell, low, row, whole[low:high], spare, True)


@inner_kernel
def _anchor(anchors, count, posterior, least, cell, split, rule):
    """Note a rule whose posterior counts; the new number of anchors."""
    if posterior >= least:
        anchors[count]["posterior"] = math.log(posterior)
        anchors[count]["cell"] = cell
        anchors[count]["split"] = split
        anchors[count]["rule"] = rule
        return count + 1
    return count


@inner_kernel
def _drop_improbable(place, of_cell, sizes, anywhere, whole, least):
    """Clear the outside numbers of symbols whose posterior times the root's is below `least`; whether any stay."""
    some = False
    for symbol in of_cell:
        at, size = place[symbol], sizes[symbol]
        if _dot(anywhere, at, whole, at, size) < least:
            anywhere[at : at + size] = 0.0
        else:
            some = True
    return some


@inner_kernel
def _anchor_chains(rules, place, of_cell, anywhere, whole, total, least, cell, anchors, count):
    """Note the unary rules of a cell; the new number of anchors."""
    for child in of_cell:
        for number in range(rules.ranges[child, UNARY_FROM], rules.ranges[child, UNARY_TO]):
            parent = rules.parent[number]
            if place[parent] < 0:
                continue
            at, size = rules.at[number], rules.sizes[parent]
            met = 0.0
            for k in range(rules.row_from[number], rules.row_from[number + 1]):
                met += _dot(anywhere, place[parent], rules.values, at, size) * whole[place[child] + rules.rows[k, 0]]
                at += size
            count = _anchor(anchors, count, met / total, least, cell, UNARY, number)
    return count


@inner_kernel
def _down(rules, number, up, at_left, at_right, factor, anywhere, whole, above):
    """Add to the outside numbers of both children what a binary rule gives them; what all trees with it weigh."""
    at, size = rules.at[number], rules.sizes[rules.parent[number]]
    met = 0.0
    for k in range(rules.row_from[number], rules.row_from[number + 1]):
        y, z = at_left + rules.rows[k, 0], at_right + rules.rows[k, 1]
        part = _dot(anywhere, up, rules.values, at, size) * factor
        above[z] += part * whole[y]
        above[y] += part * whole[z]
        met += part * whole[y] * whole[z]
        at += size
    return met


@bare_kernel
def latent_outside(
    rules, n, root, least, where, symbols, symbol_from, base, whole, scale, above, anywhere, spare, anchors
):
    """Outside numbers, and the posteriors of rules that reach `least`, from the root down.

    After `latent_inside`. `above`, `anywhere` float64, like `whole`: of symbols on top of their unary chain, and
    anywhere in it. Returns the number of `anchors` ANCHOR, -1 if there is no room for all, -2 if the root has no tree.
    """
    sizes = rules.sizes
    top = cell_number(0, n)
    if where[top, root] < 0 or scale[top] <= EMPTY // 2 or whole[where[top, root]] <= 0.0:
        return -2
    above[:] = 0.0
    above[where[top, root]] = 1.0
    total = whole[where[top, root]]
    count = 0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            cell = cell_number(i, j)
            low, high = _region(where, symbols, symbol_from, sizes, cell)
            if low == high or scale[cell] <= EMPTY // 2:
                continue
            place, of_cell = where[cell], symbols[symbol_from[cell] : symbol_from[cell + 1]]
            _chains(rules, place, of_cell, low, above[low:high], anywhere[low:high], spare, False)
            if count + of_cell.shape[0] * of_cell.shape[0] + of_cell.shape[0] > anchors.shape[0]:
                return -1
            if not _drop_improbable(place, of_cell, sizes, anywhere, whole, least * total):
                continue
            count = _anchor_chains(rules, place, of_cell, anywhere, whole, total, least, cell, anchors, count)
            if width == 1:
                for symbol in of_cell:
                    met = _dot(anywhere, place[symbol], base, place[symbol], sizes[symbol])
                    count = _anchor(anchors, count, met / total, least, cell, WORD, symbol)
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                if scale[left] <= EMPTY // 2 or scale[right] <= EMPTY // 2:
                    continue
                factor = power(scale[left] + scale[right] - scale[cell])
                if factor <= 0.0:
                    continue
                of_right = symbols[symbol_from[right] : symbol_from[right + 1]]
                for b in symbols[symbol_from[left] : symbol_from[left + 1]]:
                    for c in of_right:
                        for number in range(rules.pair_from[b, c], rules.pair_from[b, c + 1]):
                            up = place[rules.parent[number]]
                            if up < 0 or not _any(anywhere, up, sizes[rules.parent[number]]):
                                continue
                            met = _down(
                                rules, number, up, where[left, b], where[right, c], factor, anywhere, whole, above
                            )
                            if count == anchors.shape[0]:
                                return -1
                            count = _anchor(anchors, count, met / total, least, cell, split, number)
    return count


@bare_kernel
def best_tree(parent, left, right, anchors, n_anchors, cells, score, back):
    """The tree with the greatest product of rule posteriors, bottom up.

    `parent`, `left`, `right` int32 (R,): the rules that the anchors name. `anchors`: those of a cell stand together,
    and those of its parts after them. `cells` int32 (cells, 2): the span of each cell. Filled: `score` float64 (cells,
    S), natural logs, -inf where there is no tree; `back` int32 (cells, S): the anchor that makes it, -1 for none.
    """
    score[:] = -math.inf
    back[:] = -1
    last = n_anchors
    while last > 0:
        cell = anchors[last - 1]["cell"]
        first = last
        while first > 0 and anchors[first - 1]["cell"] == cell:
            first -= 1
        changed = True
        while changed:  # chains of unary rules
            changed = False
            for k in range(last - 1, first - 1, -1):
                number, split = anchors[k]["rule"], anchors[k]["split"]
                value = min(anchors[k]["posterior"], 0.0)
                if split == WORD:
                    symbol = number
                elif split == UNARY:
                    symbol = parent[number]
                    value += score[cell, left[number]]
                else:
                    symbol = parent[number]
                    value += score[cell_number(cells[cell, 0], split), left[number]]
                    value += score[cell_number(split, cells[cell, 1]), right[number]]
                if value > score[cell, symbol]:
                    score[cell, symbol] = value
                    back[cell, symbol] = k
                    changed = True
        last = first


@bare_kernel
def read_tree(left, right, anchors, cells, back, top, root, steps):
    """The best tree after `best_tree`, in pre-order: `steps` int32 (M, 2), a cell and its symbol each; returns how many
    there are, -1 if there is no room for all. `top`: the root's cell."""
    count, waiting = 0, 1
    last = steps.shape[0]  # what comes later waits at the end of `steps`
    steps[last - 1, 0] = top
    steps[last - 1, 1] = root
    while waiting > 0:
        cell, symbol = steps[last - waiting, 0], steps[last - waiting, 1]
        waiting -= 1
        if count + waiting + 3 > last:
            return -1
        steps[count, 0] = cell
        steps[count, 1] = symbol
        count += 1
        anchor = anchors[back[cell, symbol]]
        split, rule = anchor["split"], anchor["rule"]
        if split == WORD:
            continue
        first = cell
        if split != UNARY:
            first = cell_number(cells[cell, 0], split)
            waiting += 1
            steps[last - waiting, 0] = cell_number(split, cells[cell, 1])
            steps[last - waiting, 1] = right[rule]
        waiting += 1
        steps[last - waiting, 0] = first
        steps[last - waiting, 1] = left[rule]
    return count
