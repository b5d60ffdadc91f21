"""Batch parsing with a single network and one chart per sentence, in one call of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...dtypes import INDEX, OFFSET, REAL, SCORE
from ...kernels.span.batch import BARE, DONE, Batch, Chart, parse_each
from ...model.span.model import BareTables
from ..base import ParseResult, TaggedWords
from .kbest import CANDIDATE
from .whole import PIECE

if TYPE_CHECKING:
    from .parser import SpanParser


def parse_together(parser: SpanParser, sentences: Sequence[TaggedWords], together: int) -> list[ParseResult]:
    """Parse sentences, none of them too long for a chart, with a parser that uses one network; `together`: rows per
    batch of the network."""
    numbers, firsts = parser.model.words.encode_all(sentences)
    n, m, longest = len(sentences), parser._weights.shape[1], int(np.diff(firsts).max())
    size, most = max(map(len, parser._chains)), max(together, longest)
    room = 2 * len(numbers) + 3 * size * longest
    batch = Batch(
        numbers, firsts, parser.model.words.tags_of(numbers), np.zeros(2, OFFSET),
        np.empty(4 * m * most, REAL), np.empty(most, REAL), np.empty((room, 3), INDEX), np.empty(room, SCORE),
        np.zeros(n + 1, OFFSET), np.zeros(n, OFFSET),
    )  # fmt: skip
    chart = Chart(*parser._chain_table, parser._least(), float(parser.settings.penalty), CANDIDATE, PIECE)
    bare = parser._bare or BareTables(np.zeros((0, 0, 0), dtype=np.bool_), False)
    changed: dict[int, tuple[list[list[int]], list[float]]] = {}
    done, why = 0, -1
    while why != DONE:
        done, why = parse_each(
            parser._networks[0], parser._weights, parser._bias, batch, together, done, chart, *bare, 3 * size
        )
        if why == BARE:
            changed[done - 1] = _taken_up(parser, batch, done - 1, bare)
        elif why != DONE:
            items, costs = (np.concatenate([array, np.empty_like(array)]) for array in (batch.items, batch.costs))
            batch = batch._replace(items=items, costs=costs)
    ends, tried = batch.ends.tolist(), batch.tried.tolist()
    columns, costs = batch.items[: ends[-1]].T.tolist(), batch.costs[: ends[-1]].tolist()
    results = []
    for s, (words, tags) in enumerate(sentences):
        if s in changed:
            results.append(parser._result(words, tags, *changed[s], parser._chart_status, tried[s]))
            continue
        here = slice(ends[s], ends[s + 1])
        own = [column[here] for column in columns]
        results.append(parser._told(words, tags, own, costs[here], parser._chart_status, tried[s]))
    return results


def _taken_up(parser: SpanParser, batch: Batch, s: int, bare: BareTables) -> tuple[list[list[int]], list[float]]:
    """Return items and scores of sentence s, the last one parsed, after attaching tokens; for long sentences."""
    first, last = batch.firsts[batch.read[0]], batch.firsts[s]
    n, m, gap = int(batch.firsts[s + 1] - last) - 2, parser._weights.shape[1], last - first - (s - batch.read[0])
    gaps = batch.gaps[4 * m * gap : 4 * m * (gap + n + 1)].reshape((1, 4, n + 1, m))
    parts = gaps, batch.own[gap : gap + n + 1].reshape((1, n + 1)), parser._weights, parser._bias
    here, (items, costs) = slice(batch.ends[s], batch.ends[s + 1]), parser._room(n)
    count = here.stop - here.start
    items[:count], costs[:count] = batch.items[here], batch.costs[here]
    tags = batch.tags[last + 1 : last + n + 1]
    return parser._taken_up(count, parser._candidates(parts), tags, bare)
