"""The feature kernel: the atoms (atomic features) of one candidate inference. Only search and replay call it, and
features are computed nowhere else.

A window [i, j) is a run of adjacent frontier items considered as the children of one inference. A *position* is a node
relative to the window (the second child, the terminal left of the span, the head child of the first child, ...). A
*slot* is an attribute of the node at a position. A feature template turns slot values, groups of frontier items or the
entire label sequence into atoms (Turian & Melamed 2006a, sections 4.1, 4.2 and table 3). All integers here are codes
compiled by `dtparse.features.templates`; this module handles no text.
"""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from ...stored_names import stored_as
from ...trees.kernels import head_position
from .atoms import MIX_2, MIX_3, lookup, mix
from .marginals import N_BINS, has_marginals, span_row

# Attributes of a node: its label (a terminal's label is its tag), or a column of its head token.
LABEL = -1
WORD, TAG, CLASS, SHAPE, PUNCT, CLUSTER = 0, 1, 2, 3, 4, 5
TOKEN_COLUMNS = 6

MARGINAL_COLUMN = 16
"""First attribute code of a span: column c of a span's marginals (see `dtparse.kernels.marginals`) has the code
`MARGINAL_COLUMN` + c."""

# Types of positions: items, terminals, children of another position, spans with marginals.
ITEM, TERMINAL, CHILD, MARGINAL_SPAN = 0, 1, 2, 3
# Which span: the window, the window and the item to its right, the window and the token to its left, the item to its
# right.
OF_WINDOW, WITH_RIGHT, WITH_LEFT, OF_RIGHT = 0, 1, 2, 3
# Location of an item or terminal relative to the window. FRONT counts from the window's start and may pass its end.
START, END, HEAD, LEFT, RIGHT, FRONT = 0, 1, 2, 3, 4, 5
# Which child of another position.
FIRST_CHILD, HEAD_CHILD, LAST_CHILD = 0, 1, 2

# Groups of frontier items.
SPAN_FIRST, SPAN_LAST, HEAD_LEFT, HEAD_RIGHT, CONTEXT_LEFT, CONTEXT_RIGHT = 0, 1, 2, 3, 4, 5
SPAN, NON_LEFTMOST, NON_RIGHTMOST, NON_HEAD = 6, 7, 8, 9
# Kinds of group templates.
SOME_ITEM, SOME_TERMINAL, LENGTH_ITEMS, LENGTH_TERMINALS = 0, 1, 2, 3
LENGTH_MAX = 15

# Parts of a table: templates with the same atoms for all windows with one start, and all others.
SHARED, UNSHARED = 0, 1


@stored_as(
    "places", "slots", "unary", "unary_base", "ordered", "ordered_base", "tuples", "groups", "grouped",
    "grouped_base", "sequence", "bounds",
)  # fmt: skip
class TemplateTable(NamedTuple):
    """A compiled table of feature templates; the first axis of `bounds` is the part (SHARED: the same for all windows
    with one start; `UNSHARED`: all others).

    `positions` int32 (P, 4): type, location (or which child), offset (or parent position), 1 if it depends on the head.
    `slots` int32 (S, 2): position, attribute. `unary` int32 (U,): slot; `unary_base` int64 (U,): first entry in the
    direct map. `ordered` int32 (O, 2): slots with bins of probabilities (all `UNSHARED`), and 1 if they are tested as
    less than a bin, 0 as at least; `ordered_base` int64 (O,): first entry, for a missing position. `tuples` int32 (T,
    4): up to three slots (-1: unused) and the template's id (hash seed). `groups` int32 (G, 3): code, n (0: no bound),
    1 if the head is added. `grouped` int32 (Q, 3): kind, group, attribute; `grouped_base` int64 (Q,). `sequence` int32
    (1,): hash seed of the label-sequence template, or -1. `bounds` int32 (2, 8): per part, [lo, hi) of positions,
    slots, unary, tuples; groups and sequence are always `UNSHARED`.
    """

    positions: np.ndarray
    slots: np.ndarray
    unary: np.ndarray
    unary_base: np.ndarray
    ordered: np.ndarray
    ordered_base: np.ndarray
    tuples: np.ndarray
    groups: np.ndarray
    grouped: np.ndarray
    grouped_base: np.ndarray
    sequence: np.ndarray
    bounds: np.ndarray


