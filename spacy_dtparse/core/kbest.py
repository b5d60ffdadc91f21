"""k-best lists: code shared by all parsers, and lazy enumeration of the k best derivations of a packed forest
(Huang & Chiang 2005, algorithm 3).

An item's next derivation is computed only when the next derivation of an item above may use it. The best derivation of
every item comes from the chart, which also makes chains of unary rules safe: a derivation always comes after the
derivations inside it, so around a cycle everything that an item needs from itself is computed already. A cycle does not
end by itself: each further round is one more derivation, and the caller chooses how many derivations it takes.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..checks import integer
from ..errors import ConfigError
from ..trees.tree import Tree
from .parser import ParseList, ParseResult
from .time_limit import TimeLimit

MAX_TREES = 1000
"""Maximum length of a list."""
CANDIDATES_PER_TREE = 20
"""k distinct trees are searched among at most this many times k derivations, because a tree can have several."""
DEADLINE = "the deadline ended the list"
NO_MORE = "the parser finds no more trees"
PIECES = "the sentence was parsed in pieces, and only a sentence that is parsed as a whole has a list"
"""Reasons for a list of fewer than k trees."""
_K = integer(1, MAX_TREES)


def check_k(k: Any) -> None:
    """Raise ConfigError unless k is a valid number of trees."""
    if not _K.fits(k):
        raise ConfigError(f"k is {k!r}; give the number of trees wanted, {_K.allowed}")


def rank_parses(
    first: ParseResult, others: Iterable[tuple[float, ParseResult]], k: int, limit: TimeLimit, reason: str = NO_MORE
) -> ParseList:
    """Return the first parse, then those of `others` with a new tree, at most k in all, each with its margin.

    `others`: (how much worse than the first, parse), best first; a parse that is better than the first gets margin 0.
    They are asked for only while there is time. `reason`: why `others` ends, if not because of the time.
    """
    chosen = {tree_key(first.tree): replace(first, margin=0.0)}
    margin = 0.0
    if k > 1 and not limit.is_over():
        for worse, one in others:
            margin = max(margin, worse)
            key = tree_key(one.tree)
            if key not in chosen:
                chosen[key] = replace(one, margin=margin)
            if len(chosen) == k or limit.is_over():
                break
    if len(chosen) == k:
        reason = ""
    elif limit.reached:
        reason = DEADLINE
    return ParseList(chosen.values(), reason)


def tree_key(tree: Tree) -> tuple[tuple, ...]:
    """Return a key that is unique among the trees over the same words."""
    return tree.labels, tree.starts, tree.ends


Item = tuple[int, int]
"""Identifier of a forest item: in a chart (cell, symbol)."""


class Edges(NamedTuple):
    """The edges of an item, the edge of its best derivation first.

    `total`: log weights of the best derivation with each edge on top, in decreasing order. `name`: identifiers of the
    edges in the forest.
    """

    total: list[float]
    name: list[int]


class _ItemState:
    """The derivations of an item: those found (score, edge, ranks of its parts), and a heap of candidates for the next
    one, whose scores are negated.

    `parts`: parts of the edges that are or were in the heap. `n_expanded`: number of derivations found whose successors
    are in the heap.
    """

    __slots__ = ("edges", "finished", "found", "heap", "item", "n_expanded", "parts", "seen")

    def __init__(self, item: Item, edges: Edges):
        self.item, self.edges = item, edges
        self.parts: list[tuple[Item, ...]] = []
        self.heap: list[tuple[float, int, tuple[int, ...]]] = []
        self.seen: set[tuple[int, tuple[int, ...]]] = set()
        self.found: list[tuple[float, int, tuple[int, ...]]] = []
        self.n_expanded = 0
        self.finished = False

    def push(self, edge: int, parts: Callable[[Item, int], tuple[Item, ...]]) -> None:
        """Push the best derivation of an edge onto the heap, if the edge exists."""
        if edge < len(self.edges.name):
            self.parts.append(parts(self.item, self.edges.name[edge]))
            heapq.heappush(self.heap, (-self.edges.total[edge], edge, (0,) * len(self.parts[edge])))


class KBest:
    """The derivations of a forest in order of weight. If the forest has cycles, no weight may be above 0.

    `edges`: returns the edges of an item; `parts`: returns the items that an edge (given by its name) combines.
    """

    def __init__(self, edges: Callable[[Item], Edges], parts: Callable[[Item, int], tuple[Item, ...]]):
        self._edges, self._parts = edges, parts
        self._states: dict[Item, _ItemState] = {}

    def score(self, item: Item, rank: int) -> float | None:
        """Return the log weight of an item's derivation of a rank (0: the best), None if there are fewer."""
        self._find(item, rank)
        found = self._at(item).found
        return found[rank][0] if rank < len(found) else None

    def derivations(self, item: Item) -> Iterator[tuple[float, list[tuple[Item, int]]]]:
        """Yield (log weight, `derivation`) of an item's derivations, best first."""
        for rank in itertools.count():
            score = self.score(item, rank)
            if score is None:
                return
            yield score, self.derivation(item, rank)

    def derivation(self, item: Item, rank: int) -> list[tuple[Item, int]]:
        """Return the items of a derivation in pre-order with the names of their edges. Call `score` for it first."""
        steps, stack = [], [(item, rank)]
        while stack:
            item, rank = stack.pop()
            state = self._states.get(item)
            if state is None or len(state.found) <= rank:  # so far used only as the best derivation of a part
                self._find(item, rank)
                state = self._states[item]
            _, edge, ranks = state.found[rank]
            steps.append((item, state.edges.name[edge]))
            parts = state.parts[edge]
            for i in range(len(parts) - 1, -1, -1):
                stack.append((parts[i], ranks[i]))
        return steps

    def _at(self, item: Item) -> _ItemState:
        if item not in self._states:
            state = self._states[item] = _ItemState(item, self._edges(item))
            state.push(0, self._parts)
            return state
        return self._states[item]

    def _find(self, item: Item, rank: int) -> None:
        """Find an item's derivations up to a rank, or all if there are fewer."""
        waiting = [(item, rank)]
        while waiting:
            item, rank = waiting[-1]
            state = self._at(item)
            if len(state.found) > rank or state.finished:
                waiting.pop()
                continue
            if state.n_expanded < len(state.found):
                missing = self._push_successors(state)
                if missing:
                    waiting.extend(missing)
                    continue
            if not state.heap:
                state.finished = True
                continue
            cost, edge, ranks = heapq.heappop(state.heap)
            state.found.append((-cost, edge, ranks))
            if not any(ranks):  # the heap holds only the next best of the other edges
                state.push(len(state.parts), self._parts)

    def _push_successors(self, state: _ItemState) -> list[tuple[Item, int]]:
        """Push the successors of the last derivation found, or return the derivations that must be found first."""
        score, edge, ranks = state.found[-1]
        parts = state.parts[edge]
        missing = []
        for part, rank in zip(parts, ranks, strict=True):
            part_state = self._at(part)
            if len(part_state.found) <= rank + 1 and not part_state.finished:
                missing.append((part, rank + 1))
        if missing:
            return missing
        for i, (part, rank) in enumerate(zip(parts, ranks, strict=True)):
            found = self._at(part).found
            after = (*ranks[:i], rank + 1, *ranks[i + 1 :])
            if len(found) > rank + 1 and (edge, after) not in state.seen:
                state.seen.add((edge, after))
                heapq.heappush(state.heap, (-(score - found[rank][0] + found[rank + 1][0]), edge, after))
        state.n_expanded = len(state.found)
        return []
