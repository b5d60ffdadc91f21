"""Kernels of the EM algorithm for latent annotations on fixed trees (Matsuzaki, Miyao & Tsujii 2005, section 2).

Inside and outside numbers of a node are scaled so that the largest is 1, and the logarithms of the scales of the
inside numbers add up to that of the tree's probability.
"""

import math
from typing import NamedTuple

import numpy as np

from spacy_dtparse.kernels.jit import bare_kernel, inner_kernel


class Blocks(NamedTuple):
    """A grammar whose symbols X stand for `sizes[X]` latent ones.

    The probabilities of a rule X -> Y Z are a block [y, z, x], those of X -> Y one [y, x], in one long array `rules`,
    at `rule_at[rule]`; x lies closest together, so that the innermost loops add up neighbouring numbers. EM makes most
    of these rows [y, z, :] zero; `alive` uint8 says which are not, those of a rule from `row_at[rule]` on, and the
    others are passed over, which changes no sum. The emissions of a pair (tag, word class) are a block [x] of `words`
    at `word_at`.
    """

    sizes: np.ndarray
    rule_at: np.ndarray
    rules: np.ndarray
    row_at: np.ndarray
    alive: np.ndarray
    word_at: np.ndarray
    words: np.ndarray


class Room(NamedTuple):
    """Scratch: `inside`, `outside` float64 (nodes of the longest tree + 1, largest size), of which the last row stands
    for a right child that is not there, with the one inside number 1. float64 (nodes,): `factor`, what each node's
    inside row was divided by; `norm`, the sum over x of inside times outside, as both are scaled."""

    inside: np.ndarray
    outside: np.ndarray
    factor: np.ndarray
    norm: np.ndarray


@inner_kernel
def _scale(row, n):
    """Divide a row by its largest number; returns that, 0 when all are 0."""
    high = 0.0
    for x in range(n):
        high = max(high, row[x])
    if high > 0.0:
        for x in range(n):
            row[x] /= high
    return high


@inner_kernel
def _inside(trees, root, end, blocks, room):
    """Inside numbers of a tree's nodes, from below; returns the log probability, -inf when the tree has none."""
    sizes, rules, alive, inside = blocks.sizes, blocks.rules, blocks.alive, room.inside
    total = 0.0
    for node in range(end - 1, root - 1, -1):
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
        room.factor[at] = _scale(row, n)
        if room.factor[at] == 0.0:
            return -math.inf
        total += math.log(room.factor[at])
    return total


@inner_kernel
def _outside(trees, root, end, blocks, counts, word_counts, room):
    """Outside numbers, from above, and the expected counts of all rules and words."""
    sizes, rules, alive = blocks.sizes, blocks.rules, blocks.alive
    inside, outside = room.inside, room.outside
    outside[0] = 1.0
    for node in range(root, end):
        at = node - root
        n = sizes[trees.symbol[node]]
        row, mine = outside[at], inside[at]
        total = 0.0
        for x in range(n):
            total += row[x] * mine[x]
        room.norm[at] = total
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            start = blocks.word_at[trees.rule[node]]
            for x in range(n):
                word_counts[start + x] += row[x] * mine[x] / total
            continue
        start, k = blocks.rule_at[trees.rule[node]], blocks.row_at[trees.rule[node]]
        share = 1.0 / (total * room.factor[at])
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


@bare_kernel
def expect(trees, first, last, blocks, counts, word_counts, room):
    """Add the expected counts of trees [first, last) to `counts` and `word_counts`, shaped like a grammar's rules and
    words; where `counts` is empty only the probability is wanted.

    Returns (log probability of these trees, trees without probability, which are left out).
    """
    total, lost = 0.0, 0
    for t in range(first, last):
        root, end = trees.start[t], trees.start[t + 1]
        log = _inside(trees, root, end, blocks, room)
        if log == -math.inf:
            lost += 1
            continue
        total += log
        if counts.shape[0] > 0:
            _outside(trees, root, end, blocks, counts, word_counts, room)
    return total, lost


@bare_kernel
def merge_losses(trees, pair_at, share, blocks, counts, word_counts, losses, room):
    """Add to `losses` what merging each pair of latent symbols 2k, 2k + 1 would take off the log probability of the
    trees, one node at a time (Petrov, Barrett, Thibaux & Klein 2006, section 2.3).

    The pair k of symbol X has the entry `pair_at[X] + k`. `share` float64: how common each latent symbol is, by the
    same numbering times two. `counts`, `word_counts`: scratch as in `expect`.
    """
    inside, outside = room.inside, room.outside
    for t in range(trees.start.shape[0] - 1):
        root, end = trees.start[t], trees.start[t + 1]
        if _inside(trees, root, end, blocks, room) == -math.inf:
            continue
        _outside(trees, root, end, blocks, counts, word_counts, room)
        for node in range(root, end):
            at, symbol = node - root, trees.symbol[node]
            for k in range(blocks.sizes[symbol] // 2):
                pair = pair_at[symbol] + k
                a, b = share[2 * pair], share[2 * pair + 1]
                if a + b <= 0.0:
                    continue
                first_in, second_in = inside[at, 2 * k], inside[at, 2 * k + 1]
                first_out, second_out = outside[at, 2 * k], outside[at, 2 * k + 1]
                apart = first_in * first_out + second_in * second_out
                joined = (a * first_in + b * second_in) / (a + b) * (first_out + second_out)
                rest = room.norm[at] - apart + joined
                losses[pair] += math.log(room.norm[at] / max(rest, 1e-300))
