"""Training examples: gold derivations replayed through the parser's kernels into stores of atom rows.

An atom is an atomic feature. A window is a run of adjacent frontier items considered as the children of one inference.
One replay fills three stores: `window` (every window of every state, for all labels but TOP), `shift` (the shift
candidates) and `top` (the windows that TOP may cover). Rows are written to files that trainers map into memory, so any
number of processes share them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.features.marginals import with_marginals
from spacy_dtparse.dtparse.features.templates import Templates, compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.atoms import AtomMap, insert_keys
from spacy_dtparse.dtparse.kernels.marginals import count_tokens
from spacy_dtparse.dtparse.kernels.replay import SHIFT_ROW, ExampleExtractor, example_rows, replay, state_buffers
from spacy_dtparse.dtparse.kernels.state import Grammar
from spacy_dtparse.dtparse.model.model import compose, make_feature_scratch
from spacy_dtparse.dtypes import INDEX, OFFSET, WEIGHT
from spacy_dtparse.stored_names import to_stored
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.kernels import HeadTable

from . import oracle
from .boosting.columns import count_atoms, gather_rows
from .boosting.labels import GOLD, LABEL_TYPES, LabelData
from .boosting.store import array_files

STORES = ("window", "shift", "top")


@dataclass(frozen=True)
class Derivation:
    """One training sentence: its token matrix (see `dtparse.kernels.marginals`), actions int32 (a, 3).

    `ready`: `oracle.ready_steps`, to make every correct inference of a state positive; empty: only the next action is.
    `weight`: total weight of the positives of a state; `negatives`: total weight of its negatives, as a multiple of it.
    `uniform`: every example has the weight `weight`, every negative `negatives` times that, however many examples its
    state has.
    """

    tokens: np.ndarray
    actions: np.ndarray
    weight: float = 1.0
    negatives: float = 1.0
    uniform: bool = False
    ready: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=INDEX))


def gold_derivation(
    tree: Tree, lexicon: Lexicon, strategy: str, seed: int, marginals: SpanMarginals | None = None, **weights: Any
) -> Derivation:
    """The gold derivation of a tree, with span marginals if given; `weights`: weight, negatives and uniform of
    `Derivation`."""
    actions = oracle.derivation(tree, lexicon.labels, strategy, seed)
    ready = oracle.ready_steps(actions, len(tree.words), strategy)
    tokens = lexicon.encode(tree.words, tree.tags)
    if marginals is not None:
        tokens = with_marginals(tokens, marginals)
    return Derivation(tokens, actions, ready=ready, **weights)


@dataclass(frozen=True)
class ExampleFilter:
    """Excludes easy examples: wrong windows whose window-filter weights (int16) sum to less than `min_sum`. Without
    weights it excludes none."""

    weights: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int16))
    min_sum: int = 0


@dataclass
class Replayer:
    """Runs derivations through `dtparse.kernels.replay`, with buffers that grow as needed."""

    grammar: Grammar
    heads: HeadTable
    table: k.TemplateTable
    atoms: AtomMap
    n_stamps: int
    parts: np.ndarray = field(default_factory=lambda: np.zeros((0, k.PARTS_WIDTH), dtype=INDEX))
    example_filter: ExampleFilter = field(default_factory=ExampleFilter)

    def __post_init__(self) -> None:
        self.scratch = make_feature_scratch(self.table, self.n_stamps)
        self._allocate(4096, 1 << 19)

    def _allocate(self, rows: int, atoms: int) -> None:
        self.capacity = rows, atoms
        self.rows = example_rows(rows, atoms)

    def run(self, derivation: Derivation) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (indptr, atoms, gold, state, flags) of one derivation: views into buffers that the next call
        reuses."""
        tokens, actions, ready = derivation.tokens, derivation.actions, derivation.ready
        weights, min_sum = self.example_filter.weights, self.example_filter.min_sum
        extractor = ExampleExtractor(self.grammar, self.heads, self.table, self.atoms, weights, min_sum)
        n = count_tokens(tokens)
        buffers = state_buffers(self.grammar, n, n + len(actions))
        buffers.tags[:] = tokens[:n, k.TAG]
        if self.scratch.mark[0] > 2**31 - 2**24:
            self.scratch.mark[0] = 0
            self.scratch.stamp[:] = 0
        rows = -1
        while rows < 0:
            rows, _ = replay(extractor, tokens, actions, ready, buffers, self.scratch, self.rows, self.parts)
            if rows < 0:
                self._allocate(2 * self.capacity[0], 2 * self.capacity[1])
        indptr, atoms, gold, state, flags = self.rows
        return indptr[: rows + 1], atoms[: indptr[rows]], gold[:rows], state[:rows], flags[:rows]

    def n_atoms_of(self, rows: np.ndarray) -> int:
        """Number of atoms in some rows of the last `run`."""
        indptr = self.rows.indptr
        return int((indptr[rows + 1] - indptr[rows]).sum())

    def atoms_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(indptr, atoms) of some rows of the last `run`; new arrays."""
        indptr, atoms = self.rows.indptr, self.rows.atoms
        out_indptr = np.empty(len(rows) + 1, dtype=OFFSET)
        out_atoms = np.empty(self.n_atoms_of(rows), dtype=INDEX)
        gather_rows(indptr, atoms, rows, out_indptr, out_atoms)
        return out_indptr, out_atoms


def collect_atoms(
    grammar: Grammar,
    heads: HeadTable,
    templates: Templates,
    lexicon: Lexicon,
    derivations: Iterable[Derivation],
    min_count: int = 10,
    capacity_bits: int = 24,
    example_filter: ExampleFilter | None = None,
) -> tuple[AtomMap, np.ndarray]:
    """Assign ids to the atoms of at least `min_count` examples (that pass the filter), most frequent first.

    Returns the AtomMap and their counts, int64 (n_atoms,). When the table of hashed keys fills up, keys seen once so
    far are dropped (lossy counting).
    """
    table, n_direct = compile_templates(templates, lexicon.sizes)
    capacity = 1 << capacity_bits
    keys, values = np.zeros(capacity, dtype=np.uint64), np.full(capacity, -1, dtype=INDEX)
    atoms = AtomMap(np.arange(n_direct, dtype=INDEX), keys, values, np.array([n_direct, 0, 1], dtype=OFFSET))
    counts = np.zeros(n_direct + capacity, dtype=OFFSET)
    replayer = Replayer(
        grammar, heads, table, atoms, n_direct + capacity, example_filter=example_filter or ExampleFilter()
    )
    for derivation in derivations:
        count_atoms(replayer.run(derivation)[1], counts)
        if atoms.state[1] > capacity * 0.6:
            _drop_rare_keys(atoms, counts, n_direct)
    used = np.flatnonzero(counts >= min_count)
    order = used[np.argsort(-counts[used], kind="stable")]
    ids = np.full(len(counts), -1, dtype=INDEX)
    ids[order] = np.arange(len(order), dtype=INDEX)
    return compose(atoms, ids), counts[order]


def _drop_rare_keys(atoms: AtomMap, counts: np.ndarray, n_direct: int) -> None:
    """Drop hashed keys seen at most once (at most 2, 4, … times while that drops less than half), and assign new ids to
    the others, in place."""
    occupied = np.flatnonzero(atoms.keys)
    values = atoms.values[occupied]
    min_count = 1
    while (retained := counts[values] > min_count).mean() >= 0.5:
        min_count *= 2
    keys, old = atoms.keys[occupied[retained]], values[retained]
    new = np.arange(n_direct, n_direct + len(keys))
    counts[n_direct:], counts[new] = 0, counts[old]
    atoms.keys[:] = 0
    atoms.values[:] = -1
    insert_keys(keys, new.astype(INDEX), atoms.keys, atoms.values)
    atoms.state[0], atoms.state[1] = n_direct + len(keys), len(keys)


def labelled_rows(
    replayer: Replayer, derivation: Derivation, n_labels: int
) -> Iterator[tuple[str, np.ndarray, LabelData]]:
    """Yield (store, row indices, their label data) of one replayed derivation; valid until the next `run`. A state's
    positives share half of its weight, its negatives over all labels the other half, unless weights are uniform."""
    _, _, gold, state, flags = replayer.run(derivation)
    if len(gold) == 0:
        return
    is_shift = (gold == n_labels) | (gold == SHIFT_ROW)
    # candidates per row: every label but TOP over a window, TOP where it may stand, one for a shift
    candidates = np.where(is_shift, 1, n_labels - 1 + flags)
    n_correct = np.bincount(state, weights=(gold >= 0))
    positives, negatives = np.maximum(n_correct, 1), np.maximum(np.bincount(state, weights=candidates) - n_correct, 1)
    if derivation.uniform:
        positives, negatives = np.ones_like(positives), np.ones_like(negatives)
    b_pos = (derivation.weight / positives)[state].astype(WEIGHT)
    b_neg = (derivation.weight * derivation.negatives / negatives)[state].astype(WEIGHT)
    for store, mask in (("window", ~is_shift), ("shift", is_shift), ("top", flags == 1)):
        chosen = np.flatnonzero(mask)
        if len(chosen):
            label = np.where(gold == n_labels, n_labels, -1).astype(GOLD) if store == "shift" else gold
            yield store, chosen, LabelData(label[chosen], b_pos[chosen], b_neg[chosen])


def example_types(*columns: tuple[str, Any]) -> dict[str, Any]:
    """Types of the files of all stores, by <store>/<name>: label data, and `columns`."""
    return {f"{store}/{name}": dtype for store in STORES for name, dtype in (*columns, *LABEL_TYPES.items())}


def write_stores(
    folder: Path,
    grammar: Grammar,
    heads: HeadTable,
    templates: Templates,
    lexicon: Lexicon,
    atoms: AtomMap,
    derivations: Iterable[Derivation],
    example_filter: ExampleFilter | None = None,
) -> dict[str, dict[str, Any]]:
    """Replay all derivations and write `folder`/<store>/{indptr,atoms,gold,b_pos,b_neg}.npy of the examples that pass
    the filter; returns counts per store.

    Array types: indptr int64 (rows + 1,), atoms int32 (postings,), gold int16 (rows,), b_pos and b_neg float32 (rows,).
    """
    table, _ = compile_templates(templates, lexicon.sizes)
    replayer = Replayer(
        grammar, heads, table, atoms, int(atoms.state[0]), example_filter=example_filter or ExampleFilter()
    )
    with array_files(folder, example_types(("indptr", OFFSET), ("atoms", INDEX))) as files:
        for store in STORES:
            files[f"{store}/indptr"].append([0])
        for derivation in derivations:
            for store, rows, data in labelled_rows(replayer, derivation, len(lexicon.labels)):
                indptr, flat = replayer.atoms_of(rows)
                files[f"{store}/indptr"].append(files[f"{store}/atoms"].count + indptr[1:])
                files[f"{store}/atoms"].append(flat)
                for name, array in to_stored(data).items():
                    files[f"{store}/{name}"].append(array)
    return {
        store: {"rows": files[f"{store}/gold"].count, "postings": files[f"{store}/atoms"].count} for store in STORES
    }
