"""CKY: the most probable derivation of a sentence under a binary grammar with unary rules.

The chart is filled by columns: for each end j, the cells (i, j) from i = j - 1 down to 0. Cells that end at j are
stored densely (one row of scores per cell), because the right parts of a cell all end at j; a finished cell is also
stored as a list of its items, from which left parts are taken. So memory is proportional to the number of items in the
chart, and the innermost loop runs over the binary rules of one left child, which are adjacent.

Scores are natural logs of probabilities. Of equal derivations of an item the first wins: binary before unary, the
smaller split, the smaller rule id; so results depend only on grammar and sentence.
"""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel

RULE = np.dtype([("weight", np.float64), ("parent", np.int32), ("right", np.int32)])
"""A rule: log probability, left-hand side, right child (-1: a unary rule). Its left child is the symbol whose range in
`ranges` contains the rule."""

BINARY_FROM, BINARY_TO, UNARY_FROM, UNARY_TO = 0, 1, 2, 3
"""Columns of `ranges` int32 (S, 4): ranges of the binary and of the unary rules of a left child (binary rules sorted by
right child, then parent; unary rules by parent)."""

ITEM = np.dtype([("score", np.float64), ("symbol", np.int32), ("rule", np.int32), ("split", np.int32)])
"""An item of a cell: score of its best derivation, symbol, last rule (LEXICAL: a word), split (-1: unary)."""

STEP = np.dtype([(name, np.int32) for name in ("symbol", "rule", "start", "end")])
"""A step of a derivation in pre-order: symbol, the rule that expands it (LEXICAL: a word), its span [start, end)."""

EDGE = np.dtype(
    [(name, np.float64) for name in ("weight", "total")]
    + [(name, np.int32) for name in ("rule", "split", "left", "right")]
)
"""A rule that builds an item, its log probability and that of the best derivation with it on top. `split` -1: none;
`left`, `right`: the children's symbols, -1 for none; `rule`: LEXICAL for a word."""

LEXICAL = -1

# Indices into `marks` int64 (8,): progress of the chart, preserved between two calls.
COLUMN, USED, TRIED = 0, 1, 2
MARKS = 8
DONE, OUT_OF_SPACE = 0, 1


class ChartScratch(NamedTuple):
    """Scratch for n words and S symbols: `rows` float64 (n, S), `back` int32 (S, 2), `queue` int32 (2, S) with zeros in
    queue[1], `ranks`: see `open_row`; and `marks` int64 (8,), initially zeros, the progress."""

    rows: np.ndarray
    back: np.ndarray
    queue: np.ndarray
    ranks: np.ndarray
    marks: np.ndarray


@inner_kernel
def cell_number(i, j):
    """The index of the cell [i, j), column by column, 0 <= i < j."""
    return j * (j - 1) // 2 + i


@inner_kernel
def open_row(row, allowed, groups, cell, ranks):
    """Initialise the row of a cell: -inf for allowed symbols, nan (never smaller than another value) for others.

    `allowed` uint8 (cells, coarse symbols); without rows all symbols are allowed. `groups` int32 (coarse symbols + 1):
    offsets of the symbols of each coarse symbol. Filled: `ranks` int32 (coarse symbols + 1, 2): ranges of allowed
    symbols, ascending. Return the number of ranges; if it is 0, the row is unchanged.
    """
    if len(allowed) == 0:
        row[:] = -np.inf
        ranks[0, 0] = 0
        ranks[0, 1] = len(row)
        return 1
    count = 0
    for coarse in range(allowed.shape[1]):
        if allowed[cell, coarse] != 0 and groups[coarse] < groups[coarse + 1]:
            if count > 0 and ranks[count - 1, 1] == groups[coarse]:
                ranks[count - 1, 1] = groups[coarse + 1]
            else:
                ranks[count, 0] = groups[coarse]
                ranks[count, 1] = groups[coarse + 1]
                count += 1
    if count > 0:
        row[:] = np.nan
    for at in range(count):
        row[ranks[at, 0] : ranks[at, 1]] = -np.inf
    return count


