"""Inside probabilities of a small grammar; `pcfgla.kernels.outside` prunes symbols by their posteriors.

For grammars of up to a few hundred symbols: every cell stores one value per symbol, and the sum over splits is computed
for pairs of children before rules are applied, in loops over adjacent values. Unary rules are given as their closure,
the matrix (1 - U)^-1, so cycles are summed exactly. Probabilities of long sentences are below the range of float64, so
each cell has its own power of two: the true value is value * 2 ** scale. Scaling by powers of two is exact.

Cells are indexed as in `cky`. Rules have probabilities here, not log probabilities.
"""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from .cky import BINARY_FROM, BINARY_TO, UNARY_FROM, UNARY_TO, cell_number

EMPTY = -(2**40)
"""The scale of an empty cell."""

FEW = 8
"""The symbols of a cell are processed one by one if it has fewer than one in `FEW` of all symbols, else densely."""


class SmallGrammar(NamedTuple):
    """A grammar of S symbols.

    `rules` RULE (R,) with probabilities as weights, `ranges` int32 (S, 4), `pair_from` int32 (S, S + 1): the rules of
    the children b and c are [pair_from[b, c], pair_from[b, c + 1]), `joins` uint8 (S, S): whether there are any.
    `closure` float64 (2, S, S): closure[0, a, b] is the sum over all unary chains from a down to b, closure[1] its
    transpose. `frequency` float64 (S,): relative frequency of each symbol.
    """

    rules: np.ndarray
    ranges: np.ndarray
    pair_from: np.ndarray
    joins: np.ndarray
    closure: np.ndarray
    frequency: np.ndarray


class InsideChart(NamedTuple):
    """Inside probabilities. `live` int32 (cells, S): the first `n_live` int32 (cells,) elements of a row are the
    symbols of a cell, ascending; for cells that have some, `values` float64 (2, cells, S): [0] for these symbols by
    words and binary rules alone, [1] for all symbols with unary chains on top; the true value of both is times 2 **
    `scale` int64 (cells,)."""

    values: np.ndarray
    scale: np.ndarray
    live: np.ndarray
    n_live: np.ndarray


class InsideScratch(NamedTuple):
    """Scratch: `pairs` float64 (S, S), `row_sizes` int32 (S,), `rights` int32 (S, S): see `add_pairs`; `symbols` int32
    (S,)."""

    pairs: np.ndarray
    row_sizes: np.ndarray
    rights: np.ndarray
    symbols: np.ndarray


@inner_kernel
def power(exponent):
    """2 ** exponent, 0 if that is below the range of float64."""
    return 0.0 if exponent < -1020 else math.ldexp(1.0, int(exponent))


@inner_kernel
def is_empty(scale):
    """Whether a scale is that of an empty cell, or of the product of an empty cell with another."""
    return scale <= EMPTY // 2


@inner_kernel
def normalise(row, symbols, scale):
    """Scale a row, which is 0 except for `symbols`, so that its largest value is in [1/2, 1); return the new scale,
    EMPTY if all values are 0."""
    high = 0.0
    for symbol in symbols:
        if row[symbol] > high:
            high = row[symbol]
    if high == 0.0:
        return EMPTY
    _, exponent = math.frexp(high)
    factor = math.ldexp(1.0, int(-exponent))
    for symbol in symbols:
        row[symbol] *= factor
    return scale + exponent


@inner_kernel
def _above_zero(row, symbols):
    """List the symbols whose value is above 0, ascending; return their number."""
    count = 0
    for symbol in range(len(row)):
        if row[symbol] > 0:
            symbols[count] = symbol
            count += 1
    return count


@inner_kernel
def add_rules(grammar, left, right, of_left, of_right, factor, given, base):
    """Add the values of rules over two cells to `base`, for the parents marked in `given`; for the arguments see
    `add_pairs`."""
    rules, pair_from, joins = grammar.rules, grammar.pair_from, grammar.joins
    for b in of_left:
        value = left[b] * factor
        for c in of_right:
            if joins[b, c] == 0:
                continue
            both = value * right[c]
            for rule_id in range(pair_from[b, c], pair_from[b, c + 1]):
                parent = rules[rule_id]["parent"]
                if given[parent] != 0:
                    base[parent] += rules[rule_id]["weight"] * both


@inner_kernel
def add_pairs(joins, left, right, of_left, of_right, factor, scratch):
    """Add factor * left[b] * right[c] to pairs[b, c] for the symbols b of `of_left`, c of `of_right` (all symbols with
    values above 0); a row b is cleared when it is first used.

    `joins`: marks pairs that some rule has; others are skipped. `row_sizes`: 0 for unused rows, -1 for rows that are
    not needed, k + 1 for rows with k symbols c, listed in `rights`[b]; above S + 1 for rows with too many of them to
    list.
    """
    pairs, row_sizes, rights = scratch.pairs, scratch.row_sizes, scratch.rights
    n_symbols = len(right)
    is_sparse = len(of_right) * FEW < n_symbols
    for b in of_left:
        if row_sizes[b] < 0:
            continue
        if row_sizes[b] == 0:
            pairs[b] = 0.0
            row_sizes[b] = 1
        value = left[b] * factor
        if is_sparse and row_sizes[b] <= n_symbols + 1:
            for c in of_right:
                if joins[b, c] == 0:
                    continue
                before = pairs[b, c]
                pairs[b, c] = before + value * right[c]
                if before == 0.0 and pairs[b, c] > 0.0:  # so no symbol is listed twice, and the list fits
                    rights[b, row_sizes[b] - 1] = c
                    row_sizes[b] += 1
        else:
            row_sizes[b] = n_symbols + 2
            for c in range(n_symbols):
                pairs[b, c] += value * right[c]


