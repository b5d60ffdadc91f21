"""Replay: run a given action sequence through the parser's states and feature kernel and write all examples.

The trainer learns from these examples; explanations of a parse use the same code.
"""

import numpy as np

from ...jit.decorator import inner_kernel, kernel
from .features import SHARED, UNSHARED, extract, record_parts, window_head
from .marginals import has_marginals, span_row
from .state import SHIFT_REDUCE, infer, is_label_legal, list_windows, start_sentence
from .window_filter import window_sum

SHIFT_ROW = -2
"""Value in `out_gold` of the shift candidate if a shift is not the correct action; see `replay`."""


@inner_kernel
def right_label(nodes, frontier, actions, ready, step, i, j):
    """Label of the later action over the window [i, j) that could already be taken in step `step`; -1 if there is
    none."""
    start, end = nodes.item[frontier[i]]["start"], nodes.item[frontier[j - 1]]["end"]
    for k in range(step + 1, len(ready)):
        if ready[k, 0] <= step and ready[k, 1] == start and ready[k, 2] == end:
            return np.int64(actions[k, 2])
    return np.int64(-1)


@inner_kernel
def _hard_windows(
    grammar, filter_weights, min_sum, tokens, nodes, frontier, low, size, actions, ready, step,
    windows_i, windows_j, n_windows, keys,
):  # fmt: skip
    """Keep the windows that are correct, that TOP may cover, that have marginals, or that pass the window filter;
    return their number."""
    mask = np.uint64(len(filter_weights) - 1)
    n_labels, top = np.int64(grammar.options[3]), np.int64(grammar.options[4])
    n_kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        keep = actions[step, 0] == i and actions[step, 1] == j and actions[step, 2] < n_labels
        if not keep and len(ready) > 0:
            keep = right_label(nodes, frontier, actions, ready, step, i, j) >= 0
        if not keep:
            keep = is_label_legal(grammar, nodes, frontier, low, size, i, j, top)
        if not keep and has_marginals(tokens):
            first, last = nodes.item[frontier[i]]["start"], nodes.item[frontier[j - 1]]["end"]
            keep = span_row(tokens, np.int64(first), np.int64(last)) >= 0
        if not keep and len(filter_weights) > 1:
            keep = window_sum(filter_weights, mask, tokens, nodes, frontier, low, size, i, j, keys) >= min_sum
        if keep:
            windows_i[n_kept] = i
            windows_j[n_kept] = j
            n_kept += 1
    return n_kept


@inner_kernel
def _shared_atoms(table, atoms, nodes, frontier, low, size, tokens, n_tokens, i, j, scratch):
    """Extract the atoms shared by all windows that start at i; return their number."""
    scratch.mark[0] += 1
    return extract(
        table, atoms, np.int64(SHARED), nodes, frontier, low, size, tokens, n_tokens, i, j, i, scratch, np.int64(0)
    )


@inner_kernel
def _write_atoms(
    table, atoms, nodes, frontier, low, size, tokens, n_tokens, i, j, head, shared, scratch, parts, out_atoms, at,
    capacity,
):  # fmt: skip
    """Extract a candidate's other atoms and write them after the shared ones; return the end offset, -1 if it exceeds
    `capacity`."""
    count = extract(
        table, atoms, np.int64(UNSHARED), nodes, frontier, low, size, tokens, n_tokens, i, j, head, scratch, shared
    )
    if len(parts) > 0:
        record_parts(table, atoms, nodes, frontier, i, j, scratch, parts)
    if at + count > capacity:
        return -1
    for a in range(count):
        out_atoms[at + a] = scratch.atoms[a]
    return at + count


