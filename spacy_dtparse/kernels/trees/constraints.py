"""Constraints in the search: constituents that a tree must have, and constituents that it must not have.

A constraint is a row of int32: the tokens [START, END), the id of a LABEL or ANY, and whether it is `WANTED` (1:
required, 0: forbidden). A sentence without constraints has no rows. A window that crosses a required constituent is
never built, nor is one that contains it before it exists; no shift happens until the required constituents that start
with the stack exist. A forbidden constituent is not built.

A window is a run of adjacent frontier items considered as the children of one inference.
"""

import numpy as np

from ...dtypes import INDEX
from ..jit import inner_kernel

START, END, LABEL, WANTED = 0, 1, 2, 3
ANY = -1
_ONE = np.uint64(1)


def no_constraints() -> np.ndarray:
    """An array without constraints."""
    return np.zeros((0, 4), dtype=INDEX)


@inner_kernel
def _is_there(nodes, node, label):
    """Whether a node, or a node below it over the same tokens, is an item with the label."""
    item = nodes.item
    while item[node]["first"] >= 0:
        if label == ANY or item[node]["label"] == label:
            return True
        if item[node]["arity"] != 1:
            return False
        node = np.int64(item[node]["first"])
    return False


@inner_kernel
def _window_may_be(rules, nodes, frontier, i, j):
    """Whether a window crosses no required constituent, and contains none that does not exist yet."""
    item = nodes.item
    start, end = item[frontier[i]]["start"], item[frontier[j - 1]]["end"]
    for r in range(len(rules)):
        first, last = rules[r, START], rules[r, END]
        if rules[r, WANTED] == 0 or last <= start or end <= first or (first <= start and end <= last):
            continue
        if first < start or end < last:
            return False
        k = i
        while item[frontier[k]]["end"] < last:
            k += 1
        node = np.int64(frontier[k])
        if item[node]["start"] > first:
            return False
        if item[node]["start"] == first and item[node]["end"] == last:
            if not _is_there(nodes, node, rules[r, LABEL]):
                return False
    return True


@inner_kernel
def constrain_windows(rules, nodes, frontier, windows_i, windows_j, n_windows):
    """Keep the windows that the constraints allow, in their order; return their number."""
    kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        if _window_may_be(rules, nodes, frontier, i, j):
            windows_i[kept] = i
            windows_j[kept] = j
            kept += 1
    return kept


@inner_kernel
def label_may_be(rules, nodes, frontier, i, j, label, top):
    """Whether the constraints allow a label over a window. TOP is allowed when all constituents required over its
    tokens exist. If a required label is missing on top of a constituent, only that label is allowed there."""
    item, node = nodes.item, np.int64(frontier[i])
    start, end = item[node]["start"], item[frontier[j - 1]]["end"]
    on_top = j - i == 1 and (label == top or item[node]["first"] >= 0)
    missing, wanted = False, False
    for r in range(len(rules)):
        if rules[r, START] == start and rules[r, END] == end:
            if rules[r, WANTED] == 0:
                if label != top and (rules[r, LABEL] == ANY or rules[r, LABEL] == label):
                    return False
            elif on_top and not _is_there(nodes, node, rules[r, LABEL]):
                missing, wanted = True, wanted or rules[r, LABEL] == label
    return wanted or not missing


@inner_kernel
def constrain_labels(rules, nodes, frontier, windows_i, windows_j, window_labels, n_windows, top):
    """Remove the labels (bits) that the constraints forbid from each window, and keep the windows with some label left,
    in their order; return their number."""
    kept = np.int64(0)
    for w in range(n_windows):
        i, j, found = np.int64(windows_i[w]), np.int64(windows_j[w]), window_labels[w]
        for label in range(top + 1):
            bit = _ONE << np.uint64(label)
            if found & bit and not label_may_be(rules, nodes, frontier, i, j, label, top):
                found ^= bit
        if found:
            windows_i[kept] = i
            windows_j[kept] = j
            window_labels[kept] = found
            kept += 1
    return kept


@inner_kernel
def must_wait(rules, nodes, frontier, cursor, size):
    """Whether a required constituent that starts with the leftmost item of the stack does not exist yet."""
    if cursor >= size:
        return False
    item, node = nodes.item, np.int64(frontier[cursor])
    for r in range(len(rules)):
        if rules[r, WANTED] == 1 and rules[r, START] == item[node]["start"]:
            if item[node]["end"] < rules[r, END]:
                return True
            if item[node]["end"] == rules[r, END] and not _is_there(nodes, node, rules[r, LABEL]):
                return True
    return False
