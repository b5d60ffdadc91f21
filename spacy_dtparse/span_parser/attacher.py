"""The attacher of the span parser: attaches tokens that a treebank never leaves unattached."""

from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX
from ..trees.tree import TOP
from ..trees.unattached import SISTERS, VERB_PHRASE, VERBS, is_unattached
from .attach import PIECE, attach_in_pieces
from .decoder import CANDIDATE, Decoder
from .encoder import NetworkOutput
from .kernels.attach import attach_unattached, find_unattached, first_unattached, mask_tags
from .long import ScoredSpans
from .model import SpanModel


class AttachRules(NamedTuple):
    """Which tokens count as unattached, see `kernels.attach`: `never` as in `model.AttachTables`, with one tag more for
    all unlisted tags, and `one_root`; `verb_phrase`: id of the label VP, -1 if there is none; `is_verb` bool (tags +
    1,)."""

    never: np.ndarray
    one_root: bool
    verb_phrase: int
    is_verb: np.ndarray


NO_RULES = AttachRules(np.zeros((0, 0, 0), dtype=np.bool_), False, -1, np.zeros(1, dtype=np.bool_))
"""Rules by which no token counts as unattached."""


def attach_rules(model: SpanModel) -> AttachRules | None:
    """Return the rules of the model, None if it has no tables."""
    if model.attach_tables is None:
        return None
    never, one_root = model.attach_tables
    other = np.zeros((*never.shape[:2], 1), dtype=np.bool_)
    verb_phrase = model.labels.index(VERB_PHRASE) if VERB_PHRASE in model.labels else -1
    is_verb = np.array([*(tag in VERBS for tag in model.words.tables[1]), False])
    return AttachRules(np.concatenate([never, other], axis=2), one_root, verb_phrase, is_verb)


def attach_rules_for_others(model: SpanModel) -> AttachRules | None:
    """Return `attach_rules` restricted to the cases of `trees.unattached`, for trees of other parsers."""
    rules = attach_rules(model)
    if rules is None:
        return None
    parents, sisters = (*model.labels, TOP), model.labels
    restricted = np.zeros_like(rules.never)
    for p, parent in enumerate(parents):
        for s in [s for s, sister in enumerate(sisters) if sister in SISTERS]:
            for t, tag in enumerate(model.words.tables[1]):
                restricted[p, s, t] = rules.never[p, s, t] and is_unattached(parent, sisters[s], tag)
    return rules._replace(never=restricted, one_root=False)


class Attacher:
    """Attaches unattached tokens of trees in the workspace of a decoder. `rules`: None: tokens stay unattached."""

    def __init__(self, decoder: Decoder, rules: AttachRules | None):
        self._decoder, self.rules = decoder, rules

    def attach(
        self, count: int, tags: np.ndarray, output: NetworkOutput, scored: ScoredSpans | None = None
    ) -> tuple[list[list[int]], list[float]]:
        """Return items and scores after attaching tokens to the first `count` items of the workspace.

        `tags` int32 (n,): ids of tags. `scored`: the probable spans, if they are computed already.
        """
        items, costs = self._decoder.workspace(len(tags))
        if self.rules is None or self.is_fully_attached(count, tags):
            return items[:count].tolist(), costs[:count].tolist()
        candidates = self._decoder.scored_spans(output, CANDIDATE) if scored is None else scored
        shown, tables = self._shown_tags(count, tags), self.rules[:2]
        if len(tags) > PIECE:
            return attach_in_pieces(
                items[:count], costs[:count], shown, *tables, candidates, *self._decoder.chain_table
            )
        count = attach_unattached(items, costs, count, shown, *tables, *candidates, *self._decoder.chain_table)
        return items[:count].tolist(), costs[:count].tolist()

    def is_fully_attached(self, count: int, tags: np.ndarray) -> bool:
        """Return whether the workspace's first `count` items leave no token unattached that the rules do not allow to
        be."""
        assert self.rules is not None
        n, items = len(tags), self._decoder.workspace(len(tags))[0]
        if self.rules.one_root and count and (items[0, 0] > 0 or items[0, 1] < n):
            return False
        shown = self._shown_tags(count, tags)
        return first_unattached(items, count, n, shown, self.rules.never, np.empty(n, dtype=INDEX), 0) < 0

    def _shown_tags(self, count: int, tags: np.ndarray) -> np.ndarray:
        """Return the ids of tags after `mask_tags`, for the workspace's first `count` items."""
        assert self.rules is not None
        shown, items = np.empty_like(tags), self._decoder.workspace(len(tags))[0]
        mask_tags(items, count, tags, *self.rules[2:], np.empty(len(tags), dtype=INDEX), shown)
        return shown

    def has_unattached(
        self, tags: np.ndarray, token_offsets: np.ndarray, items: np.ndarray, item_offsets: np.ndarray
    ) -> np.ndarray:
        """Return `SpanParser.has_unattached`, given ids of tags."""
        found = np.zeros(len(token_offsets) - 1, dtype=np.bool_)
        if self.rules is not None:
            never, _, *verbs = self.rules
            find_unattached(items, item_offsets, tags, token_offsets, never, *verbs, np.empty_like(tags), found)
        return found
