"""Attaching unattached tokens of long sentences piece by piece, so that time stays linear in the length."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX, SCORE
from .kernels.attach import attach_unattached
from .long import ScoredSpans

PIECE = 50
"""Maximum number of tokens of a piece."""


class _Piece(NamedTuple):
    """Adjacent complete children of one parent: their tokens [start, end) and their constituents [first, last)."""

    start: int
    end: int
    first: int
    last: int
    parent: int


def attach_in_pieces(
    items: np.ndarray,
    costs: np.ndarray,
    tags: np.ndarray,
    never: np.ndarray,
    one_root: bool,
    candidates: ScoredSpans,
    chain_from: np.ndarray,
    chain_labels: np.ndarray,
) -> tuple[list[list[int]], list[float]]:
    """Attach unattached tokens like `attach_unattached`, in a sentence of any length; return (items, costs).

    A constituent of at most PIECE tokens is a piece, and so are adjacent children of a longer one. Each piece is
    processed separately, so no new constituent crosses the border of a piece.
    """
    n, n_labels = len(tags), len(never) - 1
    spans, posteriors, logs = candidates
    if one_root and len(items) and (items[0, 0] > 0 or items[0, 1] < n):
        items, costs = _with_root(items, costs, n, candidates, chain_from, chain_labels)
    order = np.argsort(spans[:, 0], kind="stable")
    span_starts = spans[order, 0]
    ever_forbidden = np.any(never, axis=1, keepdims=True)[:, 0]  # [parent, tag]: next to some child
    found, found_costs = items.tolist(), costs.tolist()
    is_kept, new, new_costs = [True] * len(items), [], []
    for piece in _pieces(found, n):
        label = found[piece.parent][2] if piece.parent >= 0 else n_labels
        labels_here = {label, *(item[2] for item in found[piece.first : piece.last])}
        tags_here = tags[piece.start : piece.end]
        if not any(ever_forbidden[one, tags_here].any() for one in labels_here):
            continue
        count, size = piece.last - piece.first, piece.end - piece.start
        workspace = np.empty((2 * size + count + 1 + (size + 1) * int(np.diff(chain_from).max()), 3), dtype=INDEX)
        workspace_costs = np.empty(len(workspace), dtype=SCORE)
        workspace[0] = 0, size, label
        workspace[1 : count + 1] = items[piece.first : piece.last]
        workspace[1 : count + 1, :2] -= piece.start
        workspace_costs[0], workspace_costs[1 : count + 1] = 0.0, costs[piece.first : piece.last]
        low, high = np.searchsorted(span_starts, (piece.start, piece.end))
        inside = order[low:high][spans[order[low:high], 1] <= piece.end]
        inside_candidates = (spans[inside] - INDEX(piece.start)).astype(INDEX), posteriors[inside], logs[inside]
        given = workspace, workspace_costs, count + 1, tags_here, never, False
        after = attach_unattached(*given, *inside_candidates, chain_from, chain_labels)
        if after > count + 1:
            is_kept[piece.first : piece.last] = [False] * count
            workspace[1:after, :2] += piece.start
            new += workspace[1:after].tolist()
            new_costs += workspace_costs[1:after].tolist()
    merged = [(item, cost) for item, cost, stays in zip(found, found_costs, is_kept, strict=True) if stays]
    merged += zip(new, new_costs, strict=True)
    merged.sort(key=lambda pair: (pair[0][0], -pair[0][1]))  # stable: chains stay in order
    return [item for item, _ in merged], [cost for _, cost in merged]


def _with_root(
    items: np.ndarray,
    costs: np.ndarray,
    n: int,
    candidates: ScoredSpans,
    chain_from: np.ndarray,
    chain_labels: np.ndarray,
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
