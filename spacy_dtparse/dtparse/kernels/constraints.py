"""Constraints in the search: constituents that a tree must have, and constituents that it must not have.

A constraint is a row of int32: the tokens [START, END), the id of a LABEL or ANY, and whether it is `REQUIRED` (1:
required, 0: forbidden). A sentence without constraints has no rows. A window that crosses a required constituent is
never built, nor is one that contains it before it exists; no shift happens until the required constituents that start
with the stack exist. A forbidden constituent is not built.

A window is a run of adjacent frontier items considered as the children of one inference.
"""

import numpy as np

from ...dtypes import INDEX
from ...jit.decorator import inner_kernel

START, END, LABEL, REQUIRED = 0, 1, 2, 3
ANY = -1
_ONE = np.uint64(1)


def no_constraints() -> np.ndarray:
    """An array without constraints."""
    return np.zeros((0, 4), dtype=INDEX)


@inner_kernel
def _has_label(nodes, node, label):
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
def _is_window_allowed(constraints, nodes, frontier, i, j):
    """Whether a window crosses no required constituent, and contains none that does not exist yet."""
    item = nodes.item
    start, end = item[frontier[i]]["start"], item[frontier[j - 1]]["end"]
    for r in range(len(constraints)):
        first, last = constraints[r, START], constraints[r, END]
        if constraints[r, REQUIRED] == 0 or last <= start or end <= first or (first <= start and end <= last):
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
            if not _has_label(nodes, node, constraints[r, LABEL]):
                return False
    return True


@inner_kernel
def constrain_windows(constraints, nodes, frontier, windows, n_windows):
    """Keep the windows that the constraints allow, in their order; return their number."""
    n_kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        if _is_window_allowed(constraints, nodes, frontier, i, j):
            windows.i[n_kept], windows.j[n_kept] = i, j  # n_kept <= w: all that is still to be read stays
            n_kept += 1
    return n_kept


@inner_kernel
def is_label_allowed(constraints, nodes, frontier, i, j, label, top):
    """Whether the constraints allow a label over a window. TOP is allowed when all constituents required over its
    tokens exist. If a required label is missing on top of a constituent, only that label is allowed there."""
    item, node = nodes.item, np.int64(frontier[i])
    start, end = item[node]["start"], item[frontier[j - 1]]["end"]
    on_top = j - i == 1 and (label == top or item[node]["first"] >= 0)
    missing, is_required = False, False
    for r in range(len(constraints)):
        if constraints[r, START] == start and constraints[r, END] == end:
            if constraints[r, REQUIRED] == 0:
                if label != top and (constraints[r, LABEL] == ANY or constraints[r, LABEL] == label):
                    return False
            elif on_top and not _has_label(nodes, node, constraints[r, LABEL]):
                missing, is_required = True, is_required or constraints[r, LABEL] == label
    return is_required or not missing


@inner_kernel
def constrain_labels(constraints, nodes, frontier, windows, n_windows, top):
    """Remove the labels (bits) that the constraints forbid from each window, and keep the windows with some label left,
    in their order; return their number."""
    n_kept = np.int64(0)
    for w in range(n_windows):
        i, j, found = np.int64(windows.i[w]), np.int64(windows.j[w]), windows.labels[w]
        for label in range(top + 1):
            bit = _ONE << np.uint64(label)
            if found & bit and not is_label_allowed(constraints, nodes, frontier, i, j, label, top):
                found ^= bit
        if found:
            windows.i[n_kept], windows.j[n_kept], windows.labels[n_kept] = i, j, found
            n_kept += 1
    return n_kept


@inner_kernel
def must_wait(constraints, nodes, frontier, cursor, size):
    """Whether a required constituent that starts with the leftmost item of the stack does not exist yet."""
    if cursor >= size:
        return False
    item, node = nodes.item, np.int64(frontier[cursor])
    for r in range(len(constraints)):
        if constraints[r, REQUIRED] == 1 and constraints[r, START] == item[node]["start"]:
            if item[node]["end"] < constraints[r, END]:
                return True
            if item[node]["end"] == constraints[r, END] and not _has_label(nodes, node, constraints[r, LABEL]):
                return True
    return False
