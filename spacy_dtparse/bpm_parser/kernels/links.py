"""Features of arcs ("links") between a head and a dependent, as exact 64-bit keys, and the sums of their weights.

The templates are those of McDonald, Crammer & Pereira 2005 (table 1), as Corston-Oliver et al. 2006 describe them:
words and tags of either end and of both, with words also as stems; tags of the four neighbours; tags between, each once
regardless of the number of tokens with it. In addition to the paper: the number of verbs, conjunctions and punctuation
marks between the ends, and features of the guide (a given dependency tree) if there is one. Each feature is used alone,
and combined with direction and binned distance.

Tokens are given as atoms, int32 (n + 3, COLUMNS): one row each for the position before the sentence, the root, the n
tokens, and the position after it. 0 is an atom that the model does not have; no feature contains it. A key contains
template, direction and distance, and up to two atoms below 2**24 or four below 2**12, so no two features have the same
key.
"""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, kernel
from ...linear.kernels.feature_table import BIN_AT, bin_position, find_families, first_position, sum_weights
from ...linear.kernels.keys import ONE, put_four, put_fours, put_two, put_twos, tag_pair

WORD, TAG, WORD_TAG, STEM, STEM_TAG, LONG, KIND = range(7)
"""Columns of atoms. WORD_TAG, STEM_TAG: an id of the pair. LONG: 1 if the stem differs from the word. KIND: OTHER,
PUNCTUATION, VERB or CONJUNCTION."""
COLUMNS = 7
OTHER, PUNCTUATION, VERB, CONJUNCTION = range(4)
N_KINDS = 4
NONE = np.int32(1)
"""Atom of a missing tag; the first tag of a model's list is that of the position before a sentence."""
MAX_KEYS = 80
"""Maximum number of keys of a link, excluding those of the tags between."""
DISTANCES = 7
UNLIKELY = -(2.0**20)
"""Score of a link that is excluded: below all others, and on every grid of weights."""

ALL_LINKS = np.zeros((1, 1), np.bool_)
"""Value of `allowed` if no link is excluded."""


@inner_kernel
def distance_bin(head, dependent):
    """1 to 14: direction, and distance in bins 1, 2, 3, 4, 5, 6 to 10, more."""
    far = abs(head - dependent)
    step = far if far <= 5 else 6 if far <= 10 else 7
    return step if dependent > head else step + DISTANCES


@inner_kernel
def with_distance(key, head, dependent):
    """The key of a feature combined with a bin of direction and distance."""
    return key | (np.uint64(distance_bin(head, dependent)) << BIN_AT)


