"""The ways to build an item of a filled chart: the edges of its packed forest, for lists of k best trees."""

import math

import numpy as np

from ..jit import bare_kernel, inner_kernel
from .cky import BINARY_FROM, BINARY_TO, LEXICAL, UNARY_FROM, UNARY_TO, cell_number, find_item

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
    edges[count]["weight"] = weight
    edges[count]["total"] = total
    edges[count]["rule"] = rule
    edges[count]["split"] = split
    edges[count]["left"] = left
    edges[count]["right"] = right
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
                    other = find_item(items, cells, right, rules[number]["right"])
                    if other >= 0:
                        if count == room:
                            return -1
                        weight = rules[number]["weight"]
                        total = weight + items[at]["score"] + items[other]["score"]
                        count = _note(edges, count, weight, total, number, split, child, rules[number]["right"])
    return count
