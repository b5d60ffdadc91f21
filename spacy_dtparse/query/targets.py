"""The nodes that have a relation to one node: one function for each relation, for searches that depend on names.

The results agree with `relations`, which tests for whole sets whether there is such a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from .forest import WORD, Forest
from .syntax import SEGMENT


class NodeColumns:
    """The columns of a forest as lists, which are faster to read one by one; each is created when first needed."""

    def __init__(self, forest: Forest):
        self._forest = forest

    @cached_property
    def parents(self) -> list[int]:
        return self._forest.parents.tolist()

    @cached_property
    def stops(self) -> list[int]:
        return self._forest.stops.tolist()

    @cached_property
    def starts(self) -> list[int]:
        return self._forest.starts.tolist()

    @cached_property
    def ends(self) -> list[int]:
        return self._forest.ends.tolist()

    @cached_property
    def right(self) -> list[int]:
        return self._forest.right.tolist()

    @cached_property
    def left(self) -> list[int]:
        return self._forest.left.tolist()

    @cached_property
    def words_at(self) -> list[int]:
        return self._forest.words_at.tolist()

    @cached_property
    def kinds(self) -> list[int]:
        return self._forest.kinds.tolist()

    @cached_property
    def heads(self) -> list[int]:
        return self._forest.head_tokens.tolist()

    @cached_property
    def first(self) -> list[int]:
        """The first node of the tree of each node."""
        return self._forest.roots[self._forest.tree_of].tolist()

    @cached_property
    def last(self) -> list[int]:
        """One past the last node of the tree of each node."""
        return self._forest.roots[self._forest.tree_of + 1].tolist()


Passes = Callable[[int], bool]
NodesOf = Callable[[NodeColumns, int, int, Passes], Iterable[int]]
"""(columns, node, number of the relation, whether a chain may pass a node) -> nodes."""


def _follow(step: list[int], x: int) -> Iterator[int]:
    """Yield the nodes that one column leads to, one after another."""
    x = step[x]
    while x >= 0:
        yield x
        x = step[x]


def _children(c: NodeColumns, x: int) -> list[int]:
    return [x + 1, *_follow(c.right, x + 1)] if c.stops[x] > x + 1 else []


def _sisters(c: NodeColumns, x: int) -> list[int]:
    return [*_follow(c.left, x), *_follow(c.right, x)]


def _above(c: NodeColumns, x: int) -> Iterator[int]:
    return _follow(c.parents, x)


def _is_only(c: NodeColumns, x: int) -> bool:
    return c.parents[x] >= 0 and c.left[x] < 0 and c.right[x] < 0


def _nth_child(children: list[int], number: int) -> list[int]:
    index = number - 1 if number > 0 else len(children) + number
    return [children[index]] if 0 <= index < len(children) else []


def _ith_of(c: NodeColumns, x: int, number: int) -> list[int]:
    above = c.parents[x]
    return [above] if above >= 0 and _nth_child(_children(c, above), number) == [x] else []


def _ith_leaf(c: NodeColumns, x: int, number: int) -> list[int]:
    token = c.starts[x] + number - 1 if number > 0 else c.ends[x] + number
    return [c.words_at[token]] if c.kinds[x] != WORD and c.starts[x] <= token < c.ends[x] else []


def _just_after(c: NodeColumns, x: int) -> Iterable[int]:
    """The nodes that begin where x ends."""
    return range(c.stops[x], c.words_at[c.ends[x]] + 1) if c.stops[x] < c.last[x] else ()


def _just_before(c: NodeColumns, x: int) -> Iterator[int]:
    """Yield the nodes that end where x begins."""
    if c.starts[x] > c.starts[c.first[x]]:
        last = c.words_at[c.starts[x] - 1]
        yield last
        yield from (y for y in _above(c, last) if c.ends[y] == c.starts[x])


def _chain_above(c: NodeColumns, x: int) -> Iterator[int]:
    while _is_only(c, x):
        x = c.parents[x]
        yield x


def _reach(start: int, near: Callable[[int], Iterable[int]], passes: Passes) -> Iterator[int]:
    """Yield the nodes reached by steps over nodes that `passes` allows, each once."""
    seen: set[int] = set()
    todo = [start]
    while todo:
        for y in near(todo.pop()):
            if y not in seen:
                seen.add(y)
                yield y
                if passes(y):
                    todo.append(y)


def _parent(c: NodeColumns, x: int) -> list[int]:
    return [c.parents[x]] if c.parents[x] >= 0 else []


RELATED_NODES: dict[str, NodesOf] = {
    "<": lambda c, x, n, p: _children(c, x),
    ">": lambda c, x, n, p: _parent(c, x),
    "<<": lambda c, x, n, p: range(x + 1, c.stops[x]),
    ">>": lambda c, x, n, p: _above(c, x),
    "<<<": lambda c, x, n, p: [y for y in range(x + 1, c.stops[x]) if c.kinds[y] == WORD],
    "<<<i": lambda c, x, n, p: _ith_leaf(c, x, n),
    "<i": lambda c, x, n, p: _nth_child(_children(c, x), n),
    ">i": lambda c, x, n, p: _ith_of(c, x, n),
    "<:": lambda c, x, n, p: [y for y in _children(c, x) if _is_only(c, y)],
    ">:": lambda c, x, n, p: _parent(c, x) if _is_only(c, x) else (),
    "<<:": lambda c, x, n, p: [y for y in range(x + 1, c.stops[x]) if x in _chain_above(c, y)],
    ">>:": lambda c, x, n, p: _chain_above(c, x),
    "<<,": lambda c, x, n, p: range(x + 1, c.words_at[c.starts[x]] + 1),
    "<<-": lambda c, x, n, p: [y for y in range(x + 1, c.stops[x]) if c.stops[y] == c.stops[x]],
    ">>,": lambda c, x, n, p: [y for y in _above(c, x) if c.starts[y] == c.starts[x]],
    ">>-": lambda c, x, n, p: [y for y in _above(c, x) if c.stops[y] == c.stops[x]],
    "<#": lambda c, x, n, p: [y for y in _children(c, x) if c.heads[y] == c.heads[x]],
    ">#": lambda c, x, n, p: [y for y in _parent(c, x) if c.heads[y] == c.heads[x]],
    "<<#": lambda c, x, n, p: [y for y in range(x + 1, c.stops[x]) if c.heads[y] == c.heads[x]],
    ">>#": lambda c, x, n, p: [y for y in _above(c, x) if c.heads[y] == c.heads[x]],
    "$": lambda c, x, n, p: _sisters(c, x),
    "$+": lambda c, x, n, p: [y for y in (c.right[x],) if y >= 0],
    "$-": lambda c, x, n, p: [y for y in (c.left[x],) if y >= 0],
    "$++": lambda c, x, n, p: _follow(c.right, x),
    "$--": lambda c, x, n, p: _follow(c.left, x),
    ".": lambda c, x, n, p: _just_after(c, x),
    ",": lambda c, x, n, p: _just_before(c, x),
    "..": lambda c, x, n, p: range(c.stops[x], c.last[x]),
    ",,": lambda c, x, n, p: [y for y in range(c.first[x], x) if c.stops[y] <= x],
    "==": lambda c, x, n, p: (x,),
    "<=": lambda c, x, n, p: (x, *_children(c, x)),
    SEGMENT: lambda c, x, n, p: range(c.first[x], c.last[x]),
    "<+": lambda c, x, n, p: _reach(x, lambda y: _children(c, y), p),
    ">+": lambda c, x, n, p: _reach(x, lambda y: _parent(c, y), p),
    ".+": lambda c, x, n, p: _reach(x, lambda y: _just_after(c, y), p),
    ",+": lambda c, x, n, p: _reach(x, lambda y: _just_before(c, y), p),
}
"""Name of a relation -> its function."""
