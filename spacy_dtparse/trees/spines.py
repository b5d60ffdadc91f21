"""Spines, what a constituent tree has in place of lexical categories (Kummerfeld et al. 2010), and the control bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import TreeError
from .heads import CANDIDATE, COLLINS, HeadRules
from .tree import TOP, Tree

Spine = tuple[str, ...]
EMPTY_SPINE = "-"
"""How the spine of a word that heads nothing is written."""

SEPARATOR = "+"
"""What stands between the labels of a written spine; no label may contain it."""

OPENS, CLOSES, UNARY = 1, 2, 4
"""Bits of a control tag: some constituent of several tokens begins here, some ends here, one covers the token alone."""

_CONTROL = "="
_LETTERS = {OPENS: "o", CLOSES: "c", UNARY: "u"}

LEFT, RIGHT = 1, 2
"""Sides of a head: other children of the constituent stand to its left, to its right."""

FIRST, INNER, LAST, ROOT = range(4)
"""Places of a constituent or word among its parent's children where it is not the head; ROOT: below the root."""

_PLACES, _SIDES = "(|).", {LEFT: "<", RIGHT: ">"}


class SidedSpine(NamedTuple):
    """A spine that also tells the sides of the head in each constituent, and the `place` of the highest one (of the
    word itself, where it heads nothing) in that above it."""

    labels: Spine
    sides: tuple[int, ...]
    place: int


def spines(tree: Tree, rules: HeadRules = COLLINS) -> list[Spine]:
    """The spine of each token (n tuples): the labels of the constituents that it heads, from the lowest up.

    Constituent 0, the root (TOP in trees as `read_trees` makes them), is in no spine, every other in that of its head.
    """
    found: list[list[str]] = [[] for _ in tree.words]
    tokens = rules.heads(tree)
    for k in range(len(tree.labels) - 1, 0, -1):
        found[tokens[k]].append(tree.labels[k])
    return [tuple(labels) for labels in found]


def write_spine(spine: Sequence[str]) -> str:
    """A spine as text: "NP", "VP+S", "-" where there is none.

    Raises TreeError for a label that is empty, is "-", or holds "+" or white space.
    """
    for label in spine:
        if not label or label == EMPTY_SPINE or SEPARATOR in label or any(map(str.isspace, label)):
            raise TreeError(
                f"label {label!r} cannot be written in a spine; rename it to one that is not empty and not "
                f"{EMPTY_SPINE!r}, without {SEPARATOR!r} and white space"
            )
        if label[0] in _PLACES + _CONTROL or label[-1] in _SIDES.values():
            raise TreeError(
                f"label {label!r} cannot be written in a spine; rename it to one that does not begin with one of "
                f"{_PLACES + _CONTROL} nor end with one of {''.join(_SIDES.values())}"
            )
    return SEPARATOR.join(spine) or EMPTY_SPINE


def read_spine(text: str) -> Spine:
    """Inverse of `write_spine`. Raises TreeError for what it does not write."""
    spine = () if text == EMPTY_SPINE else tuple(text.split(SEPARATOR))
    try:
        write_spine(spine)
    except TreeError as error:
        raise TreeError(
            f"{text!r} is no spine; give labels with {SEPARATOR!r} between them, or {EMPTY_SPINE!r} ({error})"
        ) from None
    return spine


def sided_spines(tree: Tree, rules: HeadRules = COLLINS) -> list[SidedSpine]:
    """The spine of each token (n of them) with sides and place."""
    labels: list[list[str]] = [[] for _ in tree.words]
    sides: list[list[int]] = [[] for _ in tree.words]
    extents = [(token, token + 1) for token in range(len(tree.words))]
    above, parents, tokens = tree.token_parents(), tree.parents(), rules.heads(tree)
    for k in range(len(tree.labels) - 1, 0, -1):
        token, start, end = tokens[k], tree.starts[k], tree.ends[k]
        labels[token].append(tree.labels[k])
        sides[token].append(LEFT * (start < extents[token][0]) + RIGHT * (end > extents[token][1]))
        extents[token], above[token] = (start, end), parents[k]
    places = []
    for (start, end), k in zip(extents, above, strict=True):
        first, last = start == tree.starts[k], end == tree.ends[k]
        places.append(ROOT if k == 0 and first and last else FIRST if first else LAST if last else INNER)
    return [SidedSpine(tuple(a), tuple(b), c) for a, b, c in zip(labels, sides, places, strict=True)]


def write_sided(spine: SidedSpine) -> str:
    """A sided spine as text: the place as "(" first, "|" inner, ")" last or "." below the root, then the labels with
    "<" and ">" for the sides: "(-", ".VP>+S<>". Raises TreeError as `write_spine`."""
    write_spine(spine.labels)
    labels = (
        label + "".join(letter for bit, letter in _SIDES.items() if side & bit)
        for label, side in zip(spine.labels, spine.sides, strict=True)
    )
    return _PLACES[spine.place] + (SEPARATOR.join(labels) or EMPTY_SPINE)


