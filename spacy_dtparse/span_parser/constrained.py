"""The span parser under constraints: posteriors of the allowed spans, and the best tree of these spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.constraints import Constraints
from ..core.parser import ParseResult, TaggedWords
from ..dtypes import INDEX, REAL
from .decoder import CANDIDATE, Decoder
from .encoder import NetworkOutput
from .kbest import best_sets, options
from .kernels.chart import tree_posteriors
from .kernels.network import label_spans, score_spans
from .long import ScoredSpans, long_posteriors, write_items
from .model import Chain

if TYPE_CHECKING:
    from .parser import SpanParser

_NEVER = -1e4
"""The score of a forbidden span."""
_IMPOSSIBLE = REAL(-100)
"""The log-probability of forbidden labels."""
_REQUIRED_BONUS = 1e6
"""Bonus to the gain of a required constituent: more than all others together."""


def constrained_posteriors(
    decoder: Decoder, chains: Sequence[Chain], output: NetworkOutput, constraints: Constraints, min_prob: float
) -> ScoredSpans:
    """Return `span_probabilities` over the trees in which the constraints hold, as far as spans and chains of the model
    can express them: for spans with a posterior of at least `min_prob`, and for all required spans.

    No span crosses a required one, so every binary tree contains all required spans. Label probabilities are over the
    allowed chains, or over all chains if none is allowed.
    """
    gaps, left_scores, layer = output
    n = left_scores.shape[1] - 1
    required = np.array(sorted({(one.start, one.end) for one in constraints.requirements}), dtype=INDEX).reshape(-1, 2)
    if n <= decoder.max_chart_tokens:
        scores = np.empty((n + 1, n + 1), dtype=REAL)
        score_spans(gaps, left_scores, 0, n, scores)
        spans = np.stack(np.triu_indices(n + 1, 1), axis=1).astype(INDEX)
        crossed = spans[constraints.crosses_required(spans)]
        scores[crossed[:, 0], crossed[:, 1]] = scores[crossed[:, 1], crossed[:, 0]] = _NEVER
        _, found = tree_posteriors(scores)
        found[np.arange(n), np.arange(1, n + 1)] = 1.0
        posteriors = found[spans[:, 0], spans[:, 1]]
    else:
        spans, posteriors = long_posteriors(gaps, left_scores, decoder.max_chart_tokens)
        is_allowed = ~constraints.crosses_required(spans)
        is_allowed[is_allowed] = ~(spans[is_allowed, None] == required).all(axis=2).any(axis=1)
        spans = np.concatenate([spans[is_allowed], required])
        posteriors = np.concatenate([posteriors[is_allowed], np.ones(len(required))])
        order = np.lexsort((spans[:, 1], spans[:, 0]))
        spans, posteriors = np.ascontiguousarray(spans[order]), posteriors[order]
    is_required = (spans[:, None] == required).all(axis=2).any(axis=1)
    posteriors[is_required] = 1.0
    is_useful = (posteriors >= min_prob) | is_required
    spans, posteriors = np.ascontiguousarray(spans[is_useful]), posteriors[is_useful]
    logs = np.empty((len(spans), len(chains)), dtype=REAL)
    label_spans(gaps, layer, spans, logs)
    for row, (start, end) in enumerate(spans.tolist()):
        allowed = constraints.allowed_chains(start, end, chains)
        if allowed is not None:
            logs[row, ~allowed] = _IMPOSSIBLE
            logs[row, allowed] -= np.logaddexp.reduce(logs[row, allowed])
    return spans, posteriors, logs


def decode_constrained(
    parser: SpanParser, sentence: TaggedWords, output: NetworkOutput, constraints: Constraints
) -> Iterator[tuple[float, ParseResult]]:
    """Yield (difference of gain from the best tree, parse) of the trees in which the constraints hold, best first, as
    far as chains of the model can express the constraints."""
    decoder, n = parser.decoder, len(sentence[0])
    min_prob = min(decoder.min_posterior, CANDIDATE)
    scored = constrained_posteriors(decoder, parser.chains, output, constraints, min_prob)
    found = options(*scored, decoder.chain_sizes, decoder.penalty, min_prob)
    required_spans = {(one.start, one.end) for one in constraints.requirements}
    extents = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    gains = found.gains + _REQUIRED_BONUS * np.fromiter(
        (extent in required_spans for extent in extents), float, len(found.gains)
    )
    tags, table = parser.model.words.tag_ids(sentence[1]), decoder.chain_table
    best = None
    for gain, chosen in best_sets(found._replace(gains=gains), n):
        count = write_items(scored, found.rows[chosen], found.chains[chosen], *table, *decoder.workspace(n))
        exact = best is None and n <= decoder.max_chart_tokens and decoder.exact_status == "optimal"
        best = gain if best is None else best
        items, costs = parser.attacher.attach(count, tags, output, scored)
        status = "optimal" if exact else "complete"
        yield best - gain, parser.result_of_items(sentence, items, costs, status, len(scored[0]))
