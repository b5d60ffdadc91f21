"""The immutable span tree."""

from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.trees import Tree, parse_tree, write_tree, write_tree_pretty

from . import naive

CAT = Tree(["The", "cat", "naps", "."], ["DT", "NN", "VBZ", "."], ["TOP", "S", "NP", "VP"], [0, 0, 0, 2], [4, 4, 2, 3])


def test_parts_are_tuples_of_plain_values():
    tree = Tree(["a"], ["X"], ["TOP"], np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))
    assert (tree.starts, tree.ends) == ((0,), (1,))
    assert type(tree.starts[0]) is int
    assert tree.words == ("a",)


def test_views():
    assert CAT.n_tokens == 4
    assert len(CAT) == 4
    assert CAT.spans() == [(0, 4, "TOP"), (0, 4, "S"), (0, 2, "NP"), (2, 3, "VP")]
    assert CAT.parents() == [-1, 0, 1, 1]
    assert CAT.token_parents() == [2, 2, 3, 1]
    assert CAT.child_lists() == [[1], [2, 3, ~3], [~0, ~1], [~2]]
    assert CAT.depths() == [0, 1, 2, 2]
    assert str(CAT) == "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ naps)) (. .)))"
    assert "4 constituents over 4 tokens" in repr(CAT)


def test_equality_and_hash():
    same = Tree(CAT.words, CAT.tags, CAT.labels, CAT.starts, CAT.ends)
    assert same == CAT
    assert hash(same) == hash(CAT)
    assert CAT.with_labels(["TOP", "S", "NP", "NP"]) != CAT
    assert naive.with_leaves(CAT, ["The", "dog", "naps", "."], CAT.tags) != CAT
    assert naive.with_leaves(CAT, CAT.words, ["DT", "NN", "NN", "."]) != CAT
    assert CAT != "CAT"
    assert len({CAT, same}) == 1


def test_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        CAT.words = ()
    with pytest.raises(AttributeError, match="immutable"):
        del CAT.tags
    with pytest.raises(AttributeError):
        CAT.new = 1


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_and_copy(protocol):
    assert pickle.loads(pickle.dumps(CAT, protocol)) == CAT
    assert copy.deepcopy(CAT) is CAT
    assert copy.copy(CAT) is CAT


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([], [], ["TOP"], [0], [0]), "no token"),
        ((["a"], ["X"], [], [], []), "no constituent"),
        ((["a"], [], ["TOP"], [0], [1]), "1 words but 0 tags"),
        ((["a"], ["X"], ["TOP"], [0, 0], [1]), "1 labels, 2 starts and 1 ends"),
        ((["a", "b"], ["X", "X"], ["TOP"], [0], [1]), r"root must cover all tokens, \[0, 2\)"),
        ((["a", "b"], ["X", "X"], ["TOP"], [1], [2]), "root must cover"),
        ((["a", "b"], ["X", "X"], ["TOP", "A"], [0, 1], [2, 1]), r"\[1, 1\); a span must contain at least one"),
        ((["a", "b"], ["X", "X"], ["TOP", "A"], [0, 1], [2, 3]), r"within \[0, 2\)"),
        ((["a", "b"], ["X", "X"], ["TOP", "A"], [0, -1], [2, 1]), r"within \[0, 2\)"),
        ((["a"] * 3, ["X"] * 3, ["TOP", "A", "B"], [0, 0, 1], [3, 2, 3]), "crosses constituent 1"),
        ((["a"] * 3, ["X"] * 3, ["TOP", "A", "B"], [0, 1, 0], [3, 3, 1]), "pre-order"),
        ((["a"] * 3, ["X"] * 3, ["TOP", "A", "B"], [0, 1, 1], [3, 2, 3]), "crosses constituent 1"),
        ((["a", ""], ["X", "X"], ["TOP"], [0], [2]), "word 1 is empty"),
        ((["a"], [None], ["TOP"], [0], [1]), "tag 0 is None"),
        ((["a"], ["X"], [7], [0], [1]), "label 0 is 7"),
    ],
)
def test_rejects(parts, message):
    with pytest.raises(TreeError, match=message):
        Tree(*parts)


def test_with_labels_counts():
    with pytest.raises(TreeError, match="1 labels for a tree of 4 constituents"):
        CAT.with_labels(["TOP"])


def test_from_spans_sorts_and_keeps_unary_order():
    triples = [(2, 3, "VP"), (0, 3, "TOP"), (0, 2, "NP"), (0, 3, "S"), (0, 2, "NML"), (1, 2, "X")]
    tree = Tree.from_spans(["a", "b", "c"], ["X"] * 3, triples)
    assert tree.labels == ("TOP", "S", "NP", "NML", "X", "VP")
    with pytest.raises(TreeError, match="crosses"):
        Tree.from_spans(["a", "b", "c"], ["X"] * 3, [(0, 3, "TOP"), (0, 2, "A"), (1, 3, "B")])


def test_agrees_with_nested_reference():
    rng = random.Random(4)
    for _ in range(300):
        node = naive.random_nested(rng, rng.randint(1, 12))
        tree = naive.to_tree(node)
        assert Tree.from_spans(tree.words, tree.tags, naive.spans(node)) == tree
        parents, token_parents = tree.parents(), tree.token_parents()
        lists = tree.child_lists()
        for k in range(len(tree)):
            covered = [i for c in lists[k] for i in (range(tree.starts[c], tree.ends[c]) if c >= 0 else (~c,))]
            assert covered == list(range(tree.starts[k], tree.ends[k]))
            for child in lists[k]:
                assert (parents[child] if child >= 0 else token_parents[~child]) == k
        holding = [
            max(k for k, (start, end, _) in enumerate(tree.spans()) if start <= i < end) for i in range(tree.n_tokens)
        ]
        assert token_parents == holding  # the last constituent in pre-order over a token is the lowest


@pytest.mark.parametrize("shape", ["unary", "right", "left"])
def test_five_thousand_deep(shape):
    depth = 5000
    if shape == "unary":
        text = "(S " * depth + "(X x)" + ")" * depth
    elif shape == "right":
        text = "(S (X x) " * depth + "(X x)" + ")" * depth
    else:
        text = "(S " * depth + "(X x)" + " (X x))" * depth
    tree = parse_tree(text)
    assert len(tree) == depth + 1
    assert tree.depths()[-1] == depth
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert parse_tree(write_tree(tree)) == tree
    assert parse_tree(write_tree_pretty(tree)) == tree
    assert Tree(tree.words, tree.tags, tree.labels, tree.starts, tree.ends) == tree
    assert len(tree.token_parents()) == tree.n_tokens
