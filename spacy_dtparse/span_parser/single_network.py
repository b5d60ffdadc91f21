"""Batch parsing with a single network and one chart per sentence, in one call of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.parser import ParseResult, TaggedWords
from ..dtypes import INDEX, OFFSET, REAL, SCORE
from .attach import PIECE
from .kbest import CANDIDATE
from .kernels.batch import DONE, UNATTACHED, Batch, ChartArrays, parse_from
from .model import AttachTables

if TYPE_CHECKING:
    from .parser import SpanParser


def parse_with_one_network(parser: SpanParser, sentences: Sequence[TaggedWords], batch_rows: int) -> list[ParseResult]:
    """Parse sentences, none of them too long for a chart, with a parser that uses one network; `batch_rows`: rows per
    batch of the network."""
    token_ids, token_offsets = parser.model.words.encode_all(sentences)
    n, m, longest = len(sentences), parser._weights.shape[1], int(np.diff(token_offsets).max())
    size, max_rows = max(map(len, parser._chains)), max(batch_rows, longest)
    capacity = 2 * len(token_ids) + 3 * size * longest
    batch = Batch(
        ids=token_ids,
        offsets=token_offsets,
        tags=parser.model.words.tags_of(token_ids),
        encoded=np.zeros(2, OFFSET),
        gaps=np.empty(4 * m * max_rows, REAL),
        left_scores=np.empty(max_rows, REAL),
        items=np.empty((capacity, 3), INDEX),
        costs=np.empty(capacity, SCORE),
        ends=np.zeros(n + 1, OFFSET),
        tried=np.zeros(n, OFFSET),
    )
    chart = ChartArrays(*parser._chain_table, parser._min_posterior(), float(parser.settings.penalty), CANDIDATE, PIECE)
    tables = parser._attach_tables or AttachTables(np.zeros((0, 0, 0), dtype=np.bool_), False)
    attached: dict[int, tuple[list[list[int]], list[float]]] = {}
    done, reason = 0, -1
    while reason != DONE:
        done, reason = parse_from(
            parser._networks[0], parser._weights, parser._bias, batch, batch_rows, done, chart, *tables, 3 * size
        )
        if reason == UNATTACHED:
            attached[done - 1] = _attach(parser, batch, done - 1, tables)
        elif reason != DONE:
            items, costs = (np.concatenate([array, np.empty_like(array)]) for array in (batch.items, batch.costs))
            batch = batch._replace(items=items, costs=costs)
    ends, tried = batch.ends.tolist(), batch.tried.tolist()
    columns, costs = batch.items[: ends[-1]].T.tolist(), batch.costs[: ends[-1]].tolist()
    results = []
    for s, (words, tags) in enumerate(sentences):
        if s in attached:
            results.append(parser._result_of_items(words, tags, *attached[s], parser._chart_status, tried[s]))
            continue
        here = slice(ends[s], ends[s + 1])
        part = [column[here] for column in columns]
        results.append(parser._make_result(words, tags, part, costs[here], parser._chart_status, tried[s]))
    return results


def _attach(parser: SpanParser, batch: Batch, s: int, tables: AttachTables) -> tuple[list[list[int]], list[float]]:
    """Return items and scores of sentence s, the last one parsed, after attaching tokens; for long sentences."""
    first_row, row = batch.offsets[batch.encoded[0]], batch.offsets[s]
    n, m, gap = int(batch.offsets[s + 1] - row) - 2, parser._weights.shape[1], row - first_row - (s - batch.encoded[0])
    gaps = batch.gaps[4 * m * gap : 4 * m * (gap + n + 1)].reshape((1, 4, n + 1, m))
    parts = gaps, batch.left_scores[gap : gap + n + 1].reshape((1, n + 1)), parser._weights, parser._bias
    here, (items, costs) = slice(batch.ends[s], batch.ends[s + 1]), parser._workspace(n)
    count = here.stop - here.start
    items[:count], costs[:count] = batch.items[here], batch.costs[here]
    tags = batch.tags[row + 1 : row + n + 1]
    return parser._attach(count, parser._candidates(parts), tags, tables)
