"""States of a parse: nodes, frontier, the legal windows of each strategy, and the application of an inference.

A state is a frontier of nodes. A candidate inference is a window [i, j) of it, the run of adjacent items that become
children, and a label (Turian & Melamed 2006a, section 2). The frontier is stored in [low, size) of an array. Under
SHIFT_REDUCE [low, cursor) are the unread tokens and [cursor, size) is the stack, leftmost item on top; a shift moves
the cursor one to the left. A reduction does not move the stack; it moves the unread tokens next to it, but writes only
the nearest `reach` of them (those that a template can use), so an action costs the same in a sentence of any length.
With the other strategies low = cursor = 0.
"""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel
from ...stored_names import stored_as
from ...trees.kernels import head_position
from .atoms import fold, mix
from .features import NODE, PUNCT, Nodes, Windows

L2R, R2L, BOTTOM_UP, SHIFT_REDUCE = 0, 1, 2, 3
_TOKEN = np.uint64(0x2545F4914F6CDD1D)
_ITEM = np.uint64(0xD6E8FEB86659FD93)
STRATEGIES = ("l2r", "r2l", "bottom_up", "shift_reduce")


@stored_as("options")
class Grammar(NamedTuple):
    """Rules for legal inferences, as an int32 array so that kernels compile once.

    `options` int32 (7,): strategy, maximum number of children of an item, 1 if punctuation may be the first or last
    child, number of labels, id of the label TOP (the last label), number of frontier items left of a window that
    templates use, number of items to the right of it or from its start (-1: no bound, or too deep a template; then
    scores are not cached between states). A shift is written as label `options[3]` with the window [cursor - 1,
    cursor).
    """

    options: np.ndarray


@inner_kernel
def start_sentence(tokens, n_tokens, tag_symbols, nodes, frontier):
    """Create the initial state: one node per token. `tag_symbols` int32 (n,): symbol of each token's tag."""
    item = nodes.item
    for t in range(n_tokens):
        item[t]["label"] = tag_symbols[t]
        item[t]["start"] = t
        item[t]["end"] = t + 1
        item[t]["head"] = t
        item[t]["first"] = -1
        item[t]["last"] = -1
        item[t]["middle"] = -1
        item[t]["child_at"] = 0
        item[t]["arity"] = 0
        item[t]["own_hash"] = mix(_TOKEN, t)
        item[t]["key"] = item[t]["own_hash"]
        frontier[t] = t
    nodes.used[0] = n_tokens
    nodes.used[1] = 0


@inner_kernel
def in_unary_chain(nodes, node, label):
    """Whether `label` is already in the unary chain that ends in `node`."""
    item = nodes.item
    while item[node]["first"] >= 0:
        if item[node]["label"] == label:
            return True
        if item[node]["arity"] != 1:
            return False
        node = item[node]["first"]
    return False


@inner_kernel
def list_windows(grammar, state, windows):
    """Write the legal windows of a state, ordered by start, then end; return their number.

    Shifts are not windows. A window is legal if its arity is allowed, no punctuation token is at its edge (unless
    allowed) and the strategy permits it. Labels are restricted further by `is_label_legal`.
    """
    tokens, item, frontier, size = state.tokens, state.nodes.item, state.frontier, state.size
    strategy = grammar.options[0]
    max_arity = grammar.options[1]
    punctuation_at_edge = grammar.options[2] == 1
    lo, hi, pivot = 0, size, -1
    if strategy == SHIFT_REDUCE:
        lo, hi = state.cursor, min(state.cursor + 1, size)
    elif strategy == R2L:
        for k in range(size):
            if item[frontier[k]]["first"] >= 0:
                pivot = k
                hi = k + 1
                break
    elif strategy == L2R:
        for k in range(size - 1, -1, -1):
            if item[frontier[k]]["first"] >= 0:
                pivot = k
                lo = max(0, k + 1 - max_arity)
                break
    count = 0
    for i in range(lo, hi):
        node = frontier[i]
        if not punctuation_at_edge and item[node]["first"] < 0 and tokens[node, PUNCT] == 1:
            continue
        for j in range(i + 1, min(i + max_arity, size) + 1):
            # l2r: the window contains the rightmost item already built or is entirely to its right.
            if strategy == L2R and pivot >= 0 and i <= pivot and j <= pivot:
                continue
            node = frontier[j - 1]
            if not punctuation_at_edge and item[node]["first"] < 0 and tokens[node, PUNCT] == 1:
                continue
            # The arrays are long enough: at most `max_arity` windows have one start (see `CompiledDtree.scratch`).
            windows.i[count] = i
            windows.j[count] = j
            count += 1
    return count


