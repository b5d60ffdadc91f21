"""Kernels of the EM algorithm for latent annotations on fixed trees (Matsuzaki, Miyao & Tsujii 2005, section 2).

A symbol X of the treebank grammar stands for `sizes[X]` latent ones. The probabilities of a rule X -> Y Z stand as a
block [y, z, x], those of X -> Y as [y, x], in one long array, at `rule_at[rule]`; x lies closest together, so that the
innermost loops add up neighbouring numbers. EM makes most of these rows [y, z, :] zero; `alive` uint8 says which are
not, those of a rule from `row_at[rule]` on, and the others are passed over, which changes no sum. The emissions of a
pair (tag, word class) are a block [x] at `word_at`.

Inside and outside numbers of a node are scaled so that the largest is 1, and the logarithms of the scales of the
inside numbers add up to that of the tree's probability.
"""

import math

from spacy_dtparse.kernels.jit import bare_kernel, inner_kernel


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
def _inside(trees, root, end, sizes, rule_at, rules, row_at, alive, word_at, words, inside, factor):
    """Inside numbers of a tree's nodes, from below; returns the log probability, -inf when the tree has none.

    `factor` float64 (nodes,): what each node's row was divided by.
    """
    total = 0.0
    for node in range(end - 1, root - 1, -1):
        at = node - root
        row, n = inside[at], sizes[trees.symbol[node]]
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            start = word_at[trees.rule[node]]
            for x in range(n):
                row[x] = words[start + x]
        else:
            start, k = rule_at[trees.rule[node]], row_at[trees.rule[node]]
            row[:n] = 0.0
            below = inside[left]
            if right < 0:
                for y in range(sizes[trees.symbol[root + left]]):
                    if alive[k] != 0:
                        for x in range(n):
                            row[x] += below[y] * rules[start + x]
                    start += n
                    k += 1
            else:
                other = inside[right]
                n_right = sizes[trees.symbol[root + right]]
                for y in range(sizes[trees.symbol[root + left]]):
                    for z in range(n_right):
                        if alive[k] != 0:
                            both = below[y] * other[z]
                            for x in range(n):
                                row[x] += both * rules[start + x]
                        start += n
                        k += 1
        factor[at] = _scale(row, n)
        if factor[at] == 0.0:
            return -math.inf
        total += math.log(factor[at])
    return total


@inner_kernel
def _outside(
    trees, root, end, sizes, rule_at, rules, row_at, alive, inside, outside, factor, norm, counts, word_at, word_counts
):
    """Outside numbers, from above, and the expected counts of all rules and words.

    `norm` float64 (nodes,): sum over x of inside times outside, as both are scaled.
    """
    for node in range(root, end):
        at = node - root
        n = sizes[trees.symbol[node]]
        row, mine = outside[at], inside[at]
        if at == 0:
            row[:n] = 1.0
        total = 0.0
        for x in range(n):
            total += row[x] * mine[x]
        norm[at] = total
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            start = word_at[trees.rule[node]]
            for x in range(n):
                word_counts[start + x] += row[x] * mine[x] / total
            continue
        start, k = rule_at[trees.rule[node]], row_at[trees.rule[node]]
        share = 1.0 / (total * factor[at])
        below, up = inside[left], outside[left]
        n_left = sizes[trees.symbol[root + left]]
        up[:n_left] = 0.0
        if right < 0:
            for y in range(n_left):
                part = 0.0
                if alive[k] != 0:
                    for x in range(n):
                        value = row[x] * rules[start + x]
                        counts[start + x] += share * below[y] * value
                        part += value
                up[y] = part
                start += n
                k += 1
        else:
            other, over = inside[right], outside[right]
            n_right = sizes[trees.symbol[root + right]]
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
def expect(
    trees, first, last, sizes, rule_at, rules, row_at, alive, word_at, words, counts, word_counts, inside, outside,
    factor, norm,
):  # fmt: skip
    """Add the expected counts of trees [first, last) to `counts` and `word_counts`, shaped like `rules` and `words`.

    `inside`, `outside` float64 (nodes of the longest tree, largest size), `factor`, `norm` float64 (nodes,): scratch.
    Returns (log probability of these trees, trees without probability, which are left out).
    """
    total, lost = 0.0, 0
    for t in range(first, last):
        root, end = trees.start[t], trees.start[t + 1]
        log = _inside(trees, root, end, sizes, rule_at, rules, row_at, alive, word_at, words, inside, factor)
        if log == -math.inf:
            lost += 1
            continue
        total += log
        _outside(
            trees, root, end, sizes, rule_at, rules, row_at, alive, inside, outside, factor, norm, counts, word_at,
            word_counts,
        )  # fmt: skip
    return total, lost


@bare_kernel
def likelihood(trees, first, last, sizes, rule_at, rules, row_at, alive, word_at, words, inside, factor):
    """(Log probability of trees [first, last), trees without probability, which are left out.)"""
    total, lost = 0.0, 0
    for t in range(first, last):
        root, end = trees.start[t], trees.start[t + 1]
        log = _inside(trees, root, end, sizes, rule_at, rules, row_at, alive, word_at, words, inside, factor)
        if log == -math.inf:
            lost += 1
        else:
            total += log
    return total, lost


@bare_kernel
def merge_losses(
    trees, first, last, sizes, pair_at, share, rule_at, rules, row_at, alive, word_at, words, counts, word_counts,
    losses, inside, outside, factor, norm,
):  # fmt: skip
    """Add to `losses` what merging each pair of latent symbols 2k, 2k + 1 would take off the log probability of trees
    [first, last), one node at a time (Petrov, Barrett, Thibaux & Klein 2006, section 2.3).

    The pair k of symbol X has the entry `pair_at[X] + k`. `share` float64: how common each latent symbol is, by the
    same numbering times two. `counts`, `word_counts`: scratch as in `expect`.
    """
    for t in range(first, last):
        root, end = trees.start[t], trees.start[t + 1]
        log = _inside(trees, root, end, sizes, rule_at, rules, row_at, alive, word_at, words, inside, factor)
        if log == -math.inf:
            continue
        _outside(
            trees, root, end, sizes, rule_at, rules, row_at, alive, inside, outside, factor, norm, counts, word_at,
            word_counts,
        )  # fmt: skip
        for node in range(root, end):
            at, symbol = node - root, trees.symbol[node]
            for k in range(sizes[symbol] // 2):
                pair = pair_at[symbol] + k
                a, b = share[2 * pair], share[2 * pair + 1]
                if a + b <= 0.0:
                    continue
                first_in, second_in = inside[at, 2 * k], inside[at, 2 * k + 1]
                first_out, second_out = outside[at, 2 * k], outside[at, 2 * k + 1]
                apart = first_in * first_out + second_in * second_out
                joined = (a * first_in + b * second_in) / (a + b) * (first_out + second_out)
                rest = norm[at] - apart + joined
                losses[pair] += math.log(norm[at] / max(rest, 1e-300))
