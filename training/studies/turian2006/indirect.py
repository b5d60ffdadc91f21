"""The indirect store: it keeps derivations and extracts rows again when they are needed. Turian & Melamed 2006b
(section 4.2). Differences: a sample extracts only its own windows; an example that descends a tree extracts only the
feature templates of the nodes on its path. The templates of a table have consecutive ids: unary, tuples, grouped, then
the sequence."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.features.templates import Templates, compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.kernels.replay import state_buffers
from spacy_dtparse.dtparse.kernels.state import Grammar
from spacy_dtparse.dtparse.model.model import hash_table, make_feature_scratch
from spacy_dtparse.dtypes import HASH, INDEX, OFFSET
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.stored_names import stored_names, to_stored
from spacy_dtparse.trees.kernels import HeadTable

from ...dtparse.boosting.store import INDIRECT, array_files, check_atoms, map_array, read_store_file, write_store_file
from ...dtparse.boosting.tree import NODE, DecisionTree
from ...dtparse.examples import STORES, Derivation, Replayer, example_types, labelled_rows
from .indirect_kernels import Derivations, StagedTree, Stages, StoredRows, extract_rows, percolate_rows

SOURCE = "derivations"  # folder next to those of the stores, shared by all of them
BUNDLES: dict[str, Any] = {"grammar": Grammar, "heads": HeadTable, "table": k.TemplateTable, "atoms": AtomMap}
"""NamedTuples of arrays that are stored in the source folder, one file per array."""
UNKNOWN = -1  # template of an atom that no derivation has; no row can have it


class Source(NamedTuple):
    """The data from which rows are extracted; all arrays are mapped from files and shared between stores and processes.
    `template` int32 (n_atoms,): the template of each atom, or UNKNOWN. `entry` uint64 (n_atoms,): its index in
    `atoms.direct`, or its hash key."""

    grammar: Grammar
    heads: HeadTable
    table: k.TemplateTable
    atoms: AtomMap
    derivations: Derivations
    template: np.ndarray
    entry: np.ndarray


class IndirectStore:
    """The rows of one store ("window", "shift" or "top") of a set of derivations; see `Store`. Memory: one int32 per
    atom of the map, 2 bytes per example for `percolate`, and the result of `rows`. The derivations, the map and the
    label data are mapped from files."""

    def __init__(self, source: Source, row_starts: np.ndarray, name: str):
        self.source, self.row_starts = source, row_starts
        self.n_examples, self.n_atoms = int(row_starts[-1]), int(source.atoms.state[0])
        tokens, actions = np.diff(source.derivations.token_starts), np.diff(source.derivations.action_starts)
        longest = int(tokens.max(initial=1)), int((tokens + actions).max(initial=1))
        buffers = state_buffers(source.grammar, *longest)
        self._stored = StoredRows(
            STORES.index(name), source.grammar, source.heads, source.derivations, row_starts, buffers
        )
        self._scratch = make_feature_scratch(source.table, self.n_atoms)
        self._rows = np.empty(1 << 12, dtype=INDEX)
        self._leaf = np.empty(self.n_examples, dtype=NODE)
        self._direct = np.full(len(source.atoms.direct), -1, dtype=INDEX)

    def rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Store.rows`; raises IndexError for examples that do not exist, or ids that are not ascending."""
        ids = np.ascontiguousarray(ids, dtype=OFFSET)
        if len(ids) and (ids[0] < 0 or ids[-1] >= self.n_examples or bool((np.diff(ids) < 0).any())):
            low, high, most = ids.min(), ids.max(), self.n_examples - 1
            raise IndexError(f"example ids from {low} to {high}; they must be ascending and from 0 to {most}")
        indptr = np.zeros(len(ids) + 1, dtype=OFFSET)
        given, done = (self._stored, self.source.table, self.source.atoms, self._scratch, ids), 0
        while True:
            done = extract_rows(*given, done, indptr, self._rows)
            if done == len(ids):
                return indptr, self._rows[: indptr[-1]]
            needed = int(indptr[done] * len(ids) / max(1, done)) + len(self._scratch.atoms)
            larger = np.empty(max(needed + needed // 16, len(self._rows) + 1), dtype=INDEX)
            larger[: indptr[done]] = self._rows[: indptr[done]]
            self._rows = larger

    def percolate(self, tree: DecisionTree) -> np.ndarray:
        """See `Store.percolate`: every example descends the tree and extracts the templates on its path."""
        inner = tree.atom >= 0
        numbers = np.unique(tree.atom[inner])
        check_atoms(tree, self.n_atoms)
        if len(numbers) == 0:
            self._leaf[:] = 0
            return self._leaf
        s = self.source
        compact, stage = tree.atom.astype(INDEX), np.full(len(tree.atom), -1, dtype=INDEX)
        compact[inner] = np.searchsorted(numbers, tree.atom[inner])
        of = s.template[numbers]
        templates = np.unique(of[of != UNKNOWN])
        stages = make_stages(s.table, templates)
        stage[inner] = np.where(of != UNKNOWN, np.searchsorted(templates, of), -1)[compact[inner]]
        by_key = is_hashed(s.table, of)
        hashed, direct = np.flatnonzero(by_key), np.flatnonzero((of != UNKNOWN) & ~by_key)
        keys, values = hash_table(s.entry[numbers[hashed]], hashed)
        entries = s.entry[numbers[direct]].astype(OFFSET)
        number_of = AtomMap(self._direct, keys, values, np.array([len(numbers), len(hashed), 0], dtype=OFFSET))
        self._direct[entries] = direct
        scratch = make_feature_scratch(stages.table, len(numbers))
        seen, ready = np.zeros(len(numbers), dtype=OFFSET), np.zeros(len(templates), dtype=OFFSET)
        staged = StagedTree(compact, stage, tree.yes, tree.no)
        try:
            percolate_rows(self._stored, stages, number_of, scratch, seen, ready, staged, self._leaf)
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
        """Write `folder`/<store> for every store, for `open_store`; returns their numbers of rows and postings. Label
        data is that of `write_stores`. Derivations are read once, one at a time, and saved in `folder`/derivations."""
        source_folder = folder / SOURCE
        table, _ = compile_templates(templates, lexicon.sizes)
        n_atoms, hashed, held = int(atoms.state[0]), np.flatnonzero(atoms.keys), np.flatnonzero(atoms.direct >= 0)
        parts = np.zeros((n_atoms if len(hashed) else 0, k.PARTS_WIDTH), dtype=INDEX)
        replayer = Replayer(grammar, heads, table, atoms, n_atoms, parts)
        types: dict[str, Any] = {f"{SOURCE}/{name}": INDEX for name in ("tokens", "actions")}
        types |= {f"{SOURCE}/{name}_starts": OFFSET for name in ("token", "action")}
        totals = {store: {"rows": 0, "postings": 0} for store in STORES}
        with array_files(folder, {**types, **example_types(("row_starts", OFFSET))}) as files:
            for name in (name for name in files if name.endswith("_starts")):
                files[name].append([0])
            for derivation in derivations:
                for name, array in (("token", derivation.tokens), ("action", derivation.actions)):
                    file = files[f"{SOURCE}/{name}s"]
                    file.append(array.ravel())
                    files[f"{SOURCE}/{name}_starts"].append([file.count // array.shape[1]])
                for store, rows, data in labelled_rows(replayer, derivation, len(lexicon.labels)):
                    totals[store]["rows"] += len(rows)
                    totals[store]["postings"] += replayer.n_atoms_of(rows)
                    for name, array in to_stored(data).items():
                        files[f"{store}/{name}"].append(array)
                for store in STORES:
                    files[f"{store}/row_starts"].append([totals[store]["rows"]])
        given: tuple[Any, ...] = (grammar, heads, table, atoms)
        for name, bundle in zip(BUNDLES, given, strict=True):
            for part, array in to_stored(bundle).items():
                np.save(source_folder / f"{name}.{part}.npy", array)
        entry = np.zeros(n_atoms, dtype=HASH)
        entry[atoms.direct[held]] = held.astype(HASH)
        entry[atoms.values[hashed]] = atoms.keys[hashed]
        np.save(source_folder / "entry.npy", entry)
        np.save(source_folder / "template.npy", atom_templates(table, atoms, parts))
        for store in STORES:
            write_store_file(folder / store, INDIRECT, source=SOURCE, n_examples=totals[store]["rows"], n_atoms=n_atoms)
        return totals

    @classmethod
    def open(cls, path: str | os.PathLike) -> IndirectStore:
        """Open the store in the folder `path`, with its source in a folder next to it."""
        folder = Path(path)
        stored = read_store_file(folder)
        source = folder.absolute().parent / stored["source"]
        try:
            return cls(open_source(str(source)), map_array(folder / "row_starts.npy"), folder.absolute().name)
        except (OSError, ValueError) as error:
            raise TrainingDataError(
                f"{folder} has its derivations in {source}, which cannot be read ({error}); move the "
                "folder of all stores as a whole, or build them again."
            ) from error


@lru_cache(maxsize=8)
def open_source(path: str) -> Source:
    """Open the source of stores in the folder `path`, once per process."""
    folder = Path(path)
    bundles: dict[str, Any] = {
        name: kind(*(map_array(folder / f"{name}.{part}.npy") for part in stored_names(kind)))
        for name, kind in BUNDLES.items()
    }
    names = ("tokens", "token_starts", "actions", "action_starts", "template", "entry")
    tokens, token_starts, actions, action_starts, template, entry = (
        map_array(folder / f"{name}.npy") for name in names
    )
    derivations = Derivations(tokens.reshape(-1, k.TOKEN_COLUMNS), token_starts, actions.reshape(-1, 3), action_starts)
    return Source(**bundles, derivations=derivations, template=template, entry=entry)


_PACKED = ("positions", "slots", "unary", "unary_base", "tuples", "grouped", "grouped_base")
_HEAD_GROUPS = (k.HEAD_LEFT, k.HEAD_RIGHT, k.NON_HEAD)


def sequence_template(table: k.TemplateTable) -> int:
    """The id of the sequence template, which is last (whether the table has it or not)."""
    return len(table.unary) + len(table.tuples) + len(table.grouped)


def is_hashed(table: k.TemplateTable, templates: np.ndarray) -> np.ndarray:
    """Return whether the atoms of each of `templates` are looked up by hash key; bool, of the same shape."""
    tuple_ids = templates - len(table.unary)
    return ((tuple_ids >= 0) & (tuple_ids < len(table.tuples))) | (templates == sequence_template(table))


def atom_templates(table: k.TemplateTable, atoms: AtomMap, parts: np.ndarray) -> np.ndarray:
    """The template of every atom, int32 (n_atoms,), or UNKNOWN. `parts`: the output of `record_parts` for all
    derivations. It omits sequences that are too long for it, so a hashed atom that it lacks is a sequence, if the table
    has that template."""
    n_unary, n_tuples = len(table.unary), len(table.tuples)
    sequence = sequence_template(table)
    template = np.full(int(atoms.state[0]), UNKNOWN, dtype=INDEX)
    held = np.flatnonzero(atoms.direct >= 0)
    bases = np.concatenate([table.unary_base, table.grouped_base])
    index = np.searchsorted(bases, held, side="right") - 1
    template[atoms.direct[held]] = np.where(index < n_unary, index, index + n_tuples)
    hashed = atoms.values[atoms.keys != 0]
    if len(hashed):
        unseen = sequence if table.sequence[0] >= 0 else UNKNOWN
        of_seed = np.full(n_tuples + 1, unseen, dtype=INDEX)  # a tuple's number in the hash -> its row
        of_seed[table.tuples[:, 3]] = n_unary + np.arange(n_tuples)
        template[hashed] = np.where(parts[hashed, 1] > 0, of_seed[parts[hashed, 0]], unseen)
    return template


def reduce_table(table: k.TemplateTable, templates: np.ndarray) -> k.TemplateTable:
    """Reduce `table` to the given templates (ids, ascending) and their positions and slots. A template keeps
    its offset in the direct map or its hash seed, so its atoms are found as with the full table."""
    n_unary, sequence = len(table.unary), sequence_template(table)
    wanted = np.zeros(sequence + 1, dtype=bool)
    wanted[templates] = True
    unary, tuples, grouped = np.split(wanted[:sequence], [n_unary, n_unary + len(table.tuples)])
    new_tuples = table.tuples[tuples]
    members = new_tuples[:, :3]
    slot_used, is_used_position = np.zeros(len(table.slots), dtype=bool), np.zeros(len(table.positions), dtype=bool)
    slot_used[table.unary[unary]] = True
    slot_used[members[members >= 0]] = True
    slots = table.slots[slot_used]
    is_used_position[slots[:, 0]] = True
    is_child = table.positions[:, 0] == k.CHILD
    for index in np.flatnonzero(is_child)[::-1]:  # children are after their parents
        is_used_position[table.positions[index, 2]] |= is_used_position[index]
    new_position = np.cumsum(is_used_position) - 1
    new_slot = np.append(np.cumsum(slot_used) - 1, -1)  # the last entry is for an unused member, -1
    positions = table.positions[is_used_position]
    is_child = is_child[is_used_position]
    positions[is_child, 2] = new_position[positions[is_child, 2]]
    slots[:, 0] = new_position[slots[:, 0]]
    new_tuples[:, :3] = new_slot[members]
    bounds = np.zeros_like(table.bounds)
    for column, is_used in ((0, is_used_position), (2, slot_used), (4, unary), (6, wanted[n_unary:])):
        before = np.concatenate([[0], np.cumsum(is_used)])
        bounds[:, column : column + 2] = before[table.bounds[:, column : column + 2]]
    new_unary = new_slot[table.unary[unary]].astype(INDEX), table.unary_base[unary]
    new_grouped = table.grouped[grouped], table.grouped_base[grouped]
    last = table.sequence if wanted[sequence] else np.array([-1], dtype=INDEX)
    ordered = table.ordered, table.ordered_base  # the paper's tables have none
    return k.TemplateTable(positions, slots, *new_unary, *ordered, new_tuples, table.groups, *new_grouped, last, bounds)


def make_stages(table: k.TemplateTable, templates: np.ndarray) -> Stages:
    """Make a separate stage of each of the given templates, in their order."""
    singles = [reduce_table(table, np.array([template])) for template in templates]
    sizes = np.zeros(4, dtype=INDEX)  # positions, slots, unary templates and tuples so far
    bounds = np.zeros((len(singles), 2, 8), dtype=INDEX)
    flags = np.zeros((len(singles), 3), dtype=INDEX)
    for s, one in enumerate(singles):
        one.positions[one.positions[:, 0] == k.CHILD, 2] += sizes[0]
        one.slots[:, 0] += sizes[0]
        one.tuples[:, :3] += np.where(one.tuples[:, :3] >= 0, sizes[1], 0).astype(INDEX)
        one.unary[:] += sizes[1]
        bounds[s] = one.bounds + np.repeat(sizes, 2)
        sizes += np.array([len(one.positions), len(one.slots), len(one.unary), len(one.tuples)], dtype=INDEX)
        shared = np.diff(one.bounds[k.SHARED].reshape(4, 2), axis=1)[:, 0]
        groups = one.groups[one.grouped[:, 1]]
        flags[s, 0] = shared[2] + shared[3] > 0
        flags[s, 1] = shared[1] > 0 and not flags[s, 0]
        flags[s, 2] = one.positions[:, 3].any() or np.isin(groups[:, 0], _HEAD_GROUPS).any() or groups[:, 2].any()
    empty = reduce_table(table, np.zeros(0, dtype=np.int64))
    packed = {name: np.concatenate([getattr(one, name) for one in (empty, *singles)]) for name in _PACKED}
    grouped_at = np.cumsum([0, *(len(one.grouped) for one in singles)], dtype=INDEX)
    sequence = np.array([one.sequence for one in singles], dtype=INDEX).reshape(len(singles), 1)
    return Stages(empty._replace(**packed), bounds, grouped_at, sequence, flags)
