"""Reference implementation of the kernels that attach tokens: on trees of nodes and tokens instead of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

Item = tuple[int, int, int]
"""Start, end, label of a constituent."""
Candidate = tuple[int, int, float, dict[tuple[int, ...], float]]
"""Start, end, posterior, log-probability of each chain of labels."""


@dataclass
class Node:
    """A constituent with its cost; its children are constituents and the numbers of tokens."""

    start: int
    end: int
    label: int
    cost: float = 0.0
    children: list[Node | int] = field(default_factory=list)

    @property
    def constituents(self) -> list[Node]:
        return [child for child in self.children if isinstance(child, Node)]

    def below(self) -> Iterator[Node]:
        """All constituents below it, in pre-order."""
        for child in self.constituents:
            yield child
            yield from child.below()


def nested(items: Sequence[Item], costs: Sequence[float], n: int, root_label: int) -> Node:
    """The root over the constituents, which are given in pre-order."""
    rows = [Node(*item, cost) for item, cost in zip(items, costs, strict=True)]

    def fill(node: Node) -> Node:
        place = node.start
        while place < node.end:
            if rows and rows[0].start == place and rows[0].end <= node.end:
                node.children.append(fill(rows.pop(0)))
                place = node.children[-1].end
            else:
                node.children.append(place)
                place += 1
        return node

    root = fill(Node(0, n, root_label))
    assert not rows, "the items are no tree in pre-order"
    return root


def path_to(root: Node, token: int) -> list[Node]:
    """The constituents over a token, from the root to the one that it is a child of."""
    path = [root]
    while token not in path[-1].children:
        path.append(next(child for child in path[-1].constituents if child.start <= token < child.end))
    return path


def is_unattached(node: Node, tag: int, never: np.ndarray) -> bool:
    """Whether the node never has a child of the tag, or never next to its constituents."""
    return any(never[node.label, beside, tag] for beside in (-1, *(child.label for child in node.constituents)))


def first_unattached(items: Sequence[Item], n: int, tags: Sequence[int], never: np.ndarray, first: int = 0) -> int:
    """The first such token from `first` on, -1 if there is none."""
    root = nested(items, [0.0] * len(items), n, len(never) - 1)
    return next((t for t in range(first, n) if is_unattached(path_to(root, t)[-1], tags[t], never)), -1)


def masked_tags(items: Sequence[Item], tags: Sequence[int], verb_phrase: int, verbs: set[int], other: int) -> list[int]:
    """The tags, with `other` for the tokens of verb phrases without a verb and without a verb phrase below."""
    root, found = nested(items, [0.0] * len(items), len(tags), -1), list(tags)
    for node in root.below():
        tokens = [child for child in node.children if isinstance(child, int)]
        headed = any(tags[t] in verbs for t in tokens) or any(c.label == verb_phrase for c in node.constituents)
        if node.label == verb_phrase and not headed:
            for token in tokens:
                found[token] = other
    return found


def faults(node: Node, tags: Sequence[int], never: np.ndarray) -> int:
    """The number of unattached tokens among the node's children."""
    return sum(isinstance(child, int) and is_unattached(node, tags[child], never) for child in node.children)


def after_putting(home: Node, start: int, end: int, chain: tuple[int, ...]) -> tuple[Node, Node]:
    """(The node, the bottom of the chain) as they would be after `put_over`."""
    copy = Node(home.start, home.end, home.label, home.cost, list(home.children))
    put_over(copy, start, end, chain, 0.0)
    bottom = next(child for child in copy.constituents if (child.start, child.end) == (start, end))
    for _ in chain[1:]:
        bottom = bottom.constituents[0]
    return copy, bottom


def put_over(node: Node, start: int, end: int, chain: tuple[int, ...], cost: float) -> None:
    """Insert a chain of labels between a node and its children in [start, end)."""
    inner, before, after = [], [], []
    for child in node.children:
        place = child.start if isinstance(child, Node) else child
        (before if place < start else inner if place < end else after).append(child)
    for label in reversed(chain):
        inner = [Node(start, end, label, cost, inner)]
    node.children = [*before, *inner, *after]


def ends_of_children(node: Node) -> set[int]:
    return {node.start, *(child.end if isinstance(child, Node) else child + 1 for child in node.children)}


def attach(
    items: Sequence[Item],
    costs: Sequence[float],
    tags: Sequence[int],
    never: np.ndarray,
    one_root: bool,
    candidates: Sequence[Candidate],
) -> tuple[list[Item], list[float]]:
    """(Items, costs) after the tokens have been attached."""
    n = len(tags)
    root = nested(items, costs, n, len(never) - 1)
    if one_root and root.constituents and root.constituents[0].end - root.constituents[0].start < n:
        whole = [(log, chain) for i, j, _, logs in candidates if (i, j) == (0, n) for chain, log in logs.items()]
        if whole:
            log, chain = max(whole)
            put_over(root, 0, n, chain, -log)
    added = token = 0
    while token < n and added < n:
        tag, path = tags[token], path_to(root, token)
        home = path[-1]
        if is_unattached(home, tag, never):
            held = {node.label for node in path if (node.start, node.end) == (home.start, home.end)}
            found = []
            for start, end, posterior, logs in candidates:
                unattached = [child for child in home.children if isinstance(child, int) and start <= child < end]
                if not unattached or not {start, end} <= ends_of_children(home):
                    continue
                for chain, log in logs.items():
                    value = math.log(posterior) + log
                    if (start, end) == (home.start, home.end) and held & set(chain):
                        continue
                    above, bottom = after_putting(home, start, end, chain)
                    fewer = faults(above, tags, never) + faults(bottom, tags, never) < faults(home, tags, never)
                    if fewer or (token in unattached and not is_unattached(bottom, tag, never)):
                        found.append((fewer, value, start, end, chain))
            if found:
                _, value, start, end, chain = max(found)
                put_over(home, start, end, chain, -value)
                added, token = added + 1, 0
                continue
        token += 1
    nodes = list(root.below())
    return [(node.start, node.end, node.label) for node in nodes], [node.cost for node in nodes]
