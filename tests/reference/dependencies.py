"""Reference implementation of the dependency parser's kernels: all trees, readable features.

Positions of tokens count from 1, 0 is the root; heads are tuples over all positions, -1 for the root itself. A feature
is (template, bin of direction and distance or None, values); a value 0 is an atom unknown to the model, and
any value that is no atom is text. A template is one line of LINKS, GUIDED or LABELS; a template without a feature
gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

Heads = tuple[int, ...]
Feature = tuple[str, str | None, tuple[Hashable, ...]]
WORD_BITS = 2**64 - 1


@cache
def trees(n: int, projective: bool = False) -> tuple[Heads, ...]:
    """All trees of n tokens in which the root has one dependent."""
    found = ((-1, *heads) for heads in product(range(n + 1), repeat=n))
    return tuple(heads for heads in found if is_tree(heads) and (not projective or is_projective(heads)))


def is_tree(heads: Heads) -> bool:
    return heads[0] == -1 and heads[1:].count(0) == 1 and all(0 in above(heads, d) for d in range(1, len(heads)))


def above(heads: Heads, place: int) -> set[int]:
    """The ancestors of a token, including the root if they reach it."""
    found: set[int] = set()
    while place > 0 and heads[place] not in found:
        place = heads[place]
        found.add(place)
    return found


def is_projective(heads: Heads) -> bool:
    """Whether all tokens that a link spans are descendants of its head."""
    return all(
        head in above(heads, between)
        for d, head in enumerate(heads[1:], 1)
        for between in range(min(head, d) + 1, max(head, d))
    )


@cache
def link_tie(head: int, dependent: int) -> int:
    """The number whose greatest sum decides among trees of equal score."""
    key = head * 0x9E3779B97F4A7C15 + dependent * 0xC2B2AE3D27D4EB4F & WORD_BITS
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & WORD_BITS
    key = (key ^ key >> 27) * 0x94D049BB133111EB & WORD_BITS
    return (key ^ key >> 31) >> 24


def tie_sum(heads: Heads) -> int:
    return sum(link_tie(head, d) for d, head in enumerate(heads[1:], 1))


def best_trees(scores: np.ndarray, projective: bool, k: int = 1) -> list[tuple[Heads, float]]:
    """The k best trees without a forbidden link, and their scores."""
    ranked = []
    for heads in trees(len(scores) - 1, projective):
        score = sum(float(scores[head, d]) for d, head in enumerate(heads[1:], 1))
        if score > -np.inf:
            ranked.append((score, tie_sum(heads), heads))
    return [(heads, score) for score, _, heads in sorted(ranked, reverse=True)[:k]]


class Atoms(NamedTuple):
    """A token's atoms."""

    w: int
    p: int
    wp: int
    s: int
    sp: int
    long: int
    kind: int


NOBODY = Atoms(*["none"] * 7)  # type: ignore[arg-type]
"""Stands where a tree has no such token."""


