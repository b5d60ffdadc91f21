"""Growing a tree: the same tree as by trying every split of every node."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import boosting as naive
from training.dtparse.boosting.growing import grow_tree
from training.dtparse.boosting.matrix import MatrixWorkspace, make_matrix, on_grid, seek
from training.dtparse.recipe import LearnerConfig

from .conftest import make_store

pytestmark = pytest.mark.kernel


def grow_both(rng, n, n_atoms, penalty, hard, slack, max_splits, own_columns, share=0.5):
    """(our tree, that of the reference implementation, our largest child gradient) for a random sample and store."""
    rows = naive.random_rows(rng, n, n_atoms)
    store = make_store(*naive.to_csr(rows), n_atoms)
    ids = np.flatnonzero(rng.random(n) < share).astype(np.int32)
    gradient = on_grid(rng.choice([-1, 1], len(ids), p=[0.7, 0.3]) * rng.exponential(1, len(ids)))
    for k, example in enumerate(ids):  # something to find
        if 2 in rows[example]:
            gradient[k] = abs(gradient[k])
    space = MatrixWorkspace()
    columns = None if own_columns else store.columns
    other = np.flatnonzero(rng.random(n) < 0.3).astype(np.int32)
    make_matrix(other, np.ones(len(other)), *store.rows(other), n_atoms, columns, space)  # leaves its traces
    matrix = make_matrix(ids, gradient, *store.rows(ids), n_atoms, columns, space)
    config = LearnerConfig(gain="hard" if hard else "soft", root_slack=slack, max_splits=max_splits)
    tree, steepest = grow_tree(matrix, penalty, config, space)
    expected = naive.grow([rows[i] for i in ids], gradient.tolist(), penalty, hard, 1.01, slack, max_splits)
    total = gradient.sum()
    present = set().union(*(rows[i] for i in ids))
    sums = {a: sum(g for i, g in zip(ids, gradient, strict=True) if a in rows[i]) for a in present}
    naive_steepest = max([abs(total)] + [max(abs(s), abs(total - s)) for s in sums.values()])
    assert steepest == naive_steepest
    return tree, naive.flatten(expected)


@pytest.mark.parametrize("own_columns", [False, True])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("penalty", [0.3, 2.0, 8.0])
def test_tree_is_that_of_the_reference_implementation(penalty, hard, own_columns):
    sizes = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tree, expected = grow_both(rng, 200, 70, penalty, hard, 0.0, 25, own_columns)
        assert tuple(column.tolist() for column in tree) == expected
        sizes.append(len(tree.atom))
    if penalty < 8:
        assert max(sizes) > 5


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_few_and_all_examples(share):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tree, expected = grow_both(rng, 300, 30, 0.2, False, 0.0, 60, False, share)
        assert tuple(column.tolist() for column in tree) == expected


def test_limits_cut_the_tree():
    rng = np.random.default_rng(1)
    full = grow_both(rng, 200, 40, 0.3, False, 0.0, 60, False)[0]
    stump = grow_both(np.random.default_rng(1), 200, 40, 0.3, False, 0.0, 1, False)
    none = grow_both(np.random.default_rng(1), 200, 40, 0.3, False, 1e6, 60, False)
    assert len(full.atom) > 3 == len(stump[0].atom)
    assert tuple(column.tolist() for column in stump[0]) == stump[1]
    assert len(none[0].atom) == 1


def test_ties_go_to_the_lowest_atom():
    rows = [{3, 5}] * 4 + [{1}] * 4
    store = make_store(*naive.to_csr(rows), 8)
    ids = np.arange(8, dtype=np.int32)
    gradient = np.array([1.0] * 4 + [-1.0] * 4)
    matrix = make_matrix(ids, gradient, *store.rows(ids), 8, store.columns, MatrixWorkspace())
    tree, steepest = grow_tree(matrix, 0.5, LearnerConfig(max_splits=10), MatrixWorkspace())
    assert tree.atom.tolist() == [1, -1, -1] and steepest == 4.0


def test_seek_finds_the_first_index_not_below():
    numbers = np.array([2, 4, 4, 9, 30, 31, 77], dtype=np.int32)
    for start in range(8):
        for wanted in range(80):
            expected = next((k for k in range(start, 7) if numbers[k] >= wanted), 7)
            assert seek(numbers, start, 7, wanted) == expected


def test_grid_makes_sums_exact_in_any_order():
    rng = np.random.default_rng(0)
    gradient = on_grid(rng.normal(0, 1, 5000) * np.exp(rng.normal(0, 6, 5000)))
    sums = {float(np.cumsum(rng.permutation(gradient))[-1]) for _ in range(20)}
    assert len(sums) == 1
    assert on_grid(np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_without_subtraction_the_same_tree(hard, share):
    """All sums are exact, so it does not matter how a histogram comes about."""
    sizes = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = naive.random_rows(rng, 250, 60)
        store = make_store(*naive.to_csr(rows), 60)
        ids = np.flatnonzero(rng.random(250) < share).astype(np.int32)
        gradient = on_grid(rng.choice([-1, 1], len(ids), p=[0.6, 0.4]) * rng.exponential(1, len(ids)))
        trees = []
        for subtraction in (True, False):
            space = MatrixWorkspace()
            matrix = make_matrix(ids, gradient, *store.rows(ids), 60, store.columns, space)
            config = LearnerConfig(gain="hard" if hard else "soft", max_splits=40, subtraction=subtraction)
            trees.append(grow_tree(matrix, 0.4, config, space))
        (tree, steepest), (other, other_steepest) = trees
        assert tuple(column.tolist() for column in tree) == tuple(column.tolist() for column in other)
        assert steepest == other_steepest
        sizes.append(len(tree.atom))
    assert max(sizes) > 9
