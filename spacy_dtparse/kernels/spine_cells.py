"""Spines in a chart: which labels may stand over which cells.

A spine offered to a word tells for each of its labels where a constituent with that label and head can begin and end: a
head without left neighbours in it and all below it begins it. A constituent of several tokens moreover begins at a word
that may open one and ends at one that may close one. So what is left of a chart is what some word supports, and nothing
has to be settled word by word: pruning for a parser whose search is a chart, as that of Kummerfeld et al. (2010).
"""

from __future__ import annotations

import numpy as np

from .cky import cell_number
from .jit import bare_kernel

# Sets of sides (see `spines.SIDES`), as bits: with and without left, with and without right neighbours.
_LEFT, _NO_LEFT, _RIGHT, _NO_RIGHT, _ALONE = 0b1010, 0b0101, 0b1100, 0b0011, 0b0001
_FIRST, _LAST = 0b0001, 0b0100


@bare_kernel
def spine_cells(labels, sides, ends, places, tokens, opens, closes, phrases, left_parts, right_parts):
    """Mark what spines (as `spines.fill_levels` takes them) allow, in arrays of zeros.

    `opens`, `closes`: uint8 (n,), words at which a constituent of several tokens may begin and end. `phrases`: uint8
    (cells, labels), labels that a cell may have. `left_parts`, `right_parts`: uint8 (cells,), cells of what remains of
    a constituent when children left of the head have been taken off, and of what then remains when children right of
    the head have, too.
    """
    n = opens.shape[0]
    first = 0
    for k in range(ends.shape[0]):
        w = np.int64(tokens[k])
        may_left, may_right, must_left, must_right = False, False, False, False
        for at in range(first, ends[k]):
            may_left = may_left or sides[at] & _LEFT != 0
            may_right = may_right or sides[at] & _RIGHT != 0
            must_left = must_left or sides[at] & _NO_LEFT == 0
            must_right = must_right or sides[at] & _NO_RIGHT == 0
            from_, to = np.int64(0) if may_left else w, np.int64(n) if may_right else w + 1
            for i in range(from_, w + 1):
                for j in range(w + 1, to + 1):
                    cell = cell_number(i, j)
                    if not (must_left and i == w) and not (must_right and j == w + 1):
                        phrases[cell, labels[at]] = 1
                    if sides[at] != _ALONE:
                        left_parts[cell] = 1
                        right_parts[cell] |= 2 if i == w else 1
            if may_right and not must_left:
                opens[w] = 1
            if may_left and not must_right:
                closes[w] = 1
        if places[k] & _FIRST and not must_left:
            opens[w] = 1
        if places[k] & _LAST and not must_right:
            closes[w] = 1
        first = ends[k]
    for j in range(1, n + 1):
        for i in range(j - 1):
            cell = cell_number(i, j)
            if not (opens[i] and closes[j - 1]):
                phrases[cell] = 0
            if not closes[j - 1]:  # where the whole constituent ends
                left_parts[cell] = 0
            if not opens[i] and right_parts[cell] == 1:  # where the head's own constituent begins, if not at the head
                right_parts[cell] = 0
