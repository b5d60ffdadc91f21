"""The atoms of a window, computed from a template table by name; no code of the kernels, no ids.

An atom is a string in the format of `spacy_dtparse.dtparse.features.names`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spacy_dtparse.dtparse.features.templates import Position, Templates

from .states import Node, Rules, State
from .states import node as make_node

LONGEST = 15
WHOLE_NAMES = {
    "left_of_head": "left of head",
    "right_of_head": "right of head",
    "left_context": "left context",
    "right_context": "right context",
    "span": "span",
    "non_leftmost": "all but the first",
    "non_rightmost": "all but the last",
    "non_head": "all but the head",
}
PART_NAMES = {
    "span_first": "first {} of span",
    "span_last": "last {} of span",
    "left_of_head": "{} left of head",
    "right_of_head": "{} right of head",
    "left_context": "{} of left context",
    "right_context": "{} of right context",
}


Span = tuple[int, int]
LIMITS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995)


@dataclass
class SpanMarginals:
    """`spans[i, j]`: (span probability, names of the two likeliest chains, their probabilities); the second name may be
    missing."""

    spans: dict[Span, tuple[float, tuple[str, ...], tuple[float, ...]]]

    def number(self, attribute: str, span: Span) -> float:
        """The probability, or expected number, that an attribute denotes."""
        span_prob, _, probs = self.spans[span]
        i, j = span
        others = {
            "starting": lambda a, b: a == i and b > j,
            "ending": lambda a, b: b == j and a < i,
            "crossing": lambda a, b: i < a < j < b or a < i < b < j,
        }
        if attribute in others:
            return sum(marginal[0] for (a, b), marginal in self.spans.items() if others[attribute](a, b))
        return {"mass": span_prob, "sure": probs[0], "second sure": probs[1]}[attribute]

    def value(self, attribute: str, span: Span) -> str:
        """The value in the name of an atom."""
        if "chain" in attribute:
            names = self.spans[span][1]
            place = attribute.startswith("second")
            return names[place] if place < len(names) else "nothing"
        number = self.number(attribute, span)
        below = max((limit for limit in LIMITS if limit <= number), default=0)
        above = min((limit for limit in LIMITS if limit > number), default=1)
        return f"{below:g} to {above:g}"

    def tests(self, where: str, attribute: str, span: Span | None) -> list[str]:
        """The atoms of an ordered attribute."""
        name = f"span model: {where} {attribute}"
        if span is None:
            return [f"{name}: nothing"]
        number = self.number(attribute, span)
        if attribute in ("mass", "sure"):
            # each limit above the number is an atom; those up to it follow from the first
            return [f"{name} < {limit:g}" for limit in LIMITS if number < limit]
        return [f"{name} >= {limit:g}" for limit in LIMITS if number >= limit]


class AtomReader:
    """Computes the atoms of one sentence. `columns[attribute][t]`: the text of a token's attribute, words as in the
    model's vocabulary (rare words as one)."""

    def __init__(
        self, templates: Templates, rules: Rules, columns: dict[str, list[str]], marginals: SpanMarginals | None = None
    ):
        self.templates, self.rules, self.columns = templates, rules, columns
        self.marginals = marginals or SpanMarginals({})
        self.n = len(columns["word"])

    def value(self, node: Node, attribute: str) -> str:
        if attribute == "label":
            return node.label
        text = self.columns[attribute][node.head]
        return f'"{text}"' if attribute == "word" else text

    def token(self, t: int) -> Node:
        return make_node(self.columns["tag"][t], t, t + 1, t)

    def atoms(self, state: State, i: int, j: int, *, shift: bool = False) -> list[str]:
        """Every atom of the window; its head is found without a label, a shift's is its token."""
        head = i if shift else self.rules.head_of(state, i, j)
        find = self._finder(state, i, j, head)
        found = []
        for place, attribute in self.templates.ordered:
            found += self.marginals.tests(place[1], attribute, self._marginal_span(place, state, i, j))
        for place, attribute in dict.fromkeys(self.templates.unary):
            found.append(self._one(find, place, attribute)[0])
        for members in self.templates.tuples:
            ones = [self._one(find, place, attribute) for place, attribute in members]
            if any(present for _, present in ones):
                found.append(" & ".join(text for text, _ in ones))
        for kind, group, n, with_head, attribute in self.templates.grouped:
            members = self._group(state, i, j, head, group, n, with_head)
            name = (PART_NAMES[group].format(n) if n else WHOLE_NAMES[group]) + (" with head" if with_head else "")
            if kind == "some_item":
                values = {self.value(node, str(attribute)) for node in members}
                found.extend(f"some item of {name}: {attribute} = {value}" for value in values)
            elif kind == "some_terminal":
                below = [self.token(t) for node in members for t in range(node.start, node.end)]
                values = {self.value(node, str(attribute)) for node in below}
                found.extend(f"some terminal of {name}: {attribute} = {value}" for value in values)
            else:
                length = len(members) if kind == "items" else sum(node.end - node.start for node in members)
                found.extend(f"{kind} of {name} = {n}" for n in range(LONGEST + 1) if length == n)
                found.extend(f"{kind} of {name} > {n}" for n in range(LONGEST + 1) if length > n)
        if self.templates.sequence:
            found.append("labels = " + " ".join(node.label for node in state.frontier[i:j]))
        return found

    def _marginal_span(self, place: Position, state: State, i: int, j: int) -> Span | None:
        frontier = state.frontier
        right = frontier[j] if j < len(frontier) else None
        first, last = frontier[i].start, frontier[j - 1].end
        span = {
            "window": (first, last),
            "with left": (first - 1, last),
            "with right": right and (first, right.end),
            "of right": right and (right.start, right.end),
        }[place[1]]
        return span if span in self.marginals.spans else None

    def _one(self, find: Callable[[Position], Any], place: Position, attribute: str) -> tuple[str, bool]:
        node = find(place)
        if place[0] == "believed":
            value = "nothing" if node is None else self.marginals.value(attribute, node)
            return f"span model: {place[1]} {attribute} = {value}", value != "nothing"
        value = "nothing" if node is None else self.value(node, attribute)
        return f"{place_name(place)} {attribute} = {value}", node is not None and value != "nothing"

    def _finder(self, state: State, i: int, j: int, head: int) -> Callable[[Position], Any]:
        frontier = state.frontier
        items = {
            "start": ([*range(i, j)], 0),
            "end": ([*range(j - 1, i - 1, -1)], 0),
            "left": ([*range(i - 1, -1, -1)], 0),
            "right": ([*range(j, len(frontier))], 0),
            "front": ([*range(i, len(frontier))], 0),
            "head": ([*range(i, j)], head - i),
        }
        first, last = frontier[i].start, frontier[j - 1].end - 1
        every = [*range(self.n)]
        tokens = {
            "start": (every[first : last + 1], 0),
            "end": (every[first : last + 1][::-1], 0),
            "left": (every[:first][::-1], 0),
            "right": (every[last + 1 :], 0),
            "front": (every[first:], 0),
            "head": (every, frontier[head].head),
        }

        def find(place: Position) -> Any:
            kind, where, offset = place
            if kind == "believed":
                return self._marginal_span(place, state, i, j)
            if kind == "child":
                node = find(offset)
                if node is None or node.is_token:
                    return None
                return {"first": node.children[0], "head": node.middle, "last": node.children[-1]}[where]
            places, zero = (items if kind == "item" else tokens)[where]
            at = zero + offset
            if not 0 <= at < len(places):
                return None
            return frontier[places[at]] if kind == "item" else self.token(places[at])

        return find

    def _group(self, state: State, i: int, j: int, head: int, group: str, n: int, with_head: bool) -> list[Node]:
        span, bound = range(i, j), n or len(state.frontier)
        places = {
            "span": [*span],
            "span_first": [*span][:bound],
            "span_last": [*span][-bound:],
            "left_of_head": [k for k in span if head - bound <= k < head],
            "right_of_head": [k for k in span if head < k <= head + bound],
            "left_context": [k for k in range(i) if k >= i - bound],
            "right_context": [k for k in range(j, len(state.frontier)) if k < j + bound],
            "non_leftmost": [k for k in span if k != i],
            "non_rightmost": [k for k in span if k != j - 1],
            "non_head": [k for k in span if k != head],
        }[group]
        if with_head and head not in places:
            places = [*places, head]
        return [state.frontier[k] for k in places]


def place_name(place: Position) -> str:
    kind, where, offset = place
    if kind == "child":
        return f"{where} child of {place_name(offset)}"
    if kind == "item" and offset == 0 and where in ("start", "end", "head"):
        return {"start": "first", "end": "last", "head": "head"}[where]
    return f"{where} {kind} {offset}"
