"""What a reader leaves in doubt: the windows in which it believes, and the labels that they may get."""

import numpy as np

from ..jit import inner_kernel
from .beliefs import CHAIN, CHAIN_2, SURE, span_row
from .state import label_allowed

LEVELS = 4
"""Rows of a table of labels: by the likeliest chain where it is unlikely, likely, all but certain; by the one after
it."""
LIKELY, CERTAIN = 7, 12
"""Bins of the likeliest chain's probability from which on a level ends (0.5, 0.98)."""
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@inner_kernel
def level_of(sure):
    """The level of a bin of the likeliest chain's probability."""
    return (sure >= LIKELY) + (sure >= CERTAIN)


@inner_kernel
def believed_labels(labels, tokens, row, unary):
    """The labels, as bits, that the reader leaves to a window over the span of a row. `labels` uint64 (2, LEVELS,
    chains + 1): by whether the window is one inferred item, level and chain (the last: none)."""
    level = level_of(tokens[row, SURE])
    found = labels[unary, level, tokens[row, CHAIN]]
    if level < LEVELS - 2:
        found |= labels[unary, LEVELS - 1, tokens[row, CHAIN_2]]
    return found


@inner_kernel
def believed_windows(
    grammar, labels, tokens, nodes, frontier, low, size, windows_i, windows_j, n_windows, window_labels
):
    """Keep the windows with a label that the reader leaves them and `label_allowed` allows, in their order; returns how
    many. `window_labels` uint64: the labels of each that is kept, as bits. There must be beliefs."""
    item = nodes.item
    top = np.int64(grammar.options[4])
    kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        found = _ZERO
        if label_allowed(grammar, nodes, frontier, low, size, i, j, top):
            found = _ONE << np.uint64(top)
        row = span_row(tokens, np.int64(item[frontier[i]]["start"]), np.int64(item[frontier[j - 1]]["end"]))
        if row >= 0:
            unary = 1 if j - i == 1 and item[frontier[i]]["first"] >= 0 else 0
            found |= believed_labels(labels, tokens, row, unary) & ~(_ONE << np.uint64(top))
            if found and j - i == 1:
                for label in range(top):
                    if found & (_ONE << np.uint64(label)):
                        if not label_allowed(grammar, nodes, frontier, low, size, i, j, label):
                            found ^= _ONE << np.uint64(label)
            elif j - i > 1:
                found &= ~(_ONE << np.uint64(top))
        if found:
            windows_i[kept] = i
            windows_j[kept] = j
            window_labels[kept] = found
            kept += 1
    return kept


@inner_kernel
def all_labels(grammar, nodes, frontier, low, size, windows_i, windows_j, n_windows, window_labels):
    """Write all labels that `label_allowed` allows the windows, as bits; keep the windows with some."""
    kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
        found = _ZERO
        for label in range(np.int64(grammar.options[3])):
            if label_allowed(grammar, nodes, frontier, low, size, i, j, label):
                found |= _ONE << np.uint64(label)
        if found:
            windows_i[kept] = i
            windows_j[kept] = j
            window_labels[kept] = found
            kept += 1
    return kept
