"""Charts of grammars with latent annotations: inside sums. The outside sums and the trees are in `latent_outside` and
`latent_trees`.

Every symbol of the observable grammar has a vector of latent values; a chart cell stores the vectors of the symbols
that a coarser grammar allows there, concatenated. A rule X -> Y Z stores only the rows [y, z, :] with a probability
above 0, X -> Y only such rows [y, :]; after EM that is about one in twenty.

Values of a cell are scaled by a power of two, `scale`, so that the largest inside value is near 1. Outside values are
scaled so that inside times outside is a posterior, up to the inside value of the root.

With the maximum instead of the sum the chart is that of the Viterbi complete tree (Matsuzaki, Miyao & Tsujii 2005,
section 3.1). Only unary rules are recorded bottom-up: a symbol's best binary rule is searched for again top-down, only
for the nodes of the tree.
"""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from .cky import BINARY_FROM, BINARY_TO, UNARY_FROM, UNARY_TO, cell_number
from .inside import EMPTY, best_scale, is_empty, normalise, power

ROUNDS = 6
"""Maximum number of steps of a chain of unary rules."""
_ENOUGH = 1e-12

ANCHOR = np.dtype([("posterior", np.float64), ("cell", np.int32), ("split", np.int32), ("rule", np.int32)])
"""A rule in a cell of the chart, with the log of its posterior. `split`: UNARY or WORD if there is none; `rule`: for a
word its symbol."""
UNARY, WORD = -1, -2

BEST = np.dtype(
    [("weight", np.float64), ("symbol", np.int32), ("value", np.int32), ("start", np.int32), ("end", np.int32)]
)
"""A node of the best complete tree over [start, end): symbol, latent value, log probability of its expansion."""


class LatentRules(NamedTuple):
    """Rules of a grammar with latent annotations.

    `sizes` int32 (S,): number of latent values of a symbol. `ranges` int32 (S, 4): ranges of the binary and unary rules
    of a left or only child; `parent`, `left`, `right` int32 (R,) (right -1: unary). `row_from` int32 (R + 1,): offsets
    of the rules' rows; `rows` int32 (N, 2): the latent values of the left and the right (0: none) child; `at` int64
    (R,): offset of a rule's rows in `values` float64, one value for each latent value of the parent. `pair_from` int32
    (S, S + 1): the binary rules with the children b and c are [pair_from[b, c], pair_from[b, c + 1])."""

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


class LatentChart(NamedTuple):
    """A chart of latent vectors. `where` int32 (cells, S): offset of a symbol's vector, -1 if it is not allowed;
    `symbols` int32: a cell has those in [symbol_from[cell], symbol_from[cell + 1]). `base`, `whole` float64: inside
    values without and with unary rules on top; the true value is that times 2 ** `scale` int64 (cells,)."""

    where: np.ndarray
    symbols: np.ndarray
    symbol_from: np.ndarray
    base: np.ndarray
    whole: np.ndarray
    scale: np.ndarray


@noalloc_kernel
def lay_out(allowed, sizes, where, symbols, symbol_from):
    """Assign an offset for its vector to every allowed symbol of every cell.

    `allowed` uint8 (cells, S). Filled: see `LatentChart`. Return the total length of the vectors.
    """
    used, count = 0, 0
    for cell in range(len(allowed)):
        symbol_from[cell] = count
        for s in range(allowed.shape[1]):
            where[cell, s] = -1
            if allowed[cell, s] != 0:
                where[cell, s] = used
                used += sizes[s]
                symbols[count] = s
                count += 1
    symbol_from[len(allowed)] = count
    return used


@inner_kernel
def cell_region(chart, sizes, cell):
    """(First, end) offset of a cell's vectors."""
    first, last = chart.symbol_from[cell], chart.symbol_from[cell + 1] - 1
    if first > last:
        return 0, 0
    last_symbol = chart.symbols[last]
    return chart.where[cell, chart.symbols[first]], chart.where[cell, last_symbol] + sizes[last_symbol]


