"""The indirect store: derivations are kept, rows are extracted again when they are needed.

Turian & Melamed 2006b (section 4.2). Where we differ: a sample extracts only the windows it holds; an example
that walks down a tree extracts only the templates of the nodes it comes by.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtypes import HASH, INDEX, OFFSET, WEIGHT
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.trees.lexicon import Lexicon
from spacy_dtparse.features.trees.templates import Sizes, Templates, compile_templates
from spacy_dtparse.kernels.trees import features as k
from spacy_dtparse.kernels.trees.atoms import AtomMap
from spacy_dtparse.kernels.trees.heads import HeadTable
from spacy_dtparse.kernels.trees.state import Grammar
from spacy_dtparse.model.trees.model import hash_table, make_feature_scratch

from ...dtree.boosting.store import read_store_file, write_store_file
from ...dtree.boosting.tree import NODE, Tree
from ...dtree.examples import STORES, Derivation, Replayer, _raw_to_npy, example_rows
from .indirect_kernels import Derivations, count_postings, extract_rows, percolate_rows
from .reduced_tables import UNKNOWN, atom_templates, is_hashed, make_stages, make_state_buffers

SOURCE = "derivations"
"""The folder beside the stores' own that all of them read."""

BUNDLES = ("grammar", "heads", "table", "atoms")
"""NamedTuples of arrays that the source folder holds, a file per array."""

CHUNK = 256
"""Derivations per kernel call where a call's results are summed up."""

LABEL_TYPES: dict[str, Any] = {
    "gold": np.dtype(np.int16),
    "b_pos": np.dtype(WEIGHT),
    "b_neg": np.dtype(WEIGHT),
}


class Source(NamedTuple):
    """What rows are extracted from; all arrays, mapped from files and shared between stores and processes.

    `template` int32 (n_atoms,): the template an atom comes from, numbered through unary, tuples, grouped
    and sequence of `table`, or UNKNOWN. `entry` uint64 (n_atoms,): its place in `atoms.direct`, or its hash
    key.
    """

    grammar: Grammar
    heads: HeadTable
    table: k.TemplateTable
    atoms: AtomMap
    derivations: Derivations
    template: np.ndarray
    entry: np.ndarray


