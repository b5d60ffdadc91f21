"""Stores of the examples' atoms: the protocol of a store, and the direct store (every row written out)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from spacy_dtparse.dtypes import BITS, INDEX, OFFSET
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.stored_names import stored_names

from ...runs.files import load_checkpoint, save_checkpoint
from .columns import FeatureColumns, count_atoms, fill_columns, gather_rows, percolate
from .matrix import MatrixWorkspace
from .tree import NODE, DecisionTree

STORE_FILE = "store.json"
DIRECT, INDIRECT = "training.dtree.boosting.store:DirectStore", "training.studies.turian2006.indirect:IndirectStore"
OPENERS = {
    DIRECT: ("training.dtparse.boosting.store", "DirectStore"),
    INDIRECT: ("training.studies.turian2006.indirect", "IndirectStore"),
}
"""Kind of store, as written in its file -> module and class. The written names do not change when a class moves."""
BITSET_FRACTION = 1 / 48
"""An atom of more than this fraction of the examples has a bitset: 1/8 byte per example instead of 4 per posting."""
PART_BYTES = 2**29
"""Bytes of the column index that are filled in memory at a time while a store is built on disk."""


@runtime_checkable
class Store(Protocol):
    """n examples, each a set of atoms in [0, n_atoms)."""

    n_examples: int
    n_atoms: int

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Atoms of the examples `ids` (ascending int32/int64): (indptr int64 (len(ids) + 1,), atoms int32). The caller
        may overwrite the arrays; they are valid until the next call."""

    def percolate(self, tree: DecisionTree) -> np.ndarray:
        """Index of the leaf (its node index in `tree`) that each example reaches, uint16 (n_examples,). The array is
        valid until the next call."""


