"""The one conversion between trees and integer arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX
from ..errors import TreeError
from ..symbols import SymbolTable
from .tree import Tree


class SpanArrays(NamedTuple):
    """The constituents of a tree in pre-order: three int32 arrays of shape (m,); `labels` are symbols."""

    starts: np.ndarray
    ends: np.ndarray
    labels: np.ndarray


def tree_to_arrays(tree: Tree, labels: SymbolTable, unknown: int | None = None) -> SpanArrays:
    """The spans of `tree` with labels as numbers of `labels`.

    A label that is not in the table becomes `unknown`; raises TreeError for it when `unknown` is None.
    """
    if unknown is None:
        for label in tree.labels:
            if label not in labels:
                raise TreeError(
                    f"label {label!r} is not among the {len(labels)} known labels; strip function tags first "
                    "(strip_empty), or give `unknown` a number"
                )
    return SpanArrays(
        np.array(tree.starts, dtype=INDEX),
        np.array(tree.ends, dtype=INDEX),
        labels.encode(tree.labels, default=-1 if unknown is None else unknown),
    )


def arrays_to_tree(
    words: Sequence[str], tags: Sequence[str], spans: SpanArrays, labels: SymbolTable, top: str | None = None
) -> Tree:
    """The tree over `words` and `tags` with the given spans, in any order (equal extents from top to bottom).

    `top` adds a root of that label over all tokens. Raises TreeError when the spans are not a tree or a label
    number is out of range.
    """
    if not len(spans.starts) == len(spans.ends) == len(spans.labels):
        raise TreeError(
            f"{len(spans.starts)} starts, {len(spans.ends)} ends and {len(spans.labels)} labels; "
            "give one of each per constituent"
        )
    triples = [] if top is None else [(0, len(words), top)]
    for start, end, label in zip(
        spans.starts.tolist(), spans.ends.tolist(), spans.labels.tolist(), strict=True
    ):
        if not 0 <= label < len(labels):
            raise TreeError(f"label number {label} is not in the table of {len(labels)} labels")
        triples.append((start, end, labels[label]))
    return Tree.from_spans(words, tags, triples)
