"""The result of a chart parse: constituents with costs, or joined pieces if no derivation covers the sentence."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..core.kbest import CANDIDATES_PER_TREE
from ..core.time_limit import TimeLimit
from ..errors import DtparseError
from ..trees.tree import TOP
from .chart import Chart
from .kernels.cky import LEXICAL
from .model.model import PART, PHRASE, PcfgGrammar

GLUE_COST = 1000.0
"""Cost added for each piece if no derivation covers the sentence and pieces are joined under TOP."""


class ChartParse(NamedTuple):
    """A parse of the preprocessed tokens: constituents in pre-order, the root first, with their costs."""

    spans: list[tuple[int, int, str]]
    costs: list[float]
    cost: float
    status: str
    n_items: int = 0
    n_tried: int = 0
    n_searches: int = 1
    ambiguity: float | None = None


def distinct_parses(found: Iterable[ChartParse], k: int, limit: TimeLimit) -> list[ChartParse]:
    """Return the first k parses with distinct trees, searched among `CANDIDATES_PER_TREE` * k while there is time, and
    at least one if there is one."""
    chosen: dict[tuple, ChartParse] = {}
    for one in itertools.islice(found, CANDIDATES_PER_TREE * k if k > 1 else 1):
        chosen.setdefault(tuple(one.spans), one)
        if len(chosen) == k or limit.is_over():
            break
    return list(chosen.values())


def constituents(
    steps: Iterable[tuple[int, int, int, float]], grammar: PcfgGrammar, labels: Sequence[str]
) -> tuple[list[tuple[int, int, str]], list[float]]:
    """Return (constituents in pre-order, their costs), given the steps (symbol, start, end, weight) of a derivation in
    pre-order.

    A constituent's cost is minus the sum of the weights of its step and of the steps of its parts; tags have none.
    """
    kinds, bases = grammar.kind, grammar.base
    spans: list[tuple[int, int, str]] = []
    costs: list[float] = []
    open_at: list[int] = []  # constituents around the current step, the innermost last
    for symbol, start, end, weight in steps:
        kind = kinds[symbol]
        if kind != PHRASE and kind != PART:
            continue
        while open_at and spans[open_at[-1]][1] <= start:
            open_at.pop()
        if kind == PHRASE:
            open_at.append(len(spans))
            spans.append((start, end, labels[int(bases[symbol])]))
            costs.append(0.0 - weight)
        else:
            costs[open_at[-1]] -= weight
    return spans, costs


def chart_constituents(
    steps: np.ndarray, grammar: PcfgGrammar, labels: Sequence[str]
) -> tuple[list[tuple[int, int, str]], list[float]]:
    """Return `constituents` of steps STEP with the weights of their rules; word probabilities are not included."""
    weights = grammar.kernel.rules["weight"][np.maximum(steps["rule"], 0)]
    weights[steps["rule"] == LEXICAL] = 0.0
    columns = (steps[name].tolist() for name in ("symbol", "start", "end"))
    return constituents(zip(*columns, weights.tolist(), strict=True), grammar, labels)


def glue(chart: Chart, n: int, grammar: PcfgGrammar, root: int, labels: Sequence[str]) -> ChartParse:
    """Join pieces of a chart that cover the n words under TOP: as few as possible, the most probable of those."""
    kinds = grammar.kind
    best: list[tuple[int, float, int, int]] = [(0, 0.0, 0, -1)]  # pieces, cost, start of the last, its symbol
    for end in range(1, n + 1):
        choices = []
        for start in range(end):
            low, high = chart.cells[end * (end - 1) // 2 + start].tolist()
            for item in chart.items[low:high]:
                symbol = int(item["symbol"])
                if symbol != root and (kinds[symbol] == PHRASE or (kinds[symbol] != PART and end == start + 1)):
                    pieces, cost, _, _ = best[start]
                    choices.append((pieces + 1, cost - float(item["score"]), start, symbol))
        if not choices:  # no trained grammar has this
            raise DtparseError(f"the grammar allows no symbol for word {end} of a sentence; train it again")
        best.append(min(choices))
    pieces, cost, _, _ = best[n]
    ends, end = [], n
    while end > 0:
        _, _, start, symbol = best[end]
        ends.append((start, end, symbol))
        end = start
    spans, costs = [(0, n, TOP)], [GLUE_COST * pieces]
    for start, end, symbol in reversed(ends):
        inner, inner_costs = chart_constituents(chart.derivation(start, end, symbol), grammar, labels)
        spans += inner
        costs += inner_costs
    return ChartParse(spans, costs, cost + GLUE_COST * pieces, "fallback")


def join_pieces(parses: Sequence[ChartParse], pieces: Sequence[tuple[int, int]]) -> ChartParse:
    """Join parses of the pieces [start, end) of a sentence under TOP; `n_searches` is the maximum over the pieces,
    `ambiguity` the mean over all words, None if a piece was not pruned by supertags."""
    spans, costs = [(0, pieces[-1][1], TOP)], [0.0]
    for (start, _), found in zip(pieces, parses, strict=True):
        spans += [(s + start, e + start, label) for s, e, label in found.spans[1:]]
        costs += found.costs[1:]
        costs[0] += found.costs[0] + GLUE_COST
    ambiguities = [
        found.ambiguity * (end - start)
        for (start, end), found in zip(pieces, parses, strict=True)
        if found.ambiguity is not None
    ]
    return ChartParse(
        spans,
        costs,
        sum(found.cost + GLUE_COST for found in parses),
        "fallback",
        sum(found.n_items for found in parses),
        sum(found.n_tried for found in parses),
        max(found.n_searches for found in parses),
        sum(ambiguities) / pieces[-1][1] if len(ambiguities) == len(parses) else None,
    )
