"""Encoding of sentences for the boosted trees: token columns and the output of the span model, once per batch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.marginals import SpanMarginals
from ..core.settings import SearchSettings
from ..dtypes import OFFSET
from ..trees.transforms import Removal
from .features.marginals import batch_with_marginals
from .model.model import DtreeModel

Preprocessed = tuple[Removal, list[str], list[str]]
"""A preprocessed sentence: the record of the changes, the remaining words, their tags."""


class EncodedBatch(NamedTuple):
    """S ≥ 1 preprocessed sentences: `columns` int32 (tokens, TOKEN_COLUMNS), the `tags` of all tokens, `token_offsets`
    int64 (S + 1,).

    With a span model: `encoded`, the output of its networks; `marginals` and `span_offsets`, see
    `core.marginals.concatenate_marginals`; `listing`, from which it computes posteriors. Else None.
    """

    prepared: Sequence[Preprocessed]
    columns: np.ndarray
    tags: Sequence[str]
    token_offsets: np.ndarray
    encoded: Any = None
    marginals: SpanMarginals | None = None
    span_offsets: np.ndarray | None = None
    listing: Any = None

    def tokens(self, settings: SearchSettings) -> tuple[np.ndarray, np.ndarray]:
        """Return the concatenated token matrices and the row offsets of the sentences, int64 (S + 1,)."""
        return self.tokens_with(self.marginals, self.span_offsets, settings)

    def tokens_with(
        self, marginals: SpanMarginals | None, span_offsets: np.ndarray | None, settings: SearchSettings
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `tokens` with other marginals."""
        if marginals is None or span_offsets is None:
            return self.columns, self.token_offsets
        return batch_with_marginals(
            self.columns,
            self.token_offsets,
            marginals,
            span_offsets,
            settings.marginal_weight,
            settings.commit_threshold,
        )


def encode_columns(model: DtreeModel, prepared: Sequence[Preprocessed]) -> EncodedBatch:
    """Encode preprocessed sentences without a span model."""
    words, tags = [text for one in prepared for text in one[1]], [text for one in prepared for text in one[2]]
    token_offsets = np.cumsum([0, *(len(one[1]) for one in prepared)], dtype=OFFSET)
    return EncodedBatch(prepared, model.lexicon.encode(words, tags), tags, token_offsets)


def encode_batch(
    model: DtreeModel, span_parser: Any, prepared: Sequence[Preprocessed], posteriors: bool = False
) -> EncodedBatch:
    """Encode preprocessed sentences; `span_parser`: the span model, or None. `posteriors`: whether to fill the
    listing."""
    batch = encode_columns(model, prepared)
    if span_parser is None:
        return batch
    encoded = span_parser.encoder.encode([one[1:] for one in prepared])
    marginals, span_offsets, listing = span_parser.marginals_of(encoded, posteriors)
    return batch._replace(encoded=encoded, marginals=marginals, span_offsets=span_offsets, listing=listing)
