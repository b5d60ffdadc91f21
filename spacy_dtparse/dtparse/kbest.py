"""The k best trees of the boosted-tree parser: the search continues until it has the k best parses of its space.

The first tree is the result of a plain parse. A plain parse skips alternatives that are hardly ever better: if a shift
scores above `shift_threshold`, or the span model is confident, it scores no other inference of the state, and the one
that it takes costs little or nothing. The other trees are among the skipped alternatives. So the list comes from a
second search, which scores everything that passes the window filter: its lists are longer, and contain the correct tree
more often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..core.kbest import tree_key
from ..core.parser import Capability, ParseResult
from ..core.time_limit import TimeLimit
from ..jit.warmup import SHORT, kernels_for
from .encoder import EncodedBatch
from .kernels.search import STATUSES

if TYPE_CHECKING:
    from .parser import DtreeParser

_MAX_FACTOR = 4
"""k distinct trees are searched among at most this many times k: attaching unattached tokens makes some equal."""
_SEARCH_SHARE = 0.5
"""The share of the time that the search may use; the rest is for the trees that it finds."""
_MIN_BUDGET_FACTOR, _TREES_PER_BUDGET = 4, 10
"""The budget of a list as a multiple of that of a parse: the minimum multiple, and the number of trees per multiple."""


def alternatives(
    parser: DtreeParser, first: ParseResult, batch: EncodedBatch, k: int, limit: TimeLimit
) -> Iterator[tuple[float, ParseResult]]:
    """Yield (difference of cost from the first tree, parse) of the k best trees, in order; they may include the first.

    All costs are those of the second search. If the first tree is not among its results, costs are compared with the
    smallest cost. A tree may occur twice, if attaching unattached tokens makes two trees equal. Parses joined from
    pieces are left out. If there are no others, as in very long sentences, the trees and margins are those of the span
    model's list.
    """
    n_derivations = k + 1 + k // 4
    found, has_more = _search(parser, batch, n_derivations, limit)
    while has_more and n_derivations < _MAX_FACTOR * k and len({tree_key(one.tree) for one in found}) < k:
        if limit.is_over():
            break
        n_derivations = min(2 * n_derivations, _MAX_FACTOR * k)
        more, has_more = _search(parser, batch, n_derivations, limit)
        if len(more) >= len(found):  # else the limit has ended the second search early
            found = more
    if found:
        first_key = tree_key(first.tree)
        base_cost = next((one.cost for one in found if tree_key(one.tree) == first_key), found[0].cost)
        yield from ((one.cost - base_cost, one) for one in found)
    elif parser.span_parser is not None and Capability.K_BEST in parser.span_parser.capabilities:
        record, words, tags = batch.prepared[0]
        for one in parser.span_parser.parse_k_best(words, tags, k, limit):
            tree, costs = parser.restore(one.tree, one.costs, record)
            yield one.margin or 0.0, replace(one, tree=tree, costs=costs, status="fallback")


def _search(parser: DtreeParser, batch: EncodedBatch, k: int, limit: TimeLimit) -> tuple[list[ParseResult], bool]:
    """Return (parses of up to k derivations of a batch of one, cheapest first; whether there may be more). The search
    ends after a share of the time that is left, and at the end of the time the cheapest parses are returned; at least
    one."""
    n, settings = len(batch.columns), parser.settings.with_changes(shift_threshold=math.inf, commit_threshold=1.0)
    budget = max(1, settings.budget_for(n) * max(_MIN_BUDGET_FACTOR, k // _TREES_PER_BUDGET))
    search_limit = limit.part(_SEARCH_SHARE)
    with kernels_for(parser.name, SHORT + 1):  # without compiled kernels it would take minutes
        tokens, row_offsets = batch.tokens(settings)
        parses = parser.searcher.search_all(
            tokens, row_offsets, batch.token_offsets, [budget], settings, k=k, limit=search_limit
        )
        found: list[ParseResult] = []
        counts = [*parses.counts[0, :2].tolist(), 0]
        count = int(np.count_nonzero(np.diff(parses.offsets)))
        for index in range(count):
            if found and limit.is_over():
                break
            rows = slice(parses.offsets[index], parses.offsets[index + 1])
            status = STATUSES[parses.statuses[index]]
            if status != "fallback":
                one = parser.repaired_result(
                    batch, 0, tokens, parses.items[rows], parses.item_costs[rows], float(parses.costs[index]), status,
                    counts,
                )  # fmt: skip
                found.append(replace(one, greedy_optimal=None))
    limit.reached = limit.reached or search_limit.reached
    return found, count == k
