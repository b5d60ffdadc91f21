"""Kernels of the indirect store: many derivations replayed per call, atoms extracted only where they are
wanted.

States, windows and atoms are those of `spacy_dtparse.kernels`; nothing here makes a feature. The rows of a
store are numbered as `kernels.replay` writes them: derivation by derivation, state by state, window by
window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spacy_dtparse.kernels.features import (
    OWN,
    SHARED,
    TAG,
    FeatureScratch,
    Nodes,
    TemplateTable,
    extract,
    record_parts,
    window_head,
)
from spacy_dtparse.kernels.jit import kernel
from spacy_dtparse.kernels.state import SHIFT_REDUCE, infer, label_allowed, list_windows, start_sentence

WINDOW, SHIFT, TOP = 0, 1, 2
"""Which rows a store holds: all windows, the shift candidates, the windows that TOP may cover."""

LAST_MARK = 2**31 - 2**24


class Derivations(NamedTuple):
    """D derivations one after the other. `tokens` int32 (all tokens, TOKEN_COLUMNS), `actions` int32 (all
    actions, 3); derivation d has [token_starts[d], token_starts[d + 1]) and the like; starts are int64 (D +
    1,)."""

    tokens: np.ndarray
    token_starts: np.ndarray
    actions: np.ndarray
    action_starts: np.ndarray


class StateBuffers(NamedTuple):
    """Room for the states of the longest derivation; all int32. `tags`: tag symbol of each token."""

    nodes: Nodes
    frontier: np.ndarray
    tags: np.ndarray
    windows_i: np.ndarray
    windows_j: np.ndarray


@kernel
def _begin(grammar, derivations, d, buffers, scratch):
    """Make the first state of derivation d; returns (tokens, actions, low, cursor, size)."""
    tokens = derivations.tokens[derivations.token_starts[d] : derivations.token_starts[d + 1]]
    actions = derivations.actions[derivations.action_starts[d] : derivations.action_starts[d + 1]]
    n = np.int64(tokens.shape[0])
    for t in range(n):
        buffers.tags[t] = tokens[t, TAG]
    start_sentence(tokens, n, buffers.tags, buffers.nodes, buffers.frontier)
    if scratch.mark[0] > LAST_MARK:
        scratch.mark[0] = 0
        scratch.stamp[:] = 0
    cursor = n if grammar.options[0] == SHIFT_REDUCE else np.int64(0)
    return tokens, actions, np.int64(0), cursor, n


@kernel
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
        windows_i[0] = cursor - 1
        windows_j[0] = cursor
        return np.int64(1)
    top = np.int64(grammar.options[4])
    kept = np.int64(0)
    for w in range(count):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        if label_allowed(grammar, nodes, frontier, low, size, i, j, top):
            windows_i[kept] = i
            windows_j[kept] = j
            kept += 1
    return kept


@kernel
def _shared_atoms(table, atoms, buffers, low, size, tokens, i, j, scratch):
    """Atoms of the SHARED part for windows that start at i, into scratch.atoms; returns how many."""
    scratch.mark[0] += 1
    return np.int64(
        extract(
            table, atoms, SHARED, buffers.nodes, buffers.frontier, low, size, tokens, tokens.shape[0],
            i, j, i, scratch, np.int64(0),
        )
    )  # fmt: skip


@kernel
def _own_atoms(heads, table, atoms, needs_head, buffers, low, size, tokens, i, j, scratch, shared):
    """Atoms of the OWN part, appended after `shared` ones in scratch.atoms; returns how many there are
    then."""
    scratch.mark[0] += 1
    h = i
    if needs_head:
        h = np.int64(window_head(heads, buffers.nodes, buffers.frontier, i, j, scratch.children))
    return np.int64(
        extract(
            table, atoms, OWN, buffers.nodes, buffers.frontier, low, size, tokens, tokens.shape[0], i, j, h,
            scratch, shared,
        )
    )  # fmt: skip


@kernel
def extract_rows(
    store, grammar, heads, table, atoms, derivations, row_starts, buffers, scratch, ids, done, out_indptr,
    out_atoms,
):  # fmt: skip
    """Write the atoms of rows `ids` (ascending), beginning with ids[done], to `out_indptr` and `out_atoms`.

    `row_starts` int64 (D + 1,): first row of each derivation. Only derivations with a wanted row are
    replayed, and only wanted windows are extracted. Returns how many ids are written; fewer than len(ids)
    when `out_atoms` is full.
    """
    n_ids = ids.shape[0]
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
                    shared = _shared_atoms(table, atoms, buffers, low, size, tokens, i, j, scratch)
                found = _own_atoms(
                    heads, table, atoms, True, buffers, low, size, tokens, i, j, scratch, shared
                )
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
            low, cursor, size = infer(
                grammar, heads, buffers.nodes, buffers.frontier, low, cursor, size,
                np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2]),
                scratch.children,
            )  # fmt: skip
    return done


@kernel
def count_postings(store, grammar, heads, table, atoms, derivations, first, last, buffers, scratch, parts):
    """Number of atoms in all rows of derivations [first, last); `parts`: see `record_parts`, of length 0 to
    do without."""
    total = np.int64(0)
    for d in range(first, last):
        tokens, actions, low, cursor, size = _begin(grammar, derivations, d, buffers, scratch)
        for step in range(actions.shape[0]):
            count = _list_rows(store, grammar, tokens, low, cursor, size, buffers)
            start, shared = np.int64(-1), np.int64(0)
            for w in range(count):
                i, j = np.int64(buffers.windows_i[w]), np.int64(buffers.windows_j[w])
                if i != start:
                    start = i
                    shared = _shared_atoms(table, atoms, buffers, low, size, tokens, i, j, scratch)
                total += _own_atoms(
                    heads, table, atoms, True, buffers, low, size, tokens, i, j, scratch, shared
                )
                if parts.shape[0] > 0:
                    record_parts(table, atoms, buffers.nodes, buffers.frontier, i, j, scratch, parts)
            low, cursor, size = infer(
                grammar, heads, buffers.nodes, buffers.frontier, low, cursor, size,
                np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2]),
                scratch.children,
            )  # fmt: skip
    return total


class Stage(NamedTuple):
    """Templates that are extracted together: a reduced `table`, its `scratch`, `needs_head` int32 (1,): 1
    if some of them looks at the head."""

    table: TemplateTable
    scratch: FeatureScratch
    needs_head: np.ndarray


@kernel
def percolate_rows(
    store, grammar, heads, first, second, atoms, derivations, row_starts, buffers, seen, mark,
    atom, late, yes, no, out,
):  # fmt: skip
    """Write the leaf that every row reaches in one tree to `out` uint16 (rows,); returns the last mark used.

    `first`, `second` (Stage): the templates of the tree; those of `second` are extracted only for a row
    that comes to a node with `late` uint8 (N,) = 1. `atoms`: AtomMap that numbers the tree's atoms from 0
    and knows no others. `atom`, `yes`, `no` int32 (N,): the tree in these numbers. `seen` int64 (atoms,):
    marks, all at most `mark` on entry.
    """
    first_head, second_head = first.needs_head[0] == 1, second.needs_head[0] == 1
    for d in range(row_starts.shape[0] - 1):
        row = row_starts[d]
        end = row_starts[d + 1]
        if row == end:
            continue
        tokens, actions, low, cursor, size = _begin(grammar, derivations, d, buffers, first.scratch)
        if second.scratch.mark[0] > LAST_MARK:
            second.scratch.mark[0] = 0
            second.scratch.stamp[:] = 0
        for step in range(actions.shape[0]):
            count = _list_rows(store, grammar, tokens, low, cursor, size, buffers)
            start, common, late_start, shared = np.int64(-1), np.int64(-1), np.int64(-1), np.int64(0)
            for w in range(count):
                i, j = np.int64(buffers.windows_i[w]), np.int64(buffers.windows_j[w])
                if i != start:
                    start = i
                    mark += 1
                    common = mark  # the mark of atoms that all windows with this start share
                    shared = _shared_atoms(
                        first.table, atoms, buffers, low, size, tokens, i, j, first.scratch
                    )
                    for a in range(shared):
                        seen[first.scratch.atoms[a]] = common
                mark += 1
                found = _own_atoms(
                    heads, first.table, atoms, first_head, buffers, low, size, tokens, i, j, first.scratch,
                    np.int64(0),
                )  # fmt: skip
                for a in range(found):
                    seen[first.scratch.atoms[a]] = mark
                node = 0
                extracted = False
                while atom[node] >= 0:
                    if late[node] == 1 and not extracted:
                        extracted = True
                        if late_start != start:
                            late_start = start
                            shared = _shared_atoms(
                                second.table, atoms, buffers, low, size, tokens, i, j, second.scratch
                            )
                            for a in range(shared):
                                seen[second.scratch.atoms[a]] = common
                        found = _own_atoms(
                            heads, second.table, atoms, second_head, buffers, low, size, tokens, i, j,
                            second.scratch, np.int64(0),
                        )  # fmt: skip
                        for a in range(found):
                            seen[second.scratch.atoms[a]] = mark
                    held = seen[atom[node]]
                    node = yes[node] if held == mark or held == common else no[node]
                out[row] = node
                row += 1
            if row == end:
                break
            low, cursor, size = infer(
                grammar, heads, buffers.nodes, buffers.frontier, low, cursor, size,
                np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2]),
                first.scratch.children,
            )  # fmt: skip
    return mark
