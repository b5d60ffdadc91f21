"""Constraints on the constituents of a sentence: spans that must, or must not, be constituents.

A parser obeys them while it parses, so that the rest of the tree is consistent with them. A constituent that it cannot
build by itself (because no rule allows the label there, say) is inserted into the finished tree, so that constraints
that do not conflict always hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import nan
from typing import NamedTuple

import numpy as np

from ..errors import ConstraintError
from ..trees.tree import TOP, Tree
from .parser import ParseResult

NOT = "!"
"""Prefix of a label that is forbidden."""
EXACT = "="
"""Prefix of the labels of a whole unary chain."""
_UNKNOWN = "X"
"""The label of a constituent of unknown label."""


class Constraint(NamedTuple):
    """Tokens [start, end) of a sentence must be a constituent if `required`, else they must not be one. `label`: the
    label of the constituent; "" for any. `exact`: the tokens must have these constituents and no others: the labels of
    their unary chain from top to bottom, separated by blanks, as in "NP NP" or "S VP"."""

    start: int
    end: int
    label: str = ""
    required: bool = True
    exact: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the constraint names; none if it is about a constituent of any label."""
        return tuple(self.label.split()) if self.exact else (self.label,) if self.label else ()

    def __str__(self) -> str:
        sign = EXACT if self.exact else "" if self.required else NOT
        return f"[{self.start}, {self.end}) {sign}{self.label or 'any label'}"


def read_label(text: str) -> tuple[str, bool, bool]:
    """Parse the text of a constraint: "NP", "" (any label), "!NP" (no NP), "!" (no constituent), "=S VP" (exactly this
    unary chain). Return (label, `required`, `exact`)."""
    chain = text.removeprefix(EXACT).split()
    if text.startswith(EXACT):
        return " ".join(chain), bool(chain), bool(chain)
    return text.removeprefix(NOT), not text.startswith(NOT), False


class Constraints(tuple[Constraint, ...]):
    """The constraints of a sentence."""

    def check(
        self, n_tokens: int, labels: Iterable[str], words: Sequence[str] = (), excluded: Collection[str] = ()
    ) -> None:
        """Raise ConstraintError, which names the constraints in conflict, unless all can hold in one tree of `n_tokens`
        tokens with these labels. `words`: for the message. `excluded`: labels that the parser's settings exclude; they
        may be forbidden, but not required."""
        known = set(labels)
        for one in self:
            if not 0 <= one.start < one.end <= n_tokens:
                raise ConstraintError(
                    f"the constraint {one} is outside of its sentence of {n_tokens} tokens; give 0 ≤ start < end ≤ "
                    f"{n_tokens}"
                )
            if one.required and not set(excluded).isdisjoint(one.labels):
                raise ConstraintError(
                    f"the constraint {_describe(one, words)} requires a label of the parser's setting exclude_labels "
                    f"({', '.join(sorted(excluded))}); take the constraint out, or the label out of the setting"
                )
            if not known.union(excluded).issuperset(one.labels):
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
        constraints that lose all their tokens and without duplicates. Where spans become the same, only the
        constituents that each requires are still required: the rest could contradict those of the other span."""
        moved: dict[Constraint, set[tuple[int, int]]] = {}
        for one in self:
            start, end = bisect_left(token_indices, one.start), bisect_left(token_indices, one.end)
            if start < end:
                moved.setdefault(one._replace(start=start, end=end), set()).add((one.start, one.end))
        sources: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for one, origins in moved.items():
            if one.required:
                sources.setdefault((one.start, one.end), set()).update(origins)
        found: dict[Constraint, None] = {}
        for one, origins in moved.items():
            if sources.get((one.start, one.end), origins) <= origins:
                found[one] = None
            elif one.exact:
                found.update(dict.fromkeys(Constraint(one.start, one.end, label) for label in one.labels))
            elif one.required:
                found[one] = None
        return Constraints(found)

    def without_chains(self, labels: Iterable[str]) -> Constraints:
        """Return the constraints with each `exact` one replaced by a requirement of each label of its chain and a
        prohibition of each other one of `labels`. They say nothing about order and repetition."""
        found: dict[Constraint, None] = {}
        for one in self:
            if not one.exact:
                found[one] = None
                continue
            extent = one.start, one.end
            found.update(dict.fromkeys(Constraint(*extent, label) for label in one.labels))
            found.update(
                dict.fromkeys(Constraint(*extent, label, False) for label in labels if label not in one.labels)
            )
        return Constraints(found)

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
        ones inserted at the top of their chains; a chain that must be exact is replaced. `labels`: labels of the
        parser."""
        if not self.violations(result.tree):
            return result
        tree = result.tree
        bad = self.crosses_required(np.array([tree.starts, tree.ends]).T)
        forbidden = {(one.start, one.end, one.label) for one in self.prohibitions}
        forbidden |= {(one.start, one.end, "") for one in self.violations(tree) if one.exact}
        remaining = [
            (span, cost)
            for span, cost, crosses in zip(tree.spans(), result.costs, bad, strict=True)
            if span[2] == TOP or not (crosses or span in forbidden or (span[0], span[1], "") in forbidden)
        ]
        for one in self.requirements:
            chain = [
                label for (start, end, label), _ in remaining if (start, end) == (one.start, one.end) and label != TOP
            ]
            if not _holds(one, chain):
                chain_labels = one.labels or (self._label_for(one, labels),)
                at = next(
                    (
                        k
                        for k, ((start, end, name), _) in enumerate(remaining)
                        if name != TOP and (start, -end) >= (one.start, -one.end)
                    ),
                    len(remaining),
                )
                remaining[at:at] = [((one.start, one.end, label), nan) for label in chain_labels]
        starts, ends, names = zip(*(span for span, _ in remaining), strict=True)
        repaired = Tree(tree.words, tree.tags, names, starts, ends)
        return replace(result, tree=repaired, costs=tuple(cost for _, cost in remaining), status="fallback")

    def _label_for(self, wanted: Constraint, labels: Sequence[str]) -> str:
        """Return a label that no constraint forbids for this span."""
        taken = {one.label for one in self.prohibitions if (one.start, one.end) == (wanted.start, wanted.end)}
        found = next((label for label in (_UNKNOWN, "NP", *labels) if label in labels and label not in taken), None)
        if found is None:
            raise ConstraintError(
                f"the constraint {wanted} requires a constituent, but others forbid all labels of the parser there "
                f"({', '.join(labels)}); take one of them out"
            )
        return found


def _holds(one: Constraint, chain: Sequence[str]) -> bool:
    """Return whether a constraint holds if its span has these labels, from top to bottom."""
    if one.exact:
        return one.labels == tuple(chain)
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
    chains: dict[tuple[int, int], Constraint] = {}
    for one in wanted:
        for label in {*one.labels, ""}:
            against = Constraint(one.start, one.end, label, False)
            if against in unwanted:
                yield one, against
        if one.exact:
            other = chains.setdefault((one.start, one.end), one)
            if other != one:
                yield other, one
    for one in wanted:
        chain = chains.get((one.start, one.end))
        if chain is not None and not set(one.labels) <= set(chain.labels):
            yield chain, one


def _describe(one: Constraint, words: Sequence[str]) -> str:
    return f"{one} ({' '.join(words[one.start : one.end])!r})" if words else str(one)
