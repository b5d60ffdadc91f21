"""Heads of every kind become one projective tree."""

import numpy as np
import pytest

from spacy_dtparse.dependency_phrases.projectivity import make_projective


def is_projective(heads: list[int]) -> bool:
    """Whether every token between a head and its dependent is below the head."""
    for i, head in enumerate(heads):
        for k in range(min(i, head) + 1, max(i, head)) if head >= 0 else ():
            while k >= 0 and k != head:
                k = heads[k]
            if k < 0:
                return False
    return True


def test_projective_tree_stays():
    tree = make_projective([1, -1, 3, 1])
    assert (tree.heads, tree.lifted, tree.repaired) == ([1, -1, 3, 1], 0, 0)
    assert (tree.left_edges, tree.right_edges) == ([0, 0, 2, 2], [0, 3, 2, 3])
    assert tree.order[0] == 1


def test_shortest_crossing_arc_is_lifted():
    # A hearing is scheduled on the issue: "on the issue" depends on "hearing" over "is scheduled"
    tree = make_projective([1, 3, 3, -1, 6, 6, 1])
    assert tree.heads == [1, 3, 3, -1, 6, 6, 3] and tree.lifted == 1


@pytest.mark.parametrize(
    ("heads", "expected", "repaired"),
    [
        ([-1, -1, 1], [-1, 0, 1], 1),  # two roots
        ([1, 0, 1], [-1, 0, 1], 1),  # a cycle
        ([0, 0], [-1, 0], 0),  # spaCy's root: its own head
        ([9, 0], [-1, 0], 1),  # out of range
        ([-7, 0], [-1, 0], 1),
        ([2, 0, 1, -1], [3, 0, 1, -1], 1),
    ],
)
def test_heads_that_are_no_tree_are_repaired(heads: list[int], expected: list[int], repaired: int):
    tree = make_projective(heads)
    assert sorted(tree.order) == list(range(len(heads)))
    assert tree.heads.count(-1) == 1 and is_projective(tree.heads)
    assert tree.repaired == repaired
    if heads != [2, 0, 1, -1]:
        assert tree.heads == expected


def test_random_heads_become_projective():
    rng = np.random.default_rng(3)
    for n in [1, 2, 3, 5, 8, 13, 40, 200] * 6:
        tree = make_projective([int(head) for head in rng.integers(-1, n, n)])
        assert is_projective(tree.heads) and sorted(tree.order) == list(range(n))
        assert all(tree.left_edges[i] <= i <= tree.right_edges[i] for i in range(n))
