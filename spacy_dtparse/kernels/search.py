"""Search over whole states: pop the cheapest, complete it greedily, queue every successor that was passed over.

Turian & Melamed 2006a, sections 2 and 4.1: cost of an inference is ln(1 + exp(-h)), so costs only rise along a path and
the first popped state that costs no less than the best complete parse proves that parse optimal. Successors live in
growing arrays as (parent, window, label, cost); a popped state is rebuilt by applying its path from the start.
"""

from __future__ import annotations

import numpy as np

from .jit import bare_kernel, kernel
from .score import grow_cache, inference_cost, make_cache, score_shift, score_windows
from .state import (
    BOTTOM_UP,
    SHIFT_REDUCE,
    add_item,
    infer,
    is_complete,
    label_allowed,
    list_windows,
    start_sentence,
)

OPTIMAL, COMPLETE, GREEDY, FALLBACK = 0, 1, 2, 3
STATUSES = ("optimal", "complete", "greedy", "fallback")

GLUE_COST = 1000.0
"""Added per frontier item when no inference is left and the pieces are joined under TOP: any real parse is cheaper."""

_H1 = np.uint64(0x9E3779B97F4A7C15)
_H2 = np.uint64(0xBF58476D1CE4E5B9)
_S31 = np.uint64(31)
_S29 = np.uint64(29)
_S46 = np.uint64(46)
_EMPTY = np.uint64(0)
_ONE = np.uint64(1)


@bare_kernel
def _before(cost, a, b):
    """Total order of queued states: cheaper first, then the one queued first."""
    return cost[a] < cost[b] or (cost[a] == cost[b] and a < b)


@bare_kernel
def _heap_push(heap, count, cost, state):
    at = count
    heap[at] = state
    while at > 0:
        up = (at - 1) >> 1
        if not _before(cost, heap[at], heap[up]):
            break
        heap[at], heap[up] = heap[up], heap[at]
        at = up
    return count + 1


@bare_kernel
def _heap_pop(heap, count, cost):
    """Remove the first state; the caller reads heap[0] before. Returns the new count."""
    count -= 1
    heap[0] = heap[count]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            return count
        if child + 1 < count and _before(cost, heap[child + 1], heap[child]):
            child += 1
        if not _before(cost, heap[child], heap[at]):
            return count
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@bare_kernel
def _item_hash(start, end, label, below):
    """Hash of an item; `below`: symbol of an only child, else -1, so that NP over VP is not VP over NP."""
    z = (np.uint64(start) * _H1) ^ (np.uint64(end) * _H2) ^ (np.uint64(label + 1) << _S29)
    z ^= np.uint64(below + 1) << _S46
    z = (z ^ (z >> _S31)) * _H1
    z = (z ^ (z >> _S29)) * _H2
    return z ^ (z >> _S31)


@bare_kernel
def _met(keys, costs, key, cost):
    """True when a state with this hash was met at no greater cost; else remember it. The table must have room."""
    mask = np.uint64(keys.shape[0] - 1)
    key |= _ONE
    at = (key >> _S29) & mask
    while keys[at] != _EMPTY:
        if keys[at] == key:
            if costs[at] <= cost:
                return True
            costs[at] = cost
            return False
        at = (at + _ONE) & mask
    keys[at] = key
    costs[at] = cost
    return False


@kernel
def _grow_states(size, parent, at_i, at_j, at_label, heap, cost, hashes, track):
    """The arrays of the states with room for `size`; `hashes` only grows when duplicates are tracked."""
    bigger_hashes = np.zeros(size if track else hashes.shape[0], dtype=np.uint64)
    for k in range(hashes.shape[0]):
        bigger_hashes[k] = hashes[k]
    bigger_cost = np.empty(size, dtype=np.float64)
    bigger = np.empty((5, size), dtype=np.int32)
    for k in range(cost.shape[0]):
        bigger_cost[k] = cost[k]
        bigger[0, k] = parent[k]
        bigger[1, k] = at_i[k]
        bigger[2, k] = at_j[k]
        bigger[3, k] = at_label[k]
    for k in range(heap.shape[0]):
        bigger[4, k] = heap[k]
    return bigger[0], bigger[1], bigger[2], bigger[3], bigger[4], bigger_cost, bigger_hashes


