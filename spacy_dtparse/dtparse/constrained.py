"""The boosted-tree parser under constraints: the search skips what violates them; the span model conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.constraints import Constraints
from ..core.marginals import concatenate_marginals
from ..core.parser import ParseResult
from ..dtypes import INDEX
from ..jit.warmup import kernels_for
from .encoder import encode_columns
from .kernels.constraints import ANY
from .kernels.search import STATUSES

if TYPE_CHECKING:
    from .parser import DtreeParser


def search_constrained(
    parser: DtreeParser, words: Sequence[str], tags: Sequence[str], constraints: Constraints
) -> ParseResult:
    """Return the best parse of the search, else that of the span model. The window filter drops nothing."""
    prepared = parser.preprocess(words, tags)
    record, words_left, tags_left = prepared
    mapped, span_parser, settings = constraints.restrict_to(record.kept), parser.span_parser, parser.settings
    with kernels_for(parser.name, len(words_left)):
        batch = encode_columns(parser.model, [prepared])
        tokens, row_offsets = batch.tokens(settings)
        if span_parser is not None:
            known = Constraints(one for one in mapped if set(one.labels) <= set(span_parser.labels))
            batch = batch._replace(encoded=span_parser.encode([(words_left, tags_left)]))
            marginals = concatenate_marginals([span_parser.constrained_marginals(batch.encoded, known)])
            tokens, row_offsets = batch.tokens_with(*marginals, settings)
        budgets, rows = [settings.budget_for(len(words_left))], constraint_rows(mapped, parser.labels)
        parses = parser.searcher.search_all(
            tokens, row_offsets, batch.token_offsets, budgets, settings, constraints=rows
        )
        status, counts = STATUSES[parses.statuses[0]], parses.counts[0].tolist()
        if status == "fallback" and span_parser is not None and set(span_parser.labels) <= set(parser.labels):
            parse = span_parser.parse_constrained_sentence((words_left, tags_left), batch.encoded, known)
            tree, costs = parser.restore(parse.tree, parse.costs, record)
            return ParseResult(tree, costs, parse.cost, status, counts[0], counts[1])
        return parser.repaired_result(
            batch, 0, tokens, parses.items, parses.item_costs, float(parses.costs[0]), status, counts
        )


def constraint_rows(constraints: Constraints, labels: Sequence[str]) -> np.ndarray:
    """Return the constraints as int32 (c, 4) in the format of `dtparse.kernels.constraints`; `labels`: by id."""
    label_ids = {label: label_id for label_id, label in enumerate(labels)}
    plain = constraints.without_chains(labels)
    encoded = [(one.start, one.end, label_ids[one.label] if one.label else ANY, one.required) for one in plain]
    return np.array(encoded, dtype=INDEX).reshape(-1, 4)