@dataclass(frozen=True)
class Link:
    """The attributes that a template can use: of the ends `h` and `m`, their neighbours `hl`, `hr`, `ml`, `mr`, the
    tokens `between` them, and a tree: a guide, or the one that is labelled; `labels`: atoms of a guide's labels."""

    atoms: tuple[Atoms, ...]
    head: int
    dependent: int
    tree: Heads = ()
    labels: tuple[int, ...] = ()

    def at(self, place: int) -> Atoms:
        """The token at a position; -1 and n + 1 are outside the sentence."""
        return self.atoms[place + 1]

    def token(self, places: Sequence[int], which: int) -> Atoms:
        """One token of a list of positions, NOBODY if it is empty."""
        return self.at(places[which]) if places else NOBODY

    h = property(lambda x: x.at(x.head))
    m = property(lambda x: x.at(x.dependent))
    hl = property(lambda x: x.at(x.head - 1))
    hr = property(lambda x: x.at(x.head + 1))
    ml = property(lambda x: x.at(x.dependent - 1))
    mr = property(lambda x: x.at(x.dependent + 1))
    inside = property(lambda x: range(min(x.head, x.dependent) + 1, max(x.head, x.dependent)))
    between = property(lambda x: [x.at(place) for place in x.inside])
    side = property(lambda x: "right" if x.dependent > x.head else "left")

    @property
    def bin(self) -> str:
        far = abs(self.head - self.dependent)
        return f"{self.side} {far if far < 6 else '6-10' if far < 11 else 'more'}"

    @property
    def kinds(self) -> str:
        """How many punctuation marks, verbs and conjunctions are between."""
        return "/".join(few(sum(token.kind == kind for token in self.between)) for kind in (1, 2, 3))

    def below(self, place: int) -> list[int]:
        """Dependents in the tree, from left to right."""
        return [d for d in range(1, len(self.tree)) if self.tree[d] == place]

    def sides(self, place: int) -> tuple[list[int], list[int]]:
        """Dependents left and right of their head."""
        return [d for d in self.below(place) if d < place], [d for d in self.below(place) if d > place]

    same = property(lambda x: "same" if x.tree[x.dependent] == x.head else "other")
    other = property(lambda x: x.at(x.tree[x.dependent]))
    upper = property(lambda x: x.at(x.tree[x.head]) if x.head > 0 else NOBODY)

    @cached_property
    def crossed(self) -> int:
        """Links of the tree from a token inside to one outside."""
        ends = (self.head, self.dependent)
        return sum(
            (d in self.inside) != (head in self.inside) and d not in ends and head not in ends
            for d, head in enumerate(self.tree[1:], 1)
        )

    @property
    def state(self) -> str:
        is_above = self.head > 0 and self.dependent in above(self.tree, self.head)
        return f"{self.same} {'above ' if is_above else ''}{few(self.crossed)}"

    @property
    def on_side(self) -> list[int]:
        """The head's other dependents on this side, nearest first."""
        left, right = self.sides(self.head)
        return [d for d in (right if self.dependent > self.head else left[::-1]) if d != self.dependent]

    def label(self, places: Sequence[int], which: int) -> Hashable:
        """The label of one token of a list of positions."""
        return self.labels[places[which]] if places else "none"

    own_label = property(lambda x: x.labels[x.dependent])
    heads_label = property(lambda x: x.labels[x.head])
    inner_label = property(lambda x: x.label([d for d in x.on_side if d in x.inside], -1))
    outer_label = property(lambda x: x.label([d for d in x.on_side if d not in x.inside], 0))
    first_label = property(lambda x: x.label(x.sides(x.dependent)[0], 0))
    last_label = property(lambda x: x.label(x.sides(x.dependent)[1], -1))
    inner = property(lambda x: x.token([d for d in x.on_side if d in x.inside], -1))
    outer = property(lambda x: x.token([d for d in x.on_side if d not in x.inside], 0))
    first = property(lambda x: x.token(x.sides(x.dependent)[0], 0))
    last = property(lambda x: x.token(x.sides(x.dependent)[1], -1))
    n_own = property(lambda x: "/".join(few(len(side)) for side in x.sides(x.dependent)))
    left = property(lambda x: x.token([d for d in x.below(x.head) if d < x.dependent], -1))
    right = property(lambda x: x.token([d for d in x.below(x.head) if d > x.dependent], 0))
    first_of_head = property(lambda x: x.token(x.sides(x.head)[0], 0))
    last_of_head = property(lambda x: x.token(x.sides(x.head)[1], -1))

    @property
    def n_siblings(self) -> str:
        places = self.below(self.head)
        return "/".join(few(sum(sign * (d - self.dependent) > 0 for d in places)) for sign in (-1, 1))


def few(count: int) -> str:
    return str(min(count, 3))


Template = Callable[[Link], Sequence[Hashable] | None]

