"""The Viterbi complete tree of a grammar with latent annotations (Matsuzaki, Miyao & Tsujii 2005, section 3.1), and the
exact probability of one observed tree (section 2.2).

The chart is that of `latent`, with the greatest number in place of the sum; cells are scaled by powers of two in the
same way. Only unary rules leave a trace on the way up: a symbol's best binary rule is looked for again on the way down,
in the few places that the tree goes through.
"""

import math

import numpy as np

from ..jit import bare_kernel, inner_kernel
from .cky import cell_number
from .latent import BINARY_FROM, BINARY_TO, UNARY_FROM, UNARY_TO, _region
from .posterior import EMPTY, normalise, power

BEST = np.dtype(
    [("weight", np.float64), ("symbol", np.int32), ("value", np.int32), ("start", np.int32), ("end", np.int32)]
)
"""A node of the best complete tree over [start, end): symbol, latent value, log probability of its expansion."""


@inner_kernel
def _climb_best(rules, place, of_cell, low, row, step):
    """Chains of unary rules: every number becomes the greatest that a chain gives. No rule has a probability above 1,
    so a cycle never makes a number greater, and this ends with no cycle among the `step`s."""
    changed = True
    while changed:
        changed = False
        for symbol in of_cell:
            child = place[symbol] - low
            for number in range(rules.ranges[symbol, UNARY_FROM], rules.ranges[symbol, UNARY_TO]):
                parent = rules.parent[number]
                if place[parent] < 0:
                    continue
                at, to, n = rules.at[number], place[parent] - low, rules.sizes[parent]
                for k in range(rules.row_from[number], rules.row_from[number + 1]):
                    below = child + rules.rows[k, 0]
                    value = row[below]
                    if value > 0.0:
                        for x in range(n):
                            if value * rules.values[at + x] > row[to + x]:
                                row[to + x] = value * rules.values[at + x]
                                step[to + x, 0] = number
                                step[to + x, 1] = below
                                changed = True
                    at += n


