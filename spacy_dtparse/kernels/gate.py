"""The gate: a small log-linear classifier that says which windows are worth scoring.

Most windows of a state are plainly no constituent, and a linear classifier over a few hashed atoms sees that hundreds
of times faster than the rules of all labels score them. Its weights are whole numbers in units of 1 / UNIT, so the sum
is the same on every machine. Nothing is lost where it errs on the side of keeping: what passes is scored as before.
"""

from __future__ import annotations

import numpy as np

from .features import CLASS, TAG, WORD, fold, mix
from .jit import inner_kernel

UNIT = 256
"""A weight of 1 nat."""

N_KEYS = 26
"""Atoms of a window; a table of weights has one entry for each value of their hash's last bits."""

REACH = 2
"""Frontier items left of a window that its atoms can see."""

VERSION = 1
"""Of the atoms below: a gate works only with those it was trained on."""

_NONE = np.int64(-1)
_SEED = np.uint64(0xA0761D6478BD642F)


@inner_kernel
def _symbol(nodes, frontier, low, size, k):
    """Label or tag of the frontier item k, -1 beyond the ends."""
    return np.int64(nodes.item[frontier[k]]["label"]) if low <= k < size else _NONE


@inner_kernel
def _head(nodes, frontier, low, size, k):
    """Head token of the frontier item k, -1 beyond the ends."""
    return np.int64(nodes.item[frontier[k]]["head"]) if low <= k < size else _NONE


@inner_kernel
def gate_keys(tokens, nodes, frontier, low, size, i, j, mask, keys):
    """Write the N_KEYS entries of the window [i, j) to `keys` int32; `mask`: entries of the table, a power of two, - 1.

    Symbols of the window's first and last items, of two items to either side, of the edge items' own edge children,
    and the head words of the edge items and their neighbours, in twos, threes and fours, with the number of items.
    """
    item = nodes.item
    arity = np.int64(j - i)
    first, last = np.int64(item[frontier[i]]["label"]), np.int64(item[frontier[j - 1]]["label"])
    second = _symbol(nodes, frontier, i, j, i + 1)
    left, left2 = _symbol(nodes, frontier, low, size, i - 1), _symbol(nodes, frontier, low, size, i - 2)
    right, right2 = _symbol(nodes, frontier, low, size, j), _symbol(nodes, frontier, low, size, j + 1)
    head_first, head_last = np.int64(item[frontier[i]]["head"]), np.int64(item[frontier[j - 1]]["head"])
    head_left = _head(nodes, frontier, low, size, i - 1)
    head_right = _head(nodes, frontier, low, size, j)
    word_first, word_last = np.int64(tokens[head_first, WORD]), np.int64(tokens[head_last, WORD])
    word_left = np.int64(tokens[head_left, WORD]) if head_left >= 0 else _NONE
    word_right = np.int64(tokens[head_right, WORD]) if head_right >= 0 else _NONE
    tag_first, tag_last = np.int64(tokens[head_first, TAG]), np.int64(tokens[head_last, TAG])
    tag_right = np.int64(tokens[head_right, TAG]) if head_right >= 0 else _NONE
    class_right = np.int64(tokens[head_right, CLASS]) if head_right >= 0 else _NONE
    inner_first = np.int64(item[frontier[i]]["first"])
    inner_first = np.int64(item[inner_first]["label"]) if inner_first >= 0 else _NONE
    inner_last = np.int64(item[frontier[j - 1]]["last"])
    inner_last = np.int64(item[inner_last]["label"]) if inner_last >= 0 else _NONE
    size_last = min(np.int64(item[frontier[j - 1]]["arity"]), 4)

    all_items = mix(_SEED, arity)
    for k in range(i, j):
        all_items = mix(all_items, np.int64(item[frontier[k]]["label"]))
    ends = mix(mix(mix(_SEED, arity + 100), first), last)
    outer = mix(mix(mix(_SEED, arity + 200), left), right)
    # Every line is one atom: a base and a number that name it, and what it joins.
    keys[0] = np.int64(mix(all_items, 0) & mask)
    keys[1] = np.int64(mix(mix(all_items, 1), left) & mask)
    keys[2] = np.int64(mix(mix(all_items, 2), right) & mask)
    keys[3] = np.int64(mix(mix(mix(all_items, 3), left), right) & mask)
    keys[4] = np.int64(mix(mix(mix(all_items, 4), inner_first), inner_last) & mask)
    keys[5] = np.int64(mix(mix(all_items, 5), word_last) & mask)
    keys[6] = np.int64(mix(mix(all_items, 6), word_first) & mask)
    keys[7] = np.int64(mix(mix(mix(all_items, 7), right), right2) & mask)
    keys[8] = np.int64(mix(mix(mix(all_items, 8), left2), left) & mask)
    keys[9] = np.int64(mix(ends, 9) & mask)
    keys[10] = np.int64(mix(fold(ends, outer), 10) & mask)
    keys[11] = np.int64(mix(mix(ends, 11), word_right) & mask)
    keys[12] = np.int64(mix(mix(ends, 12), word_left) & mask)
    keys[13] = np.int64(mix(mix(mix(ends, 13), word_last), right) & mask)
    keys[14] = np.int64(mix(mix(mix(ends, 14), tag_last), tag_right) & mask)
    keys[15] = np.int64(mix(mix(mix(ends, 15), inner_last), right) & mask)
    keys[16] = np.int64(mix(mix(mix(ends, 16), size_last), right) & mask)
    keys[17] = np.int64(mix(outer, 17) & mask)
    keys[18] = np.int64(mix(mix(mix(outer, 18), word_first), first) & mask)
    keys[19] = np.int64(mix(mix(mix(outer, 19), last), right2) & mask)
    keys[20] = np.int64(mix(mix(mix(outer, 20), first), left2) & mask)
    keys[21] = np.int64(mix(mix(mix(mix(_SEED, 21), word_last), word_right), arity) & mask)
    keys[22] = np.int64(mix(mix(mix(mix(_SEED, 22), word_left), word_first), arity) & mask)
    keys[23] = np.int64(mix(mix(mix(mix(mix(_SEED, 23), tag_first), word_right), class_right), arity) & mask)
    keys[24] = np.int64(mix(mix(mix(mix(mix(_SEED, 24), first), second), left), arity) & mask)
    keys[25] = np.int64(mix(mix(mix(_SEED, 25), left), word_first) & mask)


@inner_kernel
def gate_windows(weight, least, tokens, nodes, frontier, low, size, windows_i, windows_j, n_windows, keys):
    """Keep the windows whose weights sum to `least` (units) or more, in their order; return how many, and the most that
    a window's weights sum to."""
    mask = np.uint64(weight.shape[0] - 1)
    kept, most = 0, np.int64(-(2**62))
    for w in range(n_windows):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        gate_keys(tokens, nodes, frontier, low, size, i, j, mask, keys)
        total = np.int64(0)
        for k in range(N_KEYS):
            total += weight[keys[k]]
        most = max(most, total)
        if total >= least:
            windows_i[kept] = i
            windows_j[kept] = j
            kept += 1
    return np.int64(kept), most