NODE = np.dtype(
    [(name, np.int32) for name in ("label", "start", "end", "head", "first", "last", "middle", "child_at", "arity")]
    + [("own_hash", np.uint64), ("key", np.uint64)],
    align=True,
)
"""A node: `label` symbol id; `start`, `end` half-open token span; `head` head token; `first`, `last`, `middle` first,
last and head child (-1 for a token); `child_at`, `arity`: offset of its children in the pool, and their number.
`own_hash`: hash of its label, span and head. `key`: hash of its own hash and those of its first, head and last child,
which covers everything that templates use."""


class Nodes(NamedTuple):
    """The nodes of one sentence: 0..n-1 are its tokens, then the inferred items.

    `item` NODE (capacity,); `pool` int32: the children of all items, concatenated; `used` int32 (2,): number of nodes
    and pool entries in use. Nodes are one array of records, because every array argument of a kernel costs compile
    time.
    """

    item: np.ndarray
    pool: np.ndarray
    used: np.ndarray


class ParseState(NamedTuple):
    """A state of a sentence's parse: its matrix `tokens` int32 (rows, columns) of `n_tokens` tokens, its nodes, and
    `frontier` int32: the nodes without a parent, left to right, in [low, size). `cursor`: see `dtparse.kernels.state`.
    """

    tokens: np.ndarray
    n_tokens: int | np.int64
    nodes: Nodes
    frontier: np.ndarray
    low: int | np.int64
    cursor: int | np.int64
    size: int | np.int64


class Windows(NamedTuple):
    """Windows of a state: window w is [`i[w]`, `j[w]`), int32. `labels` uint64: the labels allowed over each, as bits,
    once the windows are pruned."""

    i: np.ndarray
    j: np.ndarray
    labels: np.ndarray


class FeatureScratch(NamedTuple):
    """Scratch arrays: `position` int32 (P,), `slot` int32 (S,), `atoms` int32 (A,) as emitted, `stamp` int32 (n_atoms,)
    with `stamp[a] == mark[0]` iff atom a is present, `mark` int32 (1,), `children` int32 (max arity,)."""

    position: np.ndarray
    slot: np.ndarray
    atoms: np.ndarray
    stamp: np.ndarray
    mark: np.ndarray
    children: np.ndarray


@inner_kernel
def window_head(heads, nodes, frontier, i, j, children):
    """Frontier position of the head of the window [i, j), by the rules for a candidate without a label."""
    if j - i == 1:
        return i
    for k in range(i, j):
        children[k - i] = nodes.item[frontier[k]]["label"]
    return i + head_position(heads, np.int64(-1), children, j - i)


@inner_kernel
def _marginal_row(state, first, last, j, which):
    """The row of one of the spans around a window of the tokens [first, last), -1 if there is none."""
    tokens, start, end = state.tokens, first, last
    if not has_marginals(tokens):
        return np.int64(-1)
    if which == WITH_LEFT:
        start -= 1
    elif which != OF_WINDOW:
        if j >= state.size:
            return np.int64(-1)
        right = state.nodes.item[state.frontier[j]]
        end = np.int64(right["end"])
        if which == OF_RIGHT:
            start = np.int64(right["start"])
    return span_row(tokens, start, end) if start >= 0 else np.int64(-1)


@inner_kernel
def _fill_positions(positions, lo, hi, state, i, j, h, position):
    """Write the nodes (or tokens, or rows of spans) at the positions lo … hi - 1 to `position`, -1 for missing ones."""
    item, frontier = state.nodes.item, state.frontier
    first, last = np.int64(item[frontier[i]]["start"]), np.int64(item[frontier[j - 1]]["end"])
    head_token = np.int64(item[frontier[h]]["head"])
    for p in range(lo, hi):
        space, where, offset = positions[p, 0], positions[p, 1], positions[p, 2]
        found = -1
        if space == CHILD:
            parent = position[offset]  # already written: a parent's position precedes those of its children
            if parent >= 0:
                parent_item = item[parent]
                found = (
                    parent_item["first"]
                    if where == FIRST_CHILD
                    else parent_item["middle"]
                    if where == HEAD_CHILD
                    else parent_item["last"]
                )
        elif space == MARGINAL_SPAN:
            found = _marginal_row(state, first, last, j, where)
        else:
            begin, end, head, lowest, highest = i, j, h, state.low, state.size
            if space == TERMINAL:
                begin, end, head, lowest, highest = first, last, head_token, 0, state.n_tokens
            at, lower, upper = begin + offset, begin, end
            if where == END:
                at = end - 1 - offset
            elif where == HEAD:
                at = head + offset
                if space == TERMINAL:
                    lower, upper = lowest, highest
            elif where == LEFT:
                at, lower, upper = begin - 1 - offset, lowest, begin
            elif where == RIGHT:
                at, lower, upper = end + offset, end, highest
            elif where == FRONT:
                upper = highest
            if lower <= at < upper:
                found = frontier[at] if space == ITEM else at
        position[p] = found


