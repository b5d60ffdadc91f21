"""Sided spines: they tell a tree without its brackets.

A spine says which constituents a word heads. Its sides say where these have children beside their heads, its place
where the highest one stands among its parent's children. Together they decide between shift and reduce.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import ConfigError, TreeError
from .heads import COLLINS, HeadRules
from .spines import EMPTY_SPINE, SEPARATOR, Spine, read_spine, spines, tree_from_spines, write_spine
from .tree import TOP, Tree

LEFT, RIGHT = 1, 2
"""Sides of a head: other children of the constituent stand to its left, to its right."""

FIRST, INNER, LAST, ROOT = range(4)
"""Places of a constituent or word among its parent's children where it is not the head; ROOT: alone below the root."""

_PLACES, _SIDES = "(|).", {LEFT: "<", RIGHT: ">"}


class SidedSpine(NamedTuple):
    """A spine that also tells the sides of the head in each constituent, and the `place` of the highest one (of the
    word itself, where it heads nothing) in that above it."""

    labels: Spine
    sides: tuple[int, ...]
    place: int


def sided_spines(tree: Tree, rules: HeadRules = COLLINS) -> list[SidedSpine]:
    """The spine of each token (n of them) with sides and place; every child of the root has a place."""
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
        places.append(ROOT if first and last else FIRST if first else LAST if last else INNER)
    return [SidedSpine(tuple(a), tuple(b), c) for a, b, c in zip(labels, sides, places, strict=True)]


def write_sided(spine: SidedSpine) -> str:
    """A sided spine as text: the place as "(" first, "|" inner, ")" last or "." below the root, then the labels with
    "<" and ">" for the sides: "(-", ".VP>+S<>". Raises TreeError as `write_spine`, and for no sided spine."""
    write_spine(spine.labels)
    _check(spine)
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
        if not text or write_sided(spine) != text:
            raise TreeError("it is not what write_sided writes")
    except TreeError as error:
        raise TreeError(
            f"{text!r} is no sided spine; give one of {_PLACES}, then labels with {SEPARATOR!r} between them, or "
            f"{EMPTY_SPINE!r} ({error})"
        ) from None
    return spine


def is_sided(text: str) -> bool:
    """Whether a written spine tells sides."""
    return text.startswith(tuple(_PLACES))


def _check(spine: SidedSpine) -> None:
    """Raise TreeError unless it has a side for each label, and all are in range."""
    labels, sides, place = spine
    if len(labels) != len(sides) or not all(0 <= side <= LEFT + RIGHT for side in sides) or not 0 <= place <= ROOT:
        raise TreeError(
            f"{tuple(spine)!r} is no sided spine; give labels, as many sides from 0 to {LEFT + RIGHT}, and a place "
            f"from 0 to {ROOT}"
        )


class _Piece(NamedTuple):
    """A token or constituent without a parent: its end, its head token, how many constituents that heads in it."""

    end: int
    token: int
    height: int


def tree_from_sided(words: Sequence[str], tags: Sequence[str], spines: Sequence[SidedSpine], top: str = TOP) -> Tree:
    """Inverse of `sided_spines`: the one tree with these spines, whichever head rules made them.

    `spines`: one per token. `top`: the root's label. Words are read from right to left, and what the leftmost piece is
    in is built as soon as that piece is the first child of it; a piece's spine tells whether it is, and where its
    siblings end. So there is never a choice.

    Raises TreeError where there is no such tree.
    """
    if len(spines) != len(words) or not words:
        raise TreeError(f"{len(spines)} sided spines for {len(words)} tokens; give one for each, and a token at least")
    spans: list[tuple[int, int, str]] = []
    stack: list[_Piece] = []
    for start in range(len(words) - 1, -1, -1):
        _check(spines[start])
        piece = _Piece(start + 1, start, 0)
        while _is_edge(piece, spines[piece.token], LEFT):
            end, head = _take_siblings(start, piece, stack, spines)
            if head is not None:
                spans.append((start, end, spines[head.token].labels[head.height]))
                piece = _Piece(end, head.token, head.height + 1)
            elif start == 0 and not stack:
                return Tree.from_spans(words, tags, [(start, end, top), *reversed(spans)])
            else:
                raise TreeError(
                    f"no child of [{start}, {end}) is its head, and it is not the root; make a spine longer or change "
                    "a place"
                )
        stack.append(piece)
    raise TreeError("nothing begins with the first token; change the place or a side of its spine")


def _is_edge(piece: _Piece, spine: SidedSpine, side: int) -> bool:
    """Whether a piece is the first (side LEFT) or last child of what it is in."""
    if piece.height < len(spine.labels):
        return not spine.sides[piece.height] & side
    return spine.place in (FIRST if side == LEFT else LAST, ROOT)


def _take_siblings(
    start: int, piece: _Piece, stack: list[_Piece], spines: Sequence[SidedSpine]
) -> tuple[int, _Piece | None]:
    """Take the right siblings of a first child from the stack; gives where the last one ends, and the head if there is
    one."""
    head = None
    while True:
        spine = spines[piece.token]
        if piece.height < len(spine.labels):
            if head is not None:
                raise TreeError(
                    f"tokens {head.token} and {piece.token} would head the same constituent; make one of their spines "
                    "shorter"
                )
            head = piece
        if _is_edge(piece, spine, RIGHT):
            return piece.end, head
        if not stack:
            raise TreeError(
                f"the constituent that begins with token {start} has no last child; change a place or a side of a spine"
            )
        piece = stack.pop()


def round_trip_problem(tree: Tree, rules: HeadRules = COLLINS, sided: bool = False) -> str:
    """Why `tree` does not come back from its written spines and its brackets, or from its written sided spines alone;
    "" if it does."""
    words, tags, top = tree.words, tree.tags, tree.labels[0]
    try:
        if sided:
            written = map(write_sided, sided_spines(tree, rules))
            again = tree_from_sided(words, tags, list(map(read_sided, written)), top)
        else:
            written, brackets = map(write_spine, spines(tree, rules)), zip(tree.starts, tree.ends, strict=True)
            again = tree_from_spines(words, tags, brackets, list(map(read_spine, written)), top)
    except TreeError as error:
        return str(error)
    return "" if again == tree else f"another tree comes back: {again}"


_KINDS: dict[str, Any] = {"spine": (spines, write_spine), "sided": (sided_spines, write_sided)}
CATEGORIES = tuple(_KINDS)
"""The kinds of categories that a token may have."""


def check_categories(name: str) -> None:
    """Raise ConfigError unless it is one of CATEGORIES."""
    if name not in CATEGORIES:
        raise ConfigError(f"categories are {name!r}; they must be one of {', '.join(CATEGORIES)}")


def written_categories(name: str, rules: HeadRules) -> Callable[[Tree], list[str]]:
    """What gives the tokens of a tree their categories of that name as text. Raises ConfigError if it is none of
    CATEGORIES; the function raises TreeError as `write_spine` and `write_sided` do."""
    check_categories(name)
    find, write = _KINDS[name]
    return partial(_written, find, write, rules)


def _written(find: Callable, write: Callable, rules: HeadRules, tree: Tree) -> list[str]:
    return [write(spine) for spine in find(tree, rules)]
