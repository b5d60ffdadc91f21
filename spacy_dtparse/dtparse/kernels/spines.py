"""Supertags in the search: the constituents that a word may head, and those that remain possible for an item.

Each token has candidate supertags: spines, the chains of labels that it may head, bottom-up (see `trees.spines`). An
item is built only if some spine of its head has its label at that height, and a child that is not the head must be
where one of its head's spines ends. This is the pruning of adaptive supertagging (Kummerfeld, Roesner, Dawborn,
Haggerty, Curran & Clark 2010), for a parser without lexical categories. A directional spine also states on which sides
of its head an item has other children, and the item's position among its parent's children.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import POSITIONS, SIDES
from ...jit.decorator import inner_kernel, kernel
from ...trees.kernels import head_position
from .constraints import no_constraints
from .state import is_label_legal

MAX_SPINES = 64
"""Maximum number of candidate spines of a token."""
MAX_LABELS = 63
"""Maximum number of labels, including TOP, of a model whose search can be pruned by spines."""
_ZERO, _ONE = np.uint64(0), np.uint64(1)

CHAIN = np.dtype(
    [("spines", np.uint64), ("labels", np.uint64), ("positions", np.uint64), ("height", np.int64)], align=True
)
"""Possibilities that remain for a node: `spines`, a bit for each candidate of its head that agrees with the `height`
labels that the head already heads in it; `labels`, a bit for each of their next labels; `positions`, a bit for each
position at which one of them ends."""


class SupertagArrays(NamedTuple):
    """Supertag candidates and constraints of a sentence.

    `levels`: uint64 (n, longest spine + 1, L + 1 + SIDES + `POSITIONS`), by token and height, with a bit for each
    candidate spine: that has one of the L labels there (the last is TOP, which none has); that ends there; that has
    these sides there; that ends at a position (independent of the height, stored at height 0). Of shape (1, 1, 1) if
    there are none. `chains`: CHAIN (nodes,), scratch. `constraints` int32 (c, 4): see `constraints`.
    """

    levels: np.ndarray
    chains: np.ndarray
    constraints: np.ndarray


def no_supertags() -> SupertagArrays:
    """Arrays without candidates and constraints, which prune nothing."""
    return SupertagArrays(np.zeros((1, 1, 1), np.uint64), np.zeros(1, CHAIN), no_constraints())


@kernel
def fill_levels(labels, sides, ends, positions, tokens, bits, levels):
    """Write spines to `levels`, all zero (see `SupertagArrays`). Spine k is candidate bits[k] of token tokens[k]; it
    has the labels[ends[k - 1]:ends[k]] with as many sets of `sides` (bits), and ends at the positions `positions[k]`
    (bits); all int32. Spine 0 starts at 0."""
    first = 0
    n_labels = levels.shape[2] - 1 - SIDES - POSITIONS
    for k in range(len(ends)):
        token, bit = tokens[k], _ONE << np.uint64(bits[k])
        for at in range(first, ends[k]):
            levels[token, at - first, labels[at]] |= bit
            for side in range(SIDES):
                if sides[at] & (1 << side):
                    levels[token, at - first, n_labels + 1 + side] |= bit
        levels[token, ends[k] - first, n_labels] |= bit
        for position in range(POSITIONS):
            if positions[k] & (1 << position):
                levels[token, 0, n_labels + 1 + SIDES + position] |= bit
        first = ends[k]


@inner_kernel
def _set_chain(supertags, node, token, height, spines):
    """Write the chain of a node, given its remaining spines."""
    levels = supertags.levels
    n_labels = levels.shape[2] - 1 - SIDES - POSITIONS
    labels, positions = _ZERO, _ZERO
    for label in range(n_labels):
        if levels[token, height, label] & spines:
            labels |= _ONE << np.uint64(label)
    done = levels[token, height, n_labels] & spines
    for position in range(POSITIONS):
        if levels[token, 0, n_labels + 1 + SIDES + position] & done:
            positions |= _ONE << np.uint64(position)
    chain = supertags.chains[node]
    chain["spines"] = spines
    chain["labels"] = labels
    chain["positions"] = positions
    chain["height"] = height


@inner_kernel
def start_chains(supertags, n_tokens):
    """Write the chains of a sentence's tokens, if there are spines."""
    if supertags.levels.shape[2] > 1:
        for token in range(n_tokens):
            _set_chain(supertags, token, token, 0, ~_ZERO)


