"""Head of a constituent from the numbers of its children; the slow twin is `trees.heads.HeadRules`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .jit import bare_kernel

NOT_WANTED = 1 << 20
"""Rank of a symbol that a scan does not look for."""
LEFT, RIGHT, FIRST, LAST = 0, 1, 2, 3


class HeadTable(NamedTuple):
    """Head rules over S symbols (labels and tags in one table), int32 arrays made by `trees.heads_compiled`.

    `rule` (S + 1,): the rule of each label; the last entry is that of a candidate without a label.
    `first_scan` (R + 1,): rule r tries the scans first_scan[r] … first_scan[r + 1] - 1 in turn.
    `mode` (C,): where a scan looks: LEFT, RIGHT (from that end, over all children), FIRST or LAST (that
    child only).
    `rank` (C, S + 1): how much a scan wants a symbol: the child of the lowest rank wins, of several the
    one nearest to the scan's end; NOT_WANTED excludes it. The last column stands for a symbol that is not
    in the table. The last scan of each rule wants every symbol, so a rule always finds a head.
    `coordinated` (R,): 1 when a head right after a conjunction gives way to the child before that.
    `conjunction`, `punctuation` (S + 1,): 1 for conjunctions, for punctuation.
    """

    rule: np.ndarray
    first_scan: np.ndarray
    mode: np.ndarray
    rank: np.ndarray
    coordinated: np.ndarray
    conjunction: np.ndarray
    punctuation: np.ndarray


@bare_kernel
def head_position(table: HeadTable, label: int, children: np.ndarray, n: int) -> int:
    """The place of the head among children[0:n].

    `children` int32 (>= n,): symbol of each child, -1 for one that is not in the table. `label`: the
    symbol of the constituent, -1 for a candidate. n >= 1.
    """
    unknown = table.conjunction.shape[0] - 1
    rule = table.rule[label if label >= 0 else unknown]
    head = 0
    for scan in range(table.first_scan[rule], table.first_scan[rule + 1]):
        mode = table.mode[scan]
        start = n - 1 if mode == LAST else 0
        stop = 1 if mode == FIRST else n
        best = NOT_WANTED
        for place in range(start, stop):
            symbol = children[place]
            rank = table.rank[scan, symbol if symbol >= 0 else unknown]
            if rank < best or (rank == best and rank != NOT_WANTED and mode == RIGHT):
                best = rank
                head = place
        if best != NOT_WANTED:
            break
    if head > 1 and table.coordinated[rule] == 1:
        before = children[head - 1]
        if table.conjunction[before if before >= 0 else unknown] == 1:
            place = head - 2
            symbol = children[place]
            while place > 0 and table.punctuation[symbol if symbol >= 0 else unknown] == 1:
                place -= 1
                symbol = children[place]
            if table.punctuation[symbol if symbol >= 0 else unknown] == 0:
                head = place
    return head
