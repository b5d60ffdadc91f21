"""Labels of the arcs ("links") of a finished dependency tree: a linear classifier over features of the arc's context.

Keys are as in `links`; the tree is given as a Guide.
"""

import numpy as np

from ...jit.decorator import inner_kernel, kernel
from ...linear.kernels.feature_table import add_scores
from ...linear.kernels.keys import ONE, put_fours, put_two, put_twos, tag_pair
from .links import STEM, TAG, WORD, WORD_TAG, tag_at, with_distance

MAX_LABEL_KEYS = 48
_BASE = 64


@inner_kernel
def _siblings(guide, dependent):
    """(Nearest sibling on the left, on the right, number of left siblings, of right siblings); 0 if there is none."""
    n = len(guide.heads) - 1
    head = guide.heads[dependent]
    left, right, n_left, n_right = 0, 0, 0, 0
    for position in range(1, n + 1):
        if guide.heads[position] == head:
            if position < dependent:
                left = position
                n_left += 1
            elif position > dependent:
                if right == 0:
                    right = position
                n_right += 1
    return left, right, n_left, n_right


@inner_kernel
def label_keys(atoms, guide, dependent, keys):
    """Write the keys of the link to `dependent` (a position from 1); return their number, at most MAX_LABEL_KEYS."""
    head = guide.heads[dependent]
    h, m, t = head + 1, dependent + 1, _BASE
    hp, mp, hwp, mwp = atoms[h, TAG], atoms[m, TAG], atoms[h, WORD_TAG], atoms[m, WORD_TAG]
    hw, mw, ms = atoms[h, WORD], atoms[m, WORD], atoms[m, STEM]
    side, pair = np.int32(1 + (dependent > head)), tag_pair(hp, mp)
    count = put_twos(keys, 0, t, ((ONE, mwp), (side, mw), (side, mp), (side, hwp), (side, hw), (side, hp)))
    count = put_twos(keys, count, t + 6, ((hw, mw), (hwp, mp), (hp, mwp)))
    count = put_fours(keys, count, t + 9, ((side, ONE, hp, mp),))
    keys[count] = with_distance(keys[count - 1], head, dependent)
    count += hp > 0 and mp > 0
    count = put_two(keys, count, t + 10, ms, tag_pair(hp, side))
    before, after = tag_at(atoms, dependent - 1), atoms[m + 1, TAG]
    count = put_fours(keys, count, t + 11, ((hp, mp, before, side), (hp, mp, after, side)))
    count = put_twos(keys, count, t + 13, ((atoms[m - 1, WORD], pair), (atoms[m + 1, WORD], pair)))
    first, last = guide.outermost[dependent, 0], guide.outermost[dependent, 1]
    first_tag, last_tag = tag_at(atoms, first), tag_at(atoms, last)
    count = put_fours(keys, count, t + 15, ((hp, mp, first_tag, side), (hp, mp, last_tag, side)))
    if first > 0:
        word = atoms[first + 1, WORD]
        count = put_twos(keys, count, t + 17, ((word, pair), (word, mwp), (word, hwp)))
    if last > 0:
        count = put_two(keys, count, t + 20, atoms[last + 1, WORD], pair)
    left, right, n_left, n_right = _siblings(guide, dependent)
    left_tag, right_tag = tag_at(atoms, left), tag_at(atoms, right)
    count = put_fours(keys, count, t + 21, ((hp, mp, left_tag, side), (hp, mp, right_tag, side)))
    if left > 0:
        count = put_two(keys, count, t + 23, atoms[left + 1, WORD], pair)
    if right > 0:
        count = put_two(keys, count, t + 24, atoms[right + 1, WORD], pair)
    n_others = np.int32(1 + min(n_left, 3) * 4 + min(n_right, 3))
    n_children = np.int32(1 + min(guide.counts[dependent, 0], 3) * 4 + min(guide.counts[dependent, 1], 3))
    upper_tag = tag_at(atoms, guide.heads[head] if head > 0 else 0)
    first_of_head, last_of_head = guide.outermost[head, 0], guide.outermost[head, 1]
    count = put_fours(keys, count, t + 25, (
        (n_others, side, hp, mp), (hp, mp, upper_tag, side), (n_children, side, hp, mp),
        (mp, hp, tag_at(atoms, last_of_head), side), (mp, hp, tag_at(atoms, first_of_head), side),
    ))  # fmt: skip
    if first_of_head > 0:
        count = put_two(keys, count, t + 30, atoms[first_of_head + 1, WORD], pair)
    return count


@kernel
def tree_label_keys(atoms, guide, written, ends):
    """Write the keys of all links of a tree to `written` uint64 (n · MAX_LABEL_KEYS,); the link to token d has
    written[ends[d - 1] : ends[d]] (`ends` int64 (n + 1,)). Return the number of keys."""
    count = 0
    ends[0] = 0
    for dependent in range(1, len(guide.heads)):  # each link has at most MAX_LABEL_KEYS keys, so they fit
        count += label_keys(atoms, guide, dependent, written[count:])
        ends[dependent] = count
    return count


@inner_kernel
def best_label(scores, root_label):
    """The label with the greatest score, the first of equals, other than `root_label`; -1 if there is no other."""
    best = -1
    for label in range(len(scores)):
        if label != root_label and (best < 0 or scores[label] > scores[best]):
            best = label
    return best


@kernel
def label_links(atoms, guide, table, n_labels, root_label, found):
    """Write each token's label to `found` int32 (n + 1,), from position 1: the label with the greatest score by a
    PairTable, the first of equals. Only the dependent of the root has `root_label`."""
    n = len(guide.heads) - 1
    keys, features = np.empty(MAX_LABEL_KEYS, np.uint64), np.empty(MAX_LABEL_KEYS, np.int32)
    scores = np.empty(n_labels, np.int32)
    for dependent in range(1, n + 1):
        best = -1
        if guide.heads[dependent] != 0:
            scores[:] = 0
            add_scores(keys, label_keys(atoms, guide, dependent, keys), table, features, scores)
            best = best_label(scores, root_label)
        found[dependent] = best if best >= 0 else root_label