@inner_kernel
def _remaining_spines(supertags, nodes, node, label, side):
    """The spines of a node that remain if an item with this label and side is built with it as the head."""
    levels, chain = supertags.levels, supertags.chains[node]
    token, height = nodes.item[node]["head"], chain["height"]
    n_labels = levels.shape[2] - 1 - SIDES - POSITIONS
    return chain["spines"] & levels[token, height, label] & levels[token, height, n_labels + 1 + side]


@inner_kernel
def follow_chain(supertags, nodes):
    """Write the chain of the newest item if there are spines and it is not TOP, which no spine has."""
    node = np.int64(nodes.used[0] - 1)
    item = nodes.item[node]
    top = supertags.levels.shape[2] - 2 - SIDES - POSITIONS
    if supertags.levels.shape[2] > 1 and item["label"] != top:
        side = 1 * (item["middle"] != item["first"]) + 2 * (item["middle"] != item["last"])
        spines = _remaining_spines(supertags, nodes, item["middle"], item["label"], side)
        _set_chain(supertags, node, item["head"], supertags.chains[item["middle"]]["height"] + 1, spines)


@inner_kernel
def may_shift(supertags, nodes, frontier, cursor, size):
    """Whether the leftmost item of a stack can be a child other than the first. There must be supertags."""
    levels = supertags.levels
    if cursor >= size:
        return True
    node = frontier[cursor]
    chain = supertags.chains[node]
    if chain["positions"] & np.uint64(6):  # inner, last
        return True
    n_labels = levels.shape[2] - 1 - SIDES - POSITIONS
    token, height = nodes.item[node]["head"], chain["height"]
    left = levels[token, height, n_labels + 2] | levels[token, height, n_labels + 4]
    return chain["spines"] & left != _ZERO


@inner_kernel
def _open_child(chains, frontier, i, j):
    """Frontier position of the child of a window that must be its head, because none of its spines ends there; -1 if
    there is none, -2 if there are several."""
    found = np.int64(-1)
    for k in range(i, j):
        position = 3 if j - i == 1 else 0 if k == i else 2 if k == j - 1 else 1
        if not chains[frontier[k]]["positions"] & (_ONE << np.uint64(position)):
            if found >= 0:
                return np.int64(-2)
            found = np.int64(k)
    return found


@inner_kernel
def _spine_labels(supertags, heads, nodes, frontier, top, children, i, j):
    """The labels that the spines allow over a window, as bits."""
    chains, item, arity = supertags.chains, nodes.item, j - i
    open_at = _open_child(chains, frontier, i, j)
    allowed, labels = _ZERO, _ZERO
    if open_at == -2:
        return allowed
    if open_at == -1 and arity == 1:
        allowed |= _ONE << np.uint64(top)
    for k in range(i, j):
        if open_at == -1 or k == open_at:
            labels |= chains[frontier[k]]["labels"]
    if not labels:
        return allowed
    chooses = 1 < arity <= len(children)  # as in `add_item`
    if chooses:
        for k in range(arity):
            children[k] = item[frontier[i + k]]["label"]
    for label in range(top):
        if labels & (_ONE << np.uint64(label)):
            head = i + head_position(heads, label, children, arity) if chooses else i
            if open_at == -1 or head == open_at:
                side = 1 * (head > i) + 2 * (head < j - 1)
                if _remaining_spines(supertags, nodes, frontier[head], label, side):
                    allowed |= _ONE << np.uint64(label)
    return allowed


@inner_kernel
def prune_windows(supertags, grammar, heads, state, children, windows, n_windows):
    """Keep the windows that have a label allowed by both the spines and `is_label_legal`, in their order, and write
    these labels; return their number. There must be supertags."""
    top = np.int64(grammar.options[4])
    n_kept = np.int64(0)
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        found = _spine_labels(supertags, heads, state.nodes, state.frontier, top, children, i, j)
        for label in range(top + 1):
            bit = _ONE << np.uint64(label)
            if (j - i == 1 or label == top) and found & bit:
                if not is_label_legal(grammar, state, i, j, label):
                    found ^= bit
        if found:
            windows.i[n_kept], windows.j[n_kept], windows.labels[n_kept] = i, j, found
            n_kept += 1
    return n_kept
