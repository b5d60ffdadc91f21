"""Trees that hang together: no token is left bare where the treebank never leaves such a token bare.

The chart keeps a constituent where it is worth its place, so that a subject whose noun phrase falls short by a hair
stands in its clause as loose words. Here such words get the most probable constituent that takes them up, and the tree
is otherwise left as it is.
"""

import math

import numpy as np

from ...dtypes import INDEX
from ..jit import kernel


@kernel(error_model="numpy")
def _constituent(items, c, n, n_labels):
    """(start, end, label) of a constituent, of the root where `c` is -1."""
    return (items[c, 0], items[c, 1], items[c, 2]) if c >= 0 else (0, n, n_labels)


@kernel(error_model="numpy")
def _next_child(items, count, c):
    """The constituent after `c` and all that is below it."""
    end = items[c, 1]
    c += 1
    while c < count and items[c, 0] < end:
        c += 1
    return c


@kernel(error_model="numpy", nogil=False)
def place_of_bare(items, count, n, tags, never, parents, first):
    """The first token from `first` on that is a bare child of a constituent which never has such a one, -1 if there is
    none.

    `items` int32 (…, 3): start, end, label of `count` constituents in pre-order, without the root. `tags` int32 (n,):
    numbers of tags. `never` bool (labels + 1, labels + 1, tags): [parent, child beside the token, tag], where the last
    parent is the root and the last child stands for any or none. Filled: `parents` int32 (n,): the constituent that
    each token is a child of, -1 for the root.
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
    """Whether `place_of_bare` finds a token in each of S sentences, one behind the other; `found` bool (S,) is filled.

    `items` int32 (…, 3), those of a sentence from item_firsts[s] to item_firsts[s + 1], the root first, which is not
    looked at; a sentence with a label below 0 is passed over. `tags`, `parents` int32 (tokens,), from `firsts[s]`.
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
    """Whether `label` never has a bare token of the tag beside children whose labels `beside` bool (labels + 1,) marks;
    the last is always marked."""
    for child in range(len(beside)):
        if beside[child] and never[label, child, tag]:
            return True
    return False


@kernel(error_model="numpy")
def _faults(never, label, bare, beside):
    """How many tokens `label` never has bare beside such children; `bare` int32 (tags,) counts those of each tag."""
    faults = 0
    for tag in range(len(bare)):
        if bare[tag] > 0 and _wrong(never, label, tag, beside):
            faults += bare[tag]
    return faults


@kernel(error_model="numpy")
def _children(items, count, parent, parents, tags, start, end, bare, beside):
    """Sort the children of constituent `parent`, or of the root where it is -1, into those within [start, end) (row 0)
    and the others (row 1): `bare` int32 (2, tags), how many bare tokens have each tag; `beside` bool (2, labels + 1),
    which labels the constituents have, and the last."""
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
    """Put a chain of labels over [start, end), whole children of constituent `parent`, below it. Returns the new
    count."""
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
    """The most probable chain over all n tokens and the log of its probability; chain 0 (no label) where there is no
    such candidate."""
    best, most = 0, -math.inf
    for c in range(len(spans)):
        if spans[c, 0] == 0 and spans[c, 1] == n:
            for chain in range(1, logs.shape[1]):
                if logs[c, chain] > most:
                    best, most = chain, logs[c, chain]
    return best, most


@kernel(error_model="numpy")
def _count_faults(never, label, bare, beside, below, above):
    """For each label over the children of row 0 of `_children`: faults `below` it, and `above` it, where `label` is the
    parent and row 1 its other children."""
    for top in range(len(below)):
        below[top] = _faults(never, top, bare[0], beside[0])
        already = beside[1, top]
        beside[1, top] = True
        above[top] = _faults(never, label, bare[1], beside[1])
        beside[1, top] = already


@kernel(error_model="numpy")
def _highest(logs, c):
    """The log-probability of the likeliest chain of labels of candidate `c`."""
    best = -math.inf
    for chain in range(1, logs.shape[1]):
        best = max(best, logs[c, chain])
    return best


@kernel(error_model="numpy")
def _repeats(items, parent, i, j, labels):
    """Whether one of the labels stands over the same tokens [i, j) already: a unary chain has no label twice."""
    while parent >= 0 and items[parent, 0] == i and items[parent, 1] == j:
        for label in labels:
            if label == items[parent, 2]:
                return True
        parent -= 1
    return False


@kernel(error_model="numpy")
def take_up_bare(items, costs, count, tags, never, one_root, spans, posteriors, logs, chain_from, chain_labels):
    """Take up the tokens that `place_of_bare` finds, in place, from left to right; returns the new number of
    constituents.

    `items`, `costs` (float64, -ln of a constituent's probability) have room for what is added: at most one chain per
    token, and one. `one_root`: whether a constituent must cover all tokens where there is any. `spans` int32 (c, 2),
    `posteriors` float64 (c,), `logs` float32 (c, chains): candidates and log-probabilities of their chains, as
    `span_network.span_probabilities` gives them. The most probable candidate wins that takes up bare tokens of the same
    parent, consists of whole children of it, and leaves fewer tokens bare that should not be, below it and beside it;
    without such a one the most probable that has the token itself and may have it. Where none is possible the token
    stays.
    """
    n, n_chains = len(tags), len(chain_from) - 1
    parents = np.empty(n, dtype=INDEX)
    inside = np.zeros(n + 1, dtype=np.bool_)  # gaps within a child of the parent
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
        again = best >= 0 and added < n  # what was added may now stand beside a token that it never does
        t = place_of_bare(items, count, n, tags, never, parents, 0 if again else t + 1)
    return count
