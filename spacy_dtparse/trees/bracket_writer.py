"""Writer of Penn brackets, on one line or indented."""

import re

from ..text import escape_token
from .tree import Tree

_ESCAPE_ROUND = str.maketrans({bracket: escape_token(bracket) for bracket in "()"})
_SPACE = re.compile(r"\s", re.ASCII)
_UNSAFE = re.compile(r"[\s()]", re.ASCII)


def _safe(text: str) -> str:
    """Escape round brackets in `text` and replace each white space character by _."""
    return _SPACE.sub("_", text.translate(_ESCAPE_ROUND)) if _UNSAFE.search(text) else text


def write_leaf(tree: Tree, i: int) -> str:
    """Format token i of `tree` with its tag: `(DT the)`."""
    return f"({_safe(tree.tags[i]) or 'XX'} {_safe(tree.words[i])})"


def write_tree(tree: Tree) -> str:
    """Format `tree` on one line, as in nltk: `(TOP (NP (DT the) (NN cat)))`.

    Parsing the result gives the same tree, except for round brackets in words (written -LRB-, -RRB-), white space in
    words (written _) and empty tags (written XX).
    """
    child_lists = tree.child_lists()
    parts: list[str] = []
    todo: list[int | None] = [0]  # stack of things to write: a child, or None for a closing bracket
    while todo:
        what = todo.pop()
        if what is None:
            parts.append(")")
        elif what < 0:
            parts.append(" " + write_leaf(tree, ~what))
        else:
            parts.append(f" ({_safe(tree.labels[what])}")
            todo.append(None)
            todo.extend(reversed(child_lists[what]))
    return "".join(parts)[1:]


def write_tree_pretty(tree: Tree, *, width: int = 100) -> str:
    """Format `tree` on several lines: a constituent that does not fit into `width` columns is broken up.

    Each of its children starts a new line, indented by two more columns, but by at most width / 2.
    """
    child_lists = tree.child_lists()
    leaves = [write_leaf(tree, i) for i in range(len(tree.words))]
    opened = [f"({_safe(label)}" for label in tree.labels]
    flat = [0] * len(opened)  # length of each constituent on one line
    for k in range(len(flat) - 1, -1, -1):
        flat[k] = len(opened[k]) + 1 + sum(1 + (flat[c] if c >= 0 else len(leaves[~c])) for c in child_lists[k])
    parts: list[str] = []
    # stack of things to write: (a child, or None for a closing bracket; whether it begins a line; its depth)
    todo: list[tuple[int | None, bool, int]] = [(0, True, 0)]
    while todo:
        what, breaks, depth = todo.pop()
        if what is None:
            parts.append(")")
            continue
        margin = min(2 * depth, width // 2)
        if parts:
            parts.append("\n" + " " * margin if breaks else " ")
        if what < 0:
            parts.append(leaves[~what])
            continue
        parts.append(opened[what])
        fits = not breaks or margin + flat[what] <= width
        todo.append((None, False, depth))
        todo.extend((child, not fits, depth + 1) for child in reversed(child_lists[what]))
    return "".join(parts)
