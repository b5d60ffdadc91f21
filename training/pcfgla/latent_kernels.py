"""Kernels of the EM algorithm for latent annotations on fixed trees (Matsuzaki, Miyao & Tsujii 2005, section 2).

Inside and outside scores of a node are scaled so that the largest is 1; the logarithms of the scales of the inside
scores add up to the log probability of the tree.
"""

import math
from typing import NamedTuple

import numpy as np

from spacy_dtparse.jit.decorator import inner_kernel, noalloc_kernel


class Blocks(NamedTuple):
    """A grammar in which each symbol X has `sizes[X]` latent values.

    The probabilities of a rule X -> Y Z are a block [y, z, x], those of X -> Y a block [y, x], in one array `rules`, at
    offset `rule_at[rule]`; x is the innermost index, so that the innermost loops run over adjacent numbers. EM makes
    most rows [y, z, :] zero. `alive` uint8 marks the others, from `row_at[rule]` for each rule; zero rows are skipped,
    which changes no sum. The emissions of a pair (tag, word class) are a block [x] of `words` at `word_at`.
    """

    sizes: np.ndarray
    rule_at: np.ndarray
    rules: np.ndarray
    row_at: np.ndarray
    alive: np.ndarray
    word_at: np.ndarray
    words: np.ndarray


class ExpectationWorkspace(NamedTuple):
    """Workspace: `inside`, `outside` float64 (nodes of the longest tree + 1, largest size), whose last row represents a
    missing right child, with the single inside score 1. float64 (nodes,): `factor`: the divisor of each node's inside
    row; `norm`: the sum over x of scaled inside times scaled outside."""

    inside: np.ndarray
    outside: np.ndarray
    factor: np.ndarray
    norm: np.ndarray


@inner_kernel
def _scale(row, n):
    """Divide a row by its maximum; returns the maximum, 0 if all are 0."""
    high = 0.0
    for x in range(n):
        high = max(high, row[x])
    if high > 0.0:
        for x in range(n):
            row[x] /= high
    return high


@inner_kernel
def _inside(trees, root, end, blocks, workspace):
    """Compute the inside scores of a tree's nodes, bottom-up; returns the log probability, -inf for probability 0."""
    sizes, rules, alive, inside = blocks.sizes, blocks.rules, blocks.alive, workspace.inside
    total = 0.0
    for node in range(end - 1, root - 1, -1):  # nodes are in pre-order: children come after their parent
        at = node - root
        row, n = inside[at], sizes[trees.symbol[node]]
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            start = blocks.word_at[trees.rule[node]]
            for x in range(n):
                row[x] = blocks.words[start + x]
        else:
            start, k = blocks.rule_at[trees.rule[node]], blocks.row_at[trees.rule[node]]
            row[:n] = 0.0
            below, other = inside[left], inside[right]
            n_right = 1 if right < 0 else sizes[trees.symbol[root + right]]
            for y in range(sizes[trees.symbol[root + left]]):
                for z in range(n_right):
                    if alive[k] != 0:
                        both = below[y] * other[z]
                        for x in range(n):
                            row[x] += both * rules[start + x]
                    start += n
                    k += 1
        workspace.factor[at] = _scale(row, n)
        if workspace.factor[at] == 0.0:
            return -math.inf
        total += math.log(workspace.factor[at])
    return total


@inner_kernel
def _outside(trees, root, end, blocks, counts, word_counts, workspace):
    """Compute the outside scores, top-down, and add the expected counts of all rules and words."""
    sizes, rules, alive = blocks.sizes, blocks.rules, blocks.alive
    inside, outside = workspace.inside, workspace.outside
    outside[0] = 1.0
    for node in range(root, end):
        at = node - root
        n = sizes[trees.symbol[node]]
        row, mine = outside[at], inside[at]
        total = 0.0
        for x in range(n):
            total += row[x] * mine[x]
        workspace.norm[at] = total
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            start = blocks.word_at[trees.rule[node]]
            for x in range(n):
                word_counts[start + x] += row[x] * mine[x] / total
            continue
        start, k = blocks.rule_at[trees.rule[node]], blocks.row_at[trees.rule[node]]
        share = 1.0 / (total * workspace.factor[at])
        below, other, up, over = inside[left], inside[right], outside[left], outside[right]
        n_left, n_right = sizes[trees.symbol[root + left]], 1 if right < 0 else sizes[trees.symbol[root + right]]
        up[:n_left] = 0.0
        over[:n_right] = 0.0
        for y in range(n_left):
            for z in range(n_right):
                if alive[k] != 0:
                    both = share * below[y] * other[z]
                    part = 0.0
                    for x in range(n):
                        value = row[x] * rules[start + x]
                        counts[start + x] += both * value
                        part += value
                    up[y] += part * other[z]
                    over[z] += part * below[y]
                start += n
                k += 1
        _scale(over, n_right)
        _scale(up, n_left)


@noalloc_kernel
def expect(trees, first, last, blocks, counts, word_counts, workspace):
    """Add the expected counts of trees [first, last) to `counts` and `word_counts`, shaped like a grammar's rules and
    words; if `counts` is empty, compute only the probability.

    Returns (log probability of these trees, number of trees with probability 0, which are left out).
    """
    total, lost = 0.0, 0
    for t in range(first, last):
        root, end = trees.start[t], trees.start[t + 1]
        log = _inside(trees, root, end, blocks, workspace)
        if log == -math.inf:
            lost += 1
            continue
        total += log
        if counts.shape[0] > 0:
            _outside(trees, root, end, blocks, counts, word_counts, workspace)
    return total, lost


@noalloc_kernel
def merge_losses(trees, pair_at, frequency, blocks, counts, word_counts, losses, workspace):
    """Add to `losses` the decrease of the trees' log probability if each pair of latent symbols 2k, 2k + 1 were merged,
    one node at a time (Petrov, Barrett, Thibaux & Klein 2006, section 2.3).

    Pair k of symbol X has the entry `pair_at[X] + k`. `frequency` float64: frequency of each latent symbol; pair p has
    the entries 2p and 2p + 1. `counts`, `word_counts`: workspace as in `expect`.
    """
    inside, outside = workspace.inside, workspace.outside
    for t in range(trees.start.shape[0] - 1):
        root, end = trees.start[t], trees.start[t + 1]
        if _inside(trees, root, end, blocks, workspace) == -math.inf:
            continue
        _outside(trees, root, end, blocks, counts, word_counts, workspace)
        for node in range(root, end):
            at, symbol = node - root, trees.symbol[node]
            for k in range(blocks.sizes[symbol] // 2):
                pair = pair_at[symbol] + k
                a, b = frequency[2 * pair], frequency[2 * pair + 1]
                if a + b <= 0.0:
                    continue
                first_in, second_in = inside[at, 2 * k], inside[at, 2 * k + 1]
                first_out, second_out = outside[at, 2 * k], outside[at, 2 * k + 1]
                apart = first_in * first_out + second_in * second_out
                merged = (a * first_in + b * second_in) / (a + b) * (first_out + second_out)
                rest = workspace.norm[at] - apart + merged
                losses[pair] += math.log(workspace.norm[at] / max(rest, 1e-300))