@kernel
def replay(
    grammar, heads, table, atoms, tokens, tag_symbols, n_tokens, actions, n_actions, ready, nodes, frontier,
    scratch, windows_i, windows_j, out_indptr, out_atoms, out_gold, out_state, out_flags, capacity, parts,
    filter_weights, min_sum, keys,
):  # fmt: skip
    """Write the examples of every state of a derivation.

    `actions` int32 (n_actions, 3): window start i and end j (frontier positions in the state they apply to) and label
    (number of labels = shift); an action whose window is not legal (arity) is applied but gives no positive example.
    `ready` int32 (n_actions, 3): the first step in which each action could be taken, and the tokens [a, b) of its
    window; an action is correct in every state from there to its own step. If empty: in its own step only.
    Rows: `out_indptr` int64 (rows + 1,) into `out_atoms` int32; `out_gold` int16: the correct label of this window in
    this state, -1 if there is none; for the shift candidate: number of labels if correct, else SHIFT_ROW. `out_state`
    int32: index of the state in the sentence. `out_flags` int8: 1 if TOP is allowed over the window. `parts`: see
    `record_parts`; empty if no names are needed. `capacity` int64 (2,): maximum number of rows and of atoms.
    `filter_weights` int16: weights of a window filter; incorrect windows whose weights sum to less than `min_sum` get
    no row, nor does the shift of a state without other candidates. If of length 1 or less: all get rows. `keys` int64:
    scratch. Return (rows, states), or (-1, 0) if the output arrays are too short. States with a single candidate get no
    rows.
    """
    low, size = np.int64(0), np.int64(n_tokens)
    shift_reduce = grammar.options[0] == SHIFT_REDUCE
    cursor = np.int64(n_tokens) if shift_reduce else np.int64(0)
    n_labels, top = np.int64(grammar.options[3]), np.int64(grammar.options[4])
    start_sentence(tokens, n_tokens, tag_symbols, nodes, frontier)
    rows = at = 0
    out_indptr[0] = 0
    for step in range(n_actions):
        gold_i, gold_j, gold = np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2])
        n_windows = list_windows(grammar, nodes, tokens, frontier, cursor, size, windows_i, windows_j)
        can_shift = shift_reduce and cursor > low
        if (len(filter_weights) > 1 or has_marginals(tokens)) and n_windows > 0:
            n_windows = _hard_windows(
                grammar, filter_weights, min_sum, tokens, nodes, frontier, low, size, actions, ready, step,
                windows_i, windows_j, n_windows, keys,
            )  # fmt: skip
        if n_windows > 0:
            if rows + n_windows + can_shift > capacity[0]:
                return -1, 0
            start, shared = -1, np.int64(0)
            for w in range(n_windows):
                i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
                if i != start:
                    start = i
                    shared = _shared_atoms(table, atoms, nodes, frontier, low, size, tokens, n_tokens, i, j, scratch)
                scratch.mark[0] += 1  # an atom of the other part is never a shared one: templates do not share atoms
                h = np.int64(window_head(heads, nodes, frontier, i, j, scratch.children))
                at = _write_atoms(
                    table, atoms, nodes, frontier, low, size, tokens, n_tokens, i, j, h, shared, scratch, parts,
                    out_atoms, at, capacity[1],
                )  # fmt: skip
                if at < 0:
                    return -1, 0
                right = gold if gold_i == i and gold_j == j and gold < n_labels else -1
                if right < 0 and len(ready) > 0:
                    right = right_label(nodes, frontier, actions, ready, step, i, j)
                out_gold[rows] = right
                out_state[rows] = step
                out_flags[rows] = 1 if is_label_legal(grammar, nodes, frontier, low, size, i, j, top) else 0
                rows += 1
                out_indptr[rows] = at
            if can_shift:
                i, j = cursor - 1, cursor
                shared = _shared_atoms(table, atoms, nodes, frontier, low, size, tokens, n_tokens, i, j, scratch)
                at = _write_atoms(
                    table, atoms, nodes, frontier, low, size, tokens, n_tokens, i, j, i, shared, scratch, parts,
                    out_atoms, at, capacity[1],
                )  # fmt: skip
                if at < 0:
                    return -1, 0
                out_gold[rows] = n_labels if gold == n_labels else SHIFT_ROW
                out_state[rows] = step
                out_flags[rows] = 0
                rows += 1
                out_indptr[rows] = at
        low, cursor, size = infer(
            grammar, heads, nodes, frontier, low, cursor, size, gold_i, gold_j, gold, scratch.children
        )
    return rows, n_actions
