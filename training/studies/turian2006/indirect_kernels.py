"""Kernels of the indirect store: replay many derivations per call, and extract atomic features (atoms) only for the
requested rows. States, windows and atoms are those of `spacy_dtparse.jit`; no features are defined here. A window
is a run of adjacent frontier items considered as the children of one inference. The rows of a store are in the order in
which `dtparse.kernels.replay` writes them: by derivation, state and window."""

from functools import partial
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtparse.kernels.features import (
    SHARED,
    TAG,
    UNSHARED,
    ParseState,
    TemplateTable,
    extract,
    window_head,
)
from spacy_dtparse.dtparse.kernels.replay import StateBuffers
from spacy_dtparse.dtparse.kernels.state import (
    SHIFT_REDUCE,
    Grammar,
    infer,
    is_label_legal,
    list_windows,
    start_sentence,
)
from spacy_dtparse.jit.decorator import kernel
from spacy_dtparse.trees.kernels import HeadTable

WINDOW, SHIFT, TOP = 0, 1, 2  # rows of a store: all windows, shift candidates, windows that TOP may cover
noalloc = partial(kernel, _nrt=False)
"""Decorator for kernels that allocate nothing: numba then omits reference counting of array arguments, atomic
operations on every call that take several times as long as extracting one template."""


class Derivations(NamedTuple):
    """D consecutive derivations. `tokens` int32 (all tokens, TOKEN_COLUMNS), `actions` int32 (all actions, 3);
    derivation d has the tokens [token_starts[d], token_starts[d + 1]), and likewise its actions; the starts are int64
    (D + 1,)."""

    tokens: np.ndarray
    token_starts: np.ndarray
    actions: np.ndarray
    action_starts: np.ndarray


class StoredRows(NamedTuple):
    """The rows of a store (`store`: WINDOW, SHIFT or TOP) of D derivations, and arrays for their states. `row_starts`
    int64 (D + 1,): first row of each derivation."""

    store: int
    grammar: Grammar
    heads: HeadTable
    derivations: Derivations
    row_starts: np.ndarray
    buffers: StateBuffers


@noalloc
def _start_derivation(stored, d, scratch):
    """The first state of derivation d, and its actions."""
    grammar, derivations, buffers = stored.grammar, stored.derivations, stored.buffers
    tokens = derivations.tokens[derivations.token_starts[d] : derivations.token_starts[d + 1]]
    actions = derivations.actions[derivations.action_starts[d] : derivations.action_starts[d + 1]]
    n = np.int64(tokens.shape[0])
    for t in range(n):
        buffers.tags[t] = tokens[t, TAG]
    start_sentence(tokens, n, buffers.tags, buffers.nodes, buffers.frontier)
    if scratch.mark[0] > 2**31 - 2**24:
        scratch.mark[0] = 0
        scratch.stamp[:] = 0
    cursor = n if grammar.options[0] == SHIFT_REDUCE else np.int64(0)
    return ParseState(tokens, n, buffers.nodes, buffers.frontier, np.int64(0), cursor, n), actions


@noalloc
def _next_state(stored, state, action, scratch):
    """The state after an action."""
    i, j, label = np.int64(action[0]), np.int64(action[1]), np.int64(action[2])
    low, cursor, size = infer(stored.grammar, stored.heads, state, i, j, label, scratch.children)
    return ParseState(state.tokens, state.n_tokens, state.nodes, state.frontier, low, cursor, size)


@noalloc
def _list_rows(store, grammar, state, windows):
    """Write the windows of a state's rows in `store`; returns their number."""
    count = np.int64(list_windows(grammar, state, windows))
    if store == WINDOW or count == 0:
        return count
    if store == SHIFT:
        if grammar.options[0] != SHIFT_REDUCE or state.cursor <= state.low:
            return np.int64(0)
        windows.i[0], windows.j[0] = state.cursor - 1, state.cursor
        return np.int64(1)
    top, kept = np.int64(grammar.options[4]), np.int64(0)
    for w in range(count):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        if is_label_legal(grammar, state, i, j, top):
            windows.i[kept], windows.j[kept] = i, j
            kept += 1
    return kept


@noalloc
def _atoms(part, table, atoms, state, i, j, h, scratch, count):
    """Append the atoms of a part of the table to the `count` atoms in scratch.atoms; returns the new number."""
    scratch.mark[0] += 1
    return np.int64(extract(table, atoms, part, state, i, j, h, scratch, count))


