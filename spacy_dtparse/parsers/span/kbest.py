"""The k best trees of a span parser: sets of spans that cross none of each other, each with a chain of labels.

The chart makes the binary tree whose constituents gain most, and a span that gains nothing stands for none. So its best
tree is a best set of spans, and the list is of sets: no two of them are one tree. Every span of a sentence that is
noticeably probable is an item, and so are the spans from a place to the end of such a one; the k best derivations of
these are the k best sets (`parsers.kbest`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...dtypes import INDEX, SCORE
from ..base import ParseResult
from ..kbest import TRIES, Edges, Item, KBest
from .long import Made, write_items

if TYPE_CHECKING:
    from .parser import SpanParser

CANDIDATE = 0.02
"""Posterior probability from which on a span may take up a token which would be left bare, and may be in a list of the
best trees; single tokens always may the former."""


def others_than(
    parser: SpanParser, made: Made, words: Sequence[str], tags: Sequence[str], k: int
) -> Iterator[tuple[float, ParseResult]]:
    """(How much less it gains than what the chart made, parse) of the best sets of constituents, in order, those of the
    chart among them; enough of them that k of different trees are likely there."""
    least = min(parser._least(), CANDIDATE)
    told = made.told or parser._probabilities(made.parts, least)
    made = made._replace(told=told)
    sizes = np.diff(parser._chain_table[0])
    found = options(*told, sizes, float(parser.settings.penalty), least)
    gain_of: dict[tuple[int, int], float] = {}
    for start, end, gain in zip(found.starts.tolist(), found.ends.tolist(), found.gains.tolist(), strict=True):
        gain_of[start, end] = max(gain, gain_of.get((start, end), gain))
    base = sum(gain_of[extent] for extent in {(start, end) for start, end, _ in made.items})
    for gain, chosen in islice(best_sets(found, len(words)), TRIES * k):
        room = parser._room(len(words))
        count = write_items(told, found.rows[chosen], found.chains[chosen], *parser._chain_table, *room)
        items, costs = parser._whole(made, *(array[:count].tolist() for array in room))
        proven = made.status == "optimal" and base - gain <= found.unseen
        yield base - gain, parser._result(words, tags, items, costs, "optimal" if proven else "complete", made.tried)


class Options(NamedTuple):
    """What may be in a tree: O chains of labels over spans, in the order of the spans.

    `rows`, `chains` int32 (O,): span and chain of each; `gains` float64 (O,): what each adds to the constituents that
    are expected to be right, less the penalty of each; `starts`, `ends` int32 (O,). `unseen`: by how much a tree is
    worse, at least, that has something else.
    """

    rows: np.ndarray
    chains: np.ndarray
    gains: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    unseen: float


def options(
    spans: np.ndarray, posteriors: np.ndarray, logs: np.ndarray, sizes: np.ndarray, penalty: float, least: float
) -> Options:
    """The options of a sentence, each with a probability of `least` or more.

    `spans`, `posteriors`, `logs`: all spans of a posterior from `least` on, as `span_probabilities` gives them. `sizes`
    (chains,): labels of each chain. The likeliest chain gains what the chart lets it gain, another one less by as much
    as it is less probable.
    """
    probable = np.exp(logs.astype(SCORE)) * posteriors[:, None]
    likeliest = 1 + logs[:, 1:].argmax(axis=1)
    best = sizes[likeliest] * (posteriors - probable[:, 0] - penalty)
    gains = best[:, None] - probable[np.arange(len(spans)), likeliest][:, None] + probable
    listed = probable >= least
    listed[np.flatnonzero(best > 0), likeliest[best > 0]] = True  # what the chart may take
    listed[:, 0] = False
    rows, chains = np.nonzero(listed)
    left_out = (np.maximum(best, 0.0)[:, None] - gains)[:, 1:][~listed[:, 1:]]
    unseen = min(penalty - least, float(left_out.min(initial=math.inf)))
    return Options(
        rows.astype(INDEX), chains.astype(INDEX), gains[rows, chains], spans[rows, 0], spans[rows, 1], unseen
    )


def best_sets(found: Options, n: int) -> Iterator[tuple[float, list[int]]]:
    """(What it gains, its options from left to right, those around others before them) of the sets of options over n
    tokens, from the best down; at last of the empty one."""
    forest = _Forest(found, n)
    if not forest.places:
        yield 0.0, []
        return
    for gain, steps in KBest(forest.edges, forest.parts).derivations((forest.places[0], n)):
        yield gain, [option for _, option in steps if option >= 0]


class _Forest:
    """Items are places and ends of spans: (p, e) stands for all sets within [p, e), (p, -e) for those without a span
    over all of it. At the place either nothing begins, which is edge -1, or an option, whose number the edge is.

    `places`: where options begin.
    """

    def __init__(self, found: Options, n: int):
        self.gains: list[float] = found.gains.tolist()
        self.ends: list[int] = found.ends.tolist()
        starts: list[int] = found.starts.tolist()
        self.places = sorted(set(starts))
        self._at: dict[int, list[int]] = {place: [] for place in self.places}
        most: dict[int, dict[int, float]] = {place: {} for place in self.places}  # of a span's options, by its end
        low: dict[int, int] = {n: 0}
        for number, (start, end, gain) in enumerate(zip(starts, self.ends, self.gains, strict=True)):
            self._at[start].append(number)
            most[start][end] = max(most[start].get(end, gain), gain)
            low[end] = min(low.get(end, start), start)
        self._next = [n] * (n + 2)  # the place from a token on, or n
        for token in range(n - 1, -1, -1):
            self._next[token] = token if token in self._at else self._next[token + 1]
        self._best: dict[Item, float] = {}
        for end in sorted(low):
            self._fill(end, self.places[bisect_left(self.places, low[end]) : bisect_left(self.places, end)], most)

    def _fill(self, end: int, places: list[int], most: dict[int, dict[int, float]]) -> None:
        """Find the best sets from each of the places to an end, those to ends before it being known."""
        best, after = self._best, self._next
        behind = {end: 0.0}  # the best set from a place to the end
        for place in reversed(places):
            inside = behind.get(after[place + 1], 0.0)
            for last, gain in most[place].items():
                if last < end:
                    inside = max(inside, gain + best[place, -last] + behind.get(after[last], 0.0))
            whole = inside
            if end in most[place]:
                whole = max(inside, most[place][end] + inside)
            best[place, -end], best[place, end], behind[place] = inside, whole, whole

    def edges(self, item: Item) -> Edges:
        """The edges of an item, best first."""
        totals = self._totals(item)
        order = sorted(totals, key=lambda edge: -totals[edge])
        return Edges([totals[edge] for edge in order], order)

    def parts(self, item: Item, edge: int) -> tuple[Item, ...]:
        """What an edge joins: the sets within its option, and those behind it."""
        place, end = item[0], abs(item[1])
        if edge < 0:
            return self._from(place + 1, end)
        last = self.ends[edge]
        return ((place, -last), *self._from(last, end))

    def _from(self, place: int, end: int) -> tuple[Item, ...]:
        place = self._next[place]
        return ((place, end),) if place < end else ()

    def _totals(self, item: Item) -> dict[int, float]:
        """What the best set with each edge gains."""
        (place, signed), best = item, self._best
        end = abs(signed)
        totals = {-1: sum(best[part] for part in self._from(place + 1, end))}
        for option in self._at[place]:
            last = self.ends[option]
            if last < end or last == signed:
                totals[option] = self.gains[option] + sum(best[part] for part in self.parts(item, option))
        return totals
