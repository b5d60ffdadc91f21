"""The k best trees of a span parser: sets of non-crossing spans, each span with a label chain.

The chart finds the binary tree with the greatest total gain, in which a span without gain is no constituent. So its
best tree is a best set of spans, and the list consists of sets: no two of them are the same tree. Each span of
noticeable probability is an item of a forest, and so is each range from a position to the end of such a span; the k
best derivations of the forest are the k best sets (`core.kbest`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..core.kbest import CANDIDATES_PER_TREE, Edges, Item, KBest
from ..core.parser import ParseResult, TaggedWords
from ..dtypes import INDEX, SCORE
from .decoder import CANDIDATE, DecodedTree
from .encoder import NetworkOutput
from .long import write_items

if TYPE_CHECKING:
    from .parser import SpanParser


def alternatives(
    parser: SpanParser, decoded: DecodedTree, output: NetworkOutput, sentence: TaggedWords, k: int
) -> Iterator[tuple[float, ParseResult]]:
    """Yield (difference of gain from the tree of the chart, parse) of the best sets of constituents, in order; they
    include the tree of the chart. There are `CANDIDATES_PER_TREE` * k, so that k distinct trees are likely."""
    decoder, n = parser.decoder, len(sentence[0])
    min_prob = min(decoder.min_posterior, CANDIDATE)
    scored = decoded.scored or decoder.scored_spans(output, min_prob)
    tags = parser.model.words.tag_ids(sentence[1])
    found = options(*scored, decoder.chain_sizes, decoder.penalty, min_prob)
    gain_of: dict[tuple[int, int], float] = {}
    for start, end, gain in zip(found.starts.tolist(), found.ends.tolist(), found.gains.tolist(), strict=True):
        gain_of[start, end] = max(gain, gain_of.get((start, end), gain))
    base = sum(gain_of[extent] for extent in {(start, end) for start, end, _ in decoded.items})
    for gain, chosen in islice(best_sets(found, n), CANDIDATES_PER_TREE * k):
        count = write_items(
            scored, found.rows[chosen], found.chains[chosen], *decoder.chain_table, *decoder.workspace(n)
        )
        items, costs = parser.attacher.attach(count, tags, output, scored)
        proven = decoded.status == "optimal" and base - gain <= found.unseen
        status = "optimal" if proven else "complete"
        yield base - gain, parser.result_of_items(sentence, items, costs, status, decoded.tried)


class Options(NamedTuple):
    """The possible constituents of a tree: O label chains over spans, in the order of the spans.

    `rows`, `chains` int32 (O,): index of the span and id of the chain; `gains` float64 (O,): expected number of correct
    constituents that each adds, minus the penalty per constituent; `starts`, `ends` int32 (O,). `unseen`: a tree with
    any other constituent is worse by at least this.
    """

    rows: np.ndarray
    chains: np.ndarray
    gains: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    unseen: float


def options(
    spans: np.ndarray, posteriors: np.ndarray, logs: np.ndarray, sizes: np.ndarray, penalty: float, min_prob: float
) -> Options:
    """Return the options of a sentence with a probability of at least `min_prob`.

    `spans`, `posteriors`, `logs`: all spans with a posterior of at least `min_prob`, in the format of
    `span_probabilities`. `sizes` (chains,): number of labels of each chain. The most probable chain of a span has the
    same gain as in the chart; the gain of another chain is smaller by the difference of their probabilities.
    """
    probable = np.exp(logs.astype(SCORE)) * posteriors[:, None]
    likeliest = 1 + logs[:, 1:].argmax(axis=1)
    best = sizes[likeliest] * (posteriors - probable[:, 0] - penalty)
    gains = best[:, None] - probable[np.arange(len(spans)), likeliest][:, None] + probable
    listed = probable >= min_prob
    listed[np.flatnonzero(best > 0), likeliest[best > 0]] = True  # what the chart may take
    listed[:, 0] = False
    rows, chains = np.nonzero(listed)
    left_out = (np.maximum(best, 0.0)[:, None] - gains)[:, 1:][~listed[:, 1:]]
    unseen = min(penalty - min_prob, float(left_out.min(initial=math.inf)))
    return Options(
        rows.astype(INDEX), chains.astype(INDEX), gains[rows, chains], spans[rows, 0], spans[rows, 1], unseen
    )


def best_sets(found: Options, n: int) -> Iterator[tuple[float, list[int]]]:
    """Yield (gain, options in pre-order) of the sets of options over n tokens, best first, the empty set last."""
    forest = _Forest(found, n)
    if not forest.positions:
        yield 0.0, []
        return
    for gain, steps in KBest(forest.edges, forest.parts).derivations((forest.positions[0], n)):
        yield gain, [option for _, option in steps if option >= 0]


class _Forest:
    """The forest of all sets of options. Item (p, e) stands for all sets within [p, e), item (p, -e) for those without
    a span over all of [p, e). The edge of an item is the index of the option that begins at p, or -1 if none does.

    `positions`: the positions at which options begin.
    """

    def __init__(self, found: Options, n: int):
        self.gains: list[float] = found.gains.tolist()
        self.ends: list[int] = found.ends.tolist()
        starts: list[int] = found.starts.tolist()
        self.positions = sorted(set(starts))
        self._at: dict[int, list[int]] = {position: [] for position in self.positions}
        max_gain: dict[int, dict[int, float]] = {position: {} for position in self.positions}  # per span, by its end
        low: dict[int, int] = {n: 0}
        for index, (start, end, gain) in enumerate(zip(starts, self.ends, self.gains, strict=True)):
            self._at[start].append(index)
            max_gain[start][end] = max(max_gain[start].get(end, gain), gain)
            low[end] = min(low.get(end, start), start)
        self._next = [n] * (n + 2)  # the first position at or after a token, or n
        for token in range(n - 1, -1, -1):
            self._next[token] = token if token in self._at else self._next[token + 1]
        self._best: dict[Item, float] = {}
        for end in sorted(low):
            self._fill(
                end, self.positions[bisect_left(self.positions, low[end]) : bisect_left(self.positions, end)], max_gain
            )

    def _fill(self, end: int, positions: list[int], max_gain: dict[int, dict[int, float]]) -> None:
        """Find the best set from each position to an end; the sets for smaller ends are computed already."""
        best, after = self._best, self._next
        suffix_gain = {end: 0.0}  # the best set from a position to the end
        for position in reversed(positions):
            inside = suffix_gain.get(after[position + 1], 0.0)
            for last, gain in max_gain[position].items():
                if last < end:
                    inside = max(inside, gain + best[position, -last] + suffix_gain.get(after[last], 0.0))
            total = inside
            if end in max_gain[position]:
                total = max(inside, max_gain[position][end] + inside)
            best[position, -end], best[position, end], suffix_gain[position] = inside, total, total

    def edges(self, item: Item) -> Edges:
        """Return the edges of an item, best first."""
        totals = self._totals(item)
        order = sorted(totals, key=lambda edge: -totals[edge])
        return Edges([totals[edge] for edge in order], order)

    def parts(self, item: Item, edge: int) -> tuple[Item, ...]:
        """Return the items that an edge combines: the sets within its option, and those after it."""
        position, end = item[0], abs(item[1])
        if edge < 0:
            return self._from(position + 1, end)
        last = self.ends[edge]
        return ((position, -last), *self._from(last, end))

    def _from(self, position: int, end: int) -> tuple[Item, ...]:
        position = self._next[position]
        return ((position, end),) if position < end else ()

    def _totals(self, item: Item) -> dict[int, float]:
        """Return the gain of the best set with each edge."""
        (position, signed), best = item, self._best
        end = abs(signed)
        totals = {-1: sum(best[part] for part in self._from(position + 1, end))}
        for option in self._at[position]:
            last = self.ends[option]
            if last < end or last == signed:
                totals[option] = self.gains[option] + sum(best[part] for part in self.parts(item, option))
        return totals
