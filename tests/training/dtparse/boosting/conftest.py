"""Small random stores with labels that depend on the atoms."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from tests.reference.boosting import random_rows, to_csr
from training.dtparse.boosting.labels import LabelData
from training.dtparse.boosting.store import DirectStore


def make_data(seed: int, n: int = 400, n_atoms: int = 40) -> tuple[list[set[int]], LabelData]:
    """Rows, and labels 0 to 2 that go by some of the atoms, with noise."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n, n_atoms)
    gold = np.full(n, -1, np.int16)
    for i, row in enumerate(rows):
        if rng.random() < 0.1:
            gold[i] = rng.integers(-1, 3)
        elif 1 in row and 2 not in row:
            gold[i] = 0
        elif 3 in row or (4 in row and 0 not in row):
            gold[i] = 1
        elif not row:
            gold[i] = 2
    b_pos = rng.uniform(0.5, 1.5, n).astype(np.float32)
    b_neg = rng.uniform(0.05, 0.4, n).astype(np.float32)
    return rows, LabelData(gold, b_pos, b_neg)


def make_store(indptr: np.ndarray, atoms: np.ndarray, n_atoms: int, folder: Path | None = None) -> DirectStore:
    """A direct store of rows, in `folder` or in files that only it still has open."""
    if folder is None:
        with TemporaryDirectory() as temporary:
            return make_store(indptr, atoms, n_atoms, Path(temporary))
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "indptr.npy", np.asarray(indptr, dtype=np.int64))
    np.save(folder / "atoms.npy", np.asarray(atoms, dtype=np.int32))
    return DirectStore.build(folder, n_atoms)


def save_labels(folder: Path, data: LabelData) -> None:
    """Write the label data of a store next to it."""
    for name, array in data._asdict().items():
        np.save(folder / f"{name}.npy", array)


@pytest.fixture
def store_folder(tmp_path: Path) -> str:
    """A folder with a direct store and its label data."""
    rows, data = make_data(5)
    make_store(*to_csr(rows), 40, tmp_path / "store")
    save_labels(tmp_path / "store", data)
    return str(tmp_path / "store")
