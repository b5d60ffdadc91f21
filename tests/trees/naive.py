"""Reference implementations without the package's code: nested lists, recursion; and random trees from a seed."""

from __future__ import annotations

import random

from spacy_dtparse.trees import Tree

LABELS = ("S", "NP", "VP", "PP", "PRN", "ADVP", "SBAR")
TAGS = ("NN", "VB", "DT", "IN", "RP", ",", ":", ".", "``", "''", "CC")


def random_nested(rng: random.Random, n: int, label: str = "TOP", depth: int = 0, tags=TAGS) -> list:
    """A random tree over n words as [label, child, …] with leaves (tag, word)."""
    parts: list = []
    left = n
    while left:
        size = rng.randint(1, left)
        is_only = size == n and not parts
        if (size == 1 and rng.random() < 0.6) or depth > 8 or (is_only and rng.random() < 0.5):
            parts.append((rng.choice(tags), rng.choice(("a", "bb", "ccc", "dd"))))
            left -= 1
        else:
            parts.append(random_nested(rng, size, rng.choice(LABELS), depth + 1, tags))
            left -= size
    return [label, *parts]


def with_leaves(tree: Tree, words, tags=None) -> Tree:
    """The same constituents over other words or tags, their shape checked."""
    return Tree(words, tree.tags if tags is None else tags, tree.labels, tree.starts, tree.ends)


def brackets(node) -> str:
    """The nested tree as Penn brackets."""
    if isinstance(node, tuple):
        return f"({node[0]} {node[1]})"
    return f"({node[0]} {' '.join(brackets(child) for child in node[1:])})"


def leaves(node) -> list[tuple[str, str]]:
    """The (tag, word) pairs of a nested tree."""
    if isinstance(node, tuple):
        return [node]
    return [leaf for child in node[1:] for leaf in leaves(child)]


def spans(node, start: int = 0) -> list[tuple[int, int, str]]:
    """The (start, end, label) triples of a nested tree in pre-order."""
    found = [(start, start + len(leaves(node)), node[0])]
    for child in node[1:]:
        if not isinstance(child, tuple):
            found += spans(child, start)
        start += len(leaves(child))
    return found


def to_tree(node) -> Tree:
    """The nested tree as a Tree, by the checked constructor."""
    tags, words = zip(*leaves(node), strict=True)
    triples = spans(node)
    return Tree(words, tags, [t[2] for t in triples], [t[0] for t in triples], [t[1] for t in triples])


def random_tree(rng: random.Random, n: int, tags=TAGS) -> Tree:
    """A random Tree over n words."""
    return to_tree(random_nested(rng, n, tags=tags))
