"""The Viterbi complete tree of a grammar with latent annotations (Matsuzaki, Miyao & Tsujii 2005, section 3.1), and the
exact probability of one observed tree (section 2.2).

The chart is that of `latent`. Only unary rules leave a trace on the way up: a symbol's best binary rule is looked for
again on the way down, in the few places that the tree goes through.
"""

import math

import numpy as np

from ..jit import bare_kernel, inner_kernel
from .cky import BINARY_FROM, BINARY_TO, LEXICAL, UNARY_FROM, UNARY_TO, cell_number, find_item
from .latent import add_row
from .posterior import power

BEST = np.dtype(
    [("weight", np.float64), ("symbol", np.int32), ("value", np.int32), ("start", np.int32), ("end", np.int32)]
)
"""A node of the best complete tree over [start, end): symbol, latent value, log probability of its expansion."""


@inner_kernel
def _best_binary(rules, start, end, symbol, value, chart):
    """(Split, rule, left value, right value, probability) of the best binary rule of a latent value; split -1: none."""
    where, symbols, symbol_from, _, whole, scale = chart
    best, best_split, best_rule, best_y, best_z, chance = 0.0, -1, -1, 0, 0, 0.0
    size = rules.sizes[symbol]
    for split in range(start + 1, end):
        left, right = cell_number(start, split), cell_number(split, end)
        factor = power(scale[left] + scale[right] - scale[cell_number(start, end)])
        if factor <= 0.0:
            continue
        for child in symbols[symbol_from[left] : symbol_from[left + 1]]:
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
def viterbi_tree(rules, words, root, chart, step, nodes, stack):
    """The nodes BEST of the best complete tree in pre-order, after `latent_inside` with `step`; returns their number, 0
    if there is no tree, -1 if `nodes` has no room. `stack` int64 (depth, 4): scratch, as long as `nodes`.
    """
    n = words.leaf_from.shape[0] - 1
    at = chart.where[cell_number(0, n), root]
    if at < 0 or chart.whole[at] <= 0.0:
        return 0
    count, depth = 0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = root, 0, 0, n
    while depth > 0:
        depth -= 1
        symbol, value, start, end = stack[depth]
        if count == nodes.shape[0] or depth + 2 > stack.shape[0]:
            return -1
        at = chart.where[cell_number(start, end), symbol] + value
        number, row, chance = step[at, 0], step[at, 1], 0.0
        if number >= 0:
            chance = rules.values[rules.at[number] + (row - rules.row_from[number]) * rules.sizes[symbol] + value]
            stack[depth, 0], stack[depth, 1] = rules.left[number], rules.rows[row, 0]  # over the same words
            depth += 1
        elif end == start + 1:
            for tag, first in words.leaves[words.leaf_from[start] : words.leaf_from[end]]:
                if tag == symbol:
                    chance = max(chance, words.emissions[first + value])
        else:
            split, number, y, z, chance = _best_binary(rules, start, end, symbol, value, chart)
            if split < 0:
                return 0
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = rules.right[number], z, split, end
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = rules.left[number], y, start, split
            depth += 1
        if chance <= 0.0:
            return 0
        node = nodes[count]
        node["weight"], node["symbol"], node["value"] = math.log(chance), symbol, value
        node["start"], node["end"] = start, end
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
            row[:size] = 0.0
            at, n_children = rules.at[number], 1 if rules.right[number] < 0 else 2
            for k in range(rules.row_from[number], rules.row_from[number + 1]):
                value = stack[depth - 1, rules.rows[k, 0]]
                if n_children == 2:
                    value *= stack[depth - 2, rules.rows[k, 1]]
                add_row(row, 0, value, rules.values, at, size, False)
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


EDGE = np.dtype(
    [
        ("weight", np.float64), ("total", np.float64), ("rule", np.int32), ("split", np.int32), ("left", np.int32),
        ("right", np.int32),
    ]
)  # fmt: skip
"""A rule that builds an item, its log probability and that of the best derivation with it on top. `split` -1: none;
`left`, `right`: the children's symbols, -1 for none; `rule`: LEXICAL for a word's."""


@inner_kernel
def _note(edges, count, weight, total, rule, split, left, right):
    edge = edges[count]
    edge["weight"], edge["total"] = weight, total
    edge["rule"], edge["split"], edge["left"], edge["right"] = rule, split, left, right
    return count + 1


@bare_kernel
def item_edges(rules, ranges, items, cells, leaves, leaf_from, start, end, symbol, edges):
    """Write all edges EDGE of `symbol` over [start, end); returns their number, -1 if `edges` has no room.

    `rules`, `ranges`, `leaves`, `leaf_from`, `items`, `cells`: a chart filled by `cky.fill_chart`.
    """
    count, room = 0, edges.shape[0]
    if end == start + 1:
        score, found = -math.inf, False
        for at in range(leaf_from[start], leaf_from[start + 1]):
            if leaves[at]["symbol"] == symbol:
                score, found = max(score, leaves[at]["score"]), True
        if found:
            count = _note(edges, count, score, score, LEXICAL, -1, -1, -1)
    cell = cell_number(start, end)
    for at in range(cells[cell, 0], cells[cell, 1]):
        child = items[at]["symbol"]
        for number in range(ranges[child, UNARY_FROM], ranges[child, UNARY_TO]):
            if rules[number]["parent"] == symbol:
                if count == room:
                    return -1
                weight = rules[number]["weight"]
                count = _note(edges, count, weight, weight + items[at]["score"], number, -1, child, -1)
    for split in range(start + 1, end):
        left, right = cell_number(start, split), cell_number(split, end)
        if cells[right, 0] == cells[right, 1]:
            continue
        for at in range(cells[left, 0], cells[left, 1]):
            child = items[at]["symbol"]
            for number in range(ranges[child, BINARY_FROM], ranges[child, BINARY_TO]):
                if rules[number]["parent"] == symbol:
                    sister, weight = rules[number]["right"], rules[number]["weight"]
                    other = find_item(items, cells, right, sister)
                    if other < 0:
                        continue
                    if count == room:
                        return -1
                    total = weight + items[at]["score"] + items[other]["score"]
                    count = _note(edges, count, weight, total, number, split, child, sister)
    return count
