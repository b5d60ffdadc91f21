"""The boosted-tree parser under constraints: the search skips what violates them; the span model conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.constraints import Constraints
from ..core.parser import ParseResult
from ..dtypes import INDEX
from ..jit.warmup import kernels_for
from .features.marginals import with_marginals
from .kernels.constraints import ANY
from .kernels.search import STATUSES

if TYPE_CHECKING:
    from .parser import DtreeParser


def search_constrained(
    parser: DtreeParser, words: Sequence[str], tags: Sequence[str], constraints: Constraints
) -> ParseResult:
    """Return the best parse of the search, else that of the span model. The window filter drops nothing."""
    record, words_left, tags_left = parser._preprocess(words, tags)
    mapped, span_parser, settings = constraints.restrict_to(record.kept), parser.span_parser, parser.settings
    with kernels_for(parser.name, len(words_left)):
        tokens = parser.model.lexicon.encode(words_left, tags_left)
        if span_parser is not None:
            known = Constraints(one for one in mapped if not one.label or one.label in span_parser.labels)
            marginals = span_parser.constrained_marginals(words_left, tags_left, known)
            tokens = with_marginals(tokens, marginals, settings.marginal_weight, settings.commit_threshold)
        bounds = np.array([0, len(tokens)]), np.array([0, len(words_left)])
        budgets, rows = [settings.budget_for(len(words_left))], constraint_rows(mapped, parser.labels)
        parses = parser._search_all(tokens, *bounds, budgets, settings, constraints=rows)
        status, counts = STATUSES[parses.statuses[0]], parses.counts[0].tolist()
        if status == "fallback" and span_parser is not None and set(span_parser.labels) <= set(parser.labels):
            parse = span_parser.parse_constrained(words_left, tags_left, known)
            tree, scores = parser._restore(parse.tree, parse.scores, record)
            return ParseResult(tree, scores, parse.cost, status, counts[0], counts[1])
        return parser._repair(
            record, words_left, tags_left, parses.items, parses.item_costs, float(parses.costs[0]), status, counts,
            tokens,
        )  # fmt: skip


def constraint_rows(constraints: Constraints, labels: Sequence[str]) -> np.ndarray:
    """Return the constraints as int32 (c, 4) in the format of `dtparse.kernels.constraints`; `labels`: by id."""
    label_ids = {label: label_id for label_id, label in enumerate(labels)}
    encoded = [(one.start, one.end, label_ids[one.label] if one.label else ANY, one.required) for one in constraints]
    return np.array(encoded, dtype=INDEX).reshape(-1, 4)
