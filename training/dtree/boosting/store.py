"""Where the examples' atoms are kept: the protocol of a store, and the direct store (every row written out)."""

from __future__ import annotations

import importlib
import json
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

from .columns import Columns, count_atoms, fill_columns, gather_rows, percolate
from .tree import NODE, Tree

STORE_FILE = "store.json"
BITSET_SHARE = 1 / 48
"""An atom of more than this share of the examples has a bitset: 1/8 byte per example against 4 per posting."""
PART_BYTES = 2**29
"""Column index filled in memory at a time while a store is built on disk."""


@runtime_checkable
class Store(Protocol):
    """n examples, each a set of atoms in [0, n_atoms)."""

    n_examples: int
    n_atoms: int

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Atoms of the examples `ids` (ascending int32/int64): (indptr int64 (len(ids) + 1,), atoms int32).

        The caller may overwrite the arrays; they are valid until the next call.
        """
        ...

    def percolate(self, tree: Tree) -> np.ndarray:
        """Number of the leaf (its node number in `tree`) each example reaches, uint16 (n_examples,).

        The array is valid until the next call.
        """
        ...


class DirectStore:
    """All rows in memory or in mapped files, with a column index.

    `indptr` int64 (n + 1,), `atoms` int32 (indptr[-1],): the rows; no atom twice in a row. They are kept as
    given (mapped files stay on disk). Size in bytes: 4 per atom of a row, and for the index at most 4 more
    (1/8 per example for an atom of more than 1/48 of the examples, 4 per occurrence for the others); see
    `n_bytes`.
    columns: the index, where it is known.

    Raises TrainingDataError for malformed rows.
    """

    def __init__(self, indptr: np.ndarray, atoms: np.ndarray, n_atoms: int, columns: Columns | None = None):
        if columns is None:
            indptr, atoms, slot, starts = _checked_layout(indptr, atoms, n_atoms)
            bits = np.zeros((max(1, int((slot >= 0).sum())), (len(indptr) + 62) // 64), dtype=BITS)
            postings = np.empty(int(starts[-1]), dtype=INDEX)
            fill_columns(indptr, atoms, slot, starts, 0, n_atoms, 0, bits, postings)
            columns = Columns(slot, bits, starts, postings)
        self.n_examples, self.n_atoms = len(indptr) - 1, n_atoms
        self.indptr, self.atoms, self.columns = indptr, atoms, columns
        self._pool = np.empty((0, 0), dtype=BITS)
        self._arena = np.empty(0, dtype=INDEX)
        self._leaf = np.empty(0, dtype=NODE)
        self._rows = np.empty(0, dtype=INDEX)

    @property
    def n_bytes(self) -> int:
        """Bytes of rows and index (not of scratch)."""
        return self.indptr.nbytes + self.atoms.nbytes + sum(array.nbytes for array in self.columns)

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Store.rows`."""
        ids = np.ascontiguousarray(ids, dtype=INDEX)
        size = int((self.indptr[ids + 1] - self.indptr[ids]).sum()) if len(ids) else 0
        if size > len(self._rows):
            self._rows = np.empty(size + size // 8, dtype=INDEX)
        out = np.empty(len(ids) + 1, dtype=OFFSET)
        gather_rows(self.indptr, self.atoms, ids, out, self._rows)
        return out, self._rows[:size]

    def percolate(self, tree: Tree) -> np.ndarray:
        """See `Store.percolate`: bitset and posting-list algebra, no example is looked at on its own."""
        inner = tree.atom[tree.atom >= 0]
        if len(inner) and inner.max() >= self.n_atoms:
            raise TrainingDataError(
                f"the tree tests atom {inner.max()}, but the store has atoms 0 to {self.n_atoms - 1}; it was trained "
                "on another store. Train again, or open the store it belongs to."
            )
        n_words = (self.n_examples + 63) // 64
        if len(self._leaf) == 0:
            self._leaf = np.empty(self.n_examples, dtype=NODE)
            self._arena = np.empty(self.n_examples, dtype=INDEX)
        if len(self._pool) < len(inner) + 1:
            self._pool = np.empty((len(inner) + 1, n_words), dtype=BITS)
        percolate(self.columns, self.n_examples, tree.atom, tree.yes, tree.no, self._pool, self._arena, self._leaf)
        return self._leaf

    @classmethod
    def build(cls, path: str | os.PathLike, indptr: np.ndarray, atoms: np.ndarray, n_atoms: int) -> DirectStore:
        """Write rows and index below the folder `path`, holding 0.5 GiB of index at a time, and open it.

        Files that `indptr` and `atoms` are already mapped from in that folder (`indptr.npy`, `atoms.npy`)
        are used as they are.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        indptr, atoms, slot, starts = _checked_layout(indptr, atoms, n_atoms)
        for name, array in (("indptr", indptr), ("atoms", atoms)):
            target = folder / f"{name}.npy"
            if not (target.exists() and _maps(array, target)):
                np.save(target, array)
        np.save(folder / "slot.npy", slot)
        np.save(folder / "starts.npy", starts)
        _write_columns(folder, indptr, atoms, slot, starts)
        write_store_file(folder, cls, n_examples=len(indptr) - 1, n_atoms=int(n_atoms))
        return cls.open(folder)

    @classmethod
    def open(cls, path: str | os.PathLike) -> DirectStore:
        """The store of the folder `path`, mapped: processes that open it share the memory."""
        folder = Path(path)
        facts = read_store_file(folder)
        indptr, atoms, *columns = (mapped(folder / f"{name}.npy") for name in ("indptr", "atoms", *Columns._fields))
        return cls(indptr, atoms, facts["n_atoms"], Columns(*columns))


def mapped(path: Path) -> np.ndarray:
    """An array of a file, mapped privately: numba sees one (writable) type, and the file is not written."""
    return np.asarray(np.load(path, mmap_mode="c"))


class ArrayFile:
    """A .npy file that is written piece by piece; `shape` is that of an entry, `count` the entries so far."""

    def __init__(self, path: Path, dtype: Any, shape: tuple[int, ...] = ()):
        self.count, self._dtype, self._shape = 0, np.dtype(dtype), shape
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "wb")
        self._write_header()

    def _write_header(self) -> None:
        """Its length is the same for all counts: numpy leaves room for growth."""
        shape = (self.count, *self._shape)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, entries: ArrayLike) -> None:
        """Write `entries` (n, *shape)."""
        array = np.asarray(entries, dtype=self._dtype)
        array.tofile(self._file)
        self.count += len(array)

    def close(self) -> None:
        """Write the header with the final count."""
        self._file.seek(0)
        self._write_header()
        self._file.close()


@contextmanager
def array_files(folder: Path, types: Mapping[str, Any]) -> Iterator[dict[str, ArrayFile]]:
    """An `ArrayFile` at `folder`/NAME.npy for each name of `types`."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(closing(ArrayFile(folder / f"{name}.npy", dtype)))
            for name, dtype in types.items()
        }


