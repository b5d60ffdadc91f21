"""The k best trees of the boosted-tree parser: the search continues until it has the k best parses of its space.

The first tree is the result of a plain parse. A plain parse skips alternatives that are hardly ever better: if a shift
scores above `shift_threshold`, or the span model is confident, it scores no other inference of the state, and the one
that it takes costs little or nothing. The other trees are among the skipped alternatives. So the list comes from a
second search, which scores everything that passes the window filter: its lists are longer, and contain the correct tree
more often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.trees.search import STATUSES
from ...model.ahead import SHORT, kernels_for
from ..base import ParseResult
from ..kbest import shape

if TYPE_CHECKING:
    from .parser import DtreeParser

_TRIES = 4
"""k distinct trees are searched among at most this many times k: attaching unattached tokens makes some equal."""
_BUDGETS, _TREES_OF_ONE = 4, 10
"""The budget of a list as a multiple of that of a parse: the minimum multiple, and the number of trees per multiple."""


def others_than(
    parser: DtreeParser, first: ParseResult, words: Sequence[str], tags: Sequence[str], k: int
) -> Iterator[tuple[float, ParseResult]]:
    """Yield (difference of cost from the first tree, parse) of the k best trees, in order; they may include the first.

    All costs are those of the second search. If the first tree is not among its results, costs are compared with the
    smallest cost. A tree may occur twice, if attaching unattached tokens makes two trees equal. Parses joined from
    pieces are left out.
    """
    if k == 1:
        return
    wanted = k + 1 + k // 4
    found, more = _search(parser, words, tags, wanted)
    while more and wanted < _TRIES * k and len({shape(one.tree) for one in found}) < k:
        wanted = min(2 * wanted, _TRIES * k)
        found, more = _search(parser, words, tags, wanted)
    if found:
        own = shape(first.tree)
        base = next((one.cost for one in found if shape(one.tree) == own), found[0].cost)
        yield from ((one.cost - base, one) for one in found)


def _search(parser: DtreeParser, words: Sequence[str], tags: Sequence[str], k: int) -> tuple[list[ParseResult], bool]:
    """Return (parses of up to k derivations, cheapest first; whether there may be more)."""
    record, kept_words, kept_tags = parser._prepared(words, tags)
    n, settings = len(kept_words), parser.settings.with_changes(confident=math.inf, sure=1.0)
    budget = max(1, settings.budget_for(n) * max(_BUDGETS, k // _TREES_OF_ONE))
    with kernels_for(parser.name, SHORT + 1):  # without compiled kernels it would take minutes
        tokens = parser.encode(kept_words, kept_tags, settings)
        ends = np.array([0, len(tokens)]), np.array([0, n])
        parses = parser._search_all(tokens, *ends, [budget], settings, k=k)
        counts, found = [*parses.counts[0, :2].tolist(), 0], []
        count = int(np.count_nonzero(np.diff(parses.firsts)))
        for number in range(count):
            here = slice(parses.firsts[number], parses.firsts[number + 1])
            status = STATUSES[parses.statuses[number]]
            if status != "fallback":
                one = parser._mended(
                    record, kept_words, kept_tags, parses.items[here], parses.item_costs[here],
                    float(parses.costs[number]), status, counts, tokens,
                )  # fmt: skip
                found.append(replace(one, greedy_optimal=None))
    return found, count == k