@inner_kernel
def _group_range(code, n, i, j, h, low, size):
    """Frontier positions [lo, hi) of a group and the excluded position (-1: none)."""
    lo, hi, hole = i, j, -1
    limit = n if n > 0 else size
    if code == SPAN_FIRST:
        hi = min(j, i + limit)
    elif code == SPAN_LAST:
        lo = max(i, j - limit)
    elif code == HEAD_LEFT:
        lo, hi = max(i, h - limit), h
    elif code == HEAD_RIGHT:
        lo, hi = h + 1, min(j, h + 1 + limit)
    elif code == CONTEXT_LEFT:
        lo, hi = max(low, i - limit), i
    elif code == CONTEXT_RIGHT:
        lo, hi = j, min(size, j + limit)
    elif code == NON_LEFTMOST:
        lo = i + 1
    elif code == NON_RIGHTMOST:
        hi = j - 1
    elif code == NON_HEAD:
        hole = h
    return lo, hi, hole


@inner_kernel
def _append_once(direct, base, value, stamp, mark, out, count):
    """Append the atom of a value, unless it is unknown or present already; return the new number of atoms."""
    atom = direct[base + value] if value >= 0 else -1
    if atom >= 0 and stamp[atom] != mark:
        stamp[atom] = mark
        out[count] = atom
        count += 1
    return count


@inner_kernel
def _emit_groups(table, direct, state, i, j, h, scratch, count):
    """Append the atoms of the group templates; an atom of several members is appended once. Return the new number of
    atoms."""
    tokens, item, frontier = state.tokens, state.nodes.item, state.frontier
    grouped, grouped_base, groups = table.grouped, table.grouped_base, table.groups
    stamp, mark, out = scratch.stamp, scratch.mark[0], scratch.atoms
    for q in range(len(grouped)):
        kind, group, attribute = grouped[q, 0], grouped[q, 1], grouped[q, 2]
        base = grouped_base[q]
        lo, hi, hole = _group_range(groups[group, 0], groups[group, 1], i, j, h, state.low, state.size)
        extra = h if groups[group, 2] == 1 and (h < lo or h >= hi or h == hole) else -1
        length = 0
        for k in range(lo, hi + 1):  # the last round is for the added head
            at = k if k < hi else extra
            if at < 0 or k == hole:
                continue
            node = frontier[at]
            if kind == SOME_ITEM:
                value = item[node]["label"] if attribute == LABEL else tokens[item[node]["head"], attribute]
                count = _append_once(direct, base, value, stamp, mark, out, count)
            elif kind == SOME_TERMINAL:
                for t in range(item[node]["start"], item[node]["end"]):
                    count = _append_once(direct, base, tokens[t, attribute], stamp, mark, out, count)
            else:
                length += 1 if kind == LENGTH_ITEMS else item[node]["end"] - item[node]["start"]
        if kind >= LENGTH_ITEMS:
            # tests "= n" at base + n and "> n" at base + LENGTH_MAX + 1 + n, n = 0..LENGTH_MAX
            for n in range(LENGTH_MAX + 1):
                atom = -1
                if length >= n:
                    atom = direct[base + n if length == n else base + LENGTH_MAX + 1 + n]
                if atom >= 0:
                    out[count] = atom
                    count += 1
    return count


