"""Spines in a chart: the labels, and the parts of constituents, that are allowed over each cell.

For each of its labels, a candidate spine of a word determines where a constituent with that label and head can begin
and end: if the head has no left neighbours in it and in everything below, it begins with the head. A constituent of
several tokens also begins at a word that may open one and ends at a word that may close one. So a chart keeps only what
some word supports, without a decision for each word: the pruning of Kummerfeld et al. (2010) for a chart parser.

Parts are those of a binarisation that removes children from the outside in, first those left of the head. A left part
still has some of these, and ends where the constituent does. A right part begins where the head child does, and has
children to its right. No spine contains the root; a child's position shows whether it can be the root's head.
"""

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from .cky import cell_number

# Sets of sides and of positions (see `dtypes.SIDES`) as bits, and the sets of sides with a left or a right neighbour.
_ONLY_RIGHT, _BOTH, _LEFT, _RIGHT, _ALL = 0b0100, 0b1000, 0b1010, 0b1100, 0b1111
_FIRST, _INNER, _LAST = 0b0001, 0b0010, 0b0100


@inner_kernel
def _grow(low, high, end_low, end_high, sides, n):
    """Ranges of a constituent's possible starts, [low, high], and ends, [end_low, end_high], from those of its head
    child."""
    if sides & _LEFT:
        low = 0
        if not sides & (_ALL - _LEFT):
            high -= 1
    if sides & _RIGHT:
        end_high = n
        if not sides & (_ALL - _RIGHT):
            end_low += 1
    return low, high, end_low, end_high


@inner_kernel
def _mark_edges(sides, ends, positions, tokens, opens, closes):
    """Mark the words at which constituents of several tokens may begin and end."""
    n, first = len(opens), 0
    for k in range(len(ends)):
        w = np.int64(tokens[k])
        low, high, end_low, end_high = w, w, w + 1, w + 1
        for at in range(first, ends[k]):
            low, high, end_low, end_high = _grow(low, high, end_low, end_high, sides[at], n)
            if low > high or end_low > end_high:
                break
            if high == w and end_high > w + 1:
                opens[w] = 1
            if low < w and end_low == w + 1:
                closes[w] = 1
        if low <= high and end_low <= end_high:
            if positions[k] & _FIRST and high == w and end_low < n:
                opens[w] = 1
            if positions[k] & _LAST and high > 0 and end_low == w + 1:
                closes[w] = 1
        first = ends[k]


@inner_kernel
def _mark_right_parts(w, low, high, end_low, last, opens, right_parts):
    """Mark parts that begin where a head child with the head `w` does, in [low, high], and end after it, up to
    `last`."""
    for i in range(low, high + 1):
        if i == w or opens[i]:
            for j in range(end_low + 1, last + 1):
                right_parts[cell_number(i, j)] = 1


@inner_kernel
def _mark_left_parts(high, end_low, end_high, closes, left_parts):
    """Mark parts that begin before a head child, whose start is at most `high`, and end in [end_low, end_high]."""
    for j in range(end_low, end_high + 1):
        if closes[j - 1]:
            for i in range(1, high):
                left_parts[cell_number(i, j)] = 1


@noalloc_kernel
def spine_cells(spines, with_root, opens, closes, phrases, left_parts, right_parts):
    """Mark everything that `spines` (see `core.supertags.FlatSpines`) allow, in arrays of zeros.

    `opens`, `closes`: uint8 (n,), words at which a constituent of several tokens may begin and end. `phrases`: uint8
    (cells, labels), allowed labels of a cell. `left_parts`, `right_parts`: uint8 (cells,), cells that may have left and
    right parts of a constituent, or, with `with_root`, of the root.
    """
    labels, sides, ends, positions, tokens = spines.labels, spines.sides, spines.ends, spines.positions, spines.tokens
    n, first = len(opens), 0
    _mark_edges(sides, ends, positions, tokens, opens, closes)
    for k in range(len(ends)):
        w = np.int64(tokens[k])
        low, high, end_low, end_high = w, w, w + 1, w + 1
        for at in range(first, ends[k]):
            if sides[at] & _ONLY_RIGHT:  # the constituent begins with its parts, so it ends after them
                _mark_right_parts(w, low, high, end_low, n - 1, opens, right_parts)
            if sides[at] & _BOTH:
                _mark_right_parts(w, max(low, 1), high, end_low, n, opens, right_parts)
            highest_head = high
            low, high, end_low, end_high = _grow(low, high, end_low, end_high, sides[at], n)
            if sides[at] & _LEFT:
                _mark_left_parts(highest_head, end_low, end_high, closes, left_parts)
            for i in range(low, high + 1):
                for j in range(end_low, end_high + 1):
                    if j == i + 1 or (opens[i] and closes[j - 1]):
                        phrases[cell_number(i, j), labels[at]] = 1
        if with_root:
            if positions[k] & _FIRST and low == 0:
                _mark_right_parts(w, 0, min(high, 0), end_low, n - 1, opens, right_parts)
            if positions[k] & _INNER:
                _mark_right_parts(w, max(low, 1), high, end_low, n, opens, right_parts)
            if (positions[k] & _INNER and end_low < n) or (positions[k] & _LAST and end_low <= n == end_high):
                _mark_left_parts(high, n, n, closes, left_parts)
        first = ends[k]
