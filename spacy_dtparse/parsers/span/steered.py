"""The span parser under constraints: posteriors of the allowed spans, and the best tree of these spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...dtypes import INDEX, REAL
from ...kernels.span.network import label_spans, score_spans
from ...kernels.span.spans import tree_posteriors
from ..base import ParseResult
from ..constraints import Constraints
from .kbest import CANDIDATE, best_sets, options
from .long import Made, Told, long_posteriors, write_items

if TYPE_CHECKING:
    from .parser import SpanParser

_NEVER = -1e4
"""The score of a forbidden span."""
_IMPOSSIBLE = REAL(-100)
"""The log-probability of forbidden labels."""
_WANTED = 1e6
"""Bonus to the gain of a required constituent: more than all others together."""


def told_under(parser: SpanParser, parts: tuple[np.ndarray, ...], constraints: Constraints, least: float) -> Told:
    """Return `span_probabilities` over the trees in which the constraints hold, as far as spans and chains of the model
    can express them: for spans with a posterior of at least `least`, and for all required spans.

    No span crosses a required one, so every binary tree contains all required spans. Label probabilities are over the
    allowed chains, or over all chains if none is allowed.
    """
    gaps, own, weights, bias = parts
    n = own.shape[1] - 1
    wanted = np.array(sorted({(one.start, one.end) for one in constraints.wanted}), dtype=INDEX).reshape(-1, 2)
    if n <= parser._most:
        scores = np.empty((n + 1, n + 1), dtype=REAL)
        score_spans(gaps, own, 0, n, scores)
        spans = np.stack(np.triu_indices(n + 1, 1), axis=1).astype(INDEX)
        crossed = spans[constraints.crossed(spans)]
        scores[crossed[:, 0], crossed[:, 1]] = scores[crossed[:, 1], crossed[:, 0]] = _NEVER
        _, found = tree_posteriors(scores)
        found[np.arange(n), np.arange(1, n + 1)] = 1.0
        posteriors = found[spans[:, 0], spans[:, 1]]
    else:
        spans, posteriors = long_posteriors(gaps, own, parser._most)
        left = ~constraints.crossed(spans)
        left[left] = ~(spans[left, None] == wanted).all(axis=2).any(axis=1)
        spans = np.concatenate([spans[left], wanted])
        posteriors = np.concatenate([posteriors[left], np.ones(len(wanted))])
        order = np.lexsort((spans[:, 1], spans[:, 0]))
        spans, posteriors = np.ascontiguousarray(spans[order]), posteriors[order]
    is_wanted = (spans[:, None] == wanted).all(axis=2).any(axis=1)
    posteriors[is_wanted] = 1.0
    kept = (posteriors >= least) | is_wanted
    spans, posteriors = np.ascontiguousarray(spans[kept]), posteriors[kept]
    logs = np.empty((len(spans), len(parser.model.chains)), dtype=REAL)
    label_spans(gaps, weights, bias, spans, logs)
    for row, (start, end) in enumerate(spans.tolist()):
        chains = constraints.chains(start, end, parser.model.chains)
        if chains is not None:
            logs[row, ~chains] = _IMPOSSIBLE
            logs[row, chains] -= np.logaddexp.reduce(logs[row, chains])
    return spans, posteriors, logs


def steered(parser: SpanParser, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
    """Return the best tree in which the constraints hold, as far as chains of the model can express them."""
    numbers = parser.model.words.encode(words, tags)
    parts, least = parser._read(numbers, len(parser._networks)), min(parser._least(), CANDIDATE)
    told = told_under(parser, parts, constraints, least)
    found = options(*told, np.diff(parser._chain_table[0]), float(parser.settings.penalty), least)
    asked = {(one.start, one.end) for one in constraints.wanted}
    extents = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    gains = found.gains + _WANTED * np.fromiter((extent in asked for extent in extents), float, len(found.gains))
    _, chosen = next(best_sets(found._replace(gains=gains), len(words)))
    count = write_items(told, found.rows[chosen], found.chains[chosen], *parser._chain_table, *parser._room(len(words)))
    items, costs = (array[:count].tolist() for array in parser._room(len(words)))
    exact = len(words) <= parser._most and len(parser._networks) == len(parser.model.networks)
    made = Made(items, costs, len(told[0]), "optimal" if exact else "complete", numbers, parts, told)
    return parser._result(words, tags, *parser._whole(made, items, costs), made.status, made.tried)