@bare_kernel
def _rebuild(
    grammar, heads, tokens, tag_symbols, n_tokens, nodes, frontier, children, parent, window_i, window_j, label, cost,
    state, path, out_cost,
):  # fmt: skip
    """Make `state` the current one by applying its path from the initial state; returns (low, cursor, size).

    `path` int32: room for the path, which is as long as the number of ancestors. The cost of every inference is
    written to
    `out_cost` at the node it makes.
    """
    length = 0
    s = np.int64(state)
    while s > 0:
        path[length] = s
        length += 1
        s = np.int64(parent[s])
    start_sentence(tokens, n_tokens, tag_symbols, nodes, frontier)
    low, size = np.int64(0), np.int64(n_tokens)
    cursor = np.int64(n_tokens) if grammar.options[0] == SHIFT_REDUCE else np.int64(0)
    for k in range(length - 1, -1, -1):
        s = np.int64(path[k])
        out_cost[nodes.used[0]] = cost[s] - cost[parent[s]]
        low, cursor, size = infer(
            grammar, heads, nodes, frontier, low, cursor, size, np.int64(window_i[s]), np.int64(window_j[s]),
            np.int64(label[s]), children,
        )  # fmt: skip
    return low, cursor, size


@kernel
def _rehash(keys, costs, count):
    """A table twice as large with the same entries."""
    new_keys = np.zeros(2 * keys.shape[0], dtype=np.uint64)
    new_costs = np.zeros(2 * keys.shape[0], dtype=np.float64)
    for k in range(keys.shape[0]):
        if keys[k] != _EMPTY:
            _met(new_keys, new_costs, keys[k], costs[k])
    return new_keys, new_costs


