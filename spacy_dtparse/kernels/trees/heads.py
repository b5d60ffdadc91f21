"""Head of a constituent from the numbers of its children; the slow twin is `trees.heads.HeadRules`."""

from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel

NOT_WANTED = 1 << 20
"""Rank of a symbol that a scan does not look for."""
LEFT, RIGHT, FIRST, LAST = 0, 1, 2, 3


class HeadTable(NamedTuple):
    """Head rules over S symbols (labels and tags in one table), int32 arrays made by `trees.heads_compiled`.

    `symbol` (S + 1, 3): the rule of each label, 1 for conjunctions, 1 for punctuation; the last row is that of a
    candidate without a label and of a symbol that is not in the table.
    `rule` (R + 1, 2): rule r tries the scans rule[r, 0] … rule[r + 1, 0] - 1 in turn; rule[r, 1] is 1 when a head
    right after a conjunction gives way to the child before that.
    `scan` (C, S + 2): where a scan looks: LEFT, RIGHT (from that end, over all children), FIRST or LAST (that child
    only); then how much it wants each symbol: the child of the lowest rank wins, of several the one nearest to the
    scan's end; NOT_WANTED excludes it. The last column stands for a symbol that is not in the table. The last scan of
    each rule wants every symbol, so a rule always finds a head.
    """

    symbol: np.ndarray
    rule: np.ndarray
    scan: np.ndarray


@inner_kernel
def head_position(table: HeadTable, label: int, children: np.ndarray, n: int) -> int:
    """The place of the head among children[0:n].

    `children` int32 (>= n,): symbol of each child, -1 for one that is not in the table. `label`: the
    symbol of the constituent, -1 for a candidate. n >= 1.
    """
    symbols, rules, scans = table.symbol, table.rule, table.scan
    unknown = len(symbols) - 1
    rule = symbols[label, 0]  # -1 stands in the last row
    head = 0
    for scan in range(rules[rule, 0], rules[rule + 1, 0]):
        mode = scans[scan, 0]
        start = n - 1 if mode == LAST else 0
        stop = 1 if mode == FIRST else n
        best = NOT_WANTED
        for place in range(start, stop):
            symbol = children[place]
            rank = scans[scan, 1 + (symbol if symbol >= 0 else unknown)]
            if rank < best or (rank == best and rank != NOT_WANTED and mode == RIGHT):
                best = rank
                head = place
        if best != NOT_WANTED:
            break
    if head > 1 and rules[rule, 1] == 1:
        if symbols[children[head - 1], 1] == 1:
            place = head - 2
            while place > 0 and symbols[children[place], 2] == 1:
                place -= 1
            if symbols[children[place], 2] == 0:
                head = place
    return head
