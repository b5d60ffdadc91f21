"""The k best derivations of forests and charts of grammars, by `core.kbest`."""

from collections.abc import Iterator

import numpy as np

from ..core.kbest import Edges, Item, KBest
from ..dtypes import OFFSET
from .chart import Chart
from .kernels.cky import EDGE, LEXICAL, STEP, find_item, item_edges
from .kernels.latent import WORD
from .latent import Decoded, PackedForest, spans_of_cells


def _sorted_edges(total: np.ndarray, first: int) -> tuple[np.ndarray, list[float]]:
    """Return (order, totals in that order): edge `first`, then the others by decreasing total, without -inf."""
    total = total.copy()
    total[first] = total.max()
    order = np.argsort(-total, kind="stable")
    order = np.concatenate([[first], order[order != first]])
    order = order[total[order] > -np.inf]
    return order, total[order].tolist()


def forest_trees(found: PackedForest) -> Iterator[Decoded]:
    """Yield the trees of a forest of a latent grammar, best first; the first is the tree of `latent.best`."""
    anchors, n_symbols = found.anchors, found.score.shape[1]
    rule, split = anchors["rule"], anchors["split"]
    is_word, is_binary = split == WORD, split >= 0
    rule_id = np.where(is_word, 0, rule)
    cell = anchors["cell"].astype(OFFSET)
    symbol = np.where(is_word, rule, found.parent[rule_id])
    start, end = found.cells[cell].T.astype(OFFSET)
    middle = np.where(is_binary, split, end)
    total = np.minimum(anchors["posterior"], 0.0)
    total += np.where(is_word, 0.0, found.score[middle * (middle - 1) // 2 + start, found.left[rule_id]])
    right = np.where(is_binary, end * (end - 1) // 2 + split, 0)
    total += np.where(is_binary, found.score[right, found.right[rule_id]], 0.0)
    key = cell * n_symbols + symbol
    by_item = np.argsort(key, kind="stable")
    keys = key[by_item]

    def edges(item: Item) -> Edges:
        at = item[0] * n_symbols + item[1]
        item_anchors = by_item[np.searchsorted(keys, at, "left") : np.searchsorted(keys, at, "right")]
        order, totals = _sorted_edges(total[item_anchors], int(np.flatnonzero(item_anchors == found.back[item])[0]))
        return Edges(totals, item_anchors[order].tolist())

    root = (len(found.cells) - int(found.cells[-1, 1]), found.root)
    for score, steps in KBest(edges, lambda item, anchor: found.parts(item[0], anchor)).derivations(root):
        yield Decoded([found.step(*item, anchor) for item, anchor in steps], score, len(anchors))


def chart_trees(
    chart: Chart, leaves: np.ndarray, leaf_from: np.ndarray, root: int
) -> Iterator[tuple[float, np.ndarray]]:
    """Yield (log probability, steps STEP in pre-order) of the derivations of a filled chart, best first; nothing if the
    root has no derivation. The chart's arrays must not change meanwhile."""
    n = len(leaf_from) - 1
    cells: list[list[int]] = spans_of_cells(n).tolist()
    edges_of: dict[Item, list[tuple[int, int, int, int]]] = {}  # rule, split, left, right
    scratch = np.empty(2**12, dtype=EDGE)

    def edges(item: Item) -> Edges:
        nonlocal scratch
        start, end = cells[item[0]]
        given = (chart, leaves, leaf_from, start, end, item[1])
        while (count := int(item_edges(*given, scratch))) < 0:
            scratch = np.empty(2 * len(scratch), dtype=EDGE)
        best = chart.items[find_item(chart.items, chart.cells, *item)]
        found = scratch[:count]
        first = np.flatnonzero((found["rule"] == best["rule"]) & (found["split"] == best["split"]))
        order, totals = _sorted_edges(found["total"], int(first[0]))
        columns = (found[name][order].tolist() for name in ("rule", "split", "left", "right"))
        edges_of[item] = list(zip(*columns, strict=True))
        return Edges(totals, list(range(len(order))))

    def parts(item: Item, name: int) -> tuple[Item, ...]:
        rule, split, left, right = edges_of[item][name]
        if rule == LEXICAL:
            return ()
        if split < 0:
            return ((item[0], left),)
        start, end = cells[item[0]]
        return (split * (split - 1) // 2 + start, left), (end * (end - 1) // 2 + split, right)

    top = (n * (n - 1) // 2, root)
    if find_item(chart.items, chart.cells, *top) < 0:
        return
    for score, found in KBest(edges, parts).derivations(top):
        yield score, np.array([(item[1], edges_of[item][name][0], *cells[item[0]]) for item, name in found], dtype=STEP)
