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
    all unlisted tags, and `one_root`; `verb_phrase`: id of the label VP, -1 if there is none or no tag is Penn's tag of
    a verb; `is_verb` bool (tags + 1,)."""

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
    is_verb = np.array([*(tag in VERBS for tag in model.words.tables[1]), False])
    verb_phrase = model.labels.index(VERB_PHRASE) if VERB_PHRASE in model.labels and is_verb.any() else -1
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
        if self.rules is None:
            return items[:count].tolist(), costs[:count].tolist()
        masked, never, one_root = self._masked_tags(count, tags), self.rules.never, self.rules.one_root
        if self._is_attached(count, masked):
            return items[:count].tolist(), costs[:count].tolist()
        candidates = self._decoder.scored_spans(output, CANDIDATE) if scored is None else scored
        tables = self._decoder.chain_table
        if len(tags) > PIECE:
            return attach_in_pieces(items[:count], costs[:count], masked, never, one_root, candidates, *tables)
        count = attach_unattached(items, costs, count, masked, never, one_root, *candidates, *tables)
        return items[:count].tolist(), costs[:count].tolist()

    def is_fully_attached(self, count: int, tags: np.ndarray) -> bool:
        """Return whether the workspace's first `count` items leave no token unattached that the rules do not allow to
        be."""
        return self._is_attached(count, self._masked_tags(count, tags))

    def _is_attached(self, count: int, masked: np.ndarray) -> bool:
        """`is_fully_attached`, given `_masked_tags`."""
        assert self.rules is not None
        n, items = len(masked), self._decoder.workspace(len(masked))[0]
        if self.rules.one_root and count and (items[0, 0] > 0 or items[0, 1] < n):
            return False
        return first_unattached(items, count, n, masked, self.rules.never, np.empty(n, dtype=INDEX), 0) < 0

    def _masked_tags(self, count: int, tags: np.ndarray) -> np.ndarray:
        """Return the ids of tags after `mask_tags`, for the workspace's first `count` items."""
        assert self.rules is not None
        masked, items = np.empty_like(tags), self._decoder.workspace(len(tags))[0]
        parents = np.empty(len(tags), dtype=INDEX)
        mask_tags(items, count, tags, self.rules.verb_phrase, self.rules.is_verb, parents, masked)
        return masked

    def has_unattached(
        self, tags: np.ndarray, token_offsets: np.ndarray, items: np.ndarray, item_offsets: np.ndarray
    ) -> np.ndarray:
        """Return `SpanParser.has_unattached`, given ids of tags."""
        found = np.zeros(len(token_offsets) - 1, dtype=np.bool_)
        if self.rules is not None:
            never, _, verb_phrase, is_verb = self.rules
            scratch = np.empty_like(tags)
            find_unattached(items, item_offsets, tags, token_offsets, never, verb_phrase, is_verb, scratch, found)
        return found
