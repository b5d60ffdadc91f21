"""Attach tokens that are unattached where the treebank never leaves such a token unattached.

The chart includes a constituent only if its probability exceeds the penalty. If the noun phrase of a subject falls
slightly short of that, its words become direct children of the clause: they are unattached. This module gives such
tokens the most probable constituent that covers them; the rest of the tree is unchanged.

Taggers make mistakes that the network does not repeat: if it predicts a verb phrase in which no token has the tag of a
verb, one of them is the verb. `mask_tags` keeps such tokens where they are.
"""

import math

import numpy as np

from ...dtypes import INDEX
from ...jit.decorator import kernel


@kernel(error_model="numpy")
def _constituent(items, c, n, n_labels):
    """(start, end, label) of constituent `c`, or of the root if `c` is -1."""
    return (items[c, 0], items[c, 1], items[c, 2]) if c >= 0 else (0, n, n_labels)


@kernel(error_model="numpy")
def _next_child(items, count, c):
    """The index of the first constituent after `c` and its descendants."""
    end = items[c, 1]
    c += 1
    while c < count and items[c, 0] < end:
        c += 1
    return c


@kernel(error_model="numpy", nogil=False)
def mask_tags(items, count, tags, verb_phrase, is_verb, parents, masked):
    """Copy `tags` int32 (n,) to `masked`, but write the id of unlisted tags, which are never unattached, for the direct
    tokens of each verb phrase that has neither a verb nor another verb phrase as a child.

    `items`, `count`: see `first_unattached`. `verb_phrase`: id of the label, below 0: there is none. `is_verb` bool
    (tags + 1,): by the id of a tag, the last for unlisted tags. Filled: `parents` int32 (n,) as there.
    """
    masked[:] = tags
    if verb_phrase < 0:
        return
    parents[:] = -1
    for c in range(count):
        parents[items[c, 0] : items[c, 1]] = c
    for c in range(count):
        if items[c, 2] != verb_phrase:
            continue
        has_verb = False
        for t in range(items[c, 0], items[c, 1]):
            has_verb = has_verb or (parents[t] == c and is_verb[tags[t]])
        child = c + 1
        while child < count and items[child, 0] < items[c, 1]:
            has_verb = has_verb or items[child, 2] == verb_phrase
            child = _next_child(items, count, child)
        if not has_verb:
            for t in range(items[c, 0], items[c, 1]):
                if parents[t] == c:
                    masked[t] = len(is_verb) - 1


@kernel(error_model="numpy", nogil=False)
def first_unattached(items, count, n, tags, never, parents, first):
    """Index of the first unattached token, at or after `first`, whose parent never has such an unattached token in the
    treebank; -1 if there is none.

    `items` int32 (…, 3): start, end, label of `count` constituents in pre-order, without the root. `tags` int32 (n,):
    ids of tags. `never` bool (labels + 1, labels + 1, tags): [parent, other child, tag] is true if a parent with that
    other child never has an unattached token of the tag; the last parent is the root, the last child means any or none.
    Filled: `parents` int32 (n,): index of each token's parent constituent, -1 for the root.
    """
    n_labels = never.shape[0] - 1
    parents[:] = -1
    for c in range(count):
        parents[items[c, 0] : items[c, 1]] = c
    for t in range(first, n):
        _, end, label = _constituent(items, parents[t], n, n_labels)
        if never[label, n_labels, tags[t]]:
            return t
        c = parents[t] + 1
        while c < count and items[c, 0] < end:
            if never[label, items[c, 2], tags[t]]:
                return t
            c = _next_child(items, count, c)
    return -1


@kernel(error_model="numpy", nogil=False)
def find_unattached(items, item_offsets, tags, offsets, never, verb_phrase, is_verb, parents, found):
    """Fill `found` bool (S,): whether `first_unattached` finds a token, after `mask_tags`, in each of S concatenated
    sentences.

    `items` int32 (…, 3): sentence s has `items[item_offsets[s] : item_offsets[s + 1]]`, the root first, which is
    ignored; a sentence with a label below 0 is skipped. `tags` int32 (tokens,) and the scratch `parents` int32
    (tokens,) of a sentence start at `offsets[s]`.
    """
    for s in range(len(offsets) - 1):
        here = items[item_offsets[s] + 1 : item_offsets[s + 1]]
        all_known = True
        for c in range(len(here)):
            all_known = all_known and here[c, 2] >= 0
        found[s] = False
        if all_known:
            scratch, n = parents[offsets[s] : offsets[s + 1]], offsets[s + 1] - offsets[s]
            masked = np.empty(n, dtype=INDEX)
            mask_tags(here, len(here), tags[offsets[s] : offsets[s + 1]], verb_phrase, is_verb, scratch, masked)
            found[s] = first_unattached(here, len(here), n, masked, never, scratch, 0) >= 0


