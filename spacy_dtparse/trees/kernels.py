"""Head of a constituent from the ids of its children; the reference implementation is `trees.heads.HeadRules`."""

from typing import NamedTuple

import numpy as np

from ..jit.decorator import inner_kernel, noalloc_kernel
from ..stored_names import stored_as

EXCLUDED = 1 << 20
"""Rank of a symbol that a scan excludes."""
LEFT, RIGHT, FIRST, LAST = 0, 1, 2, 3
NODE_COLUMNS = 6
"""Columns of the scratch row of a node in `link_sentences`."""
_START, _END, _NAME, _ABOVE, _NEXT, _HEAD = range(NODE_COLUMNS)


@stored_as("symbol", "rule", "scan")
class HeadTable(NamedTuple):
    """Head rules over S symbols (labels and tags in one table), int32 arrays built by `trees.heads_compiled`.

    `symbol` (S + 1, 3): the rule of each label, 1 for conjunctions, 1 for punctuation; the last row is for a candidate
    without a label and for a symbol that is not in the table.
    `rule` (R + 1, 2): rule r tries the scans rule[r, 0] … rule[r + 1, 0] - 1 in turn; if rule[r, 1] is 1, a head right
    after a conjunction is replaced by the child before the conjunction.
    `scan` (C, S + 2): first the mode of a scan: LEFT, RIGHT (all children from that end), FIRST or LAST (that child
    only); then the rank of each symbol. The child of the lowest rank wins, of several the one nearest to the scan's
    end; `EXCLUDED` excludes a symbol. The last column is for a symbol that is not in the table. The last scan of each
    rule accepts every symbol, so a rule always finds a head.
    """

    symbol: np.ndarray
    rule: np.ndarray
    scan: np.ndarray


@inner_kernel
def head_position(table: HeadTable, label: int, children: np.ndarray, n: int) -> int:
    """The index of the head among children[0:n].

    `children` int32 (>= n,): symbol of each child, -1 for one that is not in the table. `label`: the symbol of the
    constituent, -1 for a candidate. n >= 1.
    """
    symbols, rules, scans = table.symbol, table.rule, table.scan
    unknown = len(symbols) - 1
    rule = symbols[label, 0]  # -1 selects the last row
    head = 0
    for scan in range(rules[rule, 0], rules[rule + 1, 0]):
        mode = scans[scan, 0]
        start = n - 1 if mode == LAST else 0
        stop = 1 if mode == FIRST else n
        best = EXCLUDED
        for position in range(start, stop):
            symbol = children[position]
            rank = scans[scan, 1 + (symbol if symbol >= 0 else unknown)]
            if rank < best or (rank == best and rank != EXCLUDED and mode == RIGHT):
                best = rank
                head = position
        if best != EXCLUDED:
            break
    if head > 1 and rules[rule, 1] == 1:
        if symbols[children[head - 1], 1] == 1:
            position = head - 2
            while position > 0 and symbols[children[position], 2] == 1:
                position -= 1
            if symbols[children[position], 2] == 0:
                head = position
    return head


class LinkScratch(NamedTuple):
    """Scratch for M constituents and N tokens: `nodes` int32 (M + 1, NODE_COLUMNS), `children` int32 (N, 2),
    `positions` int32 (N,)."""

    nodes: np.ndarray
    children: np.ndarray
    positions: np.ndarray


class TokenLinks(NamedTuple):
    """`heads` int32 (N,): index of a token's head among the visible tokens of the sentence, -1 for the root; `links`
    int64 (N,): number of names times the name of the largest constituent that the token heads (its tag if none), plus
    the name of the constituent in which it is attached to its head; -1 for the root."""

    heads: np.ndarray
    links: np.ndarray


@noalloc_kernel(nogil=False)
def link_sentences(table, symbols, spans, tags, bounds, visible, scratch, found):
    """Compute the dependencies of the trees of all sentences of a text of N tokens; the reference implementation is
    `trees.heads.tree_guide`.

    Labels and tags are ids of L names; id 0 is a root over all words of a sentence, which is added if a sentence does
    not start with it. `symbols` int32 (L, 2): symbol of each name in `table`, as a child and as a constituent. `spans`
    int32 (M, 3): tokens [start, end) and name of each constituent, in pre-order. `tags` int32 (N,): names. `bounds`
    int32 (S, 2): tokens [start, end) of the sentences. `visible` bool (N,): false for tokens that are in no tree.

    Written for visible tokens: the arrays of `found`. Return False, with undefined output, if sentences overlap, or a
    constituent is empty, crosses another, begins or ends with a token that is not visible, or is not within one
    sentence.
    """
    nodes, positions, heads, links = scratch.nodes, scratch.positions, found.heads, found.links
    m, at, before = spans.shape[0], 0, 0
    for sentence in range(bounds.shape[0]):
        start, end = bounds[sentence, 0], bounds[sentence, 1]
        if start < before:
            return False
        before = end
        while start < end and not visible[start]:
            start += 1
        while end > start and not visible[end - 1]:
            end -= 1
        if start == end:
            continue
        nodes[0, _START], nodes[0, _END], nodes[0, _NAME], nodes[0, _ABOVE] = start, end, 0, -1
        if at < m and spans[at, 0] == start and spans[at, 1] == end and spans[at, 2] == 0:
            at += 1
        count, above = 1, 0
        while at < m and spans[at, 0] < end:
            first, last = spans[at, 0], spans[at, 1]
            if first < start or first >= last or last > end or not visible[first] or not visible[last - 1]:
                return False
            while nodes[above, _END] <= first:
                nodes[above, _NEXT] = count
                above = nodes[above, _ABOVE]
            if last > nodes[above, _END]:
                return False
            nodes[count, _START], nodes[count, _END], nodes[count, _NAME] = first, last, spans[at, 2]
            nodes[count, _ABOVE] = above
            above = count
            count += 1
            at += 1
        while above >= 0:
            nodes[above, _NEXT] = count
            above = nodes[above, _ABOVE]
        for node in range(count - 1, -1, -1):
            _link_children(table, symbols, tags, visible, node, scratch, found)
        root = nodes[0, _HEAD]
        heads[root] = -1
        links[root] = -1
        position = 0
        for token in range(start, end):
            if visible[token]:
                positions[token] = position
                position += 1
        for token in range(start, end):
            if visible[token] and heads[token] >= 0:
                heads[token] = positions[heads[token]]
    return at == m


@inner_kernel
def _link_children(table, symbols, tags, visible, node, scratch, found):
    """Find the head of a node, given the heads of its children, and attach the heads of the other children to it."""
    nodes, children, positions = scratch
    position, end, below, n = nodes[node, _START], nodes[node, _END], node + 1, 0
    while position < end:
        if below < nodes[node, _NEXT] and nodes[below, _START] == position:
            children[n, 0], children[n, 1] = nodes[below, _HEAD], nodes[below, _NAME]
            position, below = nodes[below, _END], nodes[below, _NEXT]
            n += 1
        else:
            if visible[position]:
                children[n, 0], children[n, 1] = position, tags[position]
                n += 1
            position += 1
    chosen = 0
    if n > 1:
        for child in range(n):
            positions[child] = symbols[children[child, 1], 0]
        chosen = head_position(table, symbols[nodes[node, _NAME], 1], positions, n)
    head = children[chosen, 0]
    nodes[node, _HEAD] = head
    for child in range(n):
        token = children[child, 0]
        if token != head:
            found.heads[token] = head
            found.links[token] = np.int64(children[child, 1]) * symbols.shape[0] + nodes[node, _NAME]