@inner_kernel
def apply_unary(rules, ranges, row, back, ranks, n_ranks, queue, queued):
    """Apply unary rules to a cell until no score increases; it ends because cycles of a chain only lower scores. Return
    the number of rule applications."""
    n = len(row)
    head, count, tried = 0, 0, 0
    for at in range(n_ranks):
        for symbol in range(ranks[at, 0], ranks[at, 1]):
            if row[symbol] > -np.inf and ranges[symbol, UNARY_FROM] < ranges[symbol, UNARY_TO]:
                queue[count] = symbol
                queued[symbol] = 1
                count += 1
    while count > 0:
        child = queue[head]
        queued[child] = 0
        head = 0 if head == n - 1 else head + 1
        count -= 1
        score = row[child]
        tried += ranges[child, UNARY_TO] - ranges[child, UNARY_FROM]
        for rule_id in range(ranges[child, UNARY_FROM], ranges[child, UNARY_TO]):
            parent = rules[rule_id]["parent"]
            total = score + rules[rule_id]["weight"]
            if total > row[parent]:
                row[parent] = total
                back[parent, 0] = rule_id
                back[parent, 1] = -1
                if queued[parent] == 0 and ranges[parent, UNARY_FROM] < ranges[parent, UNARY_TO]:
                    queued[parent] = 1
                    # `queue` is a ring as long as there are symbols, none of which is in it twice
                    queue[head + count if head + count < n else head + count - n] = parent
                    count += 1
    return tried


@inner_kernel
def apply_binary(rules, ranges, left, right, row, back, split):
    """Apply all binary rules to the items of a left cell and the row of a right cell; return the number of rule
    applications."""
    tried = 0
    for item in left:
        first, last = ranges[item["symbol"], BINARY_FROM], ranges[item["symbol"], BINARY_TO]
        score = item["score"]
        tried += last - first
        for rule_id in range(first, last):
            total = score + rules[rule_id]["weight"] + right[rules[rule_id]["right"]]
            parent = rules[rule_id]["parent"]
            if total > row[parent]:
                row[parent] = total
                back[parent, 0] = rule_id
                back[parent, 1] = split
    return tried


@noalloc_kernel
def fill_chart(grammar, leaves, leaf_from, allowed, groups, items, cells, scratch):
    """Fill the chart of a sentence of n words; return DONE, or `OUT_OF_SPACE` if `items` is too short (call again with
    a longer copy to continue at the column where it stopped).

    `grammar`: see `pcfgla.model.model.KernelGrammar`. `leaves` ITEM: the possible tags of each word with their log
    probability; word t has [leaf_from[t], leaf_from[t + 1]) (`leaf_from` int32 (n + 1,)). `allowed`, `groups`: see
    `open_row`. Filled: `items` ITEM, `cells` int64 (n (n + 1) / 2, 2): the range of each cell's items, which are sorted
    by symbol. `scratch.marks[TRIED]` counts rule applications.
    """
    rules, ranges = grammar.rules, grammar.ranges
    rows, back, queue, ranks, marks = scratch
    n, n_symbols = len(leaf_from) - 1, len(ranges)
    waiting, queued = queue[0], queue[1]
    for j in range(marks[COLUMN] + 1, n + 1):
        used, tried = marks[USED], 0
        for i in range(j - 1, -1, -1):
            cell = cell_number(i, j)
            cells[cell] = used
            row = rows[i]
            n_ranks = open_row(row, allowed, groups, cell, ranks)
            if n_ranks == 0:
                continue
            if i == j - 1:
                for leaf in leaves[leaf_from[i] : leaf_from[j]]:
                    symbol = leaf["symbol"]
                    if leaf["score"] > row[symbol]:
                        row[symbol] = leaf["score"]
                        back[symbol, 0] = LEXICAL
                        back[symbol, 1] = -1
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                if cells[right, 0] < cells[right, 1]:
                    of_left = items[cells[left, 0] : cells[left, 1]]
                    tried += apply_binary(rules, ranges, of_left, rows[split], row, back, split)
            tried += apply_unary(rules, ranges, row, back, ranks, n_ranks, waiting, queued)
            if used + n_symbols > len(items):
                return OUT_OF_SPACE
            for at in range(n_ranks):
                for symbol in range(ranks[at, 0], ranks[at, 1]):
                    if row[symbol] > -np.inf:
                        item = items[used]
                        item["score"], item["symbol"] = row[symbol], symbol
                        item["rule"], item["split"] = back[symbol, 0], back[symbol, 1]
                        used += 1
            cells[cell, 1] = used
        marks[COLUMN] = j
        marks[USED] = used
        marks[TRIED] += tried
    return DONE


