"""Convert trees to binary trees of annotated symbols, in four binarisations.

With vertical order (Johnson 1998), a constituent's symbol includes labels of its ancestors. A constituent with three or
more children becomes several binary nodes; the new ones are *parts*: they cover some adjacent children, and their
symbols include the labels of at most `horizontal` of them (Klein & Manning 2003). The binarisations are those of
Matsuzaki et al. (2005), section 4:

- `left`: A(b c d) -> A(part(b c) d); `right`: A(b c d) -> A(b part(c d));
- `center-parent`, `center-head`: children are split off from the outside in, first those left of the head, then those
  right of it, so that the head is lowest; parts are named after A, or after the head child.

The symbol of a part includes the outermost children of the side that was split last, so a part is determined bottom-up,
by the children that it covers; so a chart contains few parts. We differ from Klein & Manning in that a part of
`center-head` has the label of the head instead of the constituent's, as in Matsuzaki et al.; with vertical order 2 or
more, the label of the constituent and the labels above it are noted above that of the head.

Parts never change the order of children, so all four binarisations have the same inverse, which removes the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.stored_names import stored_as
from spacy_dtparse.trees import COLLINS, HeadRules, Tree

BINARISATIONS = ("left", "right", "center-parent", "center-head")
PHRASE, PART, TAG = "phrase", "part", "tag"
KINDS = (PHRASE, PART, TAG)


class Symbol(NamedTuple):
    """A symbol of the grammar.

    `kind`: one of KINDS. `label`: of the constituent (or the head of a part, see the module), or a part of speech.
    `above`: labels above it, the nearest first. For parts only: `side`: the side of the head whose children are split
    off next ("left" or "right"), and `memory`: the labels of the outermost children on that side, the outermost first.
    """

    kind: str
    label: str
    above: tuple[str, ...] = ()
    side: str = ""
    memory: tuple[str, ...] = ()

    def coarse(self) -> Symbol:
        """The symbol of the grammar of vertical order 1 and horizontal order 0."""
        return Symbol(self.kind, self.label, (), self.side.partition(":")[0], ())

    def __str__(self) -> str:
        name = "^".join((self.label, *self.above))
        return f"@{name}|{self.side}<{' '.join(self.memory)}>" if self.kind == PART else name


class BinaryTree(NamedTuple):
    """A binarised tree as lists over its nodes in pre-order; node 0 is the root.

    `symbols`; `left`, `right`: the indices of the children, -1 for none (a unary node has only a left one); `token`:
    index of the token of a tag, else -1.
    """

    symbols: list[Symbol]
    left: list[int]
    right: list[int]
    token: list[int]


@stored_as("vertical", "horizontal", "binarisation", "tag_vertical")
@dataclass(frozen=True)
class Markov:
    """The annotation of symbols (markovisation).

    `vertical`: 1: no labels of ancestors, 2: the parent's label, and so on; `tag_vertical`: the same for parts of
    speech. `horizontal`: number of children in the symbol of a part, None for all. `binarisation`: one of
    BINARISATIONS. Raises ConfigError for a value out of range.
    """

    vertical: int = 2
    horizontal: int | None = 1
    binarisation: str = "center-head"
    tag_vertical: int = 2

    def __post_init__(self) -> None:
        for name in ("vertical", "tag_vertical"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= 8:
                raise ConfigError(f"{name} order {value!r}; give 1 (no labels), 2 (the parent's) … up to 8")
        if self.horizontal is not None and (type(self.horizontal) is not int or self.horizontal < 0):
            raise ConfigError(f"horizontal order {self.horizontal!r}; give 0, 1, 2 …, or None for all children")
        if self.binarisation not in BINARISATIONS:
            raise ConfigError(f"binarisation {self.binarisation!r}; choose one of {', '.join(BINARISATIONS)}")


def binarise(tree: Tree, markov: Markov, heads: HeadRules = COLLINS) -> BinaryTree:
    """Convert a tree to a binary tree of annotated symbols, in time linear in its size (except with `horizontal`
    None)."""
    labels, tags = tree.labels, tree.tags
    parents, child_lists = tree.parents(), tree.child_lists()
    out = BinaryTree([], [], [], [])

    def ancestors(node: int, count: int) -> tuple[str, ...]:
        found: list[str] = []
        while node >= 0 and len(found) < count:
            found.append(labels[node])
            node = parents[node]
        return tuple(found)

    # Stack of (first child, end, position of the head, constituent, index of the node above, whether this is its right
    # child). A constituent itself has first child -1; a token i has constituent ~i and `end` is the constituent above.
    stack: list[tuple[int, int, int, int, int, bool]] = [(-1, 0, 0, 0, -1, False)]
    while stack:
        start, end, head, node, up, is_right = stack.pop()
        index = len(out.symbols)
        if up >= 0:
            (out.right if is_right else out.left)[up] = index
        out.left.append(-1)
        out.right.append(-1)
        out.token.append(~node if node < 0 else -1)
        if node < 0:
            out.symbols.append(Symbol(TAG, tags[~node], ancestors(end, markov.tag_vertical - 1)))
            continue
        kids = child_lists[node]
        if start < 0:
            out.symbols.append(Symbol(PHRASE, labels[node], ancestors(parents[node], markov.vertical - 1)))
            start, end = 0, len(kids)
            if end > 2 and markov.binarisation != "left":  # "left" treats the first child as head, "right" the last
                names = [_name(tree, kid) for kid in kids]
                head = end - 1 if markov.binarisation == "right" else heads.head_child(labels[node], names)
        else:
            out.symbols.append(_part(tree, kids, start, end, head, markov, ancestors(node, markov.vertical)))
        cut = end if end - start == 1 else start + 1 if start < head or end - start == 2 else end - 1
        for low, high, right in ((cut, end, True), (start, cut, False)):
            if high - low == 1:
                stack.append((-1, node, 0, kids[low], index, right))
            elif high > low:
                stack.append((low, high, head, node, index, right))
    return out


def _name(tree: Tree, child: int) -> str:
    return tree.labels[child] if child >= 0 else tree.tags[~child]


def _part(
    tree: Tree, kids: list[int], start: int, end: int, head: int, markov: Markov, noted: tuple[str, ...]
) -> Symbol:
    """The symbol of the part over children [start, end) of a constituent; `noted`: labels from it upwards."""
    side = "left" if start < head else "right"
    order = range(start, head) if side == "left" else range(end - 1, head, -1)
    if markov.horizontal is None:  # all children, and the position of the head
        side, order = f"{side}:{head - start}", range(start, end)
    elif markov.binarisation in ("left", "right"):  # the position of the "head" does not matter here
        order = range(start, end) if side == "left" else range(end - 1, start - 1, -1)
    memory = tuple(_name(tree, kids[i]) for i in order[: markov.horizontal])
    if markov.binarisation == "center-head":
        above = noted[: markov.vertical] if markov.vertical > 1 else ()
        return Symbol(PART, _name(tree, kids[head]), above, side, memory)
    return Symbol(PART, noted[0], noted[1 : markov.vertical], side, memory)