@inner_kernel
def is_label_legal(grammar, state, i, j, label):
    """Whether a label is legal over a window: TOP only over the single item that covers everything, nothing over TOP,
    no label twice in a unary chain."""
    item = state.nodes.item
    top = grammar.options[4]
    node = state.frontier[i]
    if label == top:
        return state.size - state.low == 1 and item[node]["first"] >= 0 and item[node]["label"] != top
    if j - i == 1:
        return item[node]["label"] != top and not in_unary_chain(state.nodes, node, label)
    return True


@inner_kernel
def add_item(heads, nodes, frontier, i, j, label, children):
    """Create the item (label, frontier[i:j]) with the head chosen by the label's rules; return its node index."""
    item = nodes.item
    node = np.int64(nodes.used[0])
    at = np.int64(nodes.used[1])
    for k in range(i, j):
        nodes.pool[at + k - i] = frontier[k]
        if k - i < len(children):
            children[k - i] = item[frontier[k]]["label"]
    h = 0
    if j - i > 1 and j - i <= len(children):
        h = head_position(heads, label, children, j - i)
    head_child = frontier[i + h]
    item[node]["label"] = label
    item[node]["start"] = item[frontier[i]]["start"]
    item[node]["end"] = item[frontier[j - 1]]["end"]
    item[node]["head"] = item[head_child]["head"]
    item[node]["first"] = frontier[i]
    item[node]["last"] = frontier[j - 1]
    item[node]["middle"] = head_child
    item[node]["child_at"] = at
    item[node]["arity"] = j - i
    own_hash = mix(mix(mix(mix(_ITEM, label), item[node]["start"]), item[node]["end"]), item[node]["head"])
    item[node]["own_hash"] = own_hash
    key = fold(own_hash, item[item[node]["first"]]["own_hash"])
    key = fold(key, item[head_child]["own_hash"])
    item[node]["key"] = fold(key, item[item[node]["last"]]["own_hash"])
    nodes.used[0] = node + 1
    nodes.used[1] = at + j - i
    return node


@inner_kernel
def infer(grammar, heads, state, i, j, label, children):
    """Apply one inference (or a shift: label = number of labels); return the new (low, cursor, size)."""
    frontier, low, cursor, size = state.frontier, state.low, state.cursor, state.size
    reach = grammar.options[5] + 1  # the shift candidate's window starts one item further left
    if label == grammar.options[3]:
        if cursor - 1 - reach >= low:  # one more unread token comes into reach
            frontier[cursor - 1 - reach] = cursor - low - 1 - reach
        return low, cursor - 1, size
    node = add_item(heads, state.nodes, frontier, i, j, label, children)
    gap = j - i - 1
    if grammar.options[0] == SHIFT_REDUCE:
        frontier[j - 1] = node
        if gap > 0:
            unread = cursor - low
            for k in range(min(unread, reach)):
                frontier[j - 2 - k] = unread - 1 - k
        return low + gap, cursor + gap, size
    frontier[i] = node
    if gap > 0:
        for k in range(i + 1, size - gap):
            frontier[k] = frontier[k + gap]
    return np.int64(0), np.int64(0), size - gap


@inner_kernel
def is_complete(grammar, state):
    """Whether the frontier consists of the single item TOP."""
    last = state.frontier[state.size - 1]
    return state.size - state.low == 1 and state.nodes.item[last]["label"] == grammar.options[4]


def make_windows(capacity: int) -> Windows:
    """Allocate arrays for so many windows."""
    starts, ends = np.zeros(capacity, dtype=np.int32), np.zeros(capacity, dtype=np.int32)
    return Windows(starts, ends, np.zeros(capacity, dtype=np.uint64))


def make_nodes(capacity: int, pool: int) -> Nodes:
    """Allocate arrays for `capacity` nodes with `pool` children in total."""
    return Nodes(np.zeros(capacity, dtype=NODE), np.zeros(pool, dtype=np.int32), np.zeros(2, dtype=np.int32))
