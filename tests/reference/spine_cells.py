"""Cells of a chart that spines allow, by enumerating the constituents that each can head; no code of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

SIDES, POSITIONS = ("", "<", ">", "<>"), "(|)."
Span = tuple[int, int]


class Spine(NamedTuple):
    """A spine from the lowest label up; `sides`: for each label those it may have (of SIDES); `places`: those at which
    the highest constituent may stand (of PLACES)."""

    labels: tuple[str, ...]
    sides: tuple[tuple[str, ...], ...]
    places: str


class Step(NamedTuple):
    """A constituent that a spine can head, its head child, and whether other children are left and right of that."""

    label: str
    span: Span
    child: Span
    side: str


class Cells(NamedTuple):
    opens: set[int]
    closes: set[int]
    phrases: set[tuple[int, int, str]]
    left_parts: set[Span]
    right_parts: set[Span]


def heights(spine: Spine, word: int, n: int) -> tuple[list[list[Step]], set[Span]]:
    """All constituents of every height of a spine, and the possible spans of the word and its highest constituent."""
    below, found = {(word, word + 1)}, []
    for label, sides in zip(spine.labels, spine.sides, strict=True):
        steps = [
            Step(label, (i, j), child, side)
            for child in below
            for side in sides
            for i, j in product(range(n), range(1, n + 1))
            if (i < child[0] if "<" in side else i == child[0]) and (j > child[1] if ">" in side else j == child[1])
        ]
        below = {step.span for step in steps}
        found.append(steps)
    return found, below


def roots(highest: set[Span], places: str, n: int) -> list[Step]:
    """The root with these as its head child, other children on the sides that the positions allow."""
    wanted = {"(": ">", "|": "<>", ")": "<", ".": ""}
    return [
        Step("TOP", (0, n), (i, j), side)
        for i, j in highest
        for side in (wanted[place] for place in places)
        if side == "<" * (i > 0) + ">" * (j < n)
    ]


def left_part_spans(step: Step) -> set[Span]:
    """Spans from a child left of the head, other than the first, to the end of the constituent."""
    return {(i, step.span[1]) for i in range(step.span[0] + 1, step.child[0])}


def right_part_spans(step: Step) -> set[Span]:
    """Spans from the start of the head child to the end of a later child, except the whole constituent."""
    start = step.child[0]
    return {(start, j) for j in range(step.child[1] + 1, step.span[1] + 1)} - {step.span}


def cells(candidates: Sequence[Sequence[Spine]], with_root: bool) -> Cells:
    n = len(candidates)
    found = Cells(set(), set(), set(), set(), set())
    steps: list[Step] = []
    for word, spines in enumerate(candidates):
        for spine in spines:
            by_height, highest = heights(spine, word, n)
            own = [step for here in by_height for step in here]
            steps += own + (roots(highest, spine.places, n) if with_root else [])
            for i, j in [step.span for step in own if step.span[1] - step.span[0] > 1]:
                found.opens.update({word} & {i})
                found.closes.update({word} & {j - 1})
            for i, j in highest:
                if "(" in spine.places and i == word and j < n:
                    found.opens.add(word)
                if ")" in spine.places and j == word + 1 and i > 0:
                    found.closes.add(word)
    for step in steps:
        (i, j), (head, head_end) = step.span, step.child
        if step.label != "TOP" and (j == i + 1 or (i in found.opens and j - 1 in found.closes)):
            found.phrases.add((i, j, step.label))
        if j - 1 in found.closes:
            found.left_parts.update(left_part_spans(step))
        if head_end == head + 1 or head in found.opens:
            found.right_parts.update(right_part_spans(step))
    return found
