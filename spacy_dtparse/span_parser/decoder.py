"""The decoder of the span parser: from the output of the networks to probabilities of spans and to trees."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.marginals import SpanMarginals
from ..core.settings import SpanSettings
from ..dtypes import INDEX, OFFSET, REAL, SCORE
from .encoder import NetworkOutput, output_of
from .kernels.batch import DONE, LONG, OUT_OF_SPACE, ChainListing, ChartArrays, Encoded, marginals_from
from .kernels.network import constituent_marginals, decode, label_spans, span_probabilities
from .long import ScoredSpans, decode_long, long_posteriors
from .model import Chain
from .posteriors import list_chains_of

CANDIDATE = 0.02
"""Minimum posterior probability of spans to which a token may be attached, and of spans in a k-best list; a token may
always get a constituent of its own."""
_MIN_LABELLED = 0.01
"""Minimum posterior probability of spans that are labelled."""
MIN_MARGINAL = 0.002
"""Minimum posterior probability of constituents in the marginals for boosted trees."""


class DecodedTree(NamedTuple):
    """The decoded tree of a sentence, before tokens are attached: items (start, end, label) in pre-order, their scores,
    the number of labelled spans, the status; and `scored`, the spans with their posteriors, for a long sentence."""

    items: list[list[int]]
    costs: list[float]
    tried: int
    status: str
    scored: ScoredSpans | None


class Decoder:
    """Decodes the output of networks. `labels`: those of the model; `chains`: the label chains that are scored;
    `exact_status`: the status of a tree from a chart over the whole sentence."""

    def __init__(self, labels: Sequence[str], chains: Sequence[Chain], settings: SpanSettings, exact_status: str):
        self.penalty, self.exact_status = float(settings.penalty), exact_status
        self.max_chart_tokens = max(settings.max_tokens, 2)
        """Maximum number of tokens that one chart parses."""
        self.min_posterior = max(_MIN_LABELLED, self.penalty)
        """Minimum posterior probability of useful spans: those below the penalty never gain."""
        label_ids = {label: label_id for label_id, label in enumerate(labels)}
        self.chain_table = (
            np.cumsum([0, *map(len, chains)]).astype(INDEX),
            np.array([label_ids[label] for chain in chains for label in chain], dtype=INDEX),
        )
        """`chain_from`, `chain_labels`: see `kernels.batch.ChartArrays`."""
        self.chain_sizes = np.diff(self.chain_table[0])
        self._local = threading.local()

    def chart(self, piece: int) -> ChartArrays:
        """Return the options of `kernels.batch.parse_from`; `piece`: see there."""
        return ChartArrays(*self.chain_table, self.min_posterior, self.penalty, CANDIDATE, piece, self.max_chart_tokens)

    def workspace(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return this thread's arrays (items, costs) for a sentence of n tokens."""
        local = self._local
        if vars(local).get("tokens", 0) < n:
            local.tokens = max(64, 2 * n) if n <= 4096 else n
            size = (3 * local.tokens + 1) * int(self.chain_sizes.max())
            local.workspace = np.empty((size, 3), INDEX), np.empty(size, SCORE)
        return local.workspace

    def scored_spans(self, output: NetworkOutput, min_prob: float) -> ScoredSpans:
        """Return `span_probabilities` of a whole sentence of any length."""
        gaps, left_scores, layer = output
        n = left_scores.shape[1] - 1
        if n <= self.max_chart_tokens:
            return span_probabilities(*output, 0, n, min_prob)
        spans, posteriors = long_posteriors(gaps, left_scores, self.max_chart_tokens)
        probable = posteriors >= min_prob
        spans, posteriors = spans[probable], posteriors[probable]
        logs = np.empty((len(spans), len(self.chain_sizes)), dtype=REAL)
        label_spans(gaps, layer, spans, logs)
        return spans, posteriors, logs

    def decode(self, output: NetworkOutput) -> DecodedTree:
        """Find the best tree of a sentence of any length; items and scores are also in the workspace."""
        n = output[1].shape[1] - 1
        workspace, scored, status = self.workspace(n), None, self.exact_status
        if n <= self.max_chart_tokens:
            count, tried = decode(*output, *self.chain_table, 0, n, self.min_posterior, self.penalty, *workspace)
        else:
            scored, status = self.scored_spans(output, min(self.min_posterior, CANDIDATE)), "greedy"
            count, tried = decode_long(scored, *self.chain_table, self.penalty, *workspace), len(scored[0])
        return DecodedTree(workspace[0][:count].tolist(), workspace[1][:count].tolist(), tried, status, scored)

    def marginals(self, encoded: Encoded, listing: ChainListing) -> tuple[SpanMarginals, np.ndarray, ChainListing]:
        """Return the concatenated marginals of the S ≥ 1 sentences of a batch, the offset of each sentence, int64
        (S + 1,), and the filled listing."""
        n_sentences, capacity = len(encoded.offsets) - 1, 8 * len(encoded.ids)
        arrays, offsets = _empty_marginals(capacity), np.zeros(n_sentences + 1, dtype=OFFSET)
        done, reason = 0, OUT_OF_SPACE
        while reason != DONE:
            done, reason = marginals_from(encoded, listing, self.max_chart_tokens, MIN_MARGINAL, done, arrays, offsets)
            if reason == OUT_OF_SPACE:
                arrays, listing = SpanMarginals(*map(double, arrays)), double_listing(listing)
            elif reason == LONG:
                scored = self.scored_spans(output_of(encoded, done), min(MIN_MARGINAL, listing.min_prob))
                listing = list_chains_of(scored, listing, done)
                found, at = self.marginals_of_spans(scored), offsets[done]
                offsets[done + 1] = end = at + len(found.spans)
                while len(arrays.spans) < end:
                    arrays = SpanMarginals(*map(double, arrays))
                for array, part in zip(arrays, found, strict=True):
                    array[at:end] = part
                done += 1
        return SpanMarginals(*(array[: offsets[-1]] for array in arrays)), offsets, listing

    def marginals_of_spans(self, scored: ScoredSpans) -> SpanMarginals:
        """Return the marginals of a sentence, given the probabilities of its spans."""
        arrays = _empty_marginals(len(scored[0]))
        count = constituent_marginals(*scored, MIN_MARGINAL, *arrays)
        return SpanMarginals(*(array[:count] for array in arrays))


def _empty_marginals(capacity: int) -> SpanMarginals:
    return SpanMarginals(
        np.empty((capacity, 2), INDEX), np.empty(capacity), np.empty((capacity, 2), INDEX), np.empty((capacity, 2))
    )


def double(array: np.ndarray) -> np.ndarray:
    """Return an array of twice the length that begins with the given one."""
    return np.concatenate([array, np.empty_like(array)])


def double_listing(listing: ChainListing) -> ChainListing:
    """Return a listing with room for twice as many entries."""
    entries, posteriors, logs = map(double, (listing.entries, listing.posteriors, listing.logs))
    return listing._replace(entries=entries, posteriors=posteriors, logs=logs)