@inner_kernel
def dot(one, at_one, other, at_other, size):
    """The dot product of `size` elements of two arrays."""
    total = 0.0
    for x in range(size):
        total += one[at_one + x] * other[at_other + x]
    return total


@inner_kernel
def _add_row(to, at_to, factor, values, at, size, best):
    """Add `factor` times `size` elements of `values`; with `best` take the maximum instead of the sum."""
    for x in range(size):
        found, before = factor * values[at + x], to[at_to + x]
        if best:
            to[at_to + x] = found if found > before else before
        else:
            to[at_to + x] = before + found


@inner_kernel
def unary_chains(rules, offset_of, of_cell, low, start, row, spare, up):
    """Add chains of unary rules until the values converge: inside values, from the child `up` to the parent (row =
    start + U row), or outside values, from the parent down to the child (row = start + U' row)."""
    for k in range(len(row)):
        row[k] = start[k]
    for _ in range(ROUNDS):
        for k in range(len(row)):
            spare[k] = start[k]
        for symbol in of_cell:
            child = offset_of[symbol] - low
            for rule_id in range(rules.ranges[symbol, UNARY_FROM], rules.ranges[symbol, UNARY_TO]):
                if offset_of[rules.parent[rule_id]] < 0:
                    continue
                at, above, n = (
                    rules.at[rule_id],
                    offset_of[rules.parent[rule_id]] - low,
                    rules.sizes[rules.parent[rule_id]],
                )
                for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
                    below = child + rules.rows[k, 0]
                    if not up:
                        spare[below] += dot(row, above, rules.values, at, n)
                    elif row[below] > 0.0:
                        _add_row(spare, above, row[below], rules.values, at, n, False)
                    at += n
        change = 0.0
        for k in range(len(row)):
            change = max(change, spare[k] - row[k])
            row[k] = spare[k]
        if change <= _ENOUGH:
            break


@inner_kernel
def _best_chains(rules, offset_of, of_cell, low, start, row, step):
    """Replace every value by the maximum over chains of unary rules. No rule has a probability above 1, so a cycle
    never increases a value; this terminates, without a cycle among the `step`s."""
    for k in range(len(row)):
        row[k] = start[k]
    changed = True
    while changed:
        changed = False
        for symbol in of_cell:
            for rule_id in range(rules.ranges[symbol, UNARY_FROM], rules.ranges[symbol, UNARY_TO]):
                parent = rules.parent[rule_id]
                if offset_of[parent] < 0:
                    continue
                at, to, n = rules.at[rule_id], offset_of[parent] - low, rules.sizes[parent]
                for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
                    value = row[offset_of[symbol] - low + rules.rows[k, 0]]
                    if value > 0.0:
                        for x in range(n):
                            if value * rules.values[at + x] > row[to + x]:
                                row[to + x] = value * rules.values[at + x]
                                step[to + x, 0], step[to + x, 1], changed = rule_id, k, True
                    at += n


@inner_kernel
def _join(rules, rule_id, offset_of, at_left, at_right, factor, chart, best):
    """Add the values of a binary rule's parent for two children to the chart's `base`; `at_right` -1: the right one is
    not allowed."""
    parent, base, whole = rules.parent[rule_id], chart.base, chart.whole
    if offset_of[parent] < 0 or at_right < 0:
        return
    at, size = rules.at[rule_id], rules.sizes[parent]
    for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
        both = whole[at_left + rules.rows[k, 0]] * whole[at_right + rules.rows[k, 1]] * factor
        if both > 0.0:
            _add_row(base, offset_of[parent], both, rules.values, at, size, best)
        at += size


