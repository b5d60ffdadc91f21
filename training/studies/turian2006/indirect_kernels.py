"""Kernels of the indirect store: many derivations replayed per call, atoms extracted only where they are wanted.
States, windows and atoms are those of `spacy_dtparse.kernels`; nothing here makes a feature. The rows of a store are
numbered as `kernels.trees.replay` writes them: derivation by derivation, state by state, window by window."""

from functools import partial
from typing import NamedTuple

import numpy as np

from spacy_dtparse.kernels.jit import kernel
from spacy_dtparse.kernels.trees.features import OWN, SHARED, TAG, TemplateTable, extract, window_head
from spacy_dtparse.kernels.trees.state import SHIFT_REDUCE, infer, label_allowed, list_windows, start_sentence

WINDOW, SHIFT, TOP = 0, 1, 2  # which rows a store holds: all windows, shift candidates, windows that TOP may cover
bare = partial(kernel, _nrt=False)
"""For kernels that allocate nothing: numba then leaves out the reference counts of array arguments, atomic
operations on every call that cost several times as much as extracting one template."""


class Derivations(NamedTuple):
    """D derivations one after the other. `tokens` int32 (all tokens, TOKEN_COLUMNS), `actions` int32 (all actions, 3);
    derivation d has [token_starts[d], token_starts[d + 1]) and the like; starts are int64 (D + 1,)."""

    tokens: np.ndarray
    token_starts: np.ndarray
    actions: np.ndarray
    action_starts: np.ndarray


@bare
def _begin(grammar, derivations, d, buffers, scratch):
    """Make the first state of derivation d; returns (tokens, actions, low, cursor, size)."""
    tokens = derivations.tokens[derivations.token_starts[d] : derivations.token_starts[d + 1]]
    actions = derivations.actions[derivations.action_starts[d] : derivations.action_starts[d + 1]]
    n = np.int64(tokens.shape[0])
    for t in range(n):
        buffers.tags[t] = tokens[t, TAG]
    start_sentence(tokens, n, buffers.tags, buffers.nodes, buffers.frontier)
    if scratch.mark[0] > 2**31 - 2**24:
        scratch.mark[0] = 0
        scratch.stamp[:] = 0
    return tokens, actions, np.int64(0), n if grammar.options[0] == SHIFT_REDUCE else np.int64(0), n


@bare
def _list_rows(store, grammar, tokens, low, cursor, size, buffers):
    """Write the windows of a state's rows in `store` to windows_i, windows_j; return how many."""
    windows_i, windows_j = buffers.windows_i, buffers.windows_j
    nodes, frontier = buffers.nodes, buffers.frontier
    count = np.int64(list_windows(grammar, nodes, tokens, frontier, cursor, size, windows_i, windows_j))
    if store == WINDOW or count == 0:
        return count
    if store == SHIFT:
        if grammar.options[0] != SHIFT_REDUCE or cursor <= low:
            return np.int64(0)
        windows_i[0], windows_j[0] = cursor - 1, cursor
        return np.int64(1)
    top, kept = np.int64(grammar.options[4]), np.int64(0)
    for w in range(count):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        if label_allowed(grammar, nodes, frontier, low, size, i, j, top):
            windows_i[kept], windows_j[kept] = i, j
            kept += 1
    return kept


@bare
def _atoms(part, table, atoms, buffers, low, size, tokens, i, j, h, scratch, count):
    """Append the atoms of a part of the table to `count` ones in scratch.atoms; returns how many there are."""
    nodes, frontier, n = buffers.nodes, buffers.frontier, tokens.shape[0]
    scratch.mark[0] += 1
    return np.int64(extract(table, atoms, part, nodes, frontier, low, size, tokens, n, i, j, h, scratch, count))


@bare
def extract_rows(
    store, grammar, heads, table, atoms, derivations, row_starts, buffers, scratch, ids, done, out_indptr, out_atoms
):
    """Write the atoms of rows `ids` (ascending), beginning with ids[done], to `out_indptr` and `out_atoms`.
    `row_starts` int64 (D + 1,): first row of each derivation. Only derivations with a wanted row are replayed, and only
    wanted windows are extracted. Returns how many ids are written; fewer than len(ids) when `out_atoms` is full."""
    n_ids, nodes, frontier = ids.shape[0], buffers.nodes, buffers.frontier
    for d in range(row_starts.shape[0] - 1):
        if done == n_ids:
            break
        if ids[done] >= row_starts[d + 1]:
            continue
        row, end = row_starts[d], row_starts[d + 1]
        tokens, actions, low, cursor, size = _begin(grammar, derivations, d, buffers, scratch)
        for step in range(actions.shape[0]):
            count = _list_rows(store, grammar, tokens, low, cursor, size, buffers)
            start, shared = np.int64(-1), np.int64(0)
            while done < n_ids and ids[done] < row + count:
                w = ids[done] - row
                i, j = np.int64(buffers.windows_i[w]), np.int64(buffers.windows_j[w])
                if i != start:
                    start = i
                    shared = _atoms(SHARED, table, atoms, buffers, low, size, tokens, i, j, i, scratch, np.int64(0))
                h = np.int64(window_head(heads, nodes, frontier, i, j, scratch.children))
                found = _atoms(OWN, table, atoms, buffers, low, size, tokens, i, j, h, scratch, shared)
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
            i, j, label = np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2])
            low, cursor, size = infer(grammar, heads, nodes, frontier, low, cursor, size, i, j, label, scratch.children)
    return done


