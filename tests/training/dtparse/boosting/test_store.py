"""The direct store: rows, percolation compared with a slow reference implementation, files."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.errors import TrainingDataError
from tests.reference import boosting as naive
from training.dtparse.boosting.store import BITSET_FRACTION, Store, open_store, read_store_file
from training.dtparse.boosting.tree import DecisionTree, single_leaf
from training.runs.files import save_checkpoint

from .conftest import make_store

pytestmark = pytest.mark.kernel


def random_tree(rng: np.random.Generator, n_atoms: int, n_splits: int) -> DecisionTree:
    """A tree whose leaves are split at random, with atoms that may come again on the way down."""
    atom, yes, no = [-1], [-1], [-1]
    for _ in range(n_splits):
        leaves = [node for node, test in enumerate(atom) if test < 0]
        node = int(rng.choice(leaves[-2:] if rng.random() < 0.7 else leaves))
        atom[node] = int(rng.integers(n_atoms))
        yes[node], no[node] = len(atom), len(atom) + 1
        atom += [-1, -1]
        yes += [-1, -1]
        no += [-1, -1]
    return DecisionTree(*(np.array(column, dtype=np.int32) for column in (atom, yes, no)))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_percolate_agrees_with_walking_the_tree(n):
    rng = np.random.default_rng(n)
    rows = naive.random_rows(rng, n, 60)
    store = make_store(*naive.to_csr(rows), 60)
    slots = store.columns.slot
    assert isinstance(store, Store)
    if n == 300:  # both kinds of column take part
        assert (slots >= 0).sum() >= 5 and (np.diff(store.columns.starts) > 0).sum() >= 5
    for splits in (0, 1, 3, 12, 40):
        for _ in range(6):
            tree = random_tree(rng, 60, splits)
            expected = naive.percolate(rows, *(column.tolist() for column in tree))
            assert store.percolate(tree).tolist() == expected


def test_rows_gathers_in_order_and_counts_decide_the_kind_of_column():
    rng = np.random.default_rng(0)
    rows = naive.random_rows(rng, 500, 50)
    store = make_store(*naive.to_csr(rows), 50)
    ids = np.array([0, 3, 4, 77, 499])
    indptr, atoms = store.rows(ids)
    for k, example in enumerate(ids):
        assert set(atoms[indptr[k] : indptr[k + 1]].tolist()) == rows[example]
    for atom in range(50):
        members = [i for i, row in enumerate(rows) if atom in row]
        slot = store.columns.slot[atom]
        assert (slot >= 0) == (len(members) > 500 * BITSET_FRACTION)
        if slot < 0:
            start, end = store.columns.starts[atom : atom + 2]
            assert store.columns.postings[start:end].tolist() == members
    assert len(store.rows(np.array([], dtype=np.int32))[1]) == 0


@pytest.mark.parametrize("part_bytes", [1, 300])
def test_columns_are_written_part_by_part(monkeypatch, part_bytes):
    for seed, n in ((1, 500), (2, 40), (3, 0)):  # both kinds of column, bitsets only, nothing
        rows = naive.random_rows(np.random.default_rng(seed), n, 50)
        whole = make_store(*naive.to_csr(rows), 50)
        monkeypatch.setattr("training.dtparse.boosting.store.PART_BYTES", part_bytes)
        parts = make_store(*naive.to_csr(rows), 50)
        monkeypatch.undo()
        assert all(np.array_equal(one, other) for one, other in zip(parts.columns, whole.columns, strict=True))


def test_a_store_is_opened_once(tmp_path):
    rng = np.random.default_rng(1)
    built = make_store(*naive.to_csr(naive.random_rows(rng, 200, 30)), 30, tmp_path)
    again = open_store(str(tmp_path))
    assert open_store(str(tmp_path)) is again
    tree = random_tree(rng, 30, 15)
    assert built.percolate(tree).tolist() == again.percolate(tree).tolist()


def test_a_store_of_another_format_is_refused(tmp_path):
    with pytest.raises(TrainingDataError, match="not a finished store"):
        read_store_file(tmp_path)
    save_checkpoint(tmp_path / "store.json", {"opener": "os:system", "n_atoms": 3})
    with pytest.raises(TrainingDataError, match=r"names the kind of store .os:system.; this release has training"):
        open_store(str(tmp_path))


def test_a_tree_of_another_store_is_refused():
    store = make_store([0, 1], [0], 2)
    tree = DecisionTree(*(np.array(x, dtype=np.int32) for x in ([7, -1, -1], [1, -1, -1], [2, -1, -1])))
    with pytest.raises(TrainingDataError, match="the tree tests atom 7"):
        store.percolate(tree)
    assert store.percolate(single_leaf()).tolist() == [0]
