"""The k best derivations of a packed forest, found one after the other (Huang & Chiang 2005, algorithm 3).

An item's derivations are asked for only when a better item's next one may use them. The best derivation of every item
is known from the chart, which also makes chains of unary rules safe: as a derivation always comes after the derivations
inside it, what an item needs from itself around a cycle is there already. A cycle never ends by itself, though: a
derivation that goes around once more is one more derivation, and the caller says how many it wants.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ...dtypes import OFFSET
from ...kernels.pcfg.cky import EDGE, LEXICAL, STEP, find_item, item_edges
from ...kernels.pcfg.latent import WORD
from .chart import Chart
from .latent import Decoded, Forest, spans_of_cells

Item = tuple[int, int]
"""(Cell, symbol)."""


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
    """The derivations of a forest whose weights are none above 0.

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


def _sorted_edges(total: np.ndarray, first: int) -> tuple[np.ndarray, list[float]]:
    """(Order, totals in that order): from the highest down, edge `first` before all others, none that is -inf."""
    total = total.copy()
    total[first] = total.max()
    order = np.argsort(-total, kind="stable")
    order = np.concatenate([[first], order[order != first]])
    order = order[total[order] > -np.inf]
    return order, total[order].tolist()


def forest_trees(found: Forest) -> Iterator[Decoded]:
    """The trees of a forest of a latent grammar from the best one down; the first is that of `latent.best`."""
    anchors, n_symbols = found.anchors, found.score.shape[1]
    rule, split = anchors["rule"], anchors["split"]
    is_word, is_binary = split == WORD, split >= 0
    number = np.where(is_word, 0, rule)
    cell = anchors["cell"].astype(OFFSET)
    symbol = np.where(is_word, rule, found.parent[number])
    start, end = found.cells[cell].T.astype(OFFSET)
    middle = np.where(is_binary, split, end)
    total = np.minimum(anchors["posterior"], 0.0)
    total += np.where(is_word, 0.0, found.score[middle * (middle - 1) // 2 + start, found.left[number]])
    right = np.where(is_binary, end * (end - 1) // 2 + split, 0)
    total += np.where(is_binary, found.score[right, found.right[number]], 0.0)
    key = cell * n_symbols + symbol
    by_item = np.argsort(key, kind="stable")
    keys = key[by_item]

    def edges(item: Item) -> Edges:
        at = item[0] * n_symbols + item[1]
        mine = by_item[np.searchsorted(keys, at, "left") : np.searchsorted(keys, at, "right")]
        order, totals = _sorted_edges(total[mine], int(np.flatnonzero(mine == found.back[item])[0]))
        return Edges(totals, mine[order].tolist())

    root = (len(found.cells) - int(found.cells[-1, 1]), found.root)
    for score, made in KBest(edges, lambda item, anchor: found.parts(item[0], anchor)).derivations(root):
        yield Decoded([found.step(*item, anchor) for item, anchor in made], score, len(anchors))


def chart_trees(
    chart: Chart, leaves: np.ndarray, leaf_from: np.ndarray, root: int
) -> Iterator[tuple[float, np.ndarray]]:
    """(Log probability, steps STEP in pre-order) of the derivations of a filled chart from the best one down; none if
    the root has none. The chart's arrays must not change meanwhile."""
    n, rules, ranges = len(leaf_from) - 1, chart.grammar.rules, chart.grammar.ranges
    cells: list[list[int]] = spans_of_cells(n).tolist()
    held: dict[Item, list[tuple[int, int, int, int]]] = {}  # rule, split, left, right
    scratch = np.empty(2**12, dtype=EDGE)

    def edges(item: Item) -> Edges:
        nonlocal scratch
        start, end = cells[item[0]]
        given = (rules, ranges, chart.items, chart.cells, leaves, leaf_from, start, end, item[1])
        while (count := int(item_edges(*given, scratch))) < 0:
            scratch = np.empty(2 * len(scratch), dtype=EDGE)
        own = chart.items[find_item(chart.items, chart.cells, *item)]
        made = scratch[:count]
        first = np.flatnonzero((made["rule"] == own["rule"]) & (made["split"] == own["split"]))
        order, totals = _sorted_edges(made["total"], int(first[0]))
        columns = (made[name][order].tolist() for name in ("rule", "split", "left", "right"))
        held[item] = list(zip(*columns, strict=True))
        return Edges(totals, list(range(len(order))))

    def parts(item: Item, name: int) -> tuple[Item, ...]:
        rule, split, left, right = held[item][name]
        if rule == LEXICAL:
            return ()
        if split < 0:
            return ((item[0], left),)
        start, end = cells[item[0]]
        return (split * (split - 1) // 2 + start, left), (end * (end - 1) // 2 + split, right)

    top = (n * (n - 1) // 2, root)
    if find_item(chart.items, chart.cells, *top) < 0:
        return
    for score, made in KBest(edges, parts).derivations(top):
        yield score, np.array([(item[1], held[item][name][0], *cells[item[0]]) for item, name in made], dtype=STEP)
