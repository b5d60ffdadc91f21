"""The window filter: a small log-linear classifier that selects the windows to be scored.

A window is a run of adjacent frontier items considered as the children of one inference. Most windows of a state are
clearly not constituents; a linear classifier over a few hashed atoms detects this hundreds of times faster than the
rules of all labels are scored. Its weights are integers in units of 1 / UNIT, so the sum is the same on every machine.
Keeping too many windows loses nothing: those that pass are scored as without the filter.
"""

import numpy as np

from ...jit.decorator import inner_kernel
from .atoms import fold, mix

UNIT = 256
"""A weight of 1 nat."""

# Prefixes of atoms: the hash of all items of the window, of its first and last item, of the items to its left and
# right, nothing, or the second and third together; each except the last with the number of items.
_WHOLE, _ENDS, _OUTER, _NOTHING, _FRAME = 0, 1, 2, 3, 4

# Fields of an item: its symbol, the symbols of its first and last child, its number of children (at most 4), its head's
# word, tag and class. They are used of seven items: the window's first, second and last, two to its left, two to its
# right.
_SYMBOL, _INNER_FIRST, _INNER_LAST, _CHILDREN, _WORD, _TAG, _CLASS, _FIELDS = 0, 1, 2, 3, 4, 5, 6, 7
_FIRST, _SECOND, _LAST, _LEFT, _LEFT_2, _RIGHT, _RIGHT_2, _ITEMS = 0, 7, 14, 21, 28, 35, 42, 7
_ARITY = _ITEMS * _FIELDS
N_VALUES = _ARITY + 1
"""Number of values of a window: the fields of each of these items (-1 for a missing item), and its number of items."""

_ATOM_PARTS: tuple[tuple[int, ...], ...] = (
    (_WHOLE,),
    (_WHOLE, _LEFT),
    (_WHOLE, _RIGHT),
    (_WHOLE, _LEFT, _RIGHT),
    (_WHOLE, _FIRST + _INNER_FIRST, _LAST + _INNER_LAST),
    (_WHOLE, _LAST + _WORD),
    (_WHOLE, _FIRST + _WORD),
    (_WHOLE, _RIGHT, _RIGHT_2),
    (_WHOLE, _LEFT_2, _LEFT),
    (_ENDS,),
    (_FRAME,),
    (_ENDS, _RIGHT + _WORD),
    (_ENDS, _LEFT + _WORD),
    (_ENDS, _LAST + _WORD, _RIGHT),
    (_ENDS, _LAST + _TAG, _RIGHT + _TAG),
    (_ENDS, _LAST + _INNER_LAST, _RIGHT),
    (_ENDS, _LAST + _CHILDREN, _RIGHT),
    (_OUTER,),
    (_OUTER, _FIRST + _WORD, _FIRST),
    (_OUTER, _LAST, _RIGHT_2),
    (_OUTER, _FIRST, _LEFT_2),
    (_NOTHING, _LAST + _WORD, _RIGHT + _WORD, _ARITY),
    (_NOTHING, _LEFT + _WORD, _FIRST + _WORD, _ARITY),
    (_NOTHING, _FIRST + _TAG, _RIGHT + _WORD, _RIGHT + _CLASS, _ARITY),
    (_NOTHING, _FIRST, _SECOND, _LEFT, _ARITY),
    (_NOTHING, _LEFT, _FIRST + _WORD),
)
"""Each atom: its prefix, and the values that are combined with it (an item alone means its symbol)."""

N_KEYS = len(_ATOM_PARTS)
"""Number of atoms of a window; a table of weights has one entry for each value of the last bits of their hash."""

_ATOMS = np.array([[*atom, *[-1] * (5 - len(atom))] for atom in _ATOM_PARTS], dtype=np.int64)

REACH = 2
"""Number of frontier items left of a window that its atoms use."""

VERSION = 1
"""Version of these atoms: a window filter works only with the atoms on which it was trained."""

_SEED = np.uint64(0xA0761D6478BD642F)


# The functions below use loops and tables, because every record access and every call of `mix` is compiled separately.


