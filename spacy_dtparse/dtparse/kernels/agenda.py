"""State of a search between two steps: the states created, the queue of those not yet expanded, and its progress.

States are stored in one array as (parent, window, label, cost). The kernels allocate nothing; `make_agenda` and
`enlarge` allocate and enlarge the arrays.
"""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from .score import ScoreCache, grow_cache

STATE = np.dtype(
    [(name, np.int32) for name in ("parent", "i", "j", "label")] + [("cost", np.float64), ("hash", np.uint64)],
    align=True,
)
"""A state: its parent state (-1: it is the initial state), window [i, j) and label of the inference that created it,
its cost, and (under BOTTOM_UP) an order-independent hash of its items."""

VISITED = np.dtype([("key", np.uint64), ("cost", np.float64)], align=True)
"""An entry of the hash table of visited states: the state's hash (0: empty) and the lowest cost at which it was
visited."""

END = np.dtype([("cost", np.float64), ("key", np.uint64), ("state", np.int64), ("glued", np.bool_)], align=True)
"""A complete parse: its cost, a hash of its tree if several parses are kept (`tree_key`), its last state, and whether
no inference was left, so that its pieces are joined."""

# Indices into `mark`: progress of the search, preserved between two calls of the kernel.
CURRENT, LOW, CURSOR, SIZE, N_STATES, N_HEAP, N_VISITED, QUEUED_FROM = 0, 1, 2, 3, 4, 5, 6, 7
N_ENDS, N_TRIED, FIRST, SCORED, EXPANDED = 8, 9, 10, 11, 12
RESUMED, NEED_STATES, NEED_VISITED, NEED_CACHE, STARTED = 13, 14, 15, 16, 17
_N_MARKS = 18


class Agenda(NamedTuple):
    """Arrays of a search.

    `states` STATE (S,); `heap` int32 (S,) (1 for greedy search): queued states, cheapest first; `visited` `VISITED`
    (M,), M a power of two; `path` int32: scratch for the longest path; `mark` int64: progress of the search; `ends` END
    (k,): the best parses found, at most k, of different trees, cheapest first."""

    states: np.ndarray
    heap: np.ndarray
    visited: np.ndarray
    path: np.ndarray
    mark: np.ndarray
    ends: np.ndarray


_H1 = np.uint64(0x9E3779B97F4A7C15)
_H2 = np.uint64(0xBF58476D1CE4E5B9)
_S31 = np.uint64(31)
_S29 = np.uint64(29)
_S46 = np.uint64(46)
EMPTY = np.uint64(0)
_ONE = np.uint64(1)


@inner_kernel
def _precedes(states, a, b):
    """Whether state `a` precedes `b` in the total order of queued states: cheaper first, then the one queued first."""
    return states[a]["cost"] < states[b]["cost"] or (states[a]["cost"] == states[b]["cost"] and a < b)


@inner_kernel
def put_state(states, slot, parent, i, j, label, cost, key):
    """Write one state."""
    state = states[slot]
    state["parent"] = parent
    state["i"] = i
    state["j"] = j
    state["label"] = label
    state["cost"] = cost
    state["hash"] = key


@inner_kernel
def heap_push(heap, count, states, state):
    at = count
    heap[at] = state
    while at > 0:
        up = (at - 1) >> 1
        if not _precedes(states, heap[at], heap[up]):
            break
        heap[at], heap[up] = heap[up], heap[at]
        at = up
    return count + 1


@inner_kernel
def heap_pop(heap, count, states):
    """Remove the first state, heap[0], which the caller must read before. Return the new count."""
    count -= 1
    heap[0] = heap[count]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            return count
        if child + 1 < count and _precedes(states, heap[child + 1], heap[child]):
            child += 1
        if not _precedes(states, heap[child], heap[at]):
            return count
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@inner_kernel
def item_hash(start, end, label, below):
    """Hash of an item. `below`: symbol of an only child, else -1, so that NP over VP differs from VP over NP."""
    z = (np.uint64(start) * _H1) ^ (np.uint64(end) * _H2) ^ (np.uint64(label + 1) << _S29)
    z ^= np.uint64(below + 1) << _S46
    z = (z ^ (z >> _S31)) * _H1
    z = (z ^ (z >> _S29)) * _H2
    return z ^ (z >> _S31)


