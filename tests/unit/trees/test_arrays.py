"""Trees to arrays and back."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees import SpanArrays, arrays_to_tree, parse_tree, tree_to_arrays

from . import naive

LABELS = SymbolTable(["TOP", *naive.LABELS])


def test_round_trip():
    rng = random.Random(1)
    for _ in range(100):
        tree = naive.random_tree(rng, rng.randint(1, 10))
        arrays = tree_to_arrays(tree, LABELS)
        assert all(array.dtype == np.int32 and array.shape == (len(tree),) for array in arrays)
        assert arrays_to_tree(tree.words, tree.tags, arrays, LABELS) == tree


def test_unknown_label():
    tree = parse_tree("(TOP (NP-SBJ (NN dew)))")
    with pytest.raises(TreeError, match="'NP-SBJ' is not among the 8 known labels"):
        tree_to_arrays(tree, LABELS)
    assert tree_to_arrays(tree, LABELS, unknown=-1).labels.tolist() == [0, -1]


def test_adds_a_top_and_sorts():
    spans = SpanArrays(np.array([1, 0]), np.array([2, 2]), LABELS.encode(["NP", "S"]))
    tree = arrays_to_tree(["sing", "songs"], ["VB", "NNS"], spans, LABELS, top="TOP")
    assert str(tree) == "(TOP (S (VB sing) (NP (NNS songs))))"


def test_bad_arrays():
    spans = SpanArrays(np.array([0]), np.array([1]), np.array([99]))
    with pytest.raises(TreeError, match="label number 99 is not in the table of 8"):
        arrays_to_tree(["a"], ["X"], spans, LABELS)
    short = SpanArrays(np.array([0, 0]), np.array([1]), np.array([0]))
    with pytest.raises(TreeError, match="2 starts, 1 ends and 1 labels"):
        arrays_to_tree(["a"], ["X"], short, LABELS)