def _write_columns(folder: Path, indptr: np.ndarray, atoms: np.ndarray, slot: np.ndarray, starts: np.ndarray) -> None:
    """Write `bits.npy` and `postings.npy` part by part, each filled in memory and written in one piece.

    (Filled in the mapped files instead, the scattered writes wait for the disk: ten times slower on a busy one.)
    """
    n_words = (len(indptr) + 62) // 64
    sizes = np.where(slot >= 0, n_words * 8, np.diff(starts) * 4)
    part = np.cumsum(sizes) // PART_BYTES
    edges = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(slot)]
    with (
        closing(ArrayFile(folder / "bits.npy", BITS, (n_words,))) as bits_file,
        closing(ArrayFile(folder / "postings.npy", INDEX)) as postings_file,
    ):
        for first, last in pairwise(edges):
            used = slot[first:last][slot[first:last] >= 0]
            bits = np.zeros((len(used), n_words), dtype=BITS)
            postings = np.empty(int(starts[last] - starts[first]), dtype=INDEX)
            first_slot = int(used[0]) if len(used) else 0
            fill_columns(indptr, atoms, slot, starts, first, last, first_slot, bits, postings)
            bits_file.append(bits)
            postings_file.append(postings)
        if bits_file.count == 0:
            bits_file.append(np.zeros((1, n_words)))
        if postings_file.count == 0:
            postings_file.append([0])


