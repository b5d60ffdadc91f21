"""Replay: run a given action sequence through the parser's states and feature kernel and write all examples.

The trainer learns from these examples; explanations of a parse use the same code.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...jit.decorator import inner_kernel, kernel
from ...trees.kernels import HeadTable
from .atoms import AtomMap
from .features import SHARED, UNSHARED, Nodes, ParseState, TemplateTable, Windows, extract, record_parts, window_head
from .marginals import has_marginals, span_row
from .state import SHIFT_REDUCE, Grammar, infer, is_label_legal, list_windows, make_nodes, make_windows, start_sentence
from .window_filter import N_KEYS, N_VALUES, window_sum

SHIFT_ROW = -2
"""Value in `gold` of the shift candidate if a shift is not the correct action; see `ExampleRows`."""


class ExampleExtractor(NamedTuple):
    """All that decides which examples a derivation has, and their atoms.

    `filter_weights` int16: weights of a window filter; incorrect windows whose weights sum to less than `min_sum` get
    no row, nor does the shift of a state without other candidates. If of length 1 or less: all get rows.
    """

    grammar: Grammar
    heads: HeadTable
    table: TemplateTable
    atoms: AtomMap
    filter_weights: np.ndarray
    min_sum: int


class StateBuffers(NamedTuple):
    """Arrays for the states of a derivation. `tags` int32: tag symbol of each token. `window_keys` int64: see
    `dtparse.kernels.window_filter.window_keys`."""

    nodes: Nodes
    frontier: np.ndarray
    tags: np.ndarray
    windows: Windows
    window_keys: np.ndarray


class ExampleRows(NamedTuple):
    """The examples of a derivation, one row each: `indptr` int64 (rows + 1,) into `atoms` int32; `gold` int16: the
    correct label of this window in this state, -1 if there is none; for the shift candidate: number of labels if
    correct, else SHIFT_ROW. `state` int32: index of the state in the sentence. `flags` int8: 1 if TOP is allowed over
    the window."""

    indptr: np.ndarray
    atoms: np.ndarray
    gold: np.ndarray
    state: np.ndarray
    flags: np.ndarray


@inner_kernel
def right_label(nodes, frontier, actions, ready, step, i, j):
    """Label of the later action over the window [i, j) that could already be taken in step `step`; -1 if there is
    none. `ready`: see `replay`."""
    start, end = nodes.item[frontier[i]]["start"], nodes.item[frontier[j - 1]]["end"]
    for k in range(step + 1, len(ready)):
        if ready[k, 0] <= step and ready[k, 1] == start and ready[k, 2] == end:
            return np.int64(actions[k, 2])
    return np.int64(-1)


@inner_kernel
def _hard_windows(extractor, state, actions, ready, step, windows, n_windows, keys):
    """Keep the windows that are correct, that TOP may cover, that have marginals, or that pass the window filter;
    return their number."""
    grammar, filter_weights = extractor.grammar, extractor.filter_weights
    nodes, frontier = state.nodes, state.frontier
    mask = np.uint64(len(filter_weights) - 1)  # the length is a power of two
    n_labels, top = np.int64(grammar.options[3]), np.int64(grammar.options[4])
    n_kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        keep = actions[step, 0] == i and actions[step, 1] == j and actions[step, 2] < n_labels
        if not keep and len(ready) > 0:
            keep = right_label(nodes, frontier, actions, ready, step, i, j) >= 0
        if not keep:
            keep = is_label_legal(grammar, state, i, j, top)
        if not keep and has_marginals(state.tokens):
            first, last = nodes.item[frontier[i]]["start"], nodes.item[frontier[j - 1]]["end"]
            keep = span_row(state.tokens, np.int64(first), np.int64(last)) >= 0
        if not keep and len(filter_weights) > 1:
            keep = window_sum(filter_weights, mask, state, i, j, keys) >= extractor.min_sum
        if keep:
            windows.i[n_kept], windows.j[n_kept] = i, j  # n_kept <= w: all that is still to be read stays
            n_kept += 1
    return n_kept


@inner_kernel
def _shared_atoms(table, atoms, state, i, j, scratch):
    """Extract the atoms shared by all windows that start at i; return their number."""
    scratch.mark[0] += 1
    return extract(table, atoms, np.int64(SHARED), state, i, j, i, scratch, np.int64(0))


@inner_kernel
def _append_atoms(count, scratch, rows, n_rows):
    """Append the `count` atoms in `scratch` as those of the next row; return whether they fit."""
    at = rows.indptr[n_rows]
    if at + count > len(rows.atoms):
        return False
    for a in range(count):
        rows.atoms[at + a] = scratch.atoms[a]
    rows.indptr[n_rows + 1] = at + count
    return True


@kernel
def replay(extractor, tokens, actions, ready, buffers, scratch, rows, parts):
    """Write the examples of every state of a derivation.

    `actions` int32 (A, 3): window start i and end j (frontier positions in the state they apply to) and label (number
    of labels = shift); an action whose window is not legal (arity) is applied but gives no positive example. `ready`
    int32 (A, 3): the first step in which each action could be taken, and the tokens [a, b) of its window; an action is
    correct in every state from there to its own step. If empty: in its own step only. `buffers`, `scratch`: for the
    sentence, which has as many tokens as `buffers.tags`. `rows`: filled. `parts`: see `record_parts`; empty if no names
    are needed. Return (rows, states), or (-1, 0) if the arrays of `rows` are too short. States with a single candidate
    get no rows.
    """
    grammar, table, atoms = extractor.grammar, extractor.table, extractor.atoms
    nodes, frontier, windows = buffers.nodes, buffers.frontier, buffers.windows
    n_tokens = np.int64(len(buffers.tags))
    low, size = np.int64(0), n_tokens
    shift_reduce = grammar.options[0] == SHIFT_REDUCE
    cursor = n_tokens if shift_reduce else np.int64(0)
    n_labels, top = np.int64(grammar.options[3]), np.int64(grammar.options[4])
    is_filtered = len(extractor.filter_weights) > 1 or has_marginals(tokens)
    start_sentence(tokens, n_tokens, buffers.tags, nodes, frontier)
    n_rows = 0
    rows.indptr[0] = 0
    for step in range(len(actions)):
        gold_i, gold_j, gold = np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2])
        state = ParseState(tokens, n_tokens, nodes, frontier, low, cursor, size)
        n_windows = list_windows(grammar, state, windows)
        if is_filtered and n_windows > 0:
            n_windows = _hard_windows(extractor, state, actions, ready, step, windows, n_windows, buffers.window_keys)
        # The shift is one more candidate, after the windows; the arrays have an entry for it.
        n_candidates = np.int64(n_windows)
        if n_windows > 0 and shift_reduce and cursor > low:
            windows.i[n_windows], windows.j[n_windows] = cursor - 1, cursor
            n_candidates += 1
        if n_rows + n_candidates > len(rows.gold):
            return -1, 0
        start, shared = -1, np.int64(0)
        for w in range(n_candidates):
            i, j, is_shift = np.int64(windows.i[w]), np.int64(windows.j[w]), w == n_windows
            if i != start:
                start = i
                shared = _shared_atoms(table, atoms, state, i, j, scratch)
            h = i
            if not is_shift:
                scratch.mark[0] += 1  # an atom of the other part is never a shared one: templates do not share atoms
                h = np.int64(window_head(extractor.heads, nodes, frontier, i, j, scratch.children))
            count = extract(table, atoms, np.int64(UNSHARED), state, i, j, h, scratch, shared)
            if len(parts) > 0:
                record_parts(table, atoms, state, i, j, scratch, parts)
            if not _append_atoms(count, scratch, rows, n_rows):
                return -1, 0
            if is_shift:
                right = n_labels if gold == n_labels else SHIFT_ROW
            else:
                right = gold if gold_i == i and gold_j == j and gold < n_labels else -1
                if right < 0 and len(ready) > 0:
                    right = right_label(nodes, frontier, actions, ready, step, i, j)
            rows.gold[n_rows] = right
            rows.state[n_rows] = step
            rows.flags[n_rows] = 1 if not is_shift and is_label_legal(grammar, state, i, j, top) else 0
            n_rows += 1
        low, cursor, size = infer(grammar, extractor.heads, state, gold_i, gold_j, gold, scratch.children)
    return n_rows, len(actions)


def state_buffers(grammar: Grammar, n_tokens: int, n_nodes: int) -> StateBuffers:
    """Allocate arrays for derivations of at most `n_tokens` tokens, and `n_nodes` tokens and actions."""
    windows = make_windows((n_tokens + 1) * int(grammar.options[1]) + 1)
    frontier, tags = np.zeros(n_tokens + 1, dtype=INDEX), np.zeros(n_tokens, dtype=INDEX)
    keys = np.zeros(N_KEYS + N_VALUES, dtype=OFFSET)
    return StateBuffers(make_nodes(n_nodes + 1, 2 * n_nodes + 16), frontier, tags, windows, keys)


def example_rows(rows: int, atoms: int) -> ExampleRows:
    """Allocate arrays for so many rows with so many atoms in all."""
    indptr, row_atoms = np.zeros(rows + 1, dtype=OFFSET), np.zeros(atoms, dtype=INDEX)
    gold, state, flags = (np.zeros(rows, dtype) for dtype in (np.int16, INDEX, np.int8))
    return ExampleRows(indptr, row_atoms, gold, state, flags)