class IndirectStore:
    """The rows of one store ("window", "shift" or "top") of a set of derivations; see `Store`.

    In memory: one int32 per atom of the map, 2 bytes per example for `percolate`, and what `rows` returns.
    The derivations, the map and the label data are mapped from files.
    """

    def __init__(self, source: Source, row_starts: np.ndarray, name: str):
        self.source, self.row_starts = source, row_starts
        self.n_examples, self.n_atoms = int(row_starts[-1]), int(source.atoms.state[0])
        self._store = STORES.index(name)
        self._buffers = make_state_buffers(source.grammar, source.derivations)
        self._scratch = make_feature_scratch(source.table, self.n_atoms)
        self._rows = np.empty(1 << 12, dtype=INDEX)
        self._leaf = np.empty(0, dtype=NODE)
        self._direct = np.full(len(source.atoms.direct), -1, dtype=INDEX)

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Store.rows`; raises IndexError for examples that do not exist, or ids that do not ascend."""
        ids = np.ascontiguousarray(ids, dtype=OFFSET)
        if len(ids) and (ids[0] < 0 or ids[-1] >= self.n_examples or bool((np.diff(ids) < 0).any())):
            raise IndexError(
                f"example numbers from {ids.min()} to {ids.max()}; they must ascend and be from 0 to "
                f"{self.n_examples - 1}"
            )
        indptr = np.zeros(len(ids) + 1, dtype=OFFSET)
        s, done = self.source, 0
        while True:
            done = extract_rows(
                self._store, s.grammar, s.heads, s.table, s.atoms, s.derivations, self.row_starts,
                self._buffers, self._scratch, ids, done, indptr, self._rows,
            )  # fmt: skip
            if done == len(ids):
                return indptr, self._rows[: indptr[-1]]
            needed = int(indptr[done] * len(ids) / max(1, done)) + len(self._scratch.atoms)
            larger = np.empty(max(needed + needed // 16, len(self._rows) + 1), dtype=INDEX)
            larger[: indptr[done]] = self._rows[: indptr[done]]
            self._rows = larger

    def percolate(self, tree: Tree) -> np.ndarray:
        """See `Store.percolate`: every example walks down the tree and extracts what it comes by."""
        inner = tree.atom >= 0
        numbers = np.unique(tree.atom[inner])
        if len(numbers) and numbers[-1] >= self.n_atoms:
            raise TrainingDataError(
                f"the tree tests atom {numbers[-1]}, but the store has atoms 0 to {self.n_atoms - 1}; it was "
                "trained on another store. Train again, or open the store it belongs to."
            )
        if len(self._leaf) == 0:
            self._leaf = np.empty(self.n_examples, dtype=NODE)
        if len(numbers) == 0:
            self._leaf[:] = 0
            return self._leaf
        s = self.source
        compact = tree.atom.astype(INDEX)
        compact[inner] = np.searchsorted(numbers, tree.atom[inner])
        of = s.template[numbers]
        templates = np.unique(of[of != UNKNOWN])
        stages = make_stages(s.table, templates)
        stage = np.full(len(tree.atom), -1, dtype=INDEX)
        stage[inner] = np.where(of != UNKNOWN, np.searchsorted(templates, of), -1)[compact[inner]]
        hashed = np.flatnonzero(is_hashed(s.table, of))
        direct = np.flatnonzero((of != UNKNOWN) & ~is_hashed(s.table, of))
        keys, values = hash_table(s.entry[numbers[hashed]], hashed)
        entries = s.entry[numbers[direct]].astype(OFFSET)
        state = np.array([len(numbers), len(hashed), 0], dtype=OFFSET)
        number_of = AtomMap(self._direct, keys, values, state)
        self._direct[entries] = direct
        try:
            percolate_rows(
                self._store, s.grammar, s.heads, stages, number_of, s.derivations, self.row_starts,
                self._buffers, make_feature_scratch(stages.table, len(numbers)),
                np.zeros(len(numbers), dtype=OFFSET), np.zeros(len(templates), dtype=OFFSET), compact, stage,
                np.ascontiguousarray(tree.yes, dtype=INDEX), np.ascontiguousarray(tree.no, dtype=INDEX),
                self._leaf,
            )  # fmt: skip
        finally:
            self._direct[entries] = -1
        return self._leaf

    @classmethod
    def build_all(
        cls,
        folder: Path,
        grammar: Grammar,
        heads: HeadTable,
        templates: Templates,
        lexicon: Lexicon,
        atoms: AtomMap,
        derivations: Iterable[Derivation],
    ) -> dict[str, dict[str, Any]]:
        """Write `folder`/<store> for every store, for `open_store`; returns their rows and postings.

        Label data is that of `write_stores`. Derivations are read once, one at a time; `folder`/derivations
        keeps them.
        """
        folder = Path(folder)
        source_folder = folder / SOURCE
        source_folder.mkdir(parents=True, exist_ok=True)
        table, _ = compile_templates(templates, lexicon.sizes)
        starts = _write_derivations(folder, grammar, heads, len(lexicon.labels), derivations)
        bundles: tuple[Any, ...] = (grammar, heads, table, atoms)
        for name, bundle in zip(BUNDLES, bundles, strict=True):
            for part, array in bundle._asdict().items():
                np.save(source_folder / f"{name}.{part}.npy", array)
        held = np.flatnonzero(atoms.direct >= 0)
        entry = np.zeros(int(atoms.state[0]), dtype=HASH)
        entry[atoms.direct[held]] = held.astype(HASH)
        hashed = np.flatnonzero(atoms.keys)
        entry[atoms.values[hashed]] = atoms.keys[hashed]
        np.save(source_folder / "entry.npy", entry)
        kept = _open_derivations(source_folder)
        parts = np.zeros((int(atoms.state[0]) if len(hashed) else 0, k.PARTS_WIDTH), dtype=INDEX)
        buffers, scratch = make_state_buffers(grammar, kept), make_feature_scratch(table, int(atoms.state[0]))
        totals = {}
        for number, store in enumerate(STORES):
            postings = 0
            for first in range(0, len(kept.token_starts) - 1, CHUNK):
                last = min(first + CHUNK, len(kept.token_starts) - 1)
                postings += int(
                    count_postings(
                        number, grammar, heads, table, atoms, kept, first, last, buffers, scratch, parts
                    )
                )
            totals[store] = {"rows": int(starts[store][-1]), "postings": postings}
        np.save(source_folder / "template.npy", atom_templates(table, atoms, parts))
        for store in STORES:
            facts = {"n_examples": totals[store]["rows"], "n_atoms": int(atoms.state[0])}
            write_store_file(folder / store, cls, source=SOURCE, **facts)
        return totals

    @classmethod
    def open(cls, path: str | os.PathLike) -> IndirectStore:
        """The store in the folder `path`, whose source lies beside it."""
        folder = Path(path)
        facts = read_store_file(folder)
        source = folder.absolute().parent / facts["source"]
        try:
            return cls(open_source(str(source)), _load(folder / "row_starts.npy"), folder.absolute().name)
        except (OSError, ValueError) as error:
            raise TrainingDataError(
                f"{folder} keeps its derivations in {source}, which cannot be read ({error}); move the "
                "folder of all stores as a whole, or build them again."
            ) from error


def _load(path: Path) -> np.ndarray:
    """An array of a file, mapped privately: numba sees one (writable) type, and the file is not
    written."""
    array = np.load(path, mmap_mode="c") if path.stat().st_size > 4096 else np.load(path)
    return np.asarray(array)


@lru_cache(maxsize=8)
def open_source(path: str) -> Source:
    """The source of stores in the folder `path`; opened once per process."""
    folder = Path(path)
    kinds: tuple[Any, ...] = (Grammar, HeadTable, k.TemplateTable, AtomMap)
    grammar, heads, table, atoms = (
        kind(*(_load(folder / f"{name}.{part}.npy") for part in kind._fields))
        for name, kind in zip(BUNDLES, kinds, strict=True)
    )
    template, entry = _load(folder / "template.npy"), _load(folder / "entry.npy")
    return Source(grammar, heads, table, atoms, _open_derivations(folder), template, entry)


def _open_derivations(folder: Path) -> Derivations:
    tokens = _load(folder / "tokens.npy").reshape(-1, k.TOKEN_COLUMNS)
    actions = _load(folder / "actions.npy").reshape(-1, 3)
    starts = (_load(folder / f"{name}_starts.npy") for name in ("token", "action"))
    token_starts, action_starts = starts
    return Derivations(tokens, token_starts, actions, action_starts)


def _write_derivations(
    folder: Path, grammar: Grammar, heads: HeadTable, n_labels: int, derivations: Iterable[Derivation]
) -> dict[str, np.ndarray]:
    """Write the derivations, and each store's label data and row starts; returns the row starts.

    Label data needs no atoms: the derivations are replayed with a table without templates.
    """
    empty, _ = compile_templates(Templates("none", ()), Sizes(0, 0, 0, 0))
    no_atoms = AtomMap(
        np.zeros(0, dtype=INDEX), *hash_table(np.zeros(0, dtype=HASH), np.zeros(0)), np.zeros(3, dtype=OFFSET)
    )
    replayer = Replayer(grammar, heads, empty, no_atoms, 1)
    lengths: dict[str, list[int]] = {name: [0] for name in ("token", "action", *STORES)}
    files = {name: open(folder / SOURCE / f"{name}.raw", "wb") for name in ("tokens", "actions")}
    for store in STORES:
        (folder / store).mkdir(exist_ok=True)
        files |= {f"{store}/{name}": open(folder / store / f"{name}.raw", "wb") for name in LABEL_TYPES}
    try:
        for derivation in derivations:
            derivation.tokens.astype(INDEX).tofile(files["tokens"])
            derivation.actions.astype(INDEX).tofile(files["actions"])
            lengths["token"].append(len(derivation.tokens))
            lengths["action"].append(len(derivation.actions))
            counts = dict.fromkeys(STORES, 0)
            for store, rows, b_pos, b_neg in example_rows(replayer, derivation, n_labels):
                gold = replayer._buffers["gold"][rows]
                if store == "shift":
                    gold = np.where(gold == n_labels, n_labels, -1).astype(np.int16)
                for name, array in (("gold", gold), ("b_pos", b_pos), ("b_neg", b_neg)):
                    np.asarray(array, dtype=LABEL_TYPES[name]).tofile(files[f"{store}/{name}"])
                counts[store] = len(rows)
            for store in STORES:
                lengths[store].append(counts[store])
    finally:
        for handle in files.values():
            handle.close()
    starts = {name: np.cumsum(lengths[name], dtype=OFFSET) for name in lengths}
    for name in ("token", "action"):
        _raw_to_npy(folder / SOURCE / f"{name}s.raw", folder / SOURCE / f"{name}s.npy", INDEX)
        np.save(folder / SOURCE / f"{name}_starts.npy", starts[name])
    for store in STORES:
        np.save(folder / store / "row_starts.npy", starts[store])
        for name, dtype in LABEL_TYPES.items():
            _raw_to_npy(folder / store / f"{name}.raw", folder / store / f"{name}.npy", dtype)
    return starts