@inner_kernel
def _end_keys(atoms, h, m, keys, count):
    """Write the keys of the paper's templates for words, tags and stems of the ends, and tags of their neighbours;
    return the new count. `h`, `m`: rows of atoms."""
    hw, hp, hwp = atoms[h, WORD], atoms[h, TAG], atoms[h, WORD_TAG]
    mw, mp, mwp = atoms[m, WORD], atoms[m, TAG], atoms[m, WORD_TAG]
    count = put_two(keys, count, 1, 1, hwp)
    count = put_two(keys, count, 2, 1, hw)
    count = put_two(keys, count, 3, 1, hp)
    count = put_two(keys, count, 4, 1, mwp)
    count = put_two(keys, count, 5, 1, mw)
    count = put_two(keys, count, 6, 1, mp)
    count = put_two(keys, count, 7, hwp, mwp)
    count = put_two(keys, count, 8, hp, mwp)
    count = put_two(keys, count, 9, hw, mwp)
    count = put_two(keys, count, 10, hwp, mp)
    count = put_two(keys, count, 11, hwp, mw)
    count = put_two(keys, count, 12, hw, mw)
    count = put_two(keys, count, 13, hp, mp)
    hs, hsp, ms, msp = atoms[h, STEM], atoms[h, STEM_TAG], atoms[m, STEM], atoms[m, STEM_TAG]
    if atoms[h, LONG]:
        count = put_two(keys, count, 14, 1, hsp)
        count = put_two(keys, count, 15, 1, hs)
        count = put_two(keys, count, 16, hsp, mp)
    if atoms[m, LONG]:
        count = put_two(keys, count, 17, 1, msp)
        count = put_two(keys, count, 18, 1, ms)
        count = put_two(keys, count, 19, hp, msp)
    if atoms[h, LONG] or atoms[m, LONG]:
        count = put_two(keys, count, 20, hsp, msp)
        count = put_two(keys, count, 21, hs, msp)
        count = put_two(keys, count, 22, hsp, ms)
        count = put_two(keys, count, 23, hs, ms)
    before_h, after_h = atoms[h - 1, TAG], atoms[h + 1, TAG]
    before_m, after_m = atoms[m - 1, TAG], atoms[m + 1, TAG]
    count = put_four(keys, count, 24, hp, after_h, before_m, mp)
    count = put_four(keys, count, 25, before_h, hp, before_m, mp)
    count = put_four(keys, count, 26, hp, after_h, mp, after_m)
    count = put_four(keys, count, 27, before_h, hp, mp, after_m)
    count = put_four(keys, count, 28, 1, hp, before_m, mp)
    count = put_four(keys, count, 29, 1, hp, mp, after_m)
    count = put_four(keys, count, 30, 1, before_h, hp, mp)
    return put_four(keys, count, 31, 1, hp, after_h, mp)


@inner_kernel
def _between_keys(atoms, h, m, tags, n_tags, kinds, keys, count):
    """Write the keys of the tags between the ends, each once, and of the number of tokens of each kind (0, 1, 2, more);
    return the new count."""
    hp, mp = atoms[h, TAG], atoms[m, TAG]
    for k in range(n_tags):
        count = put_four(keys, count, 32, 1, hp, tags[k], mp)
    kind = np.int32(1 + min(kinds[PUNCTUATION], 3) * 16 + min(kinds[VERB], 3) * 4 + min(kinds[CONJUNCTION], 3))
    count = put_fours(keys, count, 33, ((kind, ONE, hp, mp), (kind, ONE, ONE, hp), (kind, ONE, ONE, mp)))
    return put_twos(keys, count, 36, ((kind, atoms[m, WORD_TAG]), (kind, atoms[h, WORD_TAG])))


@inner_kernel
def tag_at(atoms, position):
    """The tag of a token by its position, NONE for position 0, which here means that there is no such token."""
    return atoms[position + 1, TAG] if position > 0 else NONE


@inner_kernel
def _label_at(guide, position):
    """The label of the guide's link to a token; NONE as in `tag_at`."""
    return guide.labels[position] if position > 0 else NONE


