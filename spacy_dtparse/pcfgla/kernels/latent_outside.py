"""Outside sums of a chart with latent annotations, and the posteriors of its rules; see `latent`."""

import math
from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from .cky import UNARY_FROM, UNARY_TO, cell_number
from .inside import is_empty, power
from .latent import UNARY, WORD, cell_region, dot, unary_chains


class OutsideValues(NamedTuple):
    """Outside values of a `LatentChart`, float64, like its `whole`: of symbols on top of their unary chain, `above`,
    and `anywhere` in it. Scratch: `spare` float64, as long as the longest cell."""

    above: np.ndarray
    anywhere: np.ndarray
    spare: np.ndarray


@inner_kernel
def _add_anchor(anchors, count, posterior, min_posterior, cell, split, rule):
    """Add a rule whose posterior is at least `min_posterior`; return the new number of anchors."""
    if posterior >= min_posterior:
        anchor = anchors[count]
        anchor["posterior"], anchor["cell"], anchor["split"], anchor["rule"] = math.log(posterior), cell, split, rule
        return count + 1
    return count


@inner_kernel
def _drop_improbable(offset_of, of_cell, sizes, anywhere, whole, min_posterior):
    """Clear the outside values of symbols whose posterior, times the root's inside value, is below `min_posterior`;
    return whether any symbol remains."""
    some = False
    for symbol in of_cell:
        at, size = offset_of[symbol], sizes[symbol]
        if dot(anywhere, at, whole, at, size) < min_posterior:
            anywhere[at : at + size] = 0.0
        else:
            some = True
    return some


@inner_kernel
def _anchor_chains(rules, chart, cell, anywhere, total, min_posterior, anchors, count):
    """Add the unary rules of a cell; return the new number of anchors."""
    offset_of, whole = chart.where[cell], chart.whole
    of_cell = chart.symbols[chart.symbol_from[cell] : chart.symbol_from[cell + 1]]
    for child in of_cell:
        for rule_id in range(rules.ranges[child, UNARY_FROM], rules.ranges[child, UNARY_TO]):
            parent = rules.parent[rule_id]
            if offset_of[parent] < 0:
                continue
            at, size = rules.at[rule_id], rules.sizes[parent]
            weight = 0.0
            for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
                weight += (
                    dot(anywhere, offset_of[parent], rules.values, at, size)
                    * whole[offset_of[child] + rules.rows[k, 0]]
                )
                at += size
            count = _add_anchor(anchors, count, weight / total, min_posterior, cell, UNARY, rule_id)
    return count


@inner_kernel
def _add_outside(rules, rule_id, up, at_left, at_right, factor, whole, outer):
    """Add the contributions of a binary rule to the outside values of both children; return the summed weight of all
    trees with the rule there."""
    above, anywhere = outer.above, outer.anywhere
    at, size = rules.at[rule_id], rules.sizes[rules.parent[rule_id]]
    weight = 0.0
    for k in range(rules.row_from[rule_id], rules.row_from[rule_id + 1]):
        y, z = at_left + rules.rows[k, 0], at_right + rules.rows[k, 1]
        part = dot(anywhere, up, rules.values, at, size) * factor
        above[z] += part * whole[y]
        above[y] += part * whole[z]
        weight += part * whole[y] * whole[z]
        at += size
    return weight


@noalloc_kernel
def latent_outside(rules, n, root, min_posterior, chart, outer, anchors):
    """Compute outside values from the root down, and list the rules with a posterior of at least `min_posterior`.

    Call it after `latent_inside`; fills `outer`. Return the number of `anchors` ANCHOR, -1 if the array is too short,
    -2 if the root has no tree.
    """
    where, symbols, symbol_from, base, whole, scale = chart
    above, anywhere, spare = outer
    sizes = rules.sizes
    top = cell_number(0, n)
    if where[top, root] < 0 or is_empty(scale[top]) or whole[where[top, root]] <= 0.0:
        return -2
    above[:] = 0.0
    above[where[top, root]] = 1.0
    total = whole[where[top, root]]
    count = 0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            cell = cell_number(i, j)
            low, high = cell_region(chart, sizes, cell)
            if low == high or is_empty(scale[cell]):
                continue
            offset_of, of_cell = where[cell], symbols[symbol_from[cell] : symbol_from[cell + 1]]
            unary_chains(rules, offset_of, of_cell, low, above[low:high], anywhere[low:high], spare, False)
            if count + len(of_cell) * len(of_cell) + len(of_cell) > len(anchors):
                return -1
            if not _drop_improbable(offset_of, of_cell, sizes, anywhere, whole, min_posterior * total):
                continue
            count = _anchor_chains(rules, chart, cell, anywhere, total, min_posterior, anchors, count)
            if width == 1:
                for symbol in of_cell:
                    weight = dot(anywhere, offset_of[symbol], base, offset_of[symbol], sizes[symbol])
                    count = _add_anchor(anchors, count, weight / total, min_posterior, cell, WORD, symbol)
            for split in range(i + 1, j):
                left, right = cell_number(i, split), cell_number(split, j)
                factor = power(scale[left] + scale[right] - scale[cell])  # 0 where one of them is empty
                if factor <= 0.0:
                    continue
                of_right = symbols[symbol_from[right] : symbol_from[right + 1]]
                for b in symbols[symbol_from[left] : symbol_from[left + 1]]:
                    for c in of_right:
                        for rule_id in range(rules.pair_from[b, c], rules.pair_from[b, c + 1]):
                            up = offset_of[rules.parent[rule_id]]
                            if up < 0 or not anywhere[up : up + sizes[rules.parent[rule_id]]].any():
                                continue
                            at_left, at_right = where[left, b], where[right, c]
                            weight = _add_outside(rules, rule_id, up, at_left, at_right, factor, whole, outer)
                            if count == len(anchors):
                                return -1
                            count = _add_anchor(anchors, count, weight / total, min_posterior, cell, split, rule_id)
    return count
