"""Directional spines: they determine a tree without its brackets.

A spine lists the constituents that a word heads. Its sides state on which sides of their heads these have other
children; its position is that of the highest one among its parent's children. Together they decide between shift
and reduce.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import ConfigError, TreeError
from .heads import COLLINS, HeadRules
from .spines import EMPTY_SPINE, SEPARATOR, Spine, format_spine, parse_spine, spines, tree_from_spines
from .tree import TOP, Tree

LEFT, RIGHT = 1, 2
"""Sides of a head: other children of the constituent are to its left, to its right."""

FIRST, INNER, LAST, ROOT = range(4)
"""Positions of a non-head constituent or word among its parent's children; ROOT: the only child of the root."""

_POSITIONS, _SIDES = "(|).", {LEFT: "<", RIGHT: ">"}


class DirectionalSpine(NamedTuple):
    """A spine with the sides of the head in each constituent, and the `position` of the highest constituent (or of the
    word, if it heads none) in its parent."""

    labels: Spine
    sides: tuple[int, ...]
    position: int


def directional_spines(tree: Tree, rules: HeadRules = COLLINS) -> list[DirectionalSpine]:
    """Return the directional spine of each token (n spines); every child of the root has a position."""
    labels: list[list[str]] = [[] for _ in tree.words]
    sides: list[list[int]] = [[] for _ in tree.words]
    extents = [(token, token + 1) for token in range(len(tree.words))]
    above, parents, tokens = tree.token_parents(), tree.parents(), rules.heads(tree)
    for k in range(len(tree.labels) - 1, 0, -1):
        token, start, end = tokens[k], tree.starts[k], tree.ends[k]
        labels[token].append(tree.labels[k])
        sides[token].append(LEFT * (start < extents[token][0]) + RIGHT * (end > extents[token][1]))
        extents[token], above[token] = (start, end), parents[k]
    positions = []
    for (start, end), k in zip(extents, above, strict=True):
        first, last = start == tree.starts[k], end == tree.ends[k]
        positions.append(ROOT if first and last else FIRST if first else LAST if last else INNER)
    return [DirectionalSpine(tuple(a), tuple(b), c) for a, b, c in zip(labels, sides, positions, strict=True)]


def format_directional(spine: DirectionalSpine) -> str:
    """Format a directional spine: the position as "(" first, "|" inner, ")" last or "." below the root, then the labels
    with "<" and ">" for the sides: "(-", ".VP>+S<>". Raises TreeError like `format_spine`, and for an invalid spine."""
    format_spine(spine.labels)
    _check(spine)
    labels = (
        label + "".join(letter for bit, letter in _SIDES.items() if side & bit)
        for label, side in zip(spine.labels, spine.sides, strict=True)
    )
    return _POSITIONS[spine.position] + (SEPARATOR.join(labels) or EMPTY_SPINE)


def parse_directional(text: str) -> DirectionalSpine:
    """Parse a directional spine: the inverse of `format_directional`. Raises TreeError for any other text."""
    position, rest = _POSITIONS.find(text[:1]), text[1:]
    labels, sides = [], []
    for part in [] if rest == EMPTY_SPINE else rest.split(SEPARATOR):
        label = part.rstrip("".join(_SIDES.values()))
        labels.append(label)
        sides.append(sum(bit for bit, letter in _SIDES.items() if letter in part[len(label) :]))
    spine = DirectionalSpine(tuple(labels), tuple(sides), position)
    try:
        if not text or format_directional(spine) != text:
            raise TreeError("format_directional never writes it")
    except TreeError as error:
        raise TreeError(
            f"{text!r} is not a directional spine; give one of {_POSITIONS}, then labels with {SEPARATOR!r} between "
            f"them, or {EMPTY_SPINE!r} ({error})"
        ) from None
    return spine


def is_directional(text: str) -> bool:
    """Whether a spine in text form is directional."""
    return text.startswith(tuple(_POSITIONS))


def _check(spine: DirectionalSpine) -> None:
    """Raise TreeError unless the spine has a side for each label, and all values are in range."""
    labels, sides, position = spine
    if len(labels) != len(sides) or not all(0 <= side <= LEFT + RIGHT for side in sides) or not 0 <= position <= ROOT:
        raise TreeError(
            f"{tuple(spine)!r} is not a directional spine; give labels, as many sides from 0 to {LEFT + RIGHT}, and a "
            f"position from 0 to {ROOT}"
        )