@kernel(error_model="numpy")
def _is_fault(never, label, tag, sibling_labels):
    """Whether `label` never has an unattached token of the tag next to children with the labels marked in
    `sibling_labels` bool (labels + 1,); the last is always marked."""
    for child in range(len(sibling_labels)):
        if sibling_labels[child] and never[label, child, tag]:
            return True
    return False


@kernel(error_model="numpy")
def _n_faults(never, label, unattached, sibling_labels):
    """The number of tokens that `label` never has unattached next to such children; `unattached` int32 (tags,): number
    of unattached tokens by tag."""
    faults = 0
    for tag in range(len(unattached)):
        if unattached[tag] > 0 and _is_fault(never, label, tag, sibling_labels):
            faults += unattached[tag]
    return faults


@kernel(error_model="numpy")
def _children(items, count, parent, parents, tags, start, end, unattached, sibling_labels):
    """Split the children of constituent `parent`, or of the root if it is -1, into those within [start, end) (row 0)
    and the others (row 1): `unattached` int32 (2, tags): number of unattached tokens by tag; `sibling_labels` bool (2,
    labels + 1): marks the labels of the constituents, and the last."""
    unattached[:] = 0
    sibling_labels[:, :-1] = False
    sibling_labels[:, -1] = True
    first, last, _ = _constituent(items, parent, len(tags), -1)
    for t in range(first, last):
        if parents[t] == parent:
            unattached[0 if start <= t < end else 1, tags[t]] += 1
    c = parent + 1
    while c < count and items[c, 0] < last:
        sibling_labels[0 if start <= items[c, 0] and items[c, 1] <= end else 1, items[c, 2]] = True
        c = _next_child(items, count, c)


@kernel(error_model="numpy")
def _insert(items, costs, count, parent, start, end, labels, cost):
    """Insert a chain of labels over [start, end), a run of complete children of constituent `parent`, below it. Return
    the new number of constituents."""
    at, size = parent + 1, len(labels)
    while at < count and items[at, 0] < start:
        at += 1
    for c in range(count - 1, at - 1, -1):  # from the last one: no row is overwritten before it has moved
        items[c + size, 0], items[c + size, 1], items[c + size, 2] = items[c, 0], items[c, 1], items[c, 2]
        costs[c + size] = costs[c]
    for link in range(size):
        items[at + link, 0], items[at + link, 1], items[at + link, 2] = start, end, labels[link]
        costs[at + link] = cost
    return count + size


@kernel(error_model="numpy")
def _best_root(n, spans, logs):
    """The most probable chain over all n tokens and the log of its probability; chain 0 (no label) if there is no such
    candidate."""
    best, highest = 0, -math.inf
    for c in range(len(spans)):
        if spans[c, 0] == 0 and spans[c, 1] == n:
            for chain in range(1, logs.shape[1]):
                if logs[c, chain] > highest:
                    best, highest = chain, logs[c, chain]
    return best, highest


@kernel(error_model="numpy")
def _count_faults(never, label, unattached, sibling_labels, below, above):
    """For each label over the children in row 0 of `_children`, count the faults (`_n_faults`) `below` it, and `above`
    it, where `label` is the parent and the children in row 1 are its other children."""
    for top in range(len(below)):
        below[top] = _n_faults(never, top, unattached[0], sibling_labels[0])
        already = sibling_labels[1, top]
        sibling_labels[1, top] = True
        above[top] = _n_faults(never, label, unattached[1], sibling_labels[1])
        sibling_labels[1, top] = already


@kernel(error_model="numpy")
def _best_chain_score(logs, c):
    """The log-probability of the most likely label chain of candidate `c`."""
    best = -math.inf
    for chain in range(1, logs.shape[1]):
        best = max(best, logs[c, chain])
    return best


