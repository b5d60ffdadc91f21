"""Best dependency trees of a matrix of arc ("link") scores: Eisner's chart and the maximum spanning tree of Chu, Liu
and Edmonds.

Both take scores[h, d], float64 of shape (n + 1, n + 1), of the link from head h to dependent d. 0 is the root, which
gets exactly one dependent; -inf forbids a link; the diagonal is ignored. Both write heads, int32 of shape (n + 1,),
heads[0] = -1, and return whether there is a tree.

Of trees with equal scores the one with the greatest sum of `link_tie` over its links wins: a total order that depends
on nothing else, the same in both decoders. It is exact if sums of scores are (on a grid, like those of a model).

Eisner 1996; McDonald, Pereira, Ribarov & Hajič 2005 for both; the contraction in O(n²) is Tarjan's (1977) for dense
graphs, where Corston-Oliver et al. 2006 use one in O(n³).
"""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, kernel


@inner_kernel
def link_tie(head, dependent):
    """A fixed pseudo-random integer of at least 0 and below 2**40 for a link; sums of these break ties between
    trees."""
    key = np.uint64(head) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(dependent) * np.uint64(0xC2B2AE3D27D4EB4F)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((key ^ (key >> np.uint64(31))) >> np.uint64(24))


@inner_kernel
def _best_split(near, far, near_tie, far_tie, s, t, first, step):
    """Find the best split r >= `first` into a part from s to r and a part from r + step to t: the greatest sum of
    scores, of equals the greatest sum of ties. Return (r, score, tie). `far` is transposed."""
    best, at = -math.inf, first
    for r in range(first, first + t - s):
        score = near[s, r] + far[t, r + step]
        if score > best:
            best, at = score, r
        elif score == best and near_tie[s, r] + far_tie[r + step, t] > near_tie[s, at] + far_tie[at + step, t]:
            at = r
    return at, best, near_tie[s, at] + far_tie[at + step, t]


@kernel
def projective_tree(scores, heads):
    """Find the best projective tree in O(n³). For shapes, ties and the result see the module's docstring."""
    n = len(scores) - 1
    # Complete spans lean right (head at their left end) or left; each matrix also transposed, to be accessed by rows.
    right, right_across = np.zeros(scores.shape), np.zeros(scores.shape)
    left, left_across = np.zeros(scores.shape), np.zeros(scores.shape)
    link_right, link_left_across = np.zeros(scores.shape), np.zeros(scores.shape)
    right_tie, left_tie = np.zeros(scores.shape, np.int64), np.zeros(scores.shape, np.int64)
    link_right_tie, link_left_tie = np.zeros(scores.shape, np.int64), np.zeros(scores.shape, np.int64)
    split_link = np.zeros(scores.shape, np.int32)
    split_right, split_left = np.zeros(scores.shape, np.int32), np.zeros(scores.shape, np.int32)
    for width in range(1, n):
        for s in range(1, n + 1 - width):
            t = s + width
            at, best, tie = _best_split(right, left_across, right_tie, left_tie, s, t, s, 1)
            split_link[s, t] = at
            link_right[s, t], link_right_tie[s, t] = best + scores[s, t], tie + link_tie(s, t)
            link_left_across[t, s], link_left_tie[s, t] = best + scores[t, s], tie + link_tie(t, s)
            at, best, tie = _best_split(link_right, right_across, link_right_tie, right_tie, s, t, s + 1, 0)
            split_right[s, t], right_tie[s, t] = at, tie
            right[s, t] = right_across[t, s] = best
            at, best, tie = _best_split(left, link_left_across, left_tie, link_left_tie, s, t, s, 0)
            split_left[s, t], left_tie[s, t] = at, tie
            left[s, t] = left_across[t, s] = best
    best, best_tie, root = -math.inf, np.int64(0), 0
    for r in range(1, n + 1):
        score = left[1, r] + right[r, n] + scores[0, r]
        if score == -math.inf:
            continue
        tie = left_tie[1, r] + right_tie[r, n] + link_tie(0, r)
        if score > best or (score == best and tie > best_tie):
            best, best_tie, root = score, tie, r
    if root == 0:
        return False
    heads[0], heads[root] = -1, 0
    _follow_splits(root, n, split_link, split_right, split_left, heads)
    return True


@kernel
def _follow_splits(root, n, split_link, split_right, split_left, heads):
    """Write the heads of the chart's tree. A stack entry is a complete span: its ends and whether it leans right. The
    stack starts with two, and each of the n - 1 links replaces one by three."""
    stack = np.empty((2 * n, 3), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2] = 1, root, 0
    stack[1, 0], stack[1, 1], stack[1, 2] = root, n, 1
    depth = 2
    while depth:
        depth -= 1
        s, t, leans_right = stack[depth]
        if s == t:
            continue
        if leans_right:
            at = split_right[s, t]
            heads[at] = s
            first, last = s, at
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = at, t, 1
        else:
            at = split_left[s, t]
            heads[at] = t
            first, last = at, t
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = s, at, 0
        middle = split_link[first, last]
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = first, middle, 1
        stack[depth + 2, 0], stack[depth + 2, 1], stack[depth + 2, 2] = middle + 1, last, 0
        depth += 3


