"""Repairs of a parse by the span model: what no inference builds, and what the treebanks never leave unattached."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import INDEX
from .kernels.batch import Parses
from .kernels.marginals import CHAIN as MARGINAL_CHAIN
from .kernels.marginals import CHAIN_PROB, END, LAST_SPAN, count_tokens
from .kernels.pruning import LIKELY
from .model.model import DtreeModel


class Repair:
    """Repairs parses with a span model. `enabled`: whether to repair at all."""

    def __init__(self, model: DtreeModel, span_parser: Any, enabled: bool):
        self._span_parser = span_parser
        names, n_chains = model.lexicon.labels.strings, max(1, len(model.lexicon.chains))
        # maps of label ids: from the span model's labels to the model's, and back
        self._from_span_labels = self._to_span_labels = np.zeros(0, dtype=INDEX)
        if span_parser is not None and set(span_parser.labels) <= set(names):
            self._from_span_labels = np.array([names.index(label) for label in span_parser.labels], dtype=INDEX)
            known = {label: label_id for label_id, label in enumerate(span_parser.labels)}
            self._to_span_labels = np.array([known.get(label, -1) for label in names], dtype=INDEX)
        self.enabled = enabled and len(self._from_span_labels) > 0
        """Whether trees are repaired: the span model must have the same labels."""
        self._repeated_chains = _find_repeated_chains(model)
        self._is_repeated = np.zeros(n_chains, dtype=np.bool_)
        self._is_repeated[list(self._repeated_chains)] = True

    def sentences_to_repair(
        self,
        parses: Parses,
        tokens: np.ndarray,
        row_offsets: np.ndarray,
        token_offsets: np.ndarray,
        tags: Sequence[str],
    ) -> set[int]:
        """Return which sentences of a batch may need a repeated label over a span or have unattached tokens."""
        if not self.enabled:
            return set()
        span_items = parses.items.copy()
        span_items[:, 2] = self._to_span_labels[span_items[:, 2]]
        has_unattached_tokens = self._span_parser.has_unattached(tags, token_offsets, span_items, parses.offsets)
        to_repair = set(np.flatnonzero(has_unattached_tokens).tolist())
        if self._repeated_chains:
            likely_rows = np.flatnonzero(tokens[:, CHAIN_PROB] >= LIKELY)
            likely_rows = likely_rows[self._is_repeated.take(tokens[likely_rows, MARGINAL_CHAIN], mode="clip")]
            if len(likely_rows):
                sentence_ids = np.searchsorted(row_offsets, likely_rows, side="right") - 1
                # the rows of a sentence after those of its tokens are its marginals
                to_repair |= set(
                    sentence_ids[
                        likely_rows - row_offsets[sentence_ids] >= np.diff(token_offsets)[sentence_ids]
                    ].tolist()
                )
        return to_repair

    def repair(
        self, tokens: np.ndarray, tags: Sequence[str], items: np.ndarray, costs: np.ndarray, encoded: Any, s: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return items and costs after the repairs. `tokens`: the token matrix of the sentence, which is number s of
        the batch `encoded` of the span model."""
        if not self.enabled:
            return items, costs
        items, costs = self._add_repeated_unaries(tokens, items, costs)
        return self._attach_unattached(tags, items, costs, encoded, s)

    def _add_repeated_unaries(
        self, tokens: np.ndarray, items: np.ndarray, costs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return items and costs with a repeated label over each span for which the span model finds it likely."""
        n = count_tokens(tokens)
        likely_rows = np.flatnonzero(tokens[n:, CHAIN_PROB] >= LIKELY)
        for row, chain_id in zip(likely_rows.tolist(), tokens[n + likely_rows, MARGINAL_CHAIN].tolist(), strict=True):
            chain = self._repeated_chains.get(chain_id)
            if chain is None:
                continue
            start = int(np.searchsorted(tokens[:n, LAST_SPAN], n + row, side="right"))
            there = (items[1:, 0] == start) & (items[1:, 1] == tokens[n + row, END])
            at = 1 + np.flatnonzero(there)
            if sorted(items[at, 2].tolist()) == sorted(set(chain)):
                first, last = at[0], at[-1] + 1
                new_items = np.array([[start, tokens[n + row, END], label] for label in chain], dtype=INDEX)
                items = np.concatenate([items[:first], new_items, items[last:]])
                costs = np.concatenate([costs[:first], np.full(len(chain), costs[first]), costs[last:]])
        return items, costs

    def _attach_unattached(
        self, tags: Sequence[str], items: np.ndarray, costs: np.ndarray, encoded: Any, s: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Attach the tokens that the span model's treebanks never leave unattached; return items and costs."""
        span_items = items[1:].copy()
        span_items[:, 2] = self._to_span_labels[span_items[:, 2]]
        if len(span_items) and span_items[:, 2].min() < 0:  # a label that the span model does not have
            return items, costs
        found = self._span_parser.attach(tags, span_items, costs[1:], encoded, s)
        if found is None:
            return items, costs
        new_items = np.array(found[0], dtype=INDEX).reshape(-1, 3)
        new_items[:, 2] = self._from_span_labels[new_items[:, 2]]
        return np.concatenate([items[:1], new_items]), np.concatenate([costs[:1], found[1]])


def _find_repeated_chains(model: DtreeModel) -> dict[int, list[int]]:
    """Return the span model's chains with a repeated label, which no inferences build, as the model's label ids."""
    known = model.lexicon.labels
    chains = [name.split() for name in model.lexicon.chains]
    return {
        chain_id: [known.id_of(label) for label in chain]
        for chain_id, chain in enumerate(chains)
        if len(set(chain)) < len(chain) and all(label in known for label in chain)
    }
