"""Positions of the nodes of a tree in drawings of any kind. Node k >= 0 is constituent k, ~i < 0 token i."""

from collections.abc import Iterator, Sequence
from operator import floordiv, truediv
from typing import NamedTuple, TypeVar

from ..trees.tree import Tree

Size = TypeVar("Size", int, float)


def place_nodes(
    tree: Tree, sizes: Sequence[Size], label_sizes: Sequence[Size], left: Size, gap: Size, least: Size
) -> tuple[list[Size], Size]:
    """The middles of all nodes in the layout "down", with node k at index k and token i at ~i; and the right end.

    The tokens are in a row that begins at `left`, with a `gap` between them; constituents are above the middle of their
    first and last child. `sizes`: of the tokens. The size of a label is spread evenly over the tokens below it, unless
    that is no more than `least` for each. With whole numbers a middle is the left one of two columns.
    """
    is_whole = isinstance(gap, int)
    divide = floordiv if is_whole else truediv
    widths = list(sizes)
    for k in range(len(tree) - 1, -1, -1):
        start, end = tree.starts[k], tree.ends[k]
        part = -divide(-label_sizes[k], end - start)
        if part > least:
            widths[start:end] = [max(width, part) for width in widths[start:end]]
    middles = []
    for width in widths:
        middles.append(left + divide(width - is_whole, 2))
        left += width + gap
    x = [left] * len(tree) + middles[::-1]
    child_lists = tree.child_lists()
    for k in range(len(tree) - 1, -1, -1):
        x[k] = divide(x[child_lists[k][0]] + x[child_lists[k][-1]], 2)
    return x, left - gap


class SideRow(NamedTuple):
    """A row of the layout "side": a chain of only children that ends with a token or a constituent of several children;
    the row of its parent, -1 for none; and whether it is the last child."""

    chain: list[int]
    depth: int
    above: int
    is_last: bool


def side_rows(tree: Tree) -> Iterator[SideRow]:
    """Yield the rows from top to bottom: children below their parent."""
    child_lists, row = tree.child_lists(), 0
    todo = [(0, 0, -1, True)]
    while todo:
        node, depth, above, is_last = todo.pop()
        chain = [node]
        while node >= 0 and len(child_lists[node]) == 1:
            node = child_lists[node][0]
            chain.append(node)
        yield SideRow(chain, depth, above, is_last)
        if node >= 0:
            last = child_lists[node][-1]
            todo += [(child, depth + 1, row, child == last) for child in reversed(child_lists[node])]
        row += 1