LINKS: dict[str, Template] = {
    "head: word, tag": lambda x: [x.h.wp],
    "head: word": lambda x: [x.h.w],
    "head: tag": lambda x: [x.h.p],
    "dependent: word, tag": lambda x: [x.m.wp],
    "dependent: word": lambda x: [x.m.w],
    "dependent: tag": lambda x: [x.m.p],
    "word, tag; word, tag": lambda x: [x.h.wp, x.m.wp],
    "tag; word, tag": lambda x: [x.h.p, x.m.wp],
    "word; word, tag": lambda x: [x.h.w, x.m.wp],
    "word, tag; tag": lambda x: [x.h.wp, x.m.p],
    "word, tag; word": lambda x: [x.h.wp, x.m.w],
    "word; word": lambda x: [x.h.w, x.m.w],
    "tag; tag": lambda x: [x.h.p, x.m.p],
    "head: stem, tag": lambda x: [x.h.sp] if x.h.long else None,
    "head: stem": lambda x: [x.h.s] if x.h.long else None,
    "stem, tag; tag": lambda x: [x.h.sp, x.m.p] if x.h.long else None,
    "dependent: stem, tag": lambda x: [x.m.sp] if x.m.long else None,
    "dependent: stem": lambda x: [x.m.s] if x.m.long else None,
    "tag; stem, tag": lambda x: [x.h.p, x.m.sp] if x.m.long else None,
    "stem, tag; stem, tag": lambda x: [x.h.sp, x.m.sp] if x.h.long or x.m.long else None,
    "stem; stem, tag": lambda x: [x.h.s, x.m.sp] if x.h.long or x.m.long else None,
    "stem, tag; stem": lambda x: [x.h.sp, x.m.s] if x.h.long or x.m.long else None,
    "stem; stem": lambda x: [x.h.s, x.m.s] if x.h.long or x.m.long else None,
    "tag, after; before, tag": lambda x: [x.h.p, x.hr.p, x.ml.p, x.m.p],
    "before, tag; before, tag": lambda x: [x.hl.p, x.h.p, x.ml.p, x.m.p],
    "tag, after; tag, after": lambda x: [x.h.p, x.hr.p, x.m.p, x.mr.p],
    "before, tag; tag, after": lambda x: [x.hl.p, x.h.p, x.m.p, x.mr.p],
    "tag; before, tag": lambda x: [x.h.p, x.ml.p, x.m.p],
    "tag; tag, after": lambda x: [x.h.p, x.m.p, x.mr.p],
    "before, tag; tag": lambda x: [x.hl.p, x.h.p, x.m.p],
    "tag, after; tag": lambda x: [x.h.p, x.hr.p, x.m.p],
    "kinds; tag; tag": lambda x: [x.kinds, x.h.p, x.m.p],
    "kinds; head: tag": lambda x: [x.kinds, x.h.p],
    "kinds; dependent: tag": lambda x: [x.kinds, x.m.p],
    "kinds; dependent: word, tag": lambda x: [x.kinds, x.m.wp],
    "kinds; head: word, tag": lambda x: [x.kinds, x.h.wp],
}
"""Templates of every link."""

BETWEEN: dict[str, Callable[[Link], list[Sequence[Hashable]]]] = {
    "tag; tag between; tag": lambda x: [[x.h.p, tag, x.m.p] for tag in {token.p for token in x.between}]
}
"""Templates of which a link has several features."""