@inner_kernel
def _root_penalty(scores):
    """Penalty of a dependent of the root, so large that a second one costs more than all other links can gain: a power
    of two, which keeps sums on their grid; 0.0 if every link is forbidden."""
    n = len(scores) - 1
    lowest, highest = math.inf, -math.inf
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d and scores[h, d] > -math.inf:
                lowest, highest = min(lowest, scores[h, d]), max(highest, scores[h, d])
    return 2.0 ** math.ceil(math.log2((highest - lowest) * (n + 1) + 1.0)) if highest > -math.inf else 0.0


@inner_kernel
def _best_head(node, value, tie, node_of):
    """The head, outside a node, of the best link into it, by the node's row; -1 if there is none."""
    head = -1
    for h in range(len(value)):
        if node_of[h] != node and value[h] > -math.inf:
            if head < 0 or value[h] > value[head] or (value[h] == value[head] and tie[h] > tie[head]):
                head = h
    return head


@kernel
def spanning_tree(scores, heads):
    """Find the best tree, projective or not, in O(n²), contracting one cycle at a time. For shapes, ties and the result
    see the module's docstring.
    """
    n = len(scores) - 1
    penalty = _root_penalty(scores)
    if penalty == 0.0:
        return False
    # Row c: the best link into (contracted) node c from each token outside it, and the token of c that is its
    # dependent.
    value, tie, into = np.empty(scores.shape), np.empty(scores.shape, np.int64), np.empty(scores.shape, np.int32)
    for d in range(1, n + 1):
        for h in range(n + 1):
            value[d, h] = scores[h, d] - (penalty if h == 0 else 0.0)
            tie[d, h], into[d, h] = link_tie(h, d), d
    n_nodes = 2 * n  # the tokens and the root, and n - 1 cycles at most
    row, above = np.arange(n_nodes).astype(np.int32), np.full(n_nodes, -1, np.int32)
    node_of, path = row[: n + 1].copy(), np.empty(n_nodes, np.int32)
    chosen_head, chosen_dependent = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
    nodes = Contractions(row, above, chosen_head, node_of, value, tie, into)
    on_path, reached = np.zeros(n_nodes, np.bool_), np.zeros(n_nodes, np.bool_)
    reached[0] = True
    new_node = n + 1
    for start in range(1, n + 1):
        node, length = node_of[start], 0
        while not reached[node]:
            path[length] = node
            length += 1
            on_path[node] = True
            r = row[node]
            head = _best_head(node, value[r], tie[r], node_of)
            if head < 0:
                return False
            chosen_head[node], chosen_dependent[node] = head, into[r, head]
            node = node_of[head]
            if reached[node]:
                reached[path[:length]] = True
            elif on_path[node]:
                first = length - 1
                while path[first] != node:
                    first -= 1
                _contract(path[first:length], new_node, nodes)
                length, node = first, new_node
                new_node += 1
    # The link into a contracted node replaces, for the member that is its dependent, the member's link in the cycle.
    for node in range(new_node - 1, n, -1):
        member = chosen_dependent[node]
        while above[member] != node:
            member = above[member]
        chosen_head[member], chosen_dependent[member] = chosen_head[node], chosen_dependent[node]
    heads[0], heads[1:] = -1, chosen_head[1 : n + 1]
    return (heads[1:] == 0).sum() == 1


class Contractions(NamedTuple):
    """Tokens and contracted nodes. int32 by node: `row`, its row of the links; `above`, the node into which it is
    contracted, -1 if none; `chosen_head`, the head of its best link. `node_of` int32 (n + 1,): the outermost node of
    each token. Links, by row of a node and head: `value` float64, `tie` int64, and the dependent, `into` int32."""

    row: np.ndarray
    above: np.ndarray
    chosen_head: np.ndarray
    node_of: np.ndarray
    value: np.ndarray
    tie: np.ndarray
    into: np.ndarray


@inner_kernel
def _contract(cycle, new_node, nodes):
    """Contract the nodes of a cycle to the node `new_node`; the value of a link into it is its gain over the link of
    the cycle that it replaces."""
    row, above, chosen_head, node_of, value, tie, into = nodes
    n = len(value) - 1
    target = row[cycle[0]]
    for node in cycle:
        above[node] = new_node
    # Subtract the value of each member's link in the cycle, before the first member's row is overwritten.
    for node in cycle:
        r = row[node]
        cycle_value, cycle_tie = value[r, chosen_head[node]], tie[r, chosen_head[node]]
        for h in range(n + 1):
            value[r, h] -= cycle_value
            tie[r, h] -= cycle_tie
    for h in range(n + 1):
        if above[node_of[h]] == new_node:
            continue
        for node in cycle[1:]:
            r = row[node]
            if value[r, h] > value[target, h] or (value[r, h] == value[target, h] and tie[r, h] > tie[target, h]):
                value[target, h], tie[target, h], into[target, h] = value[r, h], tie[r, h], into[r, h]
    for h in range(1, n + 1):
        if above[node_of[h]] == new_node:
            node_of[h] = new_node
    row[new_node] = target


@kernel
def tree_score(scores, heads):
    """(Sum of the scores, sum of the ties) of a tree's links, added from the first token to the last."""
    score, tie = 0.0, np.int64(0)
    for d in range(1, len(heads)):
        score += scores[heads[d], d]
        tie += link_tie(heads[d], d)
    return score, tie
