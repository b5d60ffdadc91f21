"""Constraints on the constituents of a sentence: spans that must, or must not, be constituents.

A parser obeys them while it parses, so that the rest of the tree is consistent with them. A constituent that it cannot
build by itself (because no rule allows the label there, say) is inserted into the finished tree, so that constraints
that do not conflict always hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import nan
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..errors import ConstraintError
from ..trees.tree import TOP, Tree
from .parser import ParseResult

NOT = "!"
"""Prefix of a label that is forbidden."""
_UNKNOWN = "X"
"""The label of a constituent of unknown label."""

Span = tuple[int, int, str]


class Constraint(NamedTuple):
    """Tokens [start, end) of a sentence must be a constituent if `required`, else they must not be one. `label`: the
    label of the constituent; "" for any."""

    start: int
    end: int
    label: str = ""
    required: bool = True

    def __str__(self) -> str:
        return f"[{self.start}, {self.end}) {'' if self.required else NOT}{self.label or 'any label'}"


def read_label(text: str) -> tuple[str, bool]:
    """Parse the text of a constraint: "NP", "" (any label), "!NP" (no NP), "!" (no constituent). Return
    (label, `required`)."""
    return text.removeprefix(NOT), not text.startswith(NOT)


@runtime_checkable
class ConstrainedParser(Protocol):
    """A parser that obeys constraints."""

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Return the best parse in which the constraints hold. A constituent that the parser could not build by
        itself has the score nan, and then the status is "fallback". Raises ConstraintError as `Constraints.check`."""


class Constraints(tuple[Constraint, ...]):
    """The constraints of a sentence."""

    def check(self, n_tokens: int, labels: Iterable[str], words: Sequence[str] = ()) -> None:
        """Raise ConstraintError, which names the constraints in conflict, unless all can hold in one tree of `n_tokens`
        tokens with these labels. `words`: for the message."""
        known = set(labels)
        for one in self:
            if not 0 <= one.start < one.end <= n_tokens:
                raise ConstraintError(
                    f"the constraint {one} is outside of its sentence of {n_tokens} tokens; give 0 ≤ start < end ≤ "
                    f"{n_tokens}"
                )
            if one.label and one.label not in known:
                raise ConstraintError(
                    f"the constraint {_describe(one, words)} has a label that this parser does not have; its labels "
                    f"are {', '.join(sorted(known))}. Give one of these, or none for any constituent"
                )
        for one, other in _conflicts(self):
            crosses = (one.start, one.end) != (other.start, other.end)
            raise ConstraintError(
                f"two constraints cannot both hold: {_describe(one, words)} and {_describe(other, words)} "
                f"{'cross' if crosses else 'contradict each other'}; take one of them out"
            )

    @property
    def requirements(self) -> list[Constraint]:
        """The constraints that require a constituent."""
        return [one for one in self if one.required]

    @property
    def prohibitions(self) -> list[Constraint]:
        """The constraints that forbid a constituent."""
        return [one for one in self if not one.required]

    def restrict_to(self, token_indices: Sequence[int]) -> Constraints:
        """Return the constraints for a sentence that is reduced to the tokens `token_indices`, in order; without
        constraints that lose all their tokens and without duplicates."""
        moved = (
            one._replace(start=bisect_left(token_indices, one.start), end=bisect_left(token_indices, one.end))
            for one in self
        )
        return Constraints(dict.fromkeys(one for one in moved if one.start < one.end))

    def crosses_required(self, spans: np.ndarray) -> np.ndarray:
        """Return which of `spans` int (c, 2) cross a required constituent, bool (c,)."""
        found = np.zeros(len(spans), dtype=bool)
        starts, ends = spans[:, 0], spans[:, 1]
        for one in self.requirements:
            found |= (starts < one.start) & (one.start < ends) & (ends < one.end)
            found |= (one.start < starts) & (starts < one.end) & (one.end < ends)
        return found

    def allowed_chains(self, start: int, end: int, chains: Sequence[Sequence[str]]) -> np.ndarray | None:
        """Return which label chains a span may have, bool (chains,), the empty chain first; None if no constraint
        applies to the span, or if no chain satisfies them."""
        same_span = [one for one in self if (one.start, one.end) == (start, end)]
        if not same_span:
            return None
        remaining = np.array([all(_holds(one, chain) for one in same_span) for chain in chains])
        return remaining if remaining.any() else None

    def violations(self, tree: Tree) -> list[Constraint]:
        """Return the constraints that do not hold in a tree. TOP does not count as a constituent."""
        at: dict[tuple[int, int], list[str]] = {}
        for start, end, label in tree.spans():
            if label != TOP:
                at.setdefault((start, end), []).append(label)
        return [one for one in self if not _holds(one, at.get((one.start, one.end), ()))]

    def enforce(self, result: ParseResult, labels: Sequence[str]) -> ParseResult:
        """Return the result with a tree in which all constraints hold: conflicting constituents are removed, missing
        ones inserted at the top of their chains. `labels`: labels of the parser."""
        if not self.violations(result.tree):
            return result
        tree = result.tree
        bad = self.crosses_required(np.array([tree.starts, tree.ends]).T)
        forbidden = {(one.start, one.end, one.label) for one in self.prohibitions}
        remaining = [
            (span, score)
            for span, score, crosses in zip(tree.spans(), result.scores, bad, strict=True)
            if span[2] == TOP or not (crosses or span in forbidden or (span[0], span[1], "") in forbidden)
        ]
        for one in self.requirements:
            chain = [
                label for (start, end, label), _ in remaining if (start, end) == (one.start, one.end) and label != TOP
            ]
            if not _holds(one, chain):
                label = one.label or self._label_for(one, labels)
                at = next(
                    (
                        k
                        for k, ((start, end, name), _) in enumerate(remaining)
                        if name != TOP and (start, -end) >= (one.start, -one.end)
                    ),
                    len(remaining),
                )
                remaining.insert(at, ((one.start, one.end, label), nan))
        starts, ends, names = zip(*(span for span, _ in remaining), strict=True)
        repaired = Tree(tree.words, tree.tags, names, starts, ends)
        return replace(result, tree=repaired, scores=tuple(score for _, score in remaining), status="fallback")

    def _label_for(self, wanted: Constraint, labels: Sequence[str]) -> str:
        """Return a label that no constraint forbids for this span."""
        taken = {one.label for one in self.prohibitions if (one.start, one.end) == (wanted.start, wanted.end)}
        return next(label for label in (_UNKNOWN, "NP", *labels) if label in labels and label not in taken)


def _holds(one: Constraint, chain: Sequence[str]) -> bool:
    """Return whether a constraint holds if its span has these labels."""
    there = one.label in chain if one.label else len(chain) > 0
    return there == one.required


def _conflicts(constraints: Constraints) -> Iterator[tuple[Constraint, Constraint]]:
    """Yield pairs of constraints that cannot both hold."""
    wanted = sorted(set(constraints.requirements))
    open_constraints: list[Constraint] = []
    for one in sorted(wanted, key=lambda each: (each.start, -each.end)):
        while open_constraints and open_constraints[-1].end <= one.start:
            open_constraints.pop()
        if open_constraints and open_constraints[-1].end < one.end:
            yield open_constraints[-1], one
        open_constraints.append(one)
    unwanted = set(constraints.prohibitions)
    for one in wanted:
        for label in {one.label, ""}:
            against = Constraint(one.start, one.end, label, False)
            if against in unwanted:
                yield one, against


def _describe(one: Constraint, words: Sequence[str]) -> str:
    return f"{one} ({' '.join(words[one.start : one.end])!r})" if words else str(one)