def _maps(array: np.ndarray, target: Path) -> bool:
    """Whether `array` is mapped from `target`."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.filename:
            return Path(array.filename).resolve() == target.resolve()
        array = array.base  # type: ignore[assignment]
    return False


def _checked_layout(
    indptr: np.ndarray, atoms: np.ndarray, n_atoms: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, atoms) as plain arrays of the right types, and (slot, starts) of their `Columns`."""
    if indptr.ndim != 1 or len(indptr) < 1 or indptr[0] != 0 or indptr[-1] != len(atoms):
        raise TrainingDataError(
            f"row pointers of shape {indptr.shape} do not span the {len(atoms)} atoms; they must be one-dimensional, "
            "start at 0 and end at the number of atoms. Build the rows again."
        )
    if len(indptr) - 1 >= np.iinfo(INDEX).max:
        raise TrainingDataError(f"{len(indptr) - 1} examples are too many; allowed are {np.iinfo(INDEX).max - 1}.")
    indptr = np.require(indptr, dtype=OFFSET, requirements="C").view(np.ndarray)
    atoms = np.require(atoms, dtype=INDEX, requirements="C").view(np.ndarray)
    counts = np.zeros(n_atoms, dtype=OFFSET)
    row, kind = count_atoms(indptr, atoms, n_atoms, counts)
    if kind == 3:
        raise TrainingDataError(f"the row pointers go down at row {row}; they must ascend. Build the rows again.")
    if kind:
        seen = atoms[indptr[row] : indptr[row + 1]].tolist()
        what = f"an atom outside 0 to {n_atoms - 1}" if kind == 1 else "an atom twice"
        raise TrainingDataError(
            f"example {row} has {what}: {seen[:50]}; a row is a set of atoms of the store's table. Extract the "
            "examples again with the table the store was made for."
        )
    frequent = counts > (len(indptr) - 1) * BITSET_SHARE
    slot = np.full(len(counts), -1, dtype=INDEX)
    slot[frequent] = np.arange(int(frequent.sum()), dtype=INDEX)
    starts = np.zeros(len(counts) + 1, dtype=OFFSET)
    np.cumsum(np.where(frequent, 0, counts), out=starts[1:])
    return indptr, atoms, slot, starts


def write_store_file(folder: Path, opener: type, **facts: int | str) -> None:
    """Mark `folder` as a store that `opener.open(folder)` opens; `facts` are kept beside it."""
    known = {"opener": f"{opener.__module__}:{opener.__qualname__}", **facts}
    temporary = folder / (STORE_FILE + ".tmp")
    temporary.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, folder / STORE_FILE)


def read_store_file(folder: Path) -> dict:
    """What `write_store_file` wrote; TrainingDataError when the folder is no finished store."""
    try:
        return json.loads((folder / STORE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingDataError(
            f"{folder} is not a finished store of examples (no readable {STORE_FILE}: {error}); give the folder a "
            "store was built in, or build it again."
        ) from error


@lru_cache(maxsize=8)
def open_store(path: str) -> Store:
    """The store in the folder `path`, of whatever kind; opened once per process."""
    opener = read_store_file(Path(path)).get("opener", "")
    module, _, name = opener.partition(":")
    if not module.startswith("training.") or not name:
        raise TrainingDataError(
            f"{path}/{STORE_FILE} names the opener {opener!r}; allowed are classes below `training`, written "
            '"module:Class". Build the store again.'
        )
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise TrainingDataError(
            f"{path}/{STORE_FILE} names {opener!r}, which this release does not have; build the store again"
        ) from None
    return kind.open(path)
