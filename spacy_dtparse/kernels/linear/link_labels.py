"""Labels of the links of a finished dependency tree: a linear classifier over what stands around a link.

Keys as in `links`; the tree comes as a Guide.
"""

from __future__ import annotations

import numpy as np

from ..jit import inner_kernel, kernel
from .feature_table import find_slot
from .links import NONE, STEM, TAG, WORD, WORD_TAG, distance_bin, put_four, put_two, tag_pair, with_distance

MAX_LABEL_KEYS = 48
_BASE = 64


@inner_kernel
def _tag(atoms, place):
    return atoms[place + 1, TAG] if place > 0 else NONE


@inner_kernel
def _siblings(guide, dependent):
    """(Nearest sibling on the left, on the right, left siblings, right siblings); 0: there is none."""
    n = guide.heads.shape[0] - 1
    head = guide.heads[dependent]
    left, right, n_left, n_right = 0, 0, 0, 0
    for place in range(1, n + 1):
        if guide.heads[place] == head:
            if place < dependent:
                left = place
                n_left += 1
            elif place > dependent:
                if right == 0:
                    right = place
                n_right += 1
    return left, right, n_left, n_right


@inner_kernel
def label_keys(atoms, guide, dependent, keys):
    """Write the keys of the link to `dependent` (a place from 1); returns their number, at most MAX_LABEL_KEYS."""
    head = guide.heads[dependent]
    h, m, t = head + 1, dependent + 1, _BASE
    hp, mp, hwp, mwp = atoms[h, TAG], atoms[m, TAG], atoms[h, WORD_TAG], atoms[m, WORD_TAG]
    hw, mw, ms = atoms[h, WORD], atoms[m, WORD], atoms[m, STEM]
    side = 1 + (dependent > head)
    count = put_two(keys, 0, t, 1, mwp)
    count = put_two(keys, count, t + 1, side, mw)
    count = put_two(keys, count, t + 2, side, mp)
    count = put_two(keys, count, t + 3, side, hwp)
    count = put_two(keys, count, t + 4, side, hw)
    count = put_two(keys, count, t + 5, side, hp)
    count = put_two(keys, count, t + 6, hw, mw)
    count = put_two(keys, count, t + 7, hwp, mp)
    count = put_two(keys, count, t + 8, hp, mwp)
    count = put_four(keys, count, t + 9, side, 1, hp, mp)
    keys[count] = with_distance(keys[count - 1], distance_bin(head, dependent))
    count += hp > 0 and mp > 0
    count = put_two(keys, count, t + 10, ms, tag_pair(hp, side))
    count = put_four(keys, count, t + 11, hp, mp, _tag(atoms, dependent - 1), side)
    count = put_four(keys, count, t + 12, hp, mp, atoms[m + 1, TAG], side)
    count = put_two(keys, count, t + 13, atoms[m - 1, WORD], tag_pair(hp, mp))
    count = put_two(keys, count, t + 14, atoms[m + 1, WORD], tag_pair(hp, mp))
    first, last = guide.outermost[dependent, 0], guide.outermost[dependent, 1]
    count = put_four(keys, count, t + 15, hp, mp, _tag(atoms, first), side)
    count = put_four(keys, count, t + 16, hp, mp, _tag(atoms, last), side)
    if first > 0:
        count = put_two(keys, count, t + 17, atoms[first + 1, WORD], tag_pair(hp, mp))
        count = put_two(keys, count, t + 18, atoms[first + 1, WORD], mwp)
        count = put_two(keys, count, t + 19, atoms[first + 1, WORD], hwp)
    if last > 0:
        count = put_two(keys, count, t + 20, atoms[last + 1, WORD], tag_pair(hp, mp))
    left, right, n_left, n_right = _siblings(guide, dependent)
    count = put_four(keys, count, t + 21, hp, mp, _tag(atoms, left), side)
    count = put_four(keys, count, t + 22, hp, mp, _tag(atoms, right), side)
    if left > 0:
        count = put_two(keys, count, t + 23, atoms[left + 1, WORD], tag_pair(hp, mp))
    if right > 0:
        count = put_two(keys, count, t + 24, atoms[right + 1, WORD], tag_pair(hp, mp))
    count = put_four(keys, count, t + 25, 1 + min(n_left, 3) * 4 + min(n_right, 3), side, hp, mp)
    upper = guide.heads[head] if head > 0 else 0
    count = put_four(keys, count, t + 26, hp, mp, _tag(atoms, upper), side)
    n_own = 1 + min(guide.counts[dependent, 0], 3) * 4 + min(guide.counts[dependent, 1], 3)
    count = put_four(keys, count, t + 27, n_own, side, hp, mp)
    last_of_head, first_of_head = guide.outermost[head, 1], guide.outermost[head, 0]
    count = put_four(keys, count, t + 28, mp, hp, _tag(atoms, last_of_head), side)
    count = put_four(keys, count, t + 29, mp, hp, _tag(atoms, first_of_head), side)
    if first_of_head > 0:
        count = put_two(keys, count, t + 30, atoms[first_of_head + 1, WORD], tag_pair(hp, mp))
    return count


@kernel
def tree_label_keys(atoms, guide, written, ends):
    """Write the keys of all links of a tree, uint64 with room for n MAX_LABEL_KEYS; those of the link to token d end at
    ends[d], int64 (n + 1,), and begin at ends[d - 1]. Returns their number."""
    count = 0
    ends[0] = 0
    for dependent in range(1, guide.heads.shape[0]):
        count += label_keys(atoms, guide, dependent, written[count:])
        ends[dependent] = count
    return count


@kernel
def label_links(atoms, guide, slots, numbers, starts, pair_labels, pair_weights, n_labels, root_label, found):
    """Write each token's label, int32 (n + 1,) from place 1: the one of the greatest score, the first of equals.

    `slots`, `numbers`: the table of features. Feature f has the pairs starts[f] to starts[f + 1] of a label, int32, and
    its weight, float32. Only the dependent of the root has `root_label`.
    """
    n = guide.heads.shape[0] - 1
    keys, scores = np.empty(MAX_LABEL_KEYS, np.uint64), np.empty(n_labels)
    for dependent in range(1, n + 1):
        if guide.heads[dependent] == 0:
            found[dependent] = root_label
            continue
        scores[:] = 0.0
        for k in range(label_keys(atoms, guide, dependent, keys)):
            slot = find_slot(slots, keys[k])
            if slots[slot] != np.uint64(0):
                feature = numbers[slot]
                for pair in range(starts[feature], starts[feature + 1]):
                    scores[pair_labels[pair]] += pair_weights[pair]
        best = -1
        for label in range(n_labels):
            if label != root_label and (best < 0 or scores[label] > scores[best]):
                best = label
        found[dependent] = best if best >= 0 else root_label