GUIDED: dict[str, Template] = {
    "state": lambda x: [x.state],
    "state; tag; tag": lambda x: [x.state, x.h.p, x.m.p],
    "state; dependent: tag": lambda x: [x.state, x.m.p],
    "state; tag; word, tag": lambda x: [x.state, x.h.p, x.m.wp],
    "same; other head: tag; tag; tag": lambda x: [x.same, x.other.p, x.h.p, x.m.p],
    "same; upper: tag; tag; tag": lambda x: [x.same, x.upper.p, x.h.p, x.m.p],
    "inner: tag; tag; tag": lambda x: [x.inner.p, x.h.p, x.m.p],
    "same; inner: tag; tag; tag": lambda x: [x.same, x.inner.p, x.h.p, x.m.p],
    "same; outer: tag; tag; tag": lambda x: [x.same, x.outer.p, x.h.p, x.m.p],
    "same; inner: tag; dependent: tag": lambda x: [x.same, x.inner.p, x.m.p],
    "outer: tag; inner: tag; tag; tag": lambda x: [x.outer.p, x.inner.p, x.h.p, x.m.p],
    "inner: word; dependent: word": lambda x: [x.inner.w, x.m.w] if x.inner is not NOBODY else None,
    "inner: word; tag; tag": lambda x: [x.inner.w, x.h.p, x.m.p] if x.inner is not NOBODY else None,
    "inner: tag; tag; word, tag": lambda x: [x.inner.p, x.h.p, x.m.wp] if x.inner is not NOBODY else None,
    "upper: word; tag; tag": lambda x: [x.upper.w, x.h.p, x.m.p] if x.upper is not NOBODY else None,
    "upper: tag; tag; word, tag": lambda x: [x.upper.p, x.h.p, x.m.wp],
    "upper: tag; word, tag; tag": lambda x: [x.upper.p, x.h.wp, x.m.p],
    "first: tag; tag; tag": lambda x: [x.first.p, x.h.p, x.m.p],
    "last: tag; tag; tag": lambda x: [x.last.p, x.h.p, x.m.p],
    "last: tag; first: tag; tag; tag": lambda x: [x.last.p, x.first.p, x.h.p, x.m.p],
    "own dependents; tag; tag": lambda x: [x.n_own, x.h.p, x.m.p],
    "first: word; tag; tag": lambda x: [x.first.w, x.h.p, x.m.p] if x.first is not NOBODY else None,
    "last: word; tag; tag": lambda x: [x.last.w, x.h.p, x.m.p] if x.last is not NOBODY else None,
    "label; same; tag; tag": lambda x: [x.own_label, x.same, x.h.p, x.m.p],
    "label; state; dependent: tag": lambda x: [x.own_label, x.state, x.m.p],
    "head: label; same; tag; tag": lambda x: [x.heads_label, x.same, x.h.p, x.m.p],
    "head: label; label; tag; tag": lambda x: [x.heads_label, x.own_label, x.h.p, x.m.p],
    "head: label; same; dependent: word, tag": lambda x: [x.heads_label, x.same, x.m.wp],
    "inner: label; same; tag; tag": lambda x: [x.inner_label, x.same, x.h.p, x.m.p],
    "inner: label; label; tag; tag": lambda x: [x.inner_label, x.own_label, x.h.p, x.m.p],
    "outer: label; same; tag; tag": lambda x: [x.outer_label, x.same, x.h.p, x.m.p],
    "first: label; same; tag; tag": lambda x: [x.first_label, x.same, x.h.p, x.m.p],
    "last: label; same; tag; tag": lambda x: [x.last_label, x.same, x.h.p, x.m.p],
}
"""Templates of links where there is a guide."""