@bare_kernel
def viterbi_inside(rules, leaves, leaf_from, emissions, where, symbols, symbol_from, base, whole, scale, step):
    """The probability of the best complete tree of every latent value of every allowed symbol of every cell.

    Arguments as for `latent.latent_inside`. Filled: `base`, `whole` float64: without and with unary rules on top;
    `scale` int64 (cells,); `step` int32 (length, 2): the last unary rule and the place of its child among the cell's
    numbers, -1 where there is none.
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
            step[low:high] = -1
            place, of_cell = where[cell], symbols[symbol_from[cell] : symbol_from[cell + 1]]
            top = EMPTY
            if i == j - 1:
                top = 0
                for k in range(leaf_from[i], leaf_from[i + 1]):
                    to = place[leaves[k, 0]]
                    if to >= 0:
                        for x in range(sizes[leaves[k, 0]]):
                            base[to + x] = max(base[to + x], emissions[leaves[k, 1] + x])
            for split in range(i + 1, j):
                top = max(top, scale[cell_number(i, split)] + scale[cell_number(split, j)])
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                factor = power(scale[left] + scale[right] - top)
                if top <= EMPTY // 2 or factor <= 0.0:
                    continue
                for entry in range(symbol_from[left], symbol_from[left + 1]):
                    child = symbols[entry]
                    of_left = where[left, child]
                    for number in range(rules.ranges[child, BINARY_FROM], rules.ranges[child, BINARY_TO]):
                        to, of_right = place[rules.parent[number]], where[right, rules.right[number]]
                        if to < 0 or of_right < 0:
                            continue
                        at, size = rules.at[number], sizes[rules.parent[number]]
                        for k in range(rules.row_from[number], rules.row_from[number + 1]):
                            both = whole[of_left + rules.rows[k, 0]] * factor * whole[of_right + rules.rows[k, 1]]
                            if both > 0.0:
                                for x in range(size):
                                    found = both * rules.values[at + x]
                                    base[to + x] = found if found > base[to + x] else base[to + x]
                            at += size
            scale[cell] = normalise(row, top)
            for k in range(low, high):
                whole[k] = base[k]
            if scale[cell] > EMPTY // 2:
                _climb_best(rules, place, of_cell, low, whole[low:high], step[low:high])


@inner_kernel
def _best_binary(rules, start, end, symbol, value, where, symbols, symbol_from, whole, scale, cell_scale):
    """(Split, rule, left value, right value, probability) of the best binary rule of a latent value; split -1: none."""
    best, best_split, best_rule, best_y, best_z, chance = 0.0, -1, -1, 0, 0, 0.0
    size = rules.sizes[symbol]
    for split in range(start + 1, end):
        left, right = cell_number(start, split), cell_number(split, end)
        factor = power(scale[left] + scale[right] - cell_scale)
        if factor <= 0.0:
            continue
        for entry in range(symbol_from[left], symbol_from[left + 1]):
            child = symbols[entry]
            for number in range(rules.ranges[child, BINARY_FROM], rules.ranges[child, BINARY_TO]):
                of_right = where[right, rules.right[number]]
                if rules.parent[number] != symbol or of_right < 0:
                    continue
                of_left, at = where[left, child], rules.at[number] + value
                for k in range(rules.row_from[number], rules.row_from[number + 1]):
                    y, z = rules.rows[k, 0], rules.rows[k, 1]
                    found = whole[of_left + y] * factor * whole[of_right + z] * rules.values[at]
                    if found > best:
                        best, best_split, best_rule, best_y, best_z = found, split, number, y, z
                        chance = rules.values[at]
                    at += size
    return best_split, best_rule, best_y, best_z, chance


@bare_kernel
def viterbi_tree(
    rules, leaves, leaf_from, emissions, root, where, symbols, symbol_from, base, whole, scale, step, nodes, stack
):
    """The nodes BEST of the best complete tree in pre-order, after `viterbi_inside`; returns their number, 0 if there
    is no tree, -1 if `nodes` has no room. `stack` int32 (depth, 4): scratch, as long as `nodes`.
    """
    n = leaf_from.shape[0] - 1
    top = cell_number(0, n)
    if where[top, root] < 0 or scale[top] <= EMPTY // 2 or whole[where[top, root]] <= 0.0:
        return 0
    count, depth = 0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = root, 0, 0, n
    while depth > 0:
        depth -= 1
        symbol, value, start, end = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if count == nodes.shape[0] or depth + 2 > stack.shape[0]:
            return -1
        cell = cell_number(start, end)
        low, _ = _region(where, symbols, symbol_from, rules.sizes, cell)
        at = where[cell, symbol] + value
        chance = 0.0
        if step[at, 0] >= 0:
            number, child = step[at, 0], low + step[at, 1]
            for entry in range(symbol_from[cell], symbol_from[cell + 1]):
                below = symbols[entry]
                if rules.ranges[below, UNARY_FROM] <= number < rules.ranges[below, UNARY_TO]:
                    y = child - where[cell, below]
                    first = rules.row_from[number]
                    for k in range(first, rules.row_from[number + 1]):
                        if rules.rows[k, 0] == y:
                            chance = rules.values[rules.at[number] + (k - first) * rules.sizes[symbol] + value]
                    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = below, y, start, end
                    depth += 1
                    break
        elif end == start + 1:
            for k in range(leaf_from[start], leaf_from[start + 1]):
                if leaves[k, 0] == symbol:
                    chance = max(chance, emissions[leaves[k, 1] + value])
        else:
            split, number, y, z, chance = _best_binary(
                rules, start, end, symbol, value, where, symbols, symbol_from, whole, scale, scale[cell]
            )
            if split < 0:
                return 0
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = rules.right[number], z, split, end
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = rules.left[number], y, start, split
            depth += 1
        if chance <= 0.0:
            return 0
        nodes[count]["weight"] = math.log(chance)
        nodes[count]["symbol"] = symbol
        nodes[count]["value"] = value
        nodes[count]["start"] = start
        nodes[count]["end"] = end
        count += 1
    return count


@bare_kernel
def observed_probability(rules, rule, symbol, word, emissions, stack):
    """The log of the probability of an observed tree: the sum over all annotations; -inf where it has none.

    Its nodes in pre-order: `rule` int32 (N,): the rule that expands a node, -1 for a word's tag; `symbol` int32 (N,);
    `word` int64 (N,): of a tag, where the word's probabilities begin in `emissions` float64, -1: it has none. `stack`
    float64 (most nodes that wait for their parent + 1, most latent values): scratch.
    """
    depth, total = 0, 0.0
    for node in range(rule.shape[0] - 1, -1, -1):  # the left child, which stands first, is done last
        size, row = rules.sizes[symbol[node]], stack[depth]
        number = rule[node]
        if number < 0:
            if word[node] < 0:
                return -math.inf
            for x in range(size):
                row[x] = emissions[word[node] + x]
        else:
            left = stack[depth - 1]
            row[:size] = 0.0
            at = rules.at[number]
            if rules.right[number] < 0:
                for k in range(rules.row_from[number], rules.row_from[number + 1]):
                    for x in range(size):
                        row[x] += left[rules.rows[k, 0]] * rules.values[at + x]
                    at += size
                depth -= 1
            else:
                right = stack[depth - 2]
                for k in range(rules.row_from[number], rules.row_from[number + 1]):
                    both = left[rules.rows[k, 0]] * right[rules.rows[k, 1]]
                    for x in range(size):
                        row[x] += both * rules.values[at + x]
                    at += size
                depth -= 2
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
