"""Attach tokens that are unattached where the treebank never leaves such a token unattached.

The chart includes a constituent only if its probability exceeds the penalty. If the noun phrase of a subject falls
slightly short of that, its words become direct children of the clause: they are unattached. This module gives such
tokens the most probable constituent that covers them; the rest of the tree is unchanged.
"""

import math

import numpy as np

from ...dtypes import INDEX
from ..jit import kernel


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
def place_of_bare(items, count, n, tags, never, parents, first):
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
def find_bare(items, item_firsts, tags, firsts, never, parents, found):
    """Fill `found` bool (S,): whether `place_of_bare` finds a token in each of S concatenated sentences.

    `items` int32 (…, 3): sentence s has `items[item_firsts[s] : item_firsts[s + 1]]`, the root first, which is ignored;
    a sentence with a label below 0 is skipped. `tags` int32 (tokens,) and the scratch `parents` int32 (tokens,) of a
    sentence start at `firsts[s]`.
    """
    for s in range(len(firsts) - 1):
        here = items[item_firsts[s] + 1 : item_firsts[s + 1]]
        known = True
        for c in range(len(here)):
            known = known and here[c, 2] >= 0
        own, room = tags[firsts[s] : firsts[s + 1]], parents[firsts[s] : firsts[s + 1]]
        found[s] = known and place_of_bare(here, len(here), len(own), own, never, room, 0) >= 0


@kernel(error_model="numpy")
def _wrong(never, label, tag, beside):
    """Whether `label` never has an unattached token of the tag next to children with the labels marked in `beside` bool
    (labels + 1,); the last is always marked."""
    for child in range(len(beside)):
        if beside[child] and never[label, child, tag]:
            return True
    return False


@kernel(error_model="numpy")
def _faults(never, label, bare, beside):
    """The number of tokens that `label` never has unattached next to such children; `bare` int32 (tags,): number of
    unattached tokens by tag."""
    faults = 0
    for tag in range(len(bare)):
        if bare[tag] > 0 and _wrong(never, label, tag, beside):
            faults += bare[tag]
    return faults


@kernel(error_model="numpy")
def _children(items, count, parent, parents, tags, start, end, bare, beside):
    """Split the children of constituent `parent`, or of the root if it is -1, into those within [start, end) (row 0)
    and the others (row 1): `bare` int32 (2, tags): number of unattached tokens by tag; `beside` bool (2, labels + 1):
    marks the labels of the constituents, and the last."""
    bare[:] = 0
    beside[:, :-1] = False
    beside[:, -1] = True
    first, last, _ = _constituent(items, parent, len(tags), -1)
    for t in range(first, last):
        if parents[t] == parent:
            bare[0 if start <= t < end else 1, tags[t]] += 1
    c = parent + 1
    while c < count and items[c, 0] < last:
        beside[0 if start <= items[c, 0] and items[c, 1] <= end else 1, items[c, 2]] = True
        c = _next_child(items, count, c)


@kernel(error_model="numpy")
def _insert(items, costs, count, parent, start, end, labels, cost):
    """Insert a chain of labels over [start, end), a run of complete children of constituent `parent`, below it. Return
    the new number of constituents."""
    at, size = parent + 1, len(labels)
    while at < count and items[at, 0] < start:
        at += 1
    for c in range(count - 1, at - 1, -1):
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
    best, most = 0, -math.inf
    for c in range(len(spans)):
        if spans[c, 0] == 0 and spans[c, 1] == n:
            for chain in range(1, logs.shape[1]):
                if logs[c, chain] > most:
                    best, most = chain, logs[c, chain]
    return best, most


@kernel(error_model="numpy")
def _count_faults(never, label, bare, beside, below, above):
    """For each label over the children in row 0 of `_children`, count the faults (`_faults`) `below` it, and `above`
    it, where `label` is the parent and the children in row 1 are its other children."""
    for top in range(len(below)):
        below[top] = _faults(never, top, bare[0], beside[0])
        already = beside[1, top]
        beside[1, top] = True
        above[top] = _faults(never, label, bare[1], beside[1])
        beside[1, top] = already


@kernel(error_model="numpy")
def _highest(logs, c):
    """The log-probability of the most likely label chain of candidate `c`."""
    best = -math.inf
    for chain in range(1, logs.shape[1]):
        best = max(best, logs[c, chain])
    return best


@kernel(error_model="numpy")
def _repeats(items, parent, i, j, labels):
    """Whether one of the labels is already over the same tokens [i, j): a unary chain has no label twice."""
    while parent >= 0 and items[parent, 0] == i and items[parent, 1] == j:
        for label in labels:
            if label == items[parent, 2]:
                return True
        parent -= 1
    return False


@kernel(error_model="numpy")
def take_up_bare(items, costs, count, tags, never, one_root, spans, posteriors, logs, chain_from, chain_labels):
    """Attach the tokens that `place_of_bare` finds, in place, from left to right; return the new number of
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
    bare, beside = np.empty((2, never.shape[2]), dtype=INDEX), np.empty((2, n_labels + 1), dtype=np.bool_)
    below, above_it = np.empty(n_labels, dtype=INDEX), np.empty(n_labels, dtype=INDEX)
    if one_root and count > 0 and (items[0, 0] > 0 or items[0, 1] < n):
        chain, most = _best_root(n, spans, logs)
        chosen = chain_labels[chain_from[chain] : chain_from[chain + 1]]
        count = _insert(items, costs, count, -1, 0, n, chosen, -most)
    added = 0
    t = place_of_bare(items, count, n, tags, never, parents, 0)
    while t >= 0 and added < n:
        parent = parents[t]
        start, end, label = _constituent(items, parent, n, n_labels)
        inside[:] = False
        for c in range(parent + 1, count):
            if items[c, 0] < end:
                inside[items[c, 0] + 1 : items[c, 1]] = True
        _children(items, count, parent, parents, tags, start, end, bare, beside)
        faults = _faults(never, label, bare[0], beside[0])
        best, best_chain, most, fewer = -1, -1, -math.inf, False
        for c in range(len(spans)):
            i, j = spans[c, 0], spans[c, 1]
            if not start <= i < j <= end or inside[i] or inside[j]:
                continue
            if fewer and math.log(posteriors[c]) + _highest(logs, c) <= most:
                continue
            _children(items, count, parent, parents, tags, i, j, bare, beside)
            if bare[0].sum() == 0:
                continue
            _count_faults(never, label, bare, beside, below, above_it)
            for chain in range(1, n_chains):
                value = math.log(posteriors[c]) + logs[c, chain]
                top, bottom = chain_labels[chain_from[chain]], chain_labels[chain_from[chain + 1] - 1]
                better = below[bottom] + above_it[top] < faults
                if value == -math.inf or (fewer and not better) or (better == fewer and value <= most):
                    continue
                if not better and not (i <= t < j and not _wrong(never, bottom, tags[t], beside[0])):
                    continue
                if not _repeats(items, parent, i, j, chain_labels[chain_from[chain] : chain_from[chain + 1]]):
                    best, best_chain, most, fewer = c, chain, value, better
        if best >= 0:
            chosen = chain_labels[chain_from[best_chain] : chain_from[best_chain + 1]]
            count = _insert(items, costs, count, parent, spans[best, 0], spans[best, 1], chosen, -most)
            added += 1
        again = best >= 0 and added < n  # the new constituent may cause a fault of an earlier token
        t = place_of_bare(items, count, n, tags, never, parents, 0 if again else t + 1)
    return count