@kernel
def search(model, tokens, tag_symbols, n_tokens, budget, confident, nodes, scratch, out_cost, out_count):
    """Parse one sentence of at least one token; the items of the parse are left in `nodes`, the root is the last node.

    `budget`: stop once this many inferences were scored and some parse exists; 0: greedy only. `confident` float64: a
    shift that scores more is taken without scoring the windows of its state (infinity: never); then OPTIMAL means
    the cheapest of the parses that are left.
    `out_cost` float64 (node capacity + 1,): cost of each item's inference, by node; the parse's cost in the last entry.
    `out_count` int64 (4,): states expanded, inferences scored, 1 if the first (greedy) parse is the one returned,
    states
    made. Returns a status: OPTIMAL, COMPLETE, GREEDY or FALLBACK.
    """
    grammar, heads = model.grammar, model.heads
    strategy = np.int64(grammar.options[0])
    n_labels = np.int64(grammar.options[3])
    top = np.int64(grammar.options[4])
    frontier = scratch.frontier
    children = scratch.features.children
    node_room = nodes.label.shape[0] - 1
    keep = budget > 0
    room = 4096 if keep else 8 * n_tokens + 64
    parent = np.empty(room, dtype=np.int32)
    at_i = np.empty(room, dtype=np.int32)
    at_j = np.empty(room, dtype=np.int32)
    at_label = np.empty(room, dtype=np.int32)
    cost = np.empty(room, dtype=np.float64)
    track = strategy == BOTTOM_UP and keep
    hashes = np.zeros(room if track else 1, dtype=np.uint64)
    met_keys = np.zeros(8192 if track else 2, dtype=np.uint64)
    met_costs = np.zeros(8192 if track else 2, dtype=np.float64)
    heap = np.empty(room if keep else 1, dtype=np.int32)
    path = np.empty(n_tokens + nodes.label.shape[0] + 1, dtype=np.int32)  # all shifts and all items
    parent[0], at_i[0], at_j[0], at_label[0], cost[0] = -1, 0, 0, -1, 0.0
    caching = keep and grammar.options[6] >= 0
    cache = make_cache(2048 if caching else 2, scratch.scores.shape[1])
    n_states = np.int64(1)
    n_heap = 0
    n_met = 0
    best_state, best_cost, best_glued = -1, np.inf, False
    first_state = -1
    scored = 0
    expanded = 0
    current = np.int64(0)
    status = GREEDY
    while True:
        low, cursor, size = _rebuild(
            grammar, heads, tokens, tag_symbols, n_tokens, nodes, frontier, children, parent, at_i, at_j, at_label,
            cost, current, path, out_cost,
        )  # fmt: skip
        # Complete it greedily; every successor passed over becomes a state.
        queued_from = n_states
        done, glued = False, False
        while not done:
            if is_complete(grammar, nodes, frontier, low, size):
                done = True
                break
            can_shift = strategy == SHIFT_REDUCE and cursor > low
            n_windows = 0
            legal = 0
            if nodes.used[0] < node_room:
                n_windows = list_windows(
                    grammar, nodes, tokens, frontier, cursor, size, scratch.windows_i, scratch.windows_j
                )
            expanded += 1
            best_i, best_j, best_label, step = np.int64(-1), np.int64(-1), np.int64(-1), np.inf
            best_slot = np.int64(-1)
            if n_windows == 0:
                if can_shift:
                    best_i, best_j, best_label, step = cursor - 1, cursor, n_labels, 0.0  # the only way on
            else:
                if caching:
                    while cache.used[0] + n_windows + 1 > cache.scores.shape[0]:
                        cache = grow_cache(cache)
                if can_shift:
                    score_shift(model, tokens, n_tokens, nodes, frontier, low, size, cursor, scratch, cache)
                    if scratch.shift[0] > confident:
                        n_windows = 0  # sure enough to go on without a look at the windows
                score_windows(model, tokens, n_tokens, nodes, frontier, low, size, n_windows, scratch, cache)
                top_allowed = size - low == 1
                needed = n_states + n_windows * n_labels + 2
                if keep and needed > cost.shape[0]:
                    parent, at_i, at_j, at_label, heap, cost, hashes = _grow_states(
                        2 * needed, parent, at_i, at_j, at_label, heap, cost, hashes, track
                    )
                if track and 2 * (n_met + n_windows * n_labels) > met_keys.shape[0]:
                    while 2 * (n_met + n_windows * n_labels) > met_keys.shape[0]:
                        met_keys, met_costs = _rehash(met_keys, met_costs, n_met)
                for w in range(n_windows):
                    i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
                    single = j - i == 1
                    for label in range(n_labels):
                        if label == top and not top_allowed:
                            continue
                        if (single or label == top) and not label_allowed(
                            grammar, nodes, frontier, low, size, i, j, label
                        ):
                            continue
                        scored += 1
                        legal += 1
                        extra = inference_cost(scratch.scores[w, label])
                        total = cost[current] + extra
                        if total >= best_cost:
                            continue
                        slot = np.int64(-1)
                        if track:
                            below = np.int64(nodes.label[frontier[i]]) if single else np.int64(-1)
                            key = hashes[current] ^ _item_hash(
                                nodes.start[frontier[i]], nodes.end[frontier[j - 1]], label, below
                            )
                            n_met += 1
                            if _met(met_keys, met_costs, key, total):
                                continue
                            hashes[n_states] = key
                        if keep:
                            slot = n_states
                            parent[slot], at_i[slot], at_j[slot], at_label[slot] = current, i, j, label
                            cost[slot] = total
                            n_states += 1
                        if extra < step:
                            best_i, best_j, best_label, step = i, j, label, extra
                            best_slot = slot
                if can_shift:
                    scored += 1
                    extra = inference_cost(scratch.shift[0])
                    total = cost[current] + extra
                    if total < best_cost:
                        slot = np.int64(-1)
                        if keep:
                            slot = n_states
                            parent[slot], at_i[slot], at_j[slot] = current, cursor - 1, cursor
                            at_label[slot] = n_labels
                            cost[slot] = total
                            n_states += 1
                        if extra < step:
                            best_i, best_j, best_label, step = cursor - 1, cursor, n_labels, extra
                            best_slot = slot
            if best_label < 0:
                if legal > 0 or can_shift:
                    break  # every successor costs at least as much as the best parse, or was met before
                glued = True
                break
            if best_slot < 0:
                if n_states == cost.shape[0]:
                    parent, at_i, at_j, at_label, heap, cost, hashes = _grow_states(
                        2 * n_states, parent, at_i, at_j, at_label, heap, cost, hashes, track
                    )
                best_slot = np.int64(n_states)
                parent[best_slot] = current
                at_i[best_slot], at_j[best_slot], at_label[best_slot] = best_i, best_j, best_label
                cost[best_slot] = cost[current] + step
                if track:
                    hashes[best_slot] = hashes[current]
                n_states += 1
            if keep:
                parent[best_slot] = -2 - parent[best_slot]  # followed, so not to be queued
            low, cursor, size = infer(
                grammar, heads, nodes, frontier, low, cursor, size, best_i, best_j, best_label, children
            )
            current = np.int64(best_slot)
        total = cost[current]
        if glued:
            total += GLUE_COST * (size - low)
        if (done or glued) and total < best_cost:
            best_cost, best_state, best_glued = total, current, glued
            if first_state < 0:
                first_state = current
        if not keep:
            break
        for s in range(queued_from, n_states):
            if parent[s] <= -2:
                parent[s] = -2 - parent[s]  # followed, not queued
            elif cost[s] < best_cost:
                n_heap = _heap_push(heap, n_heap, cost, s)
        if n_heap == 0 or cost[heap[0]] >= best_cost:
            status = OPTIMAL
            break
        if scored >= budget and best_state >= 0:
            status = COMPLETE
            break
        current = np.int64(heap[0])
        n_heap = _heap_pop(heap, n_heap, cost)
    low, cursor, size = _rebuild(
        grammar, heads, tokens, tag_symbols, n_tokens, nodes, frontier, children, parent, at_i, at_j, at_label, cost,
        best_state, path, out_cost,
    )  # fmt: skip
    if best_glued:
        out_cost[nodes.used[0]] = GLUE_COST * (size - low)
        add_item(heads, nodes, frontier, low, size, top, children)
        status = FALLBACK
    out_cost[out_cost.shape[0] - 1] = best_cost
    out_count[0] = expanded
    out_count[1] = scored
    out_count[2] = 1 if best_state == first_state else 0
    out_count[3] = n_states
    return status
