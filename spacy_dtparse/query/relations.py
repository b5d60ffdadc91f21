"""Which nodes of one set have a relation to some node of another set: one function for each relation.

Each takes a forest, two sets of nodes (ascending, each node once) and the relation itself, and returns a mask over the
first set. None compares pairs: they mark the nodes that the second set reaches, or search in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .forest import WORD, Forest, Mask, Nodes
from .syntax import SEGMENT, Relation

Within = Callable[[Forest, Nodes, Nodes, Relation, Nodes], Mask]
"""(forest, a, b, relation, nodes that a chain may pass) -> which a."""


def _mask_of(n: int, positions: Nodes) -> Mask:
    """A mask of n positions with some marked, and an unmarked one at the end, which index -1 selects."""
    found = np.zeros(n + 1, dtype=bool)
    found[positions] = True
    return found


def _last(n: int, positions: Nodes, values: Nodes) -> Nodes:
    """For each of n positions the greatest of its values, -1 for none."""
    found = np.full(n + 1, -1, dtype=np.int64)
    np.maximum.at(found, positions, values)
    return found


def _first(n: int, positions: Nodes, values: Nodes) -> Nodes:
    """For each of n positions the least of its values, n for none."""
    found = np.full(n + 1, n, dtype=np.int64)
    np.minimum.at(found, positions, values)
    return found


def _next_within(a: Nodes, b: Nodes, limits: Nodes) -> Mask:
    """Whether some b lies in (a, limit)."""
    if not len(b):
        return np.zeros(len(a), dtype=bool)
    position = np.searchsorted(b, a, "right")
    return (position < len(b)) & (b[np.minimum(position, len(b) - 1)] < limits)


def _child(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, f.parents[b])[a]


def _parent(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, b)[f.parents[a]]


def _below(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _next_within(a, b, f.stops[a])


def _above(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    if not len(b):
        return np.zeros(len(a), dtype=bool)
    reach = np.maximum.accumulate(f.stops[b])
    position = np.searchsorted(b, a, "left") - 1
    return (position >= 0) & (reach[position] > a)


def _leaf(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _below(f, a, b[f.kinds[b] == WORD], relation, _)


def _ith_leaf(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    token = f.starts[a] + relation.number - 1 if relation.number > 0 else f.ends[a] + relation.number
    inside = (token >= f.starts[a]) & (token < f.ends[a]) & (f.kinds[a] != WORD)
    return inside & _mask_of(f.n, b)[f.words_at[np.where(inside, token, 0)]]


def _at_rank(f: Forest, nodes: Nodes, number: int) -> Mask:
    """Whether each node is the child with this number; negative numbers count from the end."""
    ranks = f.ranks[nodes]
    if number > 0:
        return ranks == number
    return (ranks > 0) & (f.n_children[f.parents[nodes]] - ranks + 1 == -number)


def _ith_child(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _child(f, a, b[_at_rank(f, b, relation.number)], relation, _)


def _ith_of(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _parent(f, a, b, relation, _) & _at_rank(f, a, relation.number)


def _only_child(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _child(f, a, b, relation, _) & (f.n_children[a] == 1)


def _only_of(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _parent(f, a, b, relation, _) & (f.n_children[f.parents[a]] == 1)


def _chain_below(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _next_within(a, b, f.chain_ends[a] + 1)


def _chain_above(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _next_within(f.chain_tops[a] - 1, b, a)


def _leftmost_below(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _next_within(a, b, f.words_at[f.starts[a]] + 1)


def _rightmost_below(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _last(f.n, f.stops[b], b)[f.stops[a]] > a


def _leftmost_of(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _first(f.n, f.starts[b], b)[f.starts[a]] < a


def _rightmost_of(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _first(f.n, f.stops[b], b)[f.stops[a]] < a


def _head_child(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    inner = b[f.parents[b] >= 0]
    return _child(f, a, inner[f.head_tokens[inner] == f.head_tokens[f.parents[inner]]], relation, _)


def _head_of(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _parent(f, a, b, relation, _) & (f.head_tokens[a] == f.head_tokens[f.parents[a]])


def _head_below(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _last(f.n, f.head_tokens[b], b)[f.head_tokens[a]] > a


def _head_above(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _first(f.n, f.head_tokens[b], b)[f.head_tokens[a]] < a


def _sister(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _sister_after(f, a, b, relation, _) | _sister_before(f, a, b, relation, _)


def _sister_after(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return (_last(f.n, f.parents[b], b)[f.parents[a]] > a) & (f.parents[a] >= 0)


def _sister_before(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return (_first(f.n, f.parents[b], b)[f.parents[a]] < a) & (f.parents[a] >= 0)


def _next_sister(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, b)[f.right[a]]


def _sister_just_before(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, b)[f.left[a]]


def _just_before(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, f.starts[b])[f.ends[a]] & (f.ends[a] < f.first_tokens[f.tree_of[a] + 1])


def _just_after(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, f.ends[b])[f.starts[a]] & (f.starts[a] > f.first_tokens[f.tree_of[a]])


def _before(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _last(f.n, f.tree_of[b], f.starts[b])[f.tree_of[a]] >= f.ends[a]


def _after(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _first(f.n, f.tree_of[b], f.ends[b])[f.tree_of[a]] <= f.starts[a]


def _same(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(f.n, b)[a]


def _same_or_child(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _same(f, a, b, relation, _) | _child(f, a, b, relation, _)


def _in_tree(f: Forest, a: Nodes, b: Nodes, relation: Relation, _: Nodes) -> Mask:
    return _mask_of(len(f.trees), f.tree_of[b])[f.tree_of[a]]


def _passed_below(f: Forest, a: Nodes, b: Nodes, relation: Relation, between: Nodes) -> Mask:
    passes = _mask_of(f.n, between)
    found = np.zeros(f.n + 1, dtype=bool)
    level = f.parents[b]
    while len(level):
        level = np.unique(level[level >= 0])
        level = level[~found[level]]
        found[level] = True
        level = f.parents[level[passes[level]]]
    return found[a]


def _passed_above(f: Forest, a: Nodes, b: Nodes, relation: Relation, between: Nodes) -> Mask:
    passes, wanted = _mask_of(f.n, between), _mask_of(f.n, b)
    found = np.zeros(len(a), dtype=bool)
    above, which = f.parents[a], np.arange(len(a))
    while len(which):
        found[which] |= wanted[above]
        going = passes[above] & ~wanted[above]
        above, which = f.parents[above[going]], which[going]
    return found


def _passed_after(f: Forest, a: Nodes, b: Nodes, relation: Relation, between: Nodes) -> Mask:
    return _reach(f, a, b, between, f.starts, f.ends, 1)


def _passed_before(f: Forest, a: Nodes, b: Nodes, relation: Relation, between: Nodes) -> Mask:
    return _reach(f, a, b, between, f.ends, f.starts, 0)


def _reach(f: Forest, a: Nodes, b: Nodes, between: Nodes, near: Nodes, far: Nodes, side: int) -> Mask:
    """Whether a sequence of adjacent nodes leads from a's far edge to the near edge of some b; `side`: the end of trees
    is a limit."""
    reached = _mask_of(f.n, near[b])  # gaps from which some b is reached
    edges = f.first_tokens[f.tree_of[between] + side]
    inner = between[far[between] != edges]
    while True:
        new = inner[reached[far[inner]] & ~reached[near[inner]]]
        if not len(new):
            break
        reached[near[new]] = True
    return reached[far[a]] & (far[a] != f.first_tokens[f.tree_of[a] + side])


RELATION_MASKS: dict[str, Within] = {
    "<": _child, ">": _parent, "<<": _below, ">>": _above, "<<<": _leaf, "<<<i": _ith_leaf, "<i": _ith_child,
    ">i": _ith_of, "<:": _only_child, ">:": _only_of, "<<:": _chain_below, ">>:": _chain_above,
    "<<,": _leftmost_below, "<<-": _rightmost_below, ">>,": _leftmost_of, ">>-": _rightmost_of,
    "<#": _head_child, ">#": _head_of, "<<#": _head_below, ">>#": _head_above,
    "$": _sister, "$+": _next_sister, "$-": _sister_just_before, "$++": _sister_after, "$--": _sister_before,
    ".": _just_before, ",": _just_after, "..": _before, ",,": _after, "==": _same, "<=": _same_or_child,
    SEGMENT: _in_tree, "<+": _passed_below, ">+": _passed_above, ".+": _passed_after, ",+": _passed_before,
}  # fmt: skip
"""Name of a relation -> its function."""