@noalloc_kernel
def find_item(items, cells, cell, symbol):
    """The index of a symbol's item in a cell, -1 if there is none: by binary search, as items are sorted by symbol."""
    low, high = cells[cell, 0], cells[cell, 1]
    while low < high:
        middle = (low + high) // 2
        if items[middle]["symbol"] < symbol:
            low = middle + 1
        else:
            high = middle
    if low < cells[cell, 1] and items[low]["symbol"] == symbol:
        return low
    return -1


@noalloc_kernel
def read_derivation(grammar, items, cells, start, end, symbol, steps, stack):
    """Write the best derivation of `symbol` over [start, end) in pre-order; return the number of steps, 0 if it has
    none, -1 if `steps` STEP is too short.

    Scratch: `stack` int64 (depth, 3), as long as `steps`.
    """
    at = find_item(items, cells, cell_number(start, end), symbol)
    if at < 0:
        return 0
    count, depth = 0, 1
    stack[0, 0], stack[0, 1], stack[0, 2] = at, start, end
    while depth > 0:
        depth -= 1
        at, start, end = stack[depth]
        if count == len(steps) or depth + 2 > len(stack):
            return -1
        rule, split = items[at]["rule"], items[at]["split"]
        step = steps[count]
        step["symbol"], step["rule"], step["start"], step["end"] = items[at]["symbol"], rule, start, end
        count += 1
        if rule == LEXICAL:
            continue
        middle = end if split < 0 else split
        if split >= 0:
            right = find_item(items, cells, cell_number(split, end), grammar.rules[rule]["right"])
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = right, split, end
            depth += 1
        left = find_item(items, cells, cell_number(start, middle), grammar.left[rule])
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = left, start, middle
        depth += 1
    return count


@inner_kernel
def _add_edge(edges, count, weight, total, rule, split, left, right):
    edge = edges[count]
    edge["weight"], edge["total"] = weight, total
    edge["rule"], edge["split"], edge["left"], edge["right"] = rule, split, left, right
    return count + 1


@noalloc_kernel
def item_edges(chart, leaves, leaf_from, start, end, symbol, edges):
    """Write all edges EDGE of `symbol` over [start, end); return their number, -1 if `edges` is too short.

    Call it after `fill_chart`, on a `pcfgla.chart.Chart`.
    """
    rules, ranges, items, cells = chart.grammar.rules, chart.grammar.ranges, chart.items, chart.cells
    count, capacity = 0, len(edges)
    if end == start + 1:
        score, found = -math.inf, False
        for at in range(leaf_from[start], leaf_from[start + 1]):
            if leaves[at]["symbol"] == symbol:
                score, found = max(score, leaves[at]["score"]), True
        if found:
            count = _add_edge(edges, count, score, score, LEXICAL, -1, -1, -1)
    for split in range(start, end):  # a split at the start means unary rules
        binary = split > start
        left, right = cell_number(start, split if binary else end), cell_number(split, end)
        for item in items[cells[left, 0] : cells[left, 1]]:
            child, sister, column = item["symbol"], -1, BINARY_FROM if binary else UNARY_FROM
            for rule_id in range(ranges[child, column], ranges[child, column + 1]):
                if rules[rule_id]["parent"] != symbol:
                    continue
                weight = rules[rule_id]["weight"]
                total = weight + item["score"]
                if binary:
                    sister = rules[rule_id]["right"]
                    other = find_item(items, cells, right, sister)
                    if other < 0:
                        continue
                    total += items[other]["score"]
                if count == capacity:
                    return -1
                count = _add_edge(edges, count, weight, total, rule_id, split if binary else -1, child, sister)
    return count