class DirectStore:
    """All rows in memory-mapped files, with a column index.

    `indptr` int64 (n + 1,), `atoms` int32 (indptr[-1],): the rows; no atom twice in a row. Size in bytes: 4 per atom of
    a row, and for the index at most 4 more (1/8 per example for an atom of more than 1/48 of the examples, 4 per
    occurrence for the others).
    """

    def __init__(self, indptr: np.ndarray, atoms: np.ndarray, columns: FeatureColumns):
        self.n_examples, self.n_atoms = len(indptr) - 1, len(columns.slot)
        self.indptr, self.atoms, self.columns = indptr, atoms, columns
        self._space = MatrixWorkspace()

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Store.rows`."""
        ids = np.ascontiguousarray(ids, dtype=INDEX)
        atoms = self._space.take("rows", int((self.indptr[ids + 1] - self.indptr[ids]).sum()), INDEX)
        indptr = np.empty(len(ids) + 1, dtype=OFFSET)
        gather_rows(self.indptr, self.atoms, ids, indptr, atoms)
        return indptr, atoms

    def percolate(self, tree: DecisionTree) -> np.ndarray:
        """See `Store.percolate`: bitset and posting-list algebra, without a loop over examples."""
        check_atoms(tree, self.n_atoms)
        n, n_words, n_sets = self.n_examples, (self.n_examples + 63) // 64, len(tree.atom) // 2 + 1
        leaf, arena = self._space.take("leaf", n, NODE), self._space.take("arena", n, INDEX)
        pool = self._space.take("pool", n_sets * n_words, BITS).reshape(n_sets, n_words)
        percolate(self.columns, *tree, pool, arena, leaf)
        return leaf

    @classmethod
    def build(cls, folder: Path, n_atoms: int) -> DirectStore:
        """Write the column index of the rows in `folder` (`indptr.npy`, `atoms.npy`), 0.5 GiB of it in memory at a
        time, and open the store. Raises TrainingDataError for too many rows."""
        indptr, atoms = (map_array(folder / f"{name}.npy") for name in ("indptr", "atoms"))
        n = len(indptr) - 1
        if n >= np.iinfo(INDEX).max:
            raise TrainingDataError(f"{n} examples are too many; allowed are {np.iinfo(INDEX).max - 1}.")
        counts = np.zeros(n_atoms, dtype=OFFSET)
        count_atoms(atoms, counts)
        frequent = counts > n * BITSET_FRACTION
        slot = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(INDEX)
        starts = np.concatenate([[0], np.cumsum(np.where(frequent, 0, counts))]).astype(OFFSET)
        np.save(folder / "slot.npy", slot)
        np.save(folder / "starts.npy", starts)
        n_words = (n + 63) // 64
        part = np.cumsum(np.where(slot >= 0, n_words * 8, np.diff(starts) * 4)) // PART_BYTES
        edges = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(slot)]
        # each part is written in one piece: scattered writes to mapped files are ten times slower on a busy disk
        with array_files(folder, {"bits": (BITS, (n_words,)), "postings": INDEX}) as files:
            for first, last in pairwise(edges):
                used = slot[first:last][slot[first:last] >= 0]
                bits = np.zeros((len(used), n_words), dtype=BITS)
                postings = np.empty(int(starts[last] - starts[first]), dtype=INDEX)
                first_slot = int(used[0]) if len(used) else 0
                fill_columns(indptr, atoms, slot, starts, first, last, first_slot, bits, postings)
                files["bits"].append(bits)
                files["postings"].append(postings)
        write_store_file(folder, DIRECT, n_examples=n, n_atoms=n_atoms)
        return cls.open(folder)

    @classmethod
    def open(cls, path: str | os.PathLike) -> DirectStore:
        """Open the store of the folder `path`, memory-mapped: processes that open it share the memory."""
        indptr, atoms, *columns = (
            map_array(Path(path) / f"{name}.npy") for name in ("indptr", "atoms", *stored_names(FeatureColumns))
        )
        return cls(indptr, atoms, FeatureColumns(*columns))


def check_atoms(tree: DecisionTree, n_atoms: int) -> None:
    """Raise TrainingDataError if a tree tests an atom that a store of `n_atoms` atoms lacks."""
    if tree.atom.max() >= n_atoms:
        raise TrainingDataError(
            f"the tree tests atom {tree.atom.max()}, but the store has atoms 0 to {n_atoms - 1}; it was trained on "
            "another store. Train again, or open the store it belongs to."
        )


def map_array(path: Path) -> np.ndarray:
    """Map the array of a file privately: it has one (writable) type for numba, and the file is not written."""
    return np.asarray(np.load(path, mmap_mode="c"))


class ArrayFile:
    """A .npy file that is written piece by piece; `dtype`: type and shape of an entry; `count`: entries so far."""

    def __init__(self, path: Path, dtype: Any):
        self.count, self._dtype = 0, np.dtype(dtype)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "wb")
        self._write_header()

    def _write_header(self) -> None:
        """Write the header. Its length is the same for all counts: numpy pads it."""
        descr, shape = np.lib.format.dtype_to_descr(self._dtype.base), (self.count, *self._dtype.shape)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, entries: ArrayLike) -> None:
        """Write entries."""
        array = np.asarray(entries, dtype=self._dtype.base)
        array.tofile(self._file)
        self.count += len(array)

    def close(self) -> None:
        """Write the header with the final count."""
        self._file.seek(0)
        self._write_header()
        self._file.close()


@contextmanager
def array_files(folder: Path, types: Mapping[str, Any]) -> Iterator[dict[str, ArrayFile]]:
    """Open an `ArrayFile` at `folder`/NAME.npy for each name of `types`."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(closing(ArrayFile(folder / f"{name}.npy", dtype)))
            for name, dtype in types.items()
        }


def write_store_file(folder: Path, opener: str, **metadata: int | str) -> None:
    """Mark `folder` as a store of the kind `opener`, a key of OPENERS; `metadata` are stored with it."""
    save_checkpoint(folder / STORE_FILE, {"opener": opener, **metadata})


def read_store_file(folder: Path) -> dict:
    """Read the file of `write_store_file`. Raises TrainingDataError if the folder is no finished store."""
    try:
        metadata = load_checkpoint(folder / STORE_FILE)
    except TrainingDataError as error:
        raise TrainingDataError(f"{error}, with the store: give another working folder, or delete this one") from error
    if metadata is None:
        raise TrainingDataError(
            f"{folder} is not a finished store of examples (no {STORE_FILE}); give the folder a store was built in, or "
            "build it again."
        )
    return metadata


@lru_cache(maxsize=8)
def open_store(path: str) -> Store:
    """Open the store in the folder `path`, of any kind; once per process."""
    opener = read_store_file(Path(path)).get("opener", "")
    if opener not in OPENERS:
        raise TrainingDataError(
            f"{path}/{STORE_FILE} names the kind of store {opener!r}; this release has {', '.join(OPENERS)}. Build the "
            "store again"
        )
    module, name = OPENERS[opener]
    return getattr(importlib.import_module(module), name).open(path)