class Stages(NamedTuple):
    """K templates that are extracted one by one, out of one `table` that holds each with its own places. `bounds` int32
    (K, 2, 8), `sequence` int32 (K, 1): see TemplateTable. `grouped_at` int32 (K + 1,): rows of `table.grouped`. `flags`
    int32 (K, 3): 1 if the template is SHARED, if it is OWN but has SHARED places, if it looks at the head."""

    table: TemplateTable
    bounds: np.ndarray
    grouped_at: np.ndarray
    sequence: np.ndarray
    flags: np.ndarray


@bare
def _stage_table(stages, s):
    """The table of the one template s: views only."""
    t = stages.table
    low, high = stages.grouped_at[s], stages.grouped_at[s + 1]
    return TemplateTable(
        t.places, t.slots, t.unary, t.unary_base, t.ordered, t.ordered_base, t.tuples, t.groups,
        t.grouped[low:high], t.grouped_base[low:high], stages.sequence[s], stages.bounds[s],
    )  # fmt: skip


@bare
def percolate_rows(
    store, grammar, heads, stages, atoms, derivations, row_starts, buffers, scratch, seen, ready,
    atom, stage, yes, no, out,
):  # fmt: skip
    """Write the leaf that every row reaches in one tree to `out` uint16 (rows,). Every row walks down from the root; a
    template is extracted when the walk first comes to one of its atoms, and a SHARED one once for all windows with the
    same start. `atoms`: AtomMap that numbers the tree's atoms from 0 and knows no others. `atom`, `stage`, `yes`, `no`
    int32 (N,): the tree in these numbers, and the template of each node's atom in `stages`, -1 if no row can hold it.
    `seen` int64 (atoms,), `ready` int64 (K,): 0 on entry."""
    mark, nodes, frontier = np.int64(0), buffers.nodes, buffers.frontier
    for d in range(row_starts.shape[0] - 1):
        row, end = row_starts[d], row_starts[d + 1]
        if row == end:
            continue
        tokens, actions, low, cursor, size = _begin(grammar, derivations, d, buffers, scratch)
        for step in range(actions.shape[0]):
            count = _list_rows(store, grammar, tokens, low, cursor, size, buffers)
            start, common = np.int64(-1), np.int64(-1)
            for w in range(count):
                i, j = np.int64(buffers.windows_i[w]), np.int64(buffers.windows_j[w])
                if i != start:
                    start = i
                    mark += 1
                    common = mark  # the mark of what all windows with this start share
                mark += 1
                h = np.int64(-1)
                node = 0
                while atom[node] >= 0:
                    s = stage[node]
                    if s >= 0 and ready[s] != mark and ready[s] != common:
                        table = _stage_table(stages, s)
                        found, stamp = np.int64(0), mark
                        if stages.flags[s, 0] == 1 or stages.flags[s, 1] == 1:
                            found = _atoms(SHARED, table, atoms, buffers, low, size, tokens, i, j, i, scratch, found)
                        if stages.flags[s, 0] == 1:
                            stamp = common
                        else:
                            if stages.flags[s, 2] == 1 and h < 0:
                                h = np.int64(window_head(heads, nodes, frontier, i, j, scratch.children))
                            h_or_i = max(h, i)
                            found = _atoms(OWN, table, atoms, buffers, low, size, tokens, i, j, h_or_i, scratch, found)
                        for a in range(found):
                            seen[scratch.atoms[a]] = stamp
                        ready[s] = stamp
                    held = seen[atom[node]]
                    node = yes[node] if held == mark or held == common else no[node]
                out[row] = node
                row += 1
            if row == end:
                break
            i, j, label = np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2])
            low, cursor, size = infer(grammar, heads, nodes, frontier, low, cursor, size, i, j, label, scratch.children)