BINNED_LABEL = "side; tag; tag"
LABELS: dict[str, Template] = {
    "dependent: word, tag": lambda x: [x.m.wp],
    "side; dependent: word": lambda x: [x.side, x.m.w],
    "side; dependent: tag": lambda x: [x.side, x.m.p],
    "side; head: word, tag": lambda x: [x.side, x.h.wp],
    "side; head: word": lambda x: [x.side, x.h.w],
    "side; head: tag": lambda x: [x.side, x.h.p],
    "word; word": lambda x: [x.h.w, x.m.w],
    "word, tag; tag": lambda x: [x.h.wp, x.m.p],
    "tag; word, tag": lambda x: [x.h.p, x.m.wp],
    BINNED_LABEL: lambda x: [x.side, x.h.p, x.m.p],
    "side; tag; stem": lambda x: [x.side, x.h.p, x.m.s],
    "side; tag; before, tag": lambda x: [x.side, x.h.p, x.ml.p if x.dependent > 1 else "none", x.m.p],
    "side; tag; tag, after": lambda x: [x.side, x.h.p, x.m.p, x.mr.p],
    "tag; before: word; tag": lambda x: [x.h.p, x.ml.w, x.m.p],
    "tag; after: word; tag": lambda x: [x.h.p, x.mr.w, x.m.p],
    "side; first: tag; tag; tag": lambda x: [x.side, x.first.p, x.h.p, x.m.p],
    "side; last: tag; tag; tag": lambda x: [x.side, x.last.p, x.h.p, x.m.p],
    "first: word; tag; tag": lambda x: [x.first.w, x.h.p, x.m.p] if x.first is not NOBODY else None,
    "first: word; dependent: word, tag": lambda x: [x.first.w, x.m.wp] if x.first is not NOBODY else None,
    "first: word; head: word, tag": lambda x: [x.first.w, x.h.wp] if x.first is not NOBODY else None,
    "last: word; tag; tag": lambda x: [x.last.w, x.h.p, x.m.p] if x.last is not NOBODY else None,
    "side; left sibling: tag; tag; tag": lambda x: [x.side, x.left.p, x.h.p, x.m.p],
    "side; right sibling: tag; tag; tag": lambda x: [x.side, x.right.p, x.h.p, x.m.p],
    "left sibling: word; tag; tag": lambda x: [x.left.w, x.h.p, x.m.p] if x.left is not NOBODY else None,
    "right sibling: word; tag; tag": lambda x: [x.right.w, x.h.p, x.m.p] if x.right is not NOBODY else None,
    "side; siblings; tag; tag": lambda x: [x.side, x.n_siblings, x.h.p, x.m.p],
    "side; upper: tag; tag; tag": lambda x: [x.side, x.upper.p if x.tree[x.head] > 0 else "none", x.h.p, x.m.p],
    "side; own dependents; tag; tag": lambda x: [x.side, x.n_own, x.h.p, x.m.p],
    "side; last of head: tag; tag; tag": lambda x: [x.side, x.last_of_head.p, x.h.p, x.m.p],
    "side; first of head: tag; tag; tag": lambda x: [x.side, x.first_of_head.p, x.h.p, x.m.p],
    "first of head: word; tag; tag": (
        lambda x: [x.first_of_head.w, x.h.p, x.m.p] if x.first_of_head is not NOBODY else None
    ),
}
"""Templates of the labeller, of which BINNED_LABEL also comes with its bin."""


def tokens(atoms: np.ndarray) -> tuple[Atoms, ...]:
    """Rows of atoms in the format of this module."""
    return tuple(Atoms(*row) for row in atoms.tolist())


def known(name: str, values: Sequence[Hashable] | None) -> Iterator[tuple[str, tuple[Hashable, ...]]]:
    if values is not None and 0 not in values:
        yield name, tuple(values)


def link_features(
    atoms: Sequence[Atoms], guide: Heads | None, labels: Sequence[int] | None, head: int, dependent: int
) -> list[Feature]:
    """The features of a link, without and with its bin; without `labels` the guide's labels are unknown."""
    link = Link(tuple(atoms), head, dependent, guide or (), tuple(labels or [0] * len(guide or ())))
    found = [one for name, template in LINKS.items() for one in known(name, template(link))]
    found += [one for name, several in BETWEEN.items() for values in several(link) for one in known(name, values)]
    if guide is not None:
        found += [one for name, template in GUIDED.items() for one in known(name, template(link))]
    return [(name, place, values) for name, values in found for place in (None, link.bin)]


def label_features(atoms: Sequence[Atoms], tree: Heads, dependent: int) -> list[Feature]:
    """The features for the label of a tree's link to a token."""
    link = Link(tuple(atoms), tree[dependent], dependent, tree)
    found = [one for name, template in LABELS.items() for one in known(name, template(link))]
    plain: list[Feature] = [(name, None, values) for name, values in found]
    return plain + [(name, link.bin, values) for name, values in found if name == BINNED_LABEL]
