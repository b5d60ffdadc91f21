"""Make any list of heads a projective tree with one root."""

from collections.abc import Sequence
from typing import NamedTuple

_MAX_LIFTS = 64
"""Number of arcs that are lifted one by one; what is still not projective then is attached to the root."""


class ProjectiveTree(NamedTuple):
    """A projective dependency tree of n tokens.

    `heads`: index of each token's head, -1 for the root. `order`: the tokens, heads before dependents. `left_edges`,
    `right_edges`: the first and last token of each token's subtree. `lifted`: number of arcs that crossed others and
    were moved to a higher head. `repaired`: number of heads that were no tree: out of range, on a cycle, further roots.
    """

    heads: list[int]
    order: list[int]
    left_edges: list[int]
    right_edges: list[int]
    lifted: int = 0
    repaired: int = 0


def make_projective(heads: Sequence[int]) -> ProjectiveTree:
    """Make a projective tree of heads (n integers, 0-based; the root has -1, or itself).

    The shortest arc that crosses others is moved to the head of its head, until none is left (Nivre & Nilsson 2005).
    Further roots and heads out of range are attached to the first root, a cycle is cut at its first token.
    """
    tree, repaired = _repair(heads)
    order, left_edges, right_edges, gaps = _extents(tree)
    lifted = 0
    while gaps:
        if lifted >= _MAX_LIFTS:
            lifted += _flatten(tree, order[0])
        else:
            _lift_shortest(tree, order, gaps, left_edges, right_edges)
            lifted += 1
        order, left_edges, right_edges, gaps = _extents(tree)
    return ProjectiveTree(tree, order, left_edges, right_edges, lifted, repaired)


def _repair(heads: Sequence[int]) -> tuple[list[int], int]:
    n = len(heads)
    tree = [head if 0 <= head < n and head != i else -1 for i, head in enumerate(heads)]
    repaired = sum(head >= n or head < -1 for head in heads)
    state = [0] * n  # 2: its path ends in a root
    for start in range(n):
        path, i = [], start
        while i >= 0 and not state[i]:
            state[i] = 1
            path.append(i)
            i = tree[i]
        if i >= 0 and state[i] == 1:  # a cycle, which the path has just closed
            tree[min(path[path.index(i) :])] = -1
            repaired += 1
        for k in path:
            state[k] = 2
    roots = [i for i, head in enumerate(tree) if head < 0]
    for i in roots[1:]:
        tree[i] = roots[0]
    given = sum(head == -1 or head == i for i, head in enumerate(heads))
    return tree, repaired + max(0, given - 1)


def _extents(tree: list[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """The tokens, heads first; the first and last token of each subtree; the tokens whose subtree has a gap."""
    n = len(tree)
    below: list[list[int]] = [[] for _ in tree]
    root = -1
    for i, head in enumerate(tree):
        if head < 0:
            root = i
        else:
            below[head].append(i)
    order = [root] if n else []
    for i in order:
        order.extend(below[i])
    left_edges, right_edges, sizes = list(range(n)), list(range(n)), [1] * n
    for i in reversed(order):
        head = tree[i]
        if head >= 0:
            sizes[head] += sizes[i]
            left_edges[head] = min(left_edges[head], left_edges[i])
            right_edges[head] = max(right_edges[head], right_edges[i])
    return order, left_edges, right_edges, [i for i in order if right_edges[i] - left_edges[i] + 1 != sizes[i]]


def _lift_shortest(
    tree: list[int], order: list[int], gaps: list[int], left_edges: list[int], right_edges: list[int]
) -> None:
    """Move the shortest arc over a token that is not below its head. The subtree of its head has a gap there."""
    first, last = _subtree_numbers(tree, order)
    left, right = [edge - 1 for edge in left_edges], [edge + 1 for edge in right_edges]
    for head in reversed(gaps):  # dependents first: from here on the nearest tokens that are not below the head
        low, high = first[head], last[head]
        k = head + 1
        while k < len(tree) and low <= first[k] < high:
            k = right[k]
        right[head], k = k, head - 1
        while k >= 0 and low <= first[k] < high:
            k = left[k]
        left[head] = k
    with_gap, found, shortest = set(gaps), -1, len(tree)
    for i, head in enumerate(tree):
        if head in with_gap and abs(i - head) < shortest and (right[head] < i if i > head else left[head] > i):
            found, shortest = i, abs(i - head)
    assert found >= 0, (len(tree), gaps)  # some arc crosses a gap
    tree[found] = tree[tree[found]]


def _subtree_numbers(tree: list[int], order: list[int]) -> tuple[list[int], list[int]]:
    """The number of each token in pre-order, and one past the last number in its subtree."""
    sizes, first = [1] * len(tree), [0] * len(tree)
    for i in reversed(order):
        if tree[i] >= 0:
            sizes[tree[i]] += sizes[i]
    free = [1] * len(tree)
    for i in order:
        head = tree[i]
        if head >= 0:
            first[i] = free[head]
            free[head] += sizes[i]
        free[i] = first[i] + 1
    return first, [number + size for number, size in zip(first, sizes, strict=True)]


def _flatten(tree: list[int], root: int) -> int:
    """Attach all tokens to the root; return the number of changed heads."""
    changed = sum(head not in (-1, root) for head in tree)
    tree[:] = [-1 if i == root else root for i in range(len(tree))]
    return changed