@inner_kernel
def _guide_keys(atoms, guide, head, dependent, inner, outer, is_above, crossed, keys, count):
    """Write the keys of the guide's features of a link; return the new count. `head`, `dependent`: positions; `inner`,
    `outer`: the head's next dependents in the guide on the same side, nearer and farther than `dependent`, 0: none;
    `is_above`: whether the dependent is an ancestor of the head in the guide; `crossed`: number of the guide's links
    that cross this one.
    """
    h, m = head + 1, dependent + 1
    hp, mp, hwp, mwp = atoms[h, TAG], atoms[m, TAG], atoms[h, WORD_TAG], atoms[m, WORD_TAG]
    other, pair = guide.heads[dependent], tag_pair(hp, mp)
    same = np.int32(1 + (other == head))
    state = np.int32(1 + (same - 1) * 8 + is_above * 4 + min(crossed, 3))
    upper = guide.heads[head] if head > 0 else 0
    inner_tag, outer_tag = tag_at(atoms, inner), tag_at(atoms, outer)
    upper_tag = atoms[upper + 1, TAG] if head > 0 else NONE
    count = put_fours(keys, count, 40, ((state, ONE, ONE, ONE), (state, ONE, hp, mp), (state, ONE, ONE, mp)))
    count = put_two(keys, count, 43, mwp, tag_pair(hp, state))
    count = put_fours(keys, count, 44, (
        (same, atoms[other + 1, TAG], hp, mp), (same, upper_tag, hp, mp), (ONE, inner_tag, hp, mp),
        (same, inner_tag, hp, mp), (same, outer_tag, hp, mp), (same, inner_tag, ONE, mp),
        (outer_tag, inner_tag, hp, mp),
    ))  # fmt: skip
    if inner > 0:
        inner_word = atoms[inner + 1, WORD]
        pairs = (inner_word, atoms[m, WORD]), (inner_word, pair), (mwp, tag_pair(hp, inner_tag))
        count = put_twos(keys, count, 51, pairs)
    if head > 0:
        count = put_two(keys, count, 54, atoms[upper + 1, WORD], pair)
    count = put_twos(keys, count, 55, ((mwp, tag_pair(hp, upper_tag)), (hwp, tag_pair(mp, upper_tag))))
    first, last = guide.outermost[dependent, 0], guide.outermost[dependent, 1]
    first_tag, last_tag = tag_at(atoms, first), tag_at(atoms, last)
    n_children = np.int32(1 + min(guide.counts[dependent, 0], 3) * 4 + min(guide.counts[dependent, 1], 3))
    count = put_fours(keys, count, 57, (
        (ONE, first_tag, hp, mp), (ONE, last_tag, hp, mp), (last_tag, first_tag, hp, mp), (n_children, ONE, hp, mp),
    ))  # fmt: skip
    if first > 0:
        count = put_two(keys, count, 61, atoms[first + 1, WORD], pair)
    if last > 0:
        count = put_two(keys, count, 62, atoms[last + 1, WORD], pair)
    guide_label, head_label, inner_label = guide.labels[dependent], guide.labels[head], _label_at(guide, inner)
    count = put_fours(keys, count, 100, (
        (guide_label, same, hp, mp), (guide_label, state, ONE, mp), (head_label, same, hp, mp),
        (head_label, guide_label, hp, mp),
    ))  # fmt: skip
    count = put_two(keys, count, 104, mwp, tag_pair(head_label, same))
    return put_fours(keys, count, 105, (
        (inner_label, same, hp, mp), (inner_label, guide_label, hp, mp), (_label_at(guide, outer), same, hp, mp),
        (_label_at(guide, first), same, hp, mp), (_label_at(guide, last), same, hp, mp),
    ))  # fmt: skip


@inner_kernel
def _mark_ancestors(guide, head, above):
    """Set above[x] to 1 for the ancestors of `head` in the guide, else to 0."""
    for position in range(len(guide.heads)):
        above[position] = 0
    position = guide.heads[head]
    while position > 0:
        above[position] = 1
        position = guide.heads[position]


@inner_kernel
def _outer_dependents(guide, head, outer):
    """Set outer[m] to the next dependent of `head` in the guide beyond m, seen from the head; 0: none."""
    n = len(guide.heads) - 1
    found = 0
    for m in range(n, head, -1):
        outer[m] = found
        if guide.heads[m] == head:
            found = m
    found = 0
    for m in range(1, head):
        outer[m] = found
        if guide.heads[m] == head:
            found = m