@inner_kernel
def _write_values(state, i, j, values):
    """Write the values of the atoms: the fields of _ITEMS items in and around the window [i, j), -1 for missing ones,
    and the window's arity. Return the arity."""
    tokens, item, frontier = state.tokens, state.nodes.item, state.frontier
    arity = np.int64(j - i)
    values[_ARITY] = arity
    at = 0
    for index in range(_ITEMS):
        k, is_present = np.int64(i), True
        if index == 1:
            k, is_present = i + 1, arity > 1
        elif index == 2:
            k = j - 1
        elif index > 4:
            k = j + index - 5
            is_present = k < state.size
        elif index > 2:
            k = i + 2 - index
            is_present = k >= state.low
        if is_present:
            node = item[frontier[k]]
            values[at] = node["label"]
            values[at + _CHILDREN] = min(node["arity"], 4)
            for side in range(2):
                inner = node["first"] if side == 0 else node["last"]
                values[at + _INNER_FIRST + side] = item[inner]["label"] if inner >= 0 else -1
            for column in range(3):
                values[at + _WORD + column] = tokens[node["head"], column]  # WORD, TAG, CLASS
        else:
            for column in range(_FIELDS):
                values[at + column] = -1
        at += _FIELDS
    return arity


@inner_kernel
def _prefix_hash(state, i, arity, values, prefix):
    """The hash of the labels that all atoms with the prefix _WHOLE, _ENDS or _OUTER share."""
    key = mix(_SEED, arity + 100 * prefix)
    for k in range(arity if prefix == _WHOLE else 2):
        value = np.int64(0)
        if prefix == _WHOLE:
            value = np.int64(state.nodes.item[state.frontier[i + k]]["label"])
        elif prefix == _ENDS:
            value = values[_FIRST if k == 0 else _LAST]
        else:
            value = values[_LEFT if k == 0 else _RIGHT]
        key = mix(key, value)
    return key


@inner_kernel
def window_keys(state, i, j, mask, keys):
    """Write the table indices of the N_KEYS atoms of the window [i, j) to the front of `keys` int64 (N_KEYS +
    `N_VALUES`,).

    `mask`: number of entries of the table, a power of two, minus 1.
    """
    values = keys[N_KEYS:]
    arity = _write_values(state, i, j, values)
    whole = ends = outer = np.uint64(0)
    for prefix in range(3):
        key = _prefix_hash(state, i, arity, values, prefix)
        if prefix == _WHOLE:
            whole = key
        elif prefix == _ENDS:
            ends = key
        else:
            outer = key
    frame = fold(ends, outer)
    for n in range(N_KEYS):
        prefix = _ATOMS[n, 0]
        key = _SEED
        if prefix == _WHOLE:
            key = whole
        elif prefix == _ENDS:
            key = ends
        elif prefix == _OUTER:
            key = outer
        elif prefix == _FRAME:
            key = frame
        value, k = np.int64(n), 1
        while True:
            key = mix(key, value)
            if k == 5 or _ATOMS[n, k] < 0:
                break
            value = values[_ATOMS[n, k]]
            k += 1
        keys[n] = np.int64(key & mask)  # in the table: its length is a power of two


@inner_kernel
def window_sum(weight, mask, state, i, j, keys):
    """The sum of a window's weights, in units of 1 / UNIT; see `window_keys`."""
    window_keys(state, i, j, mask, keys)
    total = np.int64(0)
    for k in range(N_KEYS):
        total += weight[keys[k]]
    return total


@inner_kernel
def filter_windows(weight, min_sum, state, windows, n_windows, keys):
    """Keep the windows whose weights sum to at least `min_sum` (in units of 1 / UNIT), with their labels, in their
    order; return their number, and the maximum sum of a window."""
    mask = np.uint64(len(weight) - 1)
    n_kept, max_sum = 0, np.int64(-(2**62))
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        total = window_sum(weight, mask, state, i, j, keys)
        max_sum = max(max_sum, total)
        if total >= min_sum:
            # n_kept <= w: nothing that is still to be read is overwritten
            windows.i[n_kept], windows.j[n_kept], windows.labels[n_kept] = i, j, windows.labels[w]
            n_kept += 1
    return np.int64(n_kept), max_sum
