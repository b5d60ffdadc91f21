"""Lists of the k best trees: what all parsers share, and the k best derivations of a packed forest, found one after the
other (Huang & Chiang 2005, algorithm 3).

An item's derivations are asked for only when a better item's next one may use them. The best derivation of every item
is known from the chart, which also makes chains of unary rules safe: as a derivation always comes after the derivations
inside it, what an item needs from itself around a cycle is there already. A cycle never ends by itself, though: a
derivation that goes around once more is one more derivation, and the caller says how many it wants.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..checks import whole_number
from ..errors import ConfigError
from ..trees.tree import Tree
from .base import ParseResult

MOST_TREES = 1000
"""The longest list."""
TRIES = 20
"""A list of k distinct trees is looked for among so many times k derivations, as a tree can have several."""
_NUMBER = whole_number(1, MOST_TREES)


def check_k(k: Any) -> None:
    """Raise ConfigError unless k is a number of trees that may be asked for."""
    if not _NUMBER.fits(k):
        raise ConfigError(f"k is {k!r}; give the number of trees wanted, {_NUMBER.allowed}")


def ranked(first: ParseResult, others: Iterable[tuple[float, ParseResult]], k: int) -> list[ParseResult]:
    """The first parse, and after it those of `others` that have another tree, at most k in all, with margins.

    `others`: (how much worse it is than the first, parse), best first; what is better than the first has the margin 0.
    """
    chosen = {shape(first.tree): replace(first, margin=0.0)}
    margin = 0.0
    if k > 1:
        for worse, one in others:
            margin = max(margin, worse)
            own = shape(one.tree)
            if own not in chosen:
                chosen[own] = replace(one, margin=margin)
            if len(chosen) == k:
                break
    return list(chosen.values())


def shape(tree: Tree) -> tuple[tuple, ...]:
    """What tells a tree from others over the same words."""
    return tree.labels, tree.starts, tree.ends


Item = tuple[int, int]
"""What names an item of a forest: in a chart (cell, symbol)."""


class Edges(NamedTuple):
    """The edges of an item, the one of its best derivation first.

    `total`: log weights of the best derivation with each edge on top; in falling order. `name`: what the forest calls
    the edges.
    """

    total: list[float]
    name: list[int]


class _Known:
    """Derivations of an item as (−score, edge, ranks of its parts): those found, and a heap of some that may come next.

    `parts`: of the edges that are or were in the heap. `succeeded`: derivations found whose successors are in the heap.
    """

    __slots__ = ("edges", "finished", "found", "heap", "item", "parts", "seen", "succeeded")

    def __init__(self, item: Item, edges: Edges):
        self.item, self.edges = item, edges
        self.parts: list[tuple[Item, ...]] = []
        self.heap: list[tuple[float, int, tuple[int, ...]]] = []
        self.seen: set[tuple[int, tuple[int, ...]]] = set()
        self.found: list[tuple[float, int, tuple[int, ...]]] = []
        self.succeeded = 0
        self.finished = False

    def push(self, edge: int, parts: Callable[[Item, int], tuple[Item, ...]]) -> None:
        """Put the best derivation of an edge into the heap, if there is such an edge."""
        if edge < len(self.edges.name):
            self.parts.append(parts(self.item, self.edges.name[edge]))
            heapq.heappush(self.heap, (-self.edges.total[edge], edge, (0,) * len(self.parts[edge])))


class KBest:
    """The derivations of a forest. Where it has cycles, no weight is above 0.

    `edges`, `parts`: the edges of an item, and the items that an edge joins, by its name.
    """

    def __init__(self, edges: Callable[[Item], Edges], parts: Callable[[Item, int], tuple[Item, ...]]):
        self._edges, self._parts = edges, parts
        self._known: dict[Item, _Known] = {}

    def score(self, item: Item, rank: int) -> float | None:
        """The log weight of an item's derivation of a rank (0: the best), None when it has no more."""
        self._find(item, rank)
        found = self._at(item).found
        return found[rank][0] if rank < len(found) else None

    def derivations(self, item: Item) -> Iterator[tuple[float, list[tuple[Item, int]]]]:
        """(Log weight, `derivation`) of an item's derivations from the best one down."""
        for rank in itertools.count():
            score = self.score(item, rank)
            if score is None:
                return
            yield score, self.derivation(item, rank)

    def derivation(self, item: Item, rank: int) -> list[tuple[Item, int]]:
        """The items of a derivation in pre-order with the names of their edges; after `score` found it."""
        steps, stack = [], [(item, rank)]
        while stack:
            item, rank = stack.pop()
            known = self._known.get(item)
            if known is None or len(known.found) <= rank:  # only as the best derivation of a part was it used
                self._find(item, rank)
                known = self._known[item]
            _, edge, ranks = known.found[rank]
            steps.append((item, known.edges.name[edge]))
            parts = known.parts[edge]
            for place in range(len(parts) - 1, -1, -1):
                stack.append((parts[place], ranks[place]))
        return steps

    def _at(self, item: Item) -> _Known:
        if item not in self._known:
            known = self._known[item] = _Known(item, self._edges(item))
            known.push(0, self._parts)
            return known
        return self._known[item]

    def _find(self, item: Item, rank: int) -> None:
        """Find an item's derivations up to a rank, or all there are."""
        waiting = [(item, rank)]
        while waiting:
            item, rank = waiting[-1]
            known = self._at(item)
            if len(known.found) > rank or known.finished:
                waiting.pop()
                continue
            if known.succeeded < len(known.found):
                needed = self._succeed(known)
                if needed:
                    waiting.extend(needed)
                    continue
            if not known.heap:
                known.finished = True
                continue
            cost, edge, ranks = heapq.heappop(known.heap)
            known.found.append((-cost, edge, ranks))
            if not any(ranks):  # of the other edges only the next best one waits in the heap
                known.push(len(known.parts), self._parts)

    def _succeed(self, known: _Known) -> list[tuple[Item, int]]:
        """Put into the heap what comes after the last derivation found, or say what must be found for that first."""
        score, edge, ranks = known.found[-1]
        parts = known.parts[edge]
        needed = []
        for part, rank in zip(parts, ranks, strict=True):
            below = self._at(part)
            if len(below.found) <= rank + 1 and not below.finished:
                needed.append((part, rank + 1))
        if needed:
            return needed
        for place, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
            found = self._at(part).found
            after = (*ranks[:place], rank + 1, *ranks[place + 1 :])
            if len(found) > rank + 1 and (edge, after) not in known.seen:
                known.seen.add((edge, after))
                heapq.heappush(known.heap, (-(score - found[rank][0] + found[rank + 1][0]), edge, after))
        known.succeeded = len(known.found)
        return []
