"""Attaching unattached tokens of long sentences piece by piece, so that time stays linear in the length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, SCORE
from ...kernels.span.whole import take_up_bare
from ...model.span.model import BareTables
from .long import Told

PIECE = 50
"""Maximum number of tokens of a piece."""


class _Piece(NamedTuple):
    """Adjacent complete children of one parent: their tokens [start, end) and their constituents [first, last)."""

    start: int
    end: int
    first: int
    last: int
    parent: int


def take_up_in_pieces(
    items: np.ndarray,
    costs: np.ndarray,
    tags: np.ndarray,
    bare: BareTables,
    candidates: Told,
    chain_from: np.ndarray,
    chain_labels: np.ndarray,
) -> tuple[list[list[int]], list[float]]:
    """Attach unattached tokens like `take_up_bare`, in a sentence of any length; return (items, costs).

    A constituent of at most PIECE tokens is a piece, and so are adjacent children of a longer one. Each piece is
    processed separately, so no new constituent crosses the border of a piece.
    """
    n, n_labels = len(tags), len(bare.never) - 1
    spans, posteriors, logs = candidates
    if bare.one_root and len(items) and (items[0, 0] > 0 or items[0, 1] < n):
        items, costs = _with_root(items, costs, n, candidates, chain_from, chain_labels)
    order = np.argsort(spans[:, 0], kind="stable")
    begins = spans[order, 0]
    sometimes = np.any(bare.never, axis=1, keepdims=True)[:, 0]  # [parent, tag]: next to some child
    found, found_costs = items.tolist(), costs.tolist()
    kept, new, new_costs = [True] * len(items), [], []
    for piece in _pieces(found, n):
        label = found[piece.parent][2] if piece.parent >= 0 else n_labels
        own_labels = {label, *(item[2] for item in found[piece.first : piece.last])}
        own_tags = tags[piece.start : piece.end]
        if not any(sometimes[one, own_tags].any() for one in own_labels):
            continue
        count, size = piece.last - piece.first, piece.end - piece.start
        room = np.empty((2 * size + count + 1 + (size + 1) * int(np.diff(chain_from).max()), 3), dtype=INDEX)
        room_costs = np.empty(len(room), dtype=SCORE)
        room[0] = 0, size, label
        room[1 : count + 1] = items[piece.first : piece.last]
        room[1 : count + 1, :2] -= piece.start
        room_costs[0], room_costs[1 : count + 1] = 0.0, costs[piece.first : piece.last]
        low, high = np.searchsorted(begins, (piece.start, piece.end))
        inside = order[low:high][spans[order[low:high], 1] <= piece.end]
        own = (spans[inside] - INDEX(piece.start)).astype(INDEX), posteriors[inside], logs[inside]
        after = take_up_bare(
            room, room_costs, count + 1, own_tags, bare.never, False, *own, chain_from, chain_labels
        )  # fmt: skip
        if after > count + 1:
            kept[piece.first : piece.last] = [False] * count
            room[1:after, :2] += piece.start
            new += room[1:after].tolist()
            new_costs += room_costs[1:after].tolist()
    together = [(item, cost) for item, cost, stays in zip(found, found_costs, kept, strict=True) if stays]
    together += zip(new, new_costs, strict=True)
    together.sort(key=lambda pair: (pair[0][0], -pair[0][1]))  # stable: chains stay in order
    return [item for item, _ in together], [cost for _, cost in together]


def _with_root(
    items: np.ndarray, costs: np.ndarray, n: int, candidates: Told, chain_from: np.ndarray, chain_labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return items and costs with the most probable chain over all n tokens on top, if there is such a candidate."""
    spans, _, logs = candidates
    rows = np.flatnonzero((spans[:, 0] == 0) & (spans[:, 1] == n))
    if not len(rows) or not np.isfinite(logs[rows, 1:]).any():
        return items, costs
    row, chain = divmod(int(logs[rows, 1:].argmax()), logs.shape[1] - 1)
    labels = chain_labels[chain_from[chain + 1] : chain_from[chain + 2]]
    above = np.array([(0, n, label) for label in labels], dtype=INDEX)
    cost = -float(logs[rows[row], chain + 1])
    return np.concatenate([above, items]), np.concatenate([np.full(len(above), cost), costs])


def _pieces(items: list[list[int]], n: int) -> Iterator[_Piece]:
    """Yield the pieces of a sentence of n tokens, from left to right. `items`: start, end, label, in pre-order."""
    count, t, c = len(items), 0, 0
    begin, first = 0, 0
    open_ones = [(-1, n)]  # constituents that are longer than a piece, and where they end
    while open_ones:
        parent, end = open_ones[-1]
        at_child = t < end and c < count and items[c][0] == t
        after = items[c][1] if at_child else t + 1
        if t < end and after - begin <= PIECE:
            t = after
            while c < count and items[c][0] < t:
                c += 1
            continue
        if begin < t:
            yield _Piece(begin, t, first, c, parent)
        if t == end:
            open_ones.pop()
        elif at_child and after - t > PIECE:
            open_ones.append((c, after))
            c += 1
        begin, first = t, c