@inner_kernel
def best_scale(scale, i, j):
    """The largest scale of a product of two cells that together cover [i, j); EMPTY if there is none."""
    top = EMPTY
    for split in range(i + 1, j):
        top = max(top, scale[cell_number(i, split)] + scale[cell_number(split, j)])
    return top


@inner_kernel
def _add_rules_of_pairs(grammar, scratch, base):
    """Add the values of rules over the pairs of children that `add_pairs` has summed over all splits."""
    rules, ranges, pair_from = grammar.rules, grammar.ranges, grammar.pair_from
    pairs, row_sizes, rights = scratch.pairs, scratch.row_sizes, scratch.rights
    n_symbols = len(base)
    for b in range(n_symbols):
        if 0 < row_sizes[b] <= n_symbols + 1:
            for c in rights[b, : row_sizes[b] - 1]:
                value = pairs[b, c]
                for rule_id in range(pair_from[b, c], pair_from[b, c + 1]):
                    base[rules[rule_id]["parent"]] += rules[rule_id]["weight"] * value
        elif row_sizes[b] > 0:
            for rule_id in range(ranges[b, BINARY_FROM], ranges[b, BINARY_TO]):
                rule = rules[rule_id]
                base[rule["parent"]] += rule["weight"] * pairs[b, rule["right"]]


@inner_kernel
def _close_unary(closure, ranges, present, is_sparse, base, whole):
    """Compute inside probabilities with unary chains on top, for the symbols `present` if `is_sparse`, else for all."""
    if is_sparse:
        for b in present:
            if ranges[b, UNARY_FROM] == ranges[b, UNARY_TO]:
                whole[b] += base[b]
            elif base[b] > 0.0:
                for a in present:
                    whole[a] += closure[1, b, a] * base[b]
        return
    n_symbols = len(base)
    for b in range(n_symbols):
        if base[b] > 0.0:
            value = base[b]
            if ranges[b, UNARY_FROM] == ranges[b, UNARY_TO]:
                whole[b] += value
                continue
            for a in range(n_symbols):
                whole[a] += closure[1, b, a] * value


@inner_kernel
def _prune(whole, frequency, beam, present, live):
    """Set values below the beam to 0, and list the remaining symbols; return their number."""
    best = 0.0
    for a in present:
        best = max(best, whole[a] * frequency[a])
    count = 0
    for a in present:
        if whole[a] * frequency[a] < beam * best:
            whole[a] = 0.0
        elif whole[a] > 0.0:
            live[count] = a
            count += 1
    return count


@inner_kernel
def _apply_mask(row, given):
    """Set the values of symbols that are not allowed to 0."""
    for a in range(len(row)):
        row[a] *= given[a] != 0


@noalloc_kernel
def inside(grammar, beam, leaves, leaf_from, given, chart, scratch):
    """Fill a chart with the inside probabilities of all symbols over all cells.

    A symbol is pruned if its inside probability times its frequency is below `beam` times the best of its cell, none
    with a beam of 0. `leaves` ITEM, `leaf_from` int32 (n + 1,): tags of each word with their probability. `given` uint8
    (cells, S): the symbols allowed over a cell; without rows all are. A unary chain between two of them may pass
    through others, which only adds to the sum.
    """
    ranges, closure, row_sizes = grammar.ranges, grammar.closure, scratch.row_sizes
    values, scale, live, n_live = chart
    n, n_symbols = len(leaf_from) - 1, len(ranges)
    masked = len(given) > 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):  # all cells within [i, j) are complete: they end before j, or start after i
            cell = cell_number(i, j)
            n_live[cell] = 0
            scale[cell] = EMPTY
            present, is_sparse = scratch.symbols[:0], False
            if masked:
                present = scratch.symbols[: _above_zero(given[cell], scratch.symbols)]
                if len(present) == 0:
                    continue
                is_sparse = len(present) * 2 < n_symbols
            top = 0 if i == j - 1 else best_scale(scale, i, j)
            if is_empty(top):
                continue
            base, whole = values[0, cell], values[1, cell]
            whole[:] = 0.0
            base[:] = 0.0
            if i == j - 1:
                for at in range(leaf_from[i], leaf_from[j]):
                    base[leaves[at]["symbol"]] += leaves[at]["score"]
            elif not is_sparse:
                for b in range(n_symbols):  # a symbol that is not the left child of any rule needs no row
                    row_sizes[b] = 0 if ranges[b, BINARY_FROM] < ranges[b, BINARY_TO] else -1
            of = values[1]
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                if n_live[left] == 0 or n_live[right] == 0:
                    continue
                of_left, of_right = live[left, : n_live[left]], live[right, : n_live[right]]
                factor = power(scale[left] + scale[right] - top)
                if factor <= 0.0:
                    continue
                if is_sparse:
                    add_rules(grammar, of[left], of[right], of_left, of_right, factor, given[cell], base)
                else:
                    add_pairs(grammar.joins, of[left], of[right], of_left, of_right, factor, scratch)
            if i < j - 1 and not is_sparse:
                _add_rules_of_pairs(grammar, scratch, base)
            if masked and not is_sparse:
                _apply_mask(base, given[cell])
            scale[cell] = normalise(base, present, top) if is_sparse else normalise(base, range(n_symbols), top)
            if is_empty(scale[cell]):
                continue
            _close_unary(closure, ranges, present, is_sparse, base, whole)
            if not is_sparse:
                if masked:
                    _apply_mask(whole, given[cell])
                present = scratch.symbols[: _above_zero(whole, scratch.symbols)]
            n_live[cell] = _prune(whole, grammar.frequency, beam, present, live[cell])
