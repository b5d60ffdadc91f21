"""The k best trees of boosted trees: the search goes on until so many parses are found that no other can be better.

The first is that of a plain parse. A plain parse leaves out what is hardly ever better: where a shift is confident, or
the reader sure, the other inferences are not looked at, and the one that is taken costs nothing or little. The other
trees are what was left out, so the list comes from a second search, in which everything that the gate lets pass is
scored: lists are longer, and more often have the right tree.
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
"""A list of k distinct trees is looked for among so many times k: what the reader takes up makes some alike."""
_BUDGETS, _TREES_OF_ONE = 4, 10
"""The budget of a list, as a multiple of that of a parse: so much at least, and 1 for so many trees."""


def others_than(
    parser: DtreeParser, first: ParseResult, words: Sequence[str], tags: Sequence[str], k: int
) -> Iterator[tuple[float, ParseResult]]:
    """(How much more it costs than the first tree, parse) of the k best trees, in order, among which the first may be.

    Costs are those of the second search, the first tree's too, unless that is not among them: then they are compared
    with the least. A tree may come twice: when what the reader takes up makes two alike. Pieces that had to be joined
    are none.
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
    """(The parses of up to k derivations, cheapest first; whether there may be more)."""
    record, kept_words, kept_tags = parser._prepared(words, tags)
    n, settings = len(kept_words), parser.settings.with_changes(confident=math.inf, sure=1.0)
    budget = max(1, settings.budget_for(n) * max(_BUDGETS, k // _TREES_OF_ONE))
    with kernels_for(parser.name, SHORT + 1):  # interpreted it would take minutes
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
