"""A tree as text with the words in one row and every label above the middle of its children."""

from collections.abc import Callable

from ..trees.tree import Tree

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
    child_lists, depths = tree.child_lists(), tree.depths()
    bottom = max(depths) + 1
    sizes = _sizes(tree, labels, tags, words, columns)
    total = sum(sizes) + _GAP * (len(sizes) - 1)
    if (width is not None and total > width) or total * bottom > _MAX_CELLS:
        return None
    token_x, column_start = [], 0
    for size in sizes:
        token_x.append(column_start + (size - 1) // 2)
        column_start += size + _GAP
    x = [0] * len(labels)
    for k in range(len(labels) - 1, -1, -1):
        first, last = (x[c] if c >= 0 else token_x[~c] for c in (child_lists[k][0], child_lists[k][-1]))
        x[k] = (first + last) // 2
    has_tags = any(tags)
    rows = [[" "] * total for _ in range(2 * bottom + 1 + has_tags)]
    ways = [[0] * total for _ in rows]
    for k, children in enumerate(child_lists):
        row = 2 * depths[k] + 1
        ends = [x[c] if c >= 0 else token_x[~c] for c in children]
        for column in range(ends[0], ends[-1] + 1):
            ways[row][column] |= (column > ends[0]) * 2 + (column < ends[-1]) * 1
        ways[row][x[k]] |= 4
        for child, column in zip(children, ends, strict=True):
            ways[row][column] |= 8
            for lower in range(row + 1, 2 * (depths[child] if child >= 0 else bottom)):
                ways[lower][column] |= 12
    chars = _ASCII if ascii_only else _BOX
    for cells, row_ways in zip(rows, ways, strict=True):
        for column, way in enumerate(row_ways):
            if way:
                cells[column] = chars.get(way, "+")
    texts = [(2 * depths[k], x[k], labels[k]) for k in range(len(labels))]
    for i, word in enumerate(words):
        if has_tags:
            texts.append((2 * bottom, token_x[i], tags[i]))
        texts.append((2 * bottom + has_tags, token_x[i], word))
    for row, middle, text in texts:
        _write_centred(rows[row], middle, text, columns, clusters)
    return "\n".join("".join(row).rstrip() for row in rows)


def _sizes(
    tree: Tree, labels: list[str], tags: list[str], words: list[str], columns: Callable[[str], int]
) -> list[int]:
    """The columns of each token: for its word, its tag, and its fraction of the labels above it."""
    sizes = [max(columns(tag), columns(word), 1) for tag, word in zip(tags, words, strict=True)]
    for k in range(len(labels) - 1, -1, -1):
        start, end = tree.starts[k], tree.ends[k]
        needed = columns(labels[k])
        part = -(-needed // (end - start))
        if part > 1:
            sizes[start:end] = [max(size, part) for size in sizes[start:end]]
    return sizes


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
