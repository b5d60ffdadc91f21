"""The relations of patterns, each defined once: the nodes that have it to a node are a slice of an order of all nodes.

In pre-order, the nodes below x are a slice; ordered by depth its children are, by last token the nodes that end before
it, and by head token the path of heads through it. `related_mask` decides from the slices for many nodes at once, by
binary search and without comparing pairs; `RelatedNodes` lists the nodes of one slice.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .forest import WORD, Forest, Mask, Nodes, Order
from .syntax import SEGMENT, Relation


class Slices(NamedTuple):
    """For each of some nodes the slice [first, stop) of an order; an empty one has stop <= first. None: pre-order."""

    order: Order | None
    first: Nodes
    stop: Nodes


def _where(condition: Mask, order: Order | None, first: Nodes, stop: Nodes) -> Slices:
    return Slices(order, first, np.where(condition, stop, first))


def _parent(f: Forest, x: Nodes, condition: Mask | bool) -> Slices:
    above = f.parents[x]
    return _where((above >= 0) & condition, None, above, above + 1)


def _ith_child(f: Forest, x: Nodes, i: int) -> Slices:
    first, n = f.first_children[x], f.n_children[x]
    place = first + i - 1 if i > 0 else first + n + i
    return _where((place >= first) & (place < first + n), f.levels, place, place + 1)


def _ith_of(f: Forest, x: Nodes, i: int) -> Slices:
    n = f.n_children[f.parents[x]]
    return _parent(f, x, f.ranks[x] == (i if i > 0 else n + 1 + i))


def _ith_leaf(f: Forest, x: Nodes, i: int) -> Slices:
    token = f.starts[x] + i - 1 if i > 0 else f.ends[x] + i
    inside = (token >= f.starts[x]) & (token < f.ends[x]) & (f.kinds[x] != WORD)
    return _where(inside, f.words, token, token + 1)


def _sisters_after(f: Forest, x: Nodes, limit: int) -> Slices:
    first, n = f.levels.places[x] + 1, f.n_children[f.parents[x]] - f.ranks[x]  # none for a root, of rank 0
    return Slices(f.levels, first, first + (np.minimum(n, limit) if limit else n))


def _sisters_before(f: Forest, x: Nodes, limit: int) -> Slices:
    place, n = f.levels.places[x], f.ranks[x] - 1
    return Slices(f.levels, place - (np.minimum(n, limit) if limit else n), place)


def _head_child(f: Forest, x: Nodes) -> Slices:
    place = f.by_head.places[x]
    return _where(f.kinds[x] != WORD, f.by_head, place + 1, place + 2)


def _head_of(f: Forest, x: Nodes) -> Slices:
    place = f.by_head.places[x]
    return _where(place > f.by_head.counts[f.head_tokens[x]], f.by_head, place - 1, place)


def _just_after(f: Forest, x: Nodes) -> Slices:
    token = f.ends[x]
    return _where(token < f.first_tokens[f.tree_of[x] + 1], None, f.words.counts[token], f.words.counts[token + 1])


def _just_before(f: Forest, x: Nodes) -> Slices:
    token, counts = f.starts[x], f.by_end.counts
    return _where(token > f.first_tokens[f.tree_of[x]], f.by_end, counts[token - 1], counts[token])


RELATIONS: dict[str, Callable[[Forest, Nodes, int], Slices]] = {
    "<": lambda f, x, i: Slices(f.levels, f.first_children[x], f.first_children[x] + f.n_children[x]),
    ">": lambda f, x, i: _parent(f, x, True),
    "<<": lambda f, x, i: Slices(None, x + 1, f.stops[x]),
    "<<<": lambda f, x, i: _where(f.kinds[x] != WORD, f.words, f.starts[x], f.ends[x]),
    "<<<i": _ith_leaf,
    "<i": _ith_child,
    ">i": _ith_of,
    "<:": lambda f, x, i: _where(f.n_children[x] == 1, f.levels, f.first_children[x], f.first_children[x] + 1),
    ">:": lambda f, x, i: _parent(f, x, f.n_children[f.parents[x]] == 1),
    "<<:": lambda f, x, i: Slices(None, x + 1, f.chain_ends[x] + 1),
    ">>:": lambda f, x, i: Slices(None, f.chain_tops[x], x),
    "<<,": lambda f, x, i: Slices(None, x + 1, f.words.counts[f.starts[x] + 1]),
    ">>,": lambda f, x, i: Slices(None, f.words.counts[f.starts[x]], x),
    "<<-": lambda f, x, i: Slices(f.by_end, f.by_end.places[x] + 1, f.by_end.counts[f.ends[x]]),
    ">>-": lambda f, x, i: Slices(f.by_end, f.by_end.counts[f.ends[x] - 1], f.by_end.places[x]),
    "<#": lambda f, x, i: _head_child(f, x),
    ">#": lambda f, x, i: _head_of(f, x),
    "<<#": lambda f, x, i: Slices(f.by_head, f.by_head.places[x] + 1, f.by_head.counts[f.head_tokens[x] + 1]),
    ">>#": lambda f, x, i: Slices(f.by_head, f.by_head.counts[f.head_tokens[x]], f.by_head.places[x]),
    "$+": lambda f, x, i: _sisters_after(f, x, 1),
    "$-": lambda f, x, i: _sisters_before(f, x, 1),
    "$++": lambda f, x, i: _sisters_after(f, x, 0),
    "$--": lambda f, x, i: _sisters_before(f, x, 0),
    ".": lambda f, x, i: _just_after(f, x),
    ",": lambda f, x, i: _just_before(f, x),
    "..": lambda f, x, i: Slices(None, f.stops[x], f.roots[f.tree_of[x] + 1]),
    ",,": lambda f, x, i: Slices(f.by_end, f.roots[f.tree_of[x]], f.by_end.counts[f.starts[x]]),
    "==": lambda f, x, i: Slices(None, x, x + 1),
    SEGMENT: lambda f, x, i: Slices(None, f.roots[f.tree_of[x]], f.roots[f.tree_of[x] + 1]),
}  # fmt: skip
"""Name of a relation -> the slices of nodes x, given the number of the relation."""

UNIONS = {"$": ("$--", "$++"), "<=": ("==", "<")}
CHAINS = {"<+": "<", ">+": ">", ".+": ".", ",+": ","}
INVERSES = {
    one: other
    for pair in (
        ("<", ">"), ("<<", ">>"), ("<:", ">:"), ("<<:", ">>:"), ("<<,", ">>,"), ("<<-", ">>-"), ("<#", ">#"),
        ("<<#", ">>#"), ("$+", "$-"), ("$++", "$--"), (".", ","), ("..", ",,"),
    )
    for one, other in (pair, pair[::-1])
}  # fmt: skip
"""Relation -> the one that holds the other way round."""
_SINGLE = frozenset((">", "<<<i", "<i", ">i", "<:", ">:", "<#", ">#", "$+", "$-", "=="))
"""Relations to at most one node."""
_NEAREST_FIRST = frozenset((">>:", ">>,", ">>-", ">>#", "$--", ","))
"""Relations whose nodes are listed from the last of the slice to the first."""


def related_mask(f: Forest, a: Nodes, b: Nodes, relation: Relation, between: Nodes) -> Mask:
    """Which of the nodes a have the relation to some of the nodes b; both ascending. `between`: the nodes that a chain
    may pass."""
    name = relation.relation
    if name in CHAINS:
        return _chain_starts(f, b, CHAINS[name], between)[a]
    return np.logical_or.reduce([_is_related(f, a, b, part, relation.number) for part in UNIONS.get(name, (name,))])


def _is_related(f: Forest, a: Nodes, b: Nodes, name: str, number: int) -> Mask:
    if name in ("<", ">>"):  # the slices of b are simpler here
        return _targets(f, b, INVERSES[name])[a]
    order, first, stop = RELATIONS[name](f, a, number)
    if name in _SINGLE:
        members = np.zeros(f.n + 1, dtype=bool)
        members[b] = True
        nodes = first if order is None else order.nodes[np.minimum(first, len(order.nodes) - 1)]
        return (first < stop) & members[nodes]
    places = b if order is None else np.sort(order.places[b])
    if not len(places):
        return np.zeros(len(a), dtype=bool)
    at = np.searchsorted(places, first)
    return places[np.minimum(at, len(places) - 1)] < np.where(at < len(places), stop, -1)


def _targets(f: Forest, b: Nodes, name: str) -> Mask:
    """All nodes to which some b has a relation."""
    order, first, stop = RELATIONS[name](f, b, 0)
    inside = first < stop
    if name in _SINGLE:
        found = np.zeros(f.n, dtype=bool)
        found[first[inside]] = True
        return found
    steps = np.bincount(first[inside], minlength=f.n + 1) - np.bincount(stop[inside], minlength=f.n + 1)
    covered = np.cumsum(steps)[: f.n] > 0
    return covered if order is None else covered[order.places]


def _chain_starts(f: Forest, b: Nodes, name: str, between: Nodes) -> Mask:
    """All nodes from which steps of a relation lead to some b, over nodes `between`."""
    passes = np.zeros(f.n, dtype=bool)
    passes[between] = True
    found = np.zeros(f.n, dtype=bool)
    while len(b):
        new = _targets(f, b, INVERSES[name]) & ~found
        found |= new
        b = np.flatnonzero(new & passes)
    return found


def _passes_none(y: int) -> bool:
    return False


class RelatedNodes:
    """The nodes of a forest that have a relation to one node; slices are kept as lists, which are faster to read one
    by one."""

    def __init__(self, forest: Forest):
        self._forest = forest
        self._lists: dict[tuple[str, int], tuple[list[int] | None, list[int], list[int]]] = {}
        self._orders: dict[int, list[int]] = {}
        self._places: dict[str, list[int]] = {}

    def find(self, name: str, x: int, number: int, passes: Callable[[int], bool]) -> Iterable[int]:
        """The nodes to which x has a relation, each once. `passes`: whether a chain may pass a node."""
        if name in UNIONS:
            return [y for part in UNIONS[name] for y in self.find(part, x, number, passes)]
        if name in CHAINS:
            return self._chain(CHAINS[name], x, passes)
        if name == ">>":
            return self._chain(">", x, lambda y: True)
        order, first, stop = self._slices(name, number)
        if order is None:
            found = range(first[x], stop[x])
            return found[::-1] if name in _NEAREST_FIRST else found
        nodes = order[first[x] : stop[x]]
        if name == ",,":
            nodes.sort()
        return nodes[::-1] if name in _NEAREST_FIRST else nodes

    def find_both(self, name: str, x: int, number: int, second: str, z: int) -> list[int] | None:
        """The nodes to which x has the relation `name`, and z the relation `second`, one of INVERSES, in the order of
        `find`. None unless fewer nodes must be tested than `find` lists."""
        if name in UNIONS or name in CHAINS or ">>" in (name, second):  # no slices
            return None
        (order, first, stop), (_, second_first, second_stop) = self._slices(name, number), self._slices(second, 0)
        if second_stop[z] - second_first[z] >= stop[x] - first[x]:
            return None
        nodes = [y for y in self.find(second, z, 0, _passes_none) if self.holds(name, x, y, number, _passes_none)]
        by_place = order is not None and name != ",,"
        nodes.sort(key=self._places[name].__getitem__ if by_place and nodes else None)
        return nodes[::-1] if name in _NEAREST_FIRST else nodes

    def holds(self, name: str, x: int, y: int, number: int, passes: Callable[[int], bool]) -> bool:
        """Whether x has a relation to y; in constant time, unless it is a chain."""
        if name in UNIONS:
            return any(self.holds(part, x, y, number, passes) for part in UNIONS[name])
        if name in CHAINS:
            return y in self._chain(CHAINS[name], x, passes)
        if name == ">>":
            name, x, y = "<<", y, x
        order, first, stop = self._slices(name, number)
        if order is None:
            return first[x] <= y < stop[x]
        if name not in self._places:
            found = RELATIONS[name](self._forest, self._forest.all[:0], number).order
            assert found is not None
            self._places[name] = found.places.tolist()
        place = self._places[name][y]
        return place >= 0 and first[x] <= place < stop[x]

    def _slices(self, name: str, number: int) -> tuple[list[int] | None, list[int], list[int]]:
        if (name, number) not in self._lists:
            order, first, stop = RELATIONS[name](self._forest, self._forest.all, number)
            nodes = None if order is None else self._orders.setdefault(id(order), order.nodes.tolist())
            self._lists[name, number] = nodes, first.tolist(), stop.tolist()
        return self._lists[name, number]

    def _chain(self, name: str, x: int, passes: Callable[[int], bool]) -> Iterator[int]:
        """Yield the nodes reached by steps of a relation over nodes that `passes` allows, each once."""
        seen: set[int] = set()
        todo = [x]
        while todo:
            for y in self.find(name, todo.pop(), 0, passes):
                if y not in seen:
                    seen.add(y)
                    yield y
                    if passes(y):
                        todo.append(y)
