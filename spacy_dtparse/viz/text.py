"""A tree as text: the tree on its side with box characters."""

from ..trees.tree import Tree

MAX_INDENT = 200
"""Columns after which deeper constituents are not indented any further."""


def text_tree(tree: Tree, *, ascii_only: bool = False, tags: bool = True) -> str:
    """`tree` with one constituent or token per line, children below and to the right of their parent.

    A constituent over a single child shares its child's line: `NP ── PRP  We`. `ascii_only` draws with | +
    - instead of box characters; `tags` writes each token's tag before it. Line breaks and other control
    characters in words are written as �.
    """
    tee, corner, bar, line = ("+- ", "`- ", "|  ", " -- ") if ascii_only else ("├─ ", "└─ ", "│  ", " ── ")
    child_lists = tree.child_lists()
    lines: list[str] = []
    # a node, the text that its first line begins with, and the one that its children's lines begin with
    todo: list[tuple[int, str, str]] = [(0, "", "")]
    while todo:
        node, first, rest = todo.pop()
        parts = []
        while node >= 0 and len(child_lists[node]) == 1:
            parts.append(_plain(tree.labels[node]))
            node = child_lists[node][0]
        if node < 0:
            word = _plain(tree.words[~node])
            parts.append(f"{_plain(tree.tags[~node])}  {word}" if tags and tree.tags[~node] else word)
            lines.append(first + line.join(parts))
            continue
        parts.append(_plain(tree.labels[node]))
        lines.append(first + line.join(parts))
        children = child_lists[node]
        for place in range(len(children) - 1, -1, -1):
            is_last = place == len(children) - 1
            below = rest if len(rest) >= MAX_INDENT else rest + ("   " if is_last else bar)
            todo.append((children[place], rest + (corner if is_last else tee), below))
    return "\n".join(lines)


def _plain(text: str) -> str:
    """`text` without characters that would break or reorder the lines of a terminal."""
    return "".join(c if c.isprintable() or c == "\u00a0" else "\ufffd" for c in text)
