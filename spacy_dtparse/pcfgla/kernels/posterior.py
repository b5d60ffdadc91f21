"""Inside and outside probabilities of a small grammar, and pruning of symbols by their posteriors.

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

PAIR = np.dtype([("value", np.float64), ("right", np.int64)])
"""The outside value that a right child gets from a rule with some left child, for all splits of a cell."""


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