@inner_kernel
def head_keys(atoms, guide, allowed, head, scratch, keys, starts, ends):
    """Write the keys of the links from one head to every dependent: the link to m has keys[starts[m]:ends[m]]. Return
    the number of keys.

    `allowed`: bool (n + 1, n + 1) by head and dependent; a link that is not allowed gets no keys. If of another shape,
    all links are allowed. Scratch: `scratch` int32 (4, n + 3). `keys`: uint64 (n (MAX_KEYS + n),). `starts`, `ends`:
    int64 (n + 1,).
    """
    n = len(atoms) - 3
    h, guided = head + 1, len(guide.heads) > 1
    all_allowed = len(allowed) != n + 1
    tags, above, outer, kinds = scratch[0], scratch[1], scratch[2], scratch[3]
    if guided:
        _mark_ancestors(guide, head, above)
        _outer_dependents(guide, head, outer)
    count = 0
    for step in (1, -1):
        n_tags, inner, inside, to_head = 0, 0, 0, 0
        kinds[:N_KINDS] = 0
        m = head + step
        while 1 <= m <= n:
            starts[m] = count
            is_allowed = all_allowed or allowed[head, m]
            if is_allowed:
                count = _end_keys(atoms, h, m + 1, keys, count)
                count = _between_keys(atoms, h, m + 1, tags, n_tags, kinds, keys, count)
            if guided:
                low, high = min(head, m), max(head, m)
                # The guide's links between the tokens inside and all others, minus those to the two ends.
                crossed = inside - to_head - (guide.near[m, high] - guide.near[m, low + 1])
                if is_allowed:
                    count = _guide_keys(atoms, guide, head, m, inner, outer[m], above[m], crossed, keys, count)
                if guide.heads[m] == head:
                    inner = m
                to_head += guide.heads[m] == head or (head > 0 and guide.heads[head] == m)
                degree = guide.near[m, n + 1]
                inside += degree - 2 * (guide.near[m, high] - guide.near[m, low + 1])
            ends[m] = count
            k = 0
            while k < n_tags and tags[k] != atoms[m + 1, TAG]:
                k += 1
            tags[k] = atoms[m + 1, TAG]
            n_tags = max(n_tags, k + 1)
            kinds[atoms[m + 1, KIND]] += 1
            m += step
    return count


@kernel
def tree_keys(atoms, guide, heads, written):
    """Write the keys of a tree's links, heads int32 (n + 1,), alone and with distance, to `written` uint64. Return
    their number; if it exceeds the length of `written`, the rest is not written."""
    n = len(heads) - 1
    allowed = np.zeros((1, 1), np.bool_)  # ALL_LINKS, which as a global would be read-only
    scratch, keys = np.zeros((4, len(atoms)), np.int32), np.empty(n * (MAX_KEYS + n), np.uint64)
    starts, ends = np.empty(len(heads), np.int64), np.empty(len(heads), np.int64)
    count = 0
    for head in range(n + 1):
        head_keys(atoms, guide, allowed, head, scratch, keys, starts, ends)
        for m in range(1, n + 1):
            if heads[m] == head:
                for k in range(starts[m], ends[m]):
                    if count + 2 <= len(written):
                        written[count] = keys[k]
                        written[count + 1] = with_distance(keys[k], head, m)
                    count += 2
    return count


def select_heads(scores: np.ndarray, n_heads: int) -> np.ndarray:
    """Select the links to be scored, bool in the shape of `scores`: from the `n_heads` best heads of each dependent,
    from heads with the same score as the last of these, and from the root. Entries of a token with itself are
    arbitrary."""
    others = scores.copy()
    np.fill_diagonal(others, -np.inf)
    allowed = others >= (np.sort(others, axis=0)[-n_heads] if n_heads < len(scores) - 1 else -np.inf)
    allowed[0] = True
    return allowed


@kernel
def score_links(atoms, guide, rows, weights, allowed, scores):
    """Fill scores[h, d], float64 (n + 1, n + 1), with sums of `weights`, by position in a FamilyTable with `rows`.
    Links that are not `allowed` (see `head_keys`) get UNLIKELY, so that there is always a tree."""
    n = len(atoms) - 3
    scratch, keys = np.zeros((4, len(atoms)), np.int32), np.empty(n * (MAX_KEYS + n), np.uint64)
    starts, ends = np.empty(len(scores), np.int64), np.empty(len(scores), np.int64)
    positions, families = np.empty((2, len(keys)), np.uint64), np.empty(len(keys), np.uint64)
    all_allowed = len(allowed) != n + 1
    for head in range(n + 1):
        count = head_keys(atoms, guide, allowed, head, scratch, keys, starts, ends)
        find_families(rows, keys, count, positions, families)
        for m in range(1, n + 1):
            if m != head:
                scores[head, m] = UNLIKELY
                if all_allowed or allowed[head, m]:
                    distance = distance_bin(head, m)
                    scores[head, m] = sum_weights(weights, families, starts[m], ends[m], distance, positions[0])


