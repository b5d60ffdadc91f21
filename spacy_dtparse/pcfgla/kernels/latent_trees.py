"""The best trees of a chart with latent annotations: with the greatest product of rule posteriors (the max-rule-product
of Petrov & Klein 2007), and the Viterbi complete tree; see `latent`."""

import math

from ...jit.decorator import inner_kernel, noalloc_kernel
from .cky import BINARY_FROM, BINARY_TO, cell_number
from .inside import power
from .latent import UNARY, WORD


@noalloc_kernel
def max_rule_tree(parent, left, right, anchors, n_anchors, cells, score, back):
    """Find the tree with the greatest product of rule posteriors, bottom-up.

    `parent`, `left`, `right` int32 (R,): the rules of the anchors. `anchors`: those of a cell are adjacent, and those
    of its parts come after them. `cells` int32 (cells, 2): the span of each cell. Filled: `score` float64 (cells, S),
    natural logs, -inf if there is no tree; `back` int32 (cells, S): the last anchor of the best tree, -1 for none.
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
                rule_id, split = anchors[k]["rule"], anchors[k]["split"]
                value = min(anchors[k]["posterior"], 0.0)
                symbol = rule_id if split == WORD else parent[rule_id]
                if split == UNARY:
                    value += score[cell, left[rule_id]]
                elif split != WORD:
                    value += score[cell_number(cells[cell, 0], split), left[rule_id]]
                    value += score[cell_number(split, cells[cell, 1]), right[rule_id]]
                if value > score[cell, symbol]:
                    score[cell, symbol], back[cell, symbol], changed = value, k, True
        last = first


@noalloc_kernel
def read_tree(left, right, anchors, cells, back, top, root, steps):
    """Write the tree found by `max_rule_tree`, in pre-order: `steps` int32 (M, 2), cell and symbol; return the number
    of steps, -1 if `steps` is too short. `top`: the root's cell."""
    count, waiting = 0, 1
    last = len(steps)  # pending steps are stored at the end of `steps`
    steps[last - 1, 0], steps[last - 1, 1] = top, root
    while waiting > 0:
        cell, symbol = steps[last - waiting, 0], steps[last - waiting, 1]
        waiting -= 1
        if count + waiting + 3 > last:
            return -1
        steps[count, 0], steps[count, 1] = cell, symbol
        count += 1
        anchor = anchors[back[cell, symbol]]
        split, rule = anchor["split"], anchor["rule"]
        if split == WORD:
            continue
        first = cell
        if split != UNARY:
            first = cell_number(cells[cell, 0], split)
            waiting += 1
            steps[last - waiting, 0], steps[last - waiting, 1] = cell_number(split, cells[cell, 1]), right[rule]
        waiting += 1
        steps[last - waiting, 0], steps[last - waiting, 1] = first, left[rule]
    return count


@inner_kernel
def _best_binary(rules, start, end, symbol, value, chart):
    """(Split, rule, left value, right value, probability) of the best binary rule of a latent value; split -1: none."""
    where, symbols, symbol_from, _, whole, scale = chart
    best, best_split, best_rule, best_y, best_z, prob = 0.0, -1, -1, 0, 0, 0.0
    size = rules.sizes[symbol]
    for split in range(start + 1, end):
        left, right = cell_number(start, split), cell_number(split, end)
        factor = power(scale[left] + scale[right] - scale[cell_number(start, end)])
        if factor <= 0.0:
            continue
        for child in symbols[symbol_from[left] : symbol_from[left + 1]]:
            for rule_id in range(rules.ranges[child, BINARY_FROM], rules.ranges[child, BINARY_TO]):
                of_right = where[right, rules.right[rule_id]]
                if rules.parent[rule_id] != symbol or of_right < 0:
                    continue
                of_left, at = where[left, child], rules.at[rule_id] + value
                for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
                    y, z = rules.rows[k, 0], rules.rows[k, 1]
                    found = whole[of_left + y] * factor * whole[of_right + z] * rules.values[at]
                    if found > best:
                        best, best_split, best_rule, best_y, best_z = found, split, rule_id, y, z
                        prob = rules.values[at]
                    at += size
    return best_split, best_rule, best_y, best_z, prob


@noalloc_kernel
def viterbi_tree(rules, words, root, chart, step, nodes, stack):
    """Write the nodes BEST of the best complete tree in pre-order, after `latent_inside` with `step`; return their
    number, 0 if there is no tree, -1 if `nodes` is too short. Scratch: `stack` int64 (depth, 4), as long as `nodes`.
    """
    n = len(words.leaf_from) - 1
    at = chart.where[cell_number(0, n), root]
    if at < 0 or chart.whole[at] <= 0.0:
        return 0
    count, depth = 0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = root, 0, 0, n
    while depth > 0:
        depth -= 1
        symbol, value, start, end = stack[depth]
        if count == len(nodes) or depth + 2 > len(stack):
            return -1
        at = chart.where[cell_number(start, end), symbol] + value
        rule_id, row, prob = step[at, 0], step[at, 1], 0.0
        if rule_id >= 0:
            prob = rules.values[rules.at[rule_id] + (row - rules.row_from[rule_id]) * rules.sizes[symbol] + value]
            stack[depth, 0], stack[depth, 1] = rules.left[rule_id], rules.rows[row, 0]  # over the same words
            depth += 1
        elif end == start + 1:
            for tag, first in words.leaves[words.leaf_from[start] : words.leaf_from[end]]:
                if tag == symbol:
                    prob = max(prob, words.emissions[first + value])
        else:
            split, rule_id, y, z, prob = _best_binary(rules, start, end, symbol, value, chart)
            if split < 0:
                return 0
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = rules.right[rule_id], z, split, end
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = rules.left[rule_id], y, start, split
            depth += 1
        if prob <= 0.0:
            return 0
        node = nodes[count]
        node["weight"], node["symbol"], node["value"] = math.log(prob), symbol, value
        node["start"], node["end"] = start, end
        count += 1
    return count