@inner_kernel
def _tuple_atom(tuples, t, atoms, slot):
    """(Atom of tuple template t, -1 if it is unknown or all its slots are empty; number of its slots)."""
    key, width, greatest = mix(MIX_2, tuples[t, 3]), 0, -1
    for k in range(3):
        s = tuples[t, k]
        if s >= 0:
            width += 1
            greatest = max(greatest, slot[s])
            key = mix(key, slot[s])
    return (lookup(atoms.keys, atoms.values, atoms.state, key) if greatest >= 0 else -1), width


@inner_kernel
def _sequence_atom(table, atoms, state, i, j):
    """The atom of the labels of the window [i, j) in order, -1 if it is unknown."""
    key = mix(MIX_3, table.sequence[0])
    for k in range(i, j):
        key = mix(key, state.nodes.item[state.frontier[k]]["label"])
    return lookup(atoms.keys, atoms.values, atoms.state, key)


@inner_kernel
def extract(table, atoms, part, state, i, j, h, scratch, count):
    """Append the atoms of one part of the table for window [i, j) with head position h to scratch.atoms.

    `count`: atoms already emitted; return the new count. The SHARED part uses nothing to the right of the window's
    start except FRONT positions, so it is the same for all windows that start at i; h is then arbitrary. No atom is
    emitted twice.
    """
    tokens, item = state.tokens, state.nodes.item
    bounds, slots, direct = table.bounds, table.slots, atoms.direct
    position, slot, out = scratch.position, scratch.slot, scratch.atoms
    _fill_positions(table.positions, bounds[part, 0], bounds[part, 1], state, i, j, h, position)
    for s in range(bounds[part, 2], bounds[part, 3]):
        node = position[slots[s, 0]]
        value = -1
        if node >= 0:
            attribute = slots[s, 1]
            if attribute >= MARGINAL_COLUMN:
                value = tokens[node, attribute - MARGINAL_COLUMN]
            else:
                value = item[node]["label"] if attribute == LABEL else tokens[item[node]["head"], attribute]
        slot[s] = value
    for u in range(bounds[part, 4], bounds[part, 5]):
        # A missing position is a value too (entry 0), so that its absence can be tested.
        atom = direct[table.unary_base[u] + slot[table.unary[u]] + 1]
        if atom >= 0:
            out[count] = atom
            count += 1
    for t in range(bounds[part, 6], bounds[part, 7]):
        atom, _ = _tuple_atom(table.tuples, t, atoms, slot)
        if atom >= 0:
            out[count] = atom
            count += 1
    if part == UNSHARED:
        for o in range(len(table.ordered)):
            value, base = slot[table.ordered[o, 0]], table.ordered_base[o]
            # Entry 0: missing position; entry b: less than bin b, or at least bin b.
            first, last = (value + 1, N_BINS) if table.ordered[o, 1] == 1 else (1, value + 1)
            if value < 0:
                first, last = 0, 1
            for limit in range(first, last):
                atom = direct[base + limit]
                if atom >= 0:
                    out[count] = atom
                    count += 1
        if len(table.grouped) > 0:
            count = _emit_groups(table, direct, state, i, j, h, scratch, count)
        if table.sequence[0] >= 0:
            atom = _sequence_atom(table, atoms, state, i, j)
            if atom >= 0:
                out[count] = atom
                count += 1
    return count


PARTS_WIDTH = 16


@noalloc_kernel
def record_parts(table, atoms, state, i, j, scratch, parts):
    """Write the definition of each hashed atom of the window just extracted, so that it can be named.

    `parts` int32 (n_atoms, PARTS_WIDTH): template id, number of values, the values (slots of a tuple, or labels of the
    window's sequence); a row whose second entry is 0 is not written yet.
    """
    for t in range(len(table.tuples)):
        atom, width = _tuple_atom(table.tuples, t, atoms, scratch.slot)
        if atom >= 0 and parts[atom, 1] == 0:
            parts[atom, 0] = table.tuples[t, 3]
            parts[atom, 1] = width
            for k in range(width):
                parts[atom, 2 + k] = scratch.slot[table.tuples[t, k]]
    if table.sequence[0] >= 0 and j - i <= PARTS_WIDTH - 2:
        atom = _sequence_atom(table, atoms, state, i, j)
        if atom >= 0 and parts[atom, 1] == 0:
            parts[atom, 0] = table.sequence[0]
            parts[atom, 1] = j - i
            for k in range(i, j):
                parts[atom, 2 + k - i] = state.nodes.item[state.frontier[k]]["label"]
