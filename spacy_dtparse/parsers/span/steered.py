"""The span parser under constraints: what a chart believes of the spans that are left, and the best tree of those."""

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
"""The score of a span that must not be in the tree."""
_IMPOSSIBLE = REAL(-100)
"""The logarithm of the probability of labels that must not be there."""
_WANTED = 1e6
"""What a constituent that is wanted gains beside what it is worth: more than all others together."""


def told_under(parser: SpanParser, parts: tuple[np.ndarray, ...], constraints: Constraints, least: float) -> Told:
    """`span_probabilities` over the trees in which the constraints hold, as far as the networks' spans and chains can
    say so: of what is `least` probable or more, and of all that is wanted.

    No span crosses one that is wanted, so each of these is in every binary tree. Labels are those of the chains that
    are left, or all where none is.
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
    """The best tree in which the constraints hold, as far as chains of the model can say so."""
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