class _SpinePiece(NamedTuple):
    """A token or constituent without a parent: its end, its head token, and how many constituents that heads in it."""

    end: int
    token: int
    height: int


def tree_from_directional(
    words: Sequence[str], tags: Sequence[str], spines: Sequence[DirectionalSpine], top: str = TOP
) -> Tree:
    """Build the unique tree with these spines, for any head rules: the inverse of `directional_spines`.

    `spines`: one per token. `top`: the root's label. Words are processed from right to left. The parent of the leftmost
    piece is built as soon as that piece is its first child; the piece's spine states whether it is, and where its
    siblings end. So every step is determined.

    Raises TreeError if there is no such tree.
    """
    if len(spines) != len(words) or not words:
        raise TreeError(
            f"{len(spines)} directional spines for {len(words)} tokens; give one for each of at least one token"
        )
    spans: list[tuple[int, int, str]] = []
    stack: list[_SpinePiece] = []
    for start in range(len(words) - 1, -1, -1):
        _check(spines[start])
        piece = _SpinePiece(start + 1, start, 0)
        while _is_edge(piece, spines[piece.token], LEFT):
            end, head = _take_siblings(start, piece, stack, spines)
            if head is not None:
                spans.append((start, end, spines[head.token].labels[head.height]))
                piece = _SpinePiece(end, head.token, head.height + 1)
            elif start == 0 and not stack:
                return Tree.from_spans(words, tags, [(start, end, top), *reversed(spans)])
            else:
                raise TreeError(
                    f"no child of [{start}, {end}) is its head, and it is not the root; make a spine longer or change "
                    "its position"
                )
        stack.append(piece)
    raise TreeError("no constituent begins with the first token; change the position or a side of its spine")


def _is_edge(piece: _SpinePiece, spine: DirectionalSpine, side: int) -> bool:
    """Whether a piece is the first (side LEFT) or last child of its parent."""
    if piece.height < len(spine.labels):
        return not spine.sides[piece.height] & side
    return spine.position in (FIRST if side == LEFT else LAST, ROOT)


def _take_siblings(
    start: int, piece: _SpinePiece, stack: list[_SpinePiece], spines: Sequence[DirectionalSpine]
) -> tuple[int, _SpinePiece | None]:
    """Pop the right siblings of a first child from the stack; return the end of the last one, and the head child or
    None."""
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
                f"the constituent that begins with token {start} has no last child; change a position or a side of a "
                "spine"
            )
        piece = stack.pop()


def round_trip_problem(tree: Tree, rules: HeadRules = COLLINS, directional: bool = False) -> str:
    """Return why `tree` cannot be restored from its spines in text form and its brackets, or from its directional
    spines alone; "" if it can."""
    words, tags, top = tree.words, tree.tags, tree.labels[0]
    try:
        if directional:
            texts = map(format_directional, directional_spines(tree, rules))
            again = tree_from_directional(words, tags, list(map(parse_directional, texts)), top)
        else:
            texts, brackets = map(format_spine, spines(tree, rules)), zip(tree.starts, tree.ends, strict=True)
            again = tree_from_spines(words, tags, brackets, list(map(parse_spine, texts)), top)
    except TreeError as error:
        return str(error)
    return "" if again == tree else f"another tree is restored: {again}"


_KINDS: dict[str, Any] = {"spine": (spines, format_spine), "directional": (directional_spines, format_directional)}
CATEGORIES = tuple(_KINDS)
"""Kinds of categories (supertags) that a token may have; "directional" means directional spines."""


def check_categories(name: str) -> None:
    """Raise ConfigError unless it is one of CATEGORIES."""
    if name not in CATEGORIES:
        raise ConfigError(f"categories are {name!r}; they must be one of {', '.join(CATEGORIES)}")


def category_writer(name: str, rules: HeadRules) -> Callable[[Tree], list[str]]:
    """Return a function that gives the tokens of a tree their categories of this kind as text. Raises ConfigError if
    `name` is not in CATEGORIES; the function raises TreeError like `format_spine` and `format_directional`."""
    check_categories(name)
    find, write = _KINDS[name]
    return partial(_format_all, find, write, rules)


def _format_all(find: Callable, write: Callable, rules: HeadRules, tree: Tree) -> list[str]:
    return [write(spine) for spine in find(tree, rules)]