@noalloc
def extract_rows(stored, table, atoms, scratch, ids, done, out_indptr, out_atoms):
    """Write the atoms of rows `ids` (ascending), starting with ids[done], to `out_indptr` and `out_atoms`. Replays only
    derivations with a requested row, and extracts only requested windows. Returns the number of ids written; fewer than
    len(ids) if `out_atoms` is full."""
    n_ids, row_starts, windows = ids.shape[0], stored.row_starts, stored.buffers.windows
    for d in range(row_starts.shape[0] - 1):
        if done == n_ids:
            break
        if ids[done] >= row_starts[d + 1]:
            continue
        row, end = row_starts[d], row_starts[d + 1]
        state, actions = _start_derivation(stored, d, scratch)
        for step in range(actions.shape[0]):
            count = _list_rows(stored.store, stored.grammar, state, windows)
            start, shared = np.int64(-1), np.int64(0)
            while done < n_ids and ids[done] < row + count:
                w = ids[done] - row
                i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
                if i != start:
                    start = i
                    shared = _atoms(SHARED, table, atoms, state, i, j, i, scratch, np.int64(0))
                h = np.int64(window_head(stored.heads, state.nodes, state.frontier, i, j, scratch.children))
                found = _atoms(UNSHARED, table, atoms, state, i, j, h, scratch, shared)
                at = out_indptr[done]
                if at + found > out_atoms.shape[0]:
                    return done
                for a in range(found):
                    out_atoms[at + a] = scratch.atoms[a]
                done += 1
                out_indptr[done] = at + found
            row += count
            if done == n_ids or ids[done] >= end:
                break
            state = _next_state(stored, state, actions[step], scratch)
    return done


class Stages(NamedTuple):
    """K feature templates that are extracted one by one, from a `table` with separate positions for each. int32:
    `bounds` (K, 2, 8), `sequence` (K, 1): see TemplateTable; `grouped_at` (K + 1,): rows of `table.grouped`; `flags`
    (K, 3): 1 if the template is SHARED, if it is OWN but has SHARED positions, if it uses the head."""

    table: TemplateTable
    bounds: np.ndarray
    grouped_at: np.ndarray
    sequence: np.ndarray
    flags: np.ndarray


@noalloc
def _stage_table(stages, s):
    """The table of template s alone, as views."""
    t = stages.table
    low, high = stages.grouped_at[s], stages.grouped_at[s + 1]
    return TemplateTable(
        t.positions,
        t.slots,
        t.unary,
        t.unary_base,
        t.ordered,
        t.ordered_base,
        t.tuples,
        t.groups,
        t.grouped[low:high],
        t.grouped_base[low:high],
        stages.sequence[s],
        stages.bounds[s],
    )


class StagedTree(NamedTuple):
    """A decision tree of N nodes, all int32 (N,): its atoms' ids, -1 for a leaf; the template of each node's atom in
    `Stages`, -1 if no row can have it; the nodes below."""

    atom: np.ndarray
    stage: np.ndarray
    yes: np.ndarray
    no: np.ndarray


@noalloc
def percolate_rows(stored, stages, atoms, scratch, seen, ready, tree, out):
    """Write the leaf that every row reaches in one decision tree to `out` uint16 (rows,). For every row, descend from
    the root; a template is extracted when the path first reaches one of its atoms, and a SHARED one once for all
    windows with the same start. `atoms`: AtomMap that maps the tree's atoms to ids from 0 and has no others. `seen`
    int64 (atoms,), `ready` int64 (K,): 0 on entry."""
    atom, stage, yes, no = tree
    mark, row_starts, windows = np.int64(0), stored.row_starts, stored.buffers.windows
    for d in range(row_starts.shape[0] - 1):
        row, end = row_starts[d], row_starts[d + 1]
        if row == end:
            continue
        state, actions = _start_derivation(stored, d, scratch)
        for step in range(actions.shape[0]):
            count = _list_rows(stored.store, stored.grammar, state, windows)
            start, common = np.int64(-1), np.int64(-1)
            for w in range(count):
                i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
                if i != start:
                    start = i
                    mark += 1
                    common = mark  # the mark of atoms common to all windows with this start
                mark += 1
                h = np.int64(-1)
                node = 0
                while atom[node] >= 0:
                    s = stage[node]
                    if s >= 0 and ready[s] != mark and ready[s] != common:
                        table = _stage_table(stages, s)
                        found, stamp = np.int64(0), mark
                        if stages.flags[s, 0] == 1 or stages.flags[s, 1] == 1:
                            found = _atoms(SHARED, table, atoms, state, i, j, i, scratch, found)
                        if stages.flags[s, 0] == 1:
                            stamp = common
                        else:
                            if stages.flags[s, 2] == 1 and h < 0:
                                nodes, frontier = state.nodes, state.frontier
                                h = np.int64(window_head(stored.heads, nodes, frontier, i, j, scratch.children))
                            found = _atoms(UNSHARED, table, atoms, state, i, j, max(h, i), scratch, found)
                        for a in range(found):
                            seen[scratch.atoms[a]] = stamp
                        ready[s] = stamp
                    held = seen[atom[node]]
                    node = yes[node] if held == mark or held == common else no[node]
                out[row] = node
                row += 1
            if row == end:
                break
            state = _next_state(stored, state, actions[step], scratch)