@inner_kernel
def visit(visited, key, cost):
    """Return True if a state with this hash was visited at the same or a lower cost; else record it. The table must
    have a free entry."""
    mask = np.uint64(len(visited) - 1)
    key |= _ONE
    at = (key >> _S29) & mask
    while visited[at]["key"] != EMPTY:
        if visited[at]["key"] == key:
            if visited[at]["cost"] <= cost:
                return True
            visited[at]["cost"] = cost
            return False
        at = (at + _ONE) & mask
    visited[at]["key"] = key
    visited[at]["cost"] = cost
    return False


@inner_kernel
def tree_key(nodes, n_tokens):
    """Order-independent hash of the items of a tree."""
    item, key = nodes.item, EMPTY
    for node in range(n_tokens, np.int64(nodes.used[0])):
        below = np.int64(item[item[node]["first"]]["label"]) if item[node]["arity"] == 1 else np.int64(-1)
        key ^= item_hash(item[node]["start"], item[node]["end"], item[node]["label"], below)
    return key


@inner_kernel
def add_parse(agenda, cost, key, state, glued):
    """Add a parse if it is among the k best. Of two with the same key the cheaper stays, of equal costs the earlier
    one. Return the cost that other parses must stay below: that of the last of k parses, infinity if there are
    fewer."""
    ends, mark = agenda.ends, agenda.mark
    count, k = mark[N_ENDS], len(agenda.ends)
    at = min(count, k - 1)
    for index in range(count):
        if ends[index]["key"] == key:
            at = index
    if at == count or cost < ends[at]["cost"]:
        mark[N_ENDS] = max(count, at + 1)
        while at > 0 and cost < ends[at - 1]["cost"]:
            ends[at] = ends[at - 1]
            at -= 1
        end = ends[at]
        end["cost"], end["key"], end["state"], end["glued"] = cost, key, state, glued
    return ends[k - 1]["cost"] if mark[N_ENDS] == k else np.inf


@noalloc_kernel
def _rehash(visited, bigger):
    """Insert all entries of `visited` into an empty larger table."""
    for k in range(len(visited)):
        if visited[k]["key"] != EMPTY:
            visit(bigger, visited[k]["key"], visited[k]["cost"])


@inner_kernel
def reset(agenda, entries, used):
    """Reset the agenda and the entries of a score cache for a new sentence."""
    mark, visited = agenda.mark, agenda.visited
    if mark[N_VISITED] > 0:
        for k in range(len(visited)):
            visited[k]["key"] = EMPTY
    if used[0] > 0:
        for k in range(len(entries)):
            entries[k]["key"] = EMPTY
        used[0] = 0
    put_state(agenda.states, 0, -1, 0, 0, -1, 0.0, EMPTY)
    for k in range(_N_MARKS):
        mark[k] = 0
    mark[STARTED], mark[N_STATES] = 1, 1
    mark[FIRST] = -1


def make_agenda(n_tokens: int, max_nodes: int, queue_states: bool, find_duplicates: bool) -> Agenda:
    """Allocate an agenda for the best parse of sentences of at most `n_tokens` tokens and `max_nodes` nodes.
    `queue_states`: whether states are queued. `find_duplicates`: whether duplicate states are detected. Call `reset`
    before a search."""
    capacity = 4096 if queue_states else n_tokens + max_nodes + 1
    states = np.empty(capacity, dtype=STATE)
    mark = np.zeros(_N_MARKS, dtype=np.int64)
    return Agenda(
        states,
        np.empty(capacity if queue_states else 1, dtype=np.int32),
        np.zeros(8192 if find_duplicates else 2, dtype=VISITED),
        np.empty(n_tokens + max_nodes + 1, dtype=np.int32),  # all shifts and all items
        mark,
        np.zeros(1, dtype=END),
    )


def enlarge(agenda: Agenda, cache: ScoreCache) -> tuple[Agenda, ScoreCache]:
    """Replace the arrays of an agenda and a cache that are too short, according to `mark`, by longer ones with the same
    content."""
    states, heap, visited, path, mark, ends = agenda
    if mark[NEED_STATES] > len(states):
        states = np.empty(2 * int(mark[NEED_STATES]), dtype=STATE)
        states[: len(agenda.states)] = agenda.states
        if len(heap) > 1:
            heap = np.empty(len(states), dtype=np.int32)
            heap[: len(agenda.heap)] = agenda.heap
    if mark[NEED_VISITED] > len(visited):
        visited = np.zeros(1 << int(mark[NEED_VISITED]).bit_length(), dtype=VISITED)
        _rehash(agenda.visited, visited)
    while mark[NEED_CACHE] > len(cache.scores):
        cache = grow_cache(cache)
    return Agenda(states, heap, visited, path, mark, ends), cache