@noalloc_kernel
def latent_inside(rules, words, chart, spare, step):
    """Fill `base`, `whole` and `scale` of a chart with the inside values of all cells, or, if `step` has rows, with the
    probability of the best complete tree of every latent value of every symbol.

    `words`: `leaves` int32 (L, 2), possible symbols of a word and the offsets of their vectors in `emissions` float64;
    word t has [leaf_from[t], leaf_from[t + 1]). Scratch: `spare` float64, as long as the longest cell. `step` int32
    (length, 2) or (0, 2), filled: for each value its last unary rule and the row of the rule, -1 if there is none.
    """
    where, symbols, symbol_from, base, whole, scale = chart
    sizes, leaf_from, best = rules.sizes, words.leaf_from, len(step) > 0
    step[:] = -1
    for j in range(1, len(leaf_from)):
        for i in range(j - 1, -1, -1):
            cell = cell_number(i, j)
            low, high = cell_region(chart, sizes, cell)
            base[low:high] = 0.0
            whole[low:high] = 0.0
            top = 0 if i == j - 1 else best_scale(scale, i, j)
            scale[cell] = EMPTY
            if low == high or is_empty(top):
                continue
            offset_of, of_cell = where[cell], symbols[symbol_from[cell] : symbol_from[cell + 1]]
            if i == j - 1:
                for symbol, at in words.leaves[leaf_from[i] : leaf_from[j]]:
                    if offset_of[symbol] >= 0:
                        _add_row(base, offset_of[symbol], 1.0, words.emissions, at, sizes[symbol], best)
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                factor = power(scale[left] + scale[right] - top)
                if factor <= 0.0:
                    continue
                of_right = symbols[symbol_from[right] : symbol_from[right + 1]]
                for b in symbols[symbol_from[left] : symbol_from[left + 1]]:
                    at_left, first, last = where[left, b], rules.ranges[b, BINARY_FROM], rules.ranges[b, BINARY_TO]
                    if last - first < len(of_right):  # iterate over the shorter list; the order is the same
                        for rule_id in range(first, last):
                            at_right = where[right, rules.right[rule_id]]
                            _join(rules, rule_id, offset_of, at_left, at_right, factor, chart, best)
                        continue
                    for c in of_right:
                        for rule_id in range(rules.pair_from[b, c], rules.pair_from[b, c + 1]):
                            _join(rules, rule_id, offset_of, at_left, where[right, c], factor, chart, best)
            scale[cell] = normalise(base[low:high], range(high - low), top)
            if is_empty(scale[cell]):
                continue
            if best:
                _best_chains(rules, offset_of, of_cell, low, base[low:high], whole[low:high], step[low:high])
            else:
                unary_chains(rules, offset_of, of_cell, low, base[low:high], whole[low:high], spare, True)


@noalloc_kernel
def observed_probability(rules, rule, symbol, word, emissions, stack):
    """The log probability of an observed tree: the sum over all annotations (section 2.2); -inf if it has none.

    The nodes are given in pre-order: `rule` int32 (N,): the rule that expands a node, -1 for a word's tag; `symbol`
    int32 (N,); `word` int64 (N,): for a tag, the offset of the word's probabilities in `emissions` float64, -1: none.
    Scratch: `stack` float64 (max number of nodes that wait for their parent + 1, max latent values).
    """
    depth, total = 0, 0.0
    for node in range(len(rule) - 1, -1, -1):  # the left child, which comes first, is processed last
        size, row = rules.sizes[symbol[node]], stack[depth]
        rule_id = rule[node]
        if rule_id < 0:
            if word[node] < 0:
                return -math.inf
            for x in range(size):
                row[x] = emissions[word[node] + x]
        else:
            row[:size] = 0.0
            at, n_children = rules.at[rule_id], 1 if rules.right[rule_id] < 0 else 2
            for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
                value = stack[depth - 1, rules.rows[k, 0]]
                if n_children == 2:
                    value *= stack[depth - 2, rules.rows[k, 1]]
                _add_row(row, 0, value, rules.values, at, size, False)
                at += size
            depth -= n_children
        high = 0.0
        for x in range(size):
            high = max(high, row[x])
        if high <= 0.0:
            return -math.inf
        total += math.log(high)
        for x in range(size):
            stack[depth, x] = row[x] / high
        depth += 1
    return total + math.log(stack[0, 0])