def read_sided(text: str) -> SidedSpine:
    """Inverse of `write_sided`. Raises TreeError for what it does not write."""
    place, rest = _PLACES.find(text[:1]), text[1:]
    labels, sides = [], []
    for part in [] if rest == EMPTY_SPINE else rest.split(SEPARATOR):
        label = part.rstrip("".join(_SIDES.values()))
        labels.append(label)
        sides.append(sum(bit for bit, letter in _SIDES.items() if letter in part[len(label) :]))
    spine = SidedSpine(tuple(labels), tuple(sides), place)
    try:
        if place < 0 or not text or write_sided(spine) != text:
            raise TreeError("it is not what write_sided writes")
    except TreeError as error:
        raise TreeError(
            f"{text!r} is no sided spine; give one of {_PLACES}, then labels with {SEPARATOR!r} between them, or "
            f"{EMPTY_SPINE!r} ({error})"
        ) from None
    return spine


def is_sided(text: str) -> bool:
    """Whether a written spine tells sides."""
    return text[:1] != "" and text[0] in _PLACES


def write_control(bits: int) -> str:
    """A control tag as text: "=", and "o" where it opens, "c" where it closes, "u" where it has a unary."""
    return _CONTROL + "".join(letter for bit, letter in _LETTERS.items() if bits & bit)


def read_control(text: str) -> int:
    """Inverse of `write_control`. Raises TreeError for what it does not write."""
    bits = sum(bit for bit, letter in _LETTERS.items() if letter in text)
    if write_control(bits) != text:
        raise TreeError(f"{text!r} is no control tag; give '=' and after it some of o, c, u in this order")
    return bits


def is_control(text: str) -> bool:
    """Whether a category is a written control tag."""
    return text[:1] == _CONTROL


def tree_from_spines(
    words: Sequence[str],
    tags: Sequence[str],
    brackets: Iterable[tuple[int, int]],
    spines: Sequence[Sequence[str]],
    top: str = TOP,
) -> Tree:
    """Inverse of `spines`: the one tree with these spines over the unlabelled `brackets`.

    `brackets`: (start, end) of every constituent in any order, the root's among them, a unary chain's as often as it
    has members. `spines`: one per token. `top`: the root's label. A token's spine of l labels lies on the l lowest
    constituents above it, so heads need not be given; of the constituents of one extent it matters how many there are.

    Raises TreeError when the brackets are no tree, a spine goes beyond the root, or a constituent is in two spines or
    in none.
    """
    shape = Tree.from_spans(words, tags, ((start, end, CANDIDATE) for start, end in brackets))
    if len(spines) != len(shape.words):
        raise TreeError(f"{len(spines)} spines for {len(shape.words)} tokens; give one for each, () for no label")
    labels: list[str | None] = [None] * len(shape.labels)
    labels[0] = top
    heads = [-1] * len(shape.labels)
    parents = shape.parents()
    for token, k in enumerate(shape.token_parents()):
        spine = spines[token]
        if isinstance(spine, str):
            raise TreeError(f"the spine of token {token} is the text {spine!r}; give labels, as read_spine makes them")
        for height, label in enumerate(spine):
            if k == 0:
                raise TreeError(
                    f"the spine of token {token} has {len(spine)} labels, but only {height} constituents are above the "
                    "token and below the root; give more brackets or a shorter spine"
                )
            if labels[k] is not None:
                raise TreeError(
                    f"tokens {heads[k]} and {token} both head the constituent [{shape.starts[k]}, {shape.ends[k]}); "
                    "make one of their spines shorter"
                )
            labels[k], heads[k] = label, token
            k = parents[k]
    if None in labels:
        k = labels.index(None)
        raise TreeError(
            f"no spine reaches the constituent [{shape.starts[k]}, {shape.ends[k]}); one of its tokens must head it, "
            "with a longer spine"
        )
    return Tree(shape.words, shape.tags, (label for label in labels if label is not None), shape.starts, shape.ends)


def round_trip_problem(tree: Tree, rules: HeadRules = COLLINS) -> str:
    """Why `tree` does not come back from its written spines and its brackets; "" if it does."""
    try:
        written = [write_spine(spine) for spine in spines(tree, rules)]
        brackets = zip(tree.starts, tree.ends, strict=True)
        again = tree_from_spines(tree.words, tree.tags, brackets, list(map(read_spine, written)), tree.labels[0])
    except TreeError as error:
        return str(error)
    return "" if again == tree else f"another tree comes back: {again}"


def control_bits(tree: Tree) -> list[int]:
    """The control tag of each token (n ints): the sum of OPENS, CLOSES and UNARY where they hold.

    The root counts for none of them, as in `spines`. No token both opens and closes, so six sums occur. After Roark &
    Hollingshead (2008) and Bodenstab et al. (2011).
    """
    bits = [0] * len(tree.words)
    for start, end in zip(tree.starts[1:], tree.ends[1:], strict=True):
        if end - start == 1:
            bits[start] |= UNARY
        else:
            bits[start] |= OPENS
            bits[end - 1] |= CLOSES
    return bits