@kernel
def list_features(atoms, guide, rows, ids, ends_of_links, features):
    """List the features of every link for training. Link (h, d) has the index h n + d - 1; the features of link i,
    int32 from `ids`, end at ends_of_links[i] and start where those of link i - 1 end. Return the number of
    features; if it exceeds the length of `features`, the rest is not written.
    """
    n = len(atoms) - 3
    allowed = np.zeros((1, 1), np.bool_)  # ALL_LINKS, which as a global would be read-only
    scratch, keys = np.zeros((4, len(atoms)), np.int32), np.empty(n * (MAX_KEYS + n), np.uint64)
    starts, ends = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    positions, families = np.empty((2, len(keys)), np.uint64), np.empty(len(keys), np.uint64)
    total = 0
    for head in range(n + 1):
        count = head_keys(atoms, guide, allowed, head, scratch, keys, starts, ends)
        find_families(rows, keys, count, positions, families)
        for m in range(1, n + 1):
            if m != head:
                distance = distance_bin(head, m)
                for k in range(starts[m], ends[m]):
                    for position in (first_position(families[k]), bin_position(families[k], distance)):
                        if position > 0:
                            if total < len(features):
                                features[total] = ids[position]
                            total += 1
            ends_of_links[head * n + m - 1] = total
    return total


class Guide(NamedTuple):
    """A given dependency tree, used as a source of features.

    `heads`: int32 (n + 1,), heads[0] = -1; of length 1 if there is no guide. `labels`: int32 (n + 1,), atoms of the
    links' labels, see `label_atoms`; 0: unknown. `outermost`: int32 (n + 1, 2), a token's leftmost dependent on its
    left and rightmost on its right, 0: none. `counts`: int32 (n + 1, 2), number of dependents left and right. `near`:
    int32 (n + 1, n + 2); near[x, y] is the number of tokens below y (of 0 … n) that have a link with x.
    """

    heads: np.ndarray
    labels: np.ndarray
    outermost: np.ndarray
    counts: np.ndarray
    near: np.ndarray


@kernel
def read_guide(heads, outermost, counts, near):
    """Fill the arrays of a Guide that are computed from `heads`, all zero."""
    n = len(heads) - 1
    for d in range(1, n + 1):
        h = heads[d]
        if d < h:
            counts[h, 0] += 1
            if outermost[h, 0] == 0:
                outermost[h, 0] = d
        else:
            counts[h, 1] += 1
            outermost[h, 1] = d
        near[h, d + 1] += 1
        near[d, h + 1] += 1
    for x in range(n + 1):
        for y in range(n + 1):
            near[x, y + 1] += near[x, y]


def label_atoms(labels: np.ndarray) -> np.ndarray:
    """Convert ids of labels, int32 (n + 1,), to atoms: 1 for the root, which has no link, else id + 2."""
    atoms = np.asarray(labels, np.int32) + np.int32(2)
    atoms[0] = 1
    return atoms


def make_guide(heads: np.ndarray | None, labels: np.ndarray | None = None) -> Guide:
    """Build the Guide from a tree's heads and the atoms of its labels, each int32 (n + 1,); without heads an empty
    Guide."""
    if heads is None:
        heads = np.full(1, -1, np.int32)
    n = len(heads) - 1
    guide = Guide(
        heads,
        np.zeros(n + 1, np.int32) if labels is None else labels,
        np.zeros((n + 1, 2), np.int32),
        np.zeros((n + 1, 2), np.int32),
        np.zeros((n + 1, n + 2), np.int32),
    )
    if n:
        read_guide(guide.heads, guide.outermost, guide.counts, guide.near)
    return guide