@kernel(error_model="numpy")
def _has_label(items, parent, i, j, labels):
    """Whether one of the labels is already over the same tokens [i, j): a unary chain has no label twice."""
    while parent >= 0 and items[parent, 0] == i and items[parent, 1] == j:
        for label in labels:
            if label == items[parent, 2]:
                return True
        parent -= 1
    return False


@kernel(error_model="numpy")
def attach_unattached(items, costs, count, tags, never, one_root, spans, posteriors, logs, chain_from, chain_labels):
    """Attach the tokens that `first_unattached` finds, in place, from left to right; return the new number of
    constituents.

    `items`, `costs` (float64, -ln of a constituent's probability) must be long enough for the additions: at most one
    chain per token, and one more. `one_root`: whether a constituent must cover all tokens if there is any. `spans`
    int32 (c, 2), `posteriors` float64 (c,), `logs` float32 (c, chains): candidate spans and log-probabilities of their
    chains, from `network.span_probabilities`. The candidate must cover unattached tokens of the same parent, consist of
    complete children of it, and leave fewer faulty unattached tokens, below it and next to it; the most probable such
    candidate wins. If there is none, the most probable one wins that covers the token itself and may have it
    unattached. If that is not possible either, the token stays unattached.
    """
    n, n_chains = len(tags), len(chain_from) - 1
    parents = np.empty(n, dtype=INDEX)
    inside = np.zeros(n + 1, dtype=np.bool_)  # gaps inside a child of the parent
    n_labels = never.shape[0] - 1
    unattached, sibling_labels = np.empty((2, never.shape[2]), dtype=INDEX), np.empty((2, n_labels + 1), dtype=np.bool_)
    below, above = np.empty(n_labels, dtype=INDEX), np.empty(n_labels, dtype=INDEX)
    if one_root and count > 0 and (items[0, 0] > 0 or items[0, 1] < n):
        chain, highest = _best_root(n, spans, logs)
        chosen = chain_labels[chain_from[chain] : chain_from[chain + 1]]
        count = _insert(items, costs, count, -1, 0, n, chosen, -highest)
    added = 0
    t = first_unattached(items, count, n, tags, never, parents, 0)
    while t >= 0 and added < n:
        parent = parents[t]
        start, end, label = _constituent(items, parent, n, n_labels)
        inside[:] = False
        for c in range(parent + 1, count):
            if items[c, 0] < end:
                inside[items[c, 0] + 1 : items[c, 1]] = True
        _children(items, count, parent, parents, tags, start, end, unattached, sibling_labels)
        faults = _n_faults(never, label, unattached[0], sibling_labels[0])
        best, best_chain, highest, found_better = -1, -1, -math.inf, False
        for c in range(len(spans)):
            i, j = spans[c, 0], spans[c, 1]
            if not start <= i < j <= end or inside[i] or inside[j]:
                continue
            if found_better and math.log(posteriors[c]) + _best_chain_score(logs, c) <= highest:
                continue
            _children(items, count, parent, parents, tags, i, j, unattached, sibling_labels)
            if unattached[0].sum() == 0:
                continue
            _count_faults(never, label, unattached, sibling_labels, below, above)
            for chain in range(1, n_chains):
                value = math.log(posteriors[c]) + logs[c, chain]
                top, bottom = chain_labels[chain_from[chain]], chain_labels[chain_from[chain + 1] - 1]
                better = below[bottom] + above[top] < faults
                if value == -math.inf or (found_better and not better) or (better == found_better and value <= highest):
                    continue
                if not better and not (i <= t < j and not _is_fault(never, bottom, tags[t], sibling_labels[0])):
                    continue
                if not _has_label(items, parent, i, j, chain_labels[chain_from[chain] : chain_from[chain + 1]]):
                    best, best_chain, highest, found_better = c, chain, value, better
        if best >= 0:
            chosen = chain_labels[chain_from[best_chain] : chain_from[best_chain + 1]]
            count = _insert(items, costs, count, parent, spans[best, 0], spans[best, 1], chosen, -highest)
            added += 1
        again = best >= 0 and added < n  # the new constituent may cause a fault of an earlier token
        t = first_unattached(items, count, n, tags, never, parents, 0 if again else t + 1)
    return count
