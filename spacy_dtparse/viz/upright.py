"""A tree as text with the words in one row and every label above the middle of its children."""

from collections.abc import Callable

from ..trees.tree import Tree
from .layout import place_nodes

_GAP = 2
_MAX_CELLS = 1_000_000

# Bits 1, 2, 4, 8: a line goes right, left, up, down from a cell.
_BOX = {3: "─", 12: "│", 11: "┬", 7: "┴", 15: "┼", 9: "┌", 10: "┐", 8: "│", 4: "│", 12 + 1: "├", 12 + 2: "┤"}
_ASCII = {3: "-", 12: "|", 8: "|", 4: "|"}


def upright_tree(
    tree: Tree,
    labels: list[str],
    tags: list[str],
    words: list[str],
    columns: Callable[[str], int],
    clusters: Callable[[str], list[str]],
    ascii_only: bool,
    width: int | None,
) -> str | None:
    """Draw the tree; None if it is wider than `width`, or too wide to be useful.

    `labels`, `tags`, `words`: texts to write; `columns`: returns the number of columns of a text; `clusters`: splits a
    text into grapheme clusters.
    """
    depths, n = tree.depths(), tree.n_tokens
    bottom = max(depths) + 1
    levels = [*depths, *[bottom] * n]  # as x, by node: token i is at ~i
    sizes = [max(columns(tag), columns(word), 1) for tag, word in zip(tags, words, strict=True)]
    x, total = place_nodes(tree, sizes, list(map(columns, labels)), 0, _GAP, 1)
    if (width is not None and total > width) or total * bottom > _MAX_CELLS:
        return None
    has_tags = any(tags)
    rows = [[" "] * total for _ in range(2 * bottom + 1 + has_tags)]
    ways = [[0] * total for _ in rows]
    for k, children in enumerate(tree.child_lists()):
        row = 2 * depths[k] + 1
        ends = [x[child] for child in children]
        for column in range(ends[0], ends[-1] + 1):
            ways[row][column] |= (column > ends[0]) * 2 + (column < ends[-1]) * 1
        ways[row][x[k]] |= 4
        for child, column in zip(children, ends, strict=True):
            ways[row][column] |= 8
            for lower in range(row + 1, 2 * levels[child]):
                ways[lower][column] |= 12
    chars = _ASCII if ascii_only else _BOX
    for cells, row_ways in zip(rows, ways, strict=True):
        for column, way in enumerate(row_ways):
            if way:
                cells[column] = chars.get(way, "+")
    texts = [(2 * depths[k], x[k], labels[k]) for k in range(len(labels))]
    for i, word in enumerate(words):
        if has_tags:
            texts.append((2 * bottom, x[~i], tags[i]))
        texts.append((2 * bottom + has_tags, x[~i], word))
    for row, middle, text in texts:
        _write_centred(rows[row], middle, text, columns, clusters)
    return "\n".join("".join(row).rstrip() for row in rows)


def _write_centred(
    row: list[str], middle: int, text: str, columns: Callable[[str], int], clusters: Callable[[str], list[str]]
) -> None:
    """Write a text centred at a column of a row; a wide character takes two columns."""
    column = max(min(middle - (columns(text) - 1) // 2, len(row) - columns(text)), 0)
    for cluster in clusters(text):
        size = columns(cluster)
        if size == 0:
            row[max(column - 1, 0)] += cluster
            continue
        row[column : column + size] = [cluster, *[""] * (size - 1)]
        column += size
