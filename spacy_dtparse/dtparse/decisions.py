"""How the boosted-tree parser decided on the constituents of a parse."""

from __future__ import annotations

from functools import cached_property
from math import exp, log1p
from typing import TYPE_CHECKING, Any

from ..core.parser import Decision, Decisions, ParseResult, Posteriors
from ..core.time_limit import TimeLimit
from .model.reasons import reasons

if TYPE_CHECKING:
    from .encoder import EncodedBatch
    from .parser import DtreeParser

_MIN_AGREEMENT = 0.9
"""Minimum probability at which the span model counts as agreeing."""
_EPSILON = 1e-6

Key = tuple[int, int, str]


class DtreeDecisions(Decisions):
    """The decisions of a parse by boosted trees. `batch`: the encoded sentence, a batch of one. `limit`: of the time
    for reasons."""

    def __init__(
        self, parser: DtreeParser, result: ParseResult, posteriors: Posteriors, batch: EncodedBatch, limit: TimeLimit
    ):
        super().__init__(parser.name, result, posteriors)
        self._parser, self._batch, self._limit = parser, batch, limit

    def decision(self, constituent: int, only: bool = False) -> Decision:
        """Return the decision on a constituent, with its `Reasons`; None for one that no rule built, or if the time is
        over."""
        tree = self.result.tree
        key = tree.starts[constituent], tree.ends[constituent], tree.labels[constituent]
        found = None
        if not self._is_fallback():
            found = (self._reasons_for(key) if only else self._reasons).get(key)
        probability = self.posteriors.get(key, 0.0) if self.posteriors else None
        return Decision("rules", self._describe(found, self.result.costs[constituent], probability), found)

    @cached_property
    def _reasons(self) -> dict[Key, Any]:
        return self._reasons_for(None)

    def _reasons_for(self, only: Key | None) -> dict[Key, Any]:
        return reasons(self._parser, self._batch, only, self._limit)

    def _is_fallback(self) -> bool:
        """Whether the tree comes from the span model because the search found none."""
        return self.result.status == "fallback" and self._parser.span_parser is not None

    def _describe(self, why: Any, cost: float, probability: float | None) -> str:
        if why is None:
            if self._is_fallback():
                return "No rule built it: the search found no complete tree, so this is the span model's tree."
            if self._limit.reached:
                return "The deadline left no time for the reasons of this decision."
            if self._parser.span_parser is not None:
                return "No rule built it: the span model added it after the search, to attach an unattached word."
            return "No rule built it: pieces were joined, or preprocessing was undone."
        trees_cost = log1p(exp(-why.score)) if why.score > -700 else -why.score
        if self._parser.span_parser is None:
            return "The rules decided."
        if cost < trees_cost - _EPSILON or (cost == 0.0 and trees_cost < _EPSILON):
            return "The span model was confident, so the rules were skipped. They would have given:"
        if cost > trees_cost + _EPSILON:
            added = f"{cost - trees_cost:.2f}"
            return f"The rules decided against the span model, whose probabilities added {added} to the cost."
        if probability is not None and probability >= _MIN_AGREEMENT:
            return "The rules decided; the span model agrees."
        return "The span model was undecided; the rules decided."
