"""The attacher of the span parser: attaches tokens that a treebank never leaves unattached."""

import numpy as np

from ..dtypes import INDEX
from ..trees.tree import TOP
from ..trees.unattached import SISTERS, is_unattached
from .attach import PIECE, attach_in_pieces
from .decoder import CANDIDATE, Decoder
from .encoder import NetworkOutput
from .kernels.attach import attach_unattached, find_unattached, first_unattached
from .long import ScoredSpans
from .model import AttachTables, SpanModel

NO_TABLES = AttachTables(np.zeros((0, 0, 0), dtype=np.bool_), False)
"""Tables by which no token counts as unattached."""


def full_attach_tables(model: SpanModel) -> AttachTables | None:
    """Return the tables of the model, extended by one tag for all unlisted tags."""
    if model.attach_tables is None:
        return None
    never, one_root = model.attach_tables
    other = np.zeros((*never.shape[:2], 1), dtype=np.bool_)
    return AttachTables(np.concatenate([never, other], axis=2), one_root)


def attach_tables_for_others(model: SpanModel) -> AttachTables | None:
    """Return `full_attach_tables` restricted to the cases of `trees.unattached`, for trees of other parsers."""
    tables = full_attach_tables(model)
    if tables is None:
        return None
    parents, sisters = (*model.labels, TOP), model.labels
    restricted = np.zeros_like(tables.never)
    for p, parent in enumerate(parents):
        for s in [s for s, sister in enumerate(sisters) if sister in SISTERS]:
            for t, tag in enumerate(model.words.tables[1]):
                restricted[p, s, t] = tables.never[p, s, t] and is_unattached(parent, sisters[s], tag)
    return AttachTables(restricted, False)


class Attacher:
    """Attaches unattached tokens of trees in the workspace of a decoder. `tables`: None: tokens stay unattached."""

    def __init__(self, decoder: Decoder, tables: AttachTables | None):
        self._decoder, self.tables = decoder, tables

    def attach(
        self, count: int, tags: np.ndarray, output: NetworkOutput, scored: ScoredSpans | None = None
    ) -> tuple[list[list[int]], list[float]]:
        """Return items and scores after attaching tokens to the first `count` items of the workspace.

        `tags` int32 (n,): ids of tags. `scored`: the probable spans, if they are computed already.
        """
        items, costs = self._decoder.workspace(len(tags))
        if self.tables is None or self.is_fully_attached(count, tags):
            return items[:count].tolist(), costs[:count].tolist()
        candidates = self._decoder.scored_spans(output, CANDIDATE) if scored is None else scored
        if len(tags) > PIECE:
            return attach_in_pieces(
                items[:count], costs[:count], tags, self.tables, candidates, *self._decoder.chain_table
            )
        count = attach_unattached(items, costs, count, tags, *self.tables, *candidates, *self._decoder.chain_table)
        return items[:count].tolist(), costs[:count].tolist()

    def is_fully_attached(self, count: int, tags: np.ndarray) -> bool:
        """Return whether the workspace's first `count` items leave no token unattached that the tables do not allow to
        be."""
        assert self.tables is not None
        n, items = len(tags), self._decoder.workspace(len(tags))[0]
        if self.tables.one_root and count and (items[0, 0] > 0 or items[0, 1] < n):
            return False
        return first_unattached(items, count, n, tags, self.tables.never, np.empty(n, dtype=INDEX), 0) < 0

    def has_unattached(
        self, tags: np.ndarray, token_offsets: np.ndarray, items: np.ndarray, item_offsets: np.ndarray
    ) -> np.ndarray:
        """Return `SpanParser.has_unattached`, given ids of tags."""
        found = np.zeros(len(token_offsets) - 1, dtype=np.bool_)
        if self.tables is not None:
            find_unattached(items, item_offsets, tags, token_offsets, self.tables.never, np.empty_like(tags), found)
        return found
