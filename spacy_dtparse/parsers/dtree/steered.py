"""The boosted-tree parser under constraints: the search skips what violates them; the span model conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...dtypes import INDEX
from ...features.trees.beliefs import with_beliefs
from ...kernels.trees.constraints import ANY
from ...kernels.trees.search import STATUSES
from ...model.ahead import kernels_for
from ..base import ParseResult
from ..constraints import Constraints

if TYPE_CHECKING:
    from .parser import DtreeParser


def steered(parser: DtreeParser, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
    """Return the best parse of the search, else that of the span model. The window filter drops nothing."""
    record, kept_words, kept_tags = parser._prepared(words, tags)
    own, reader, settings = constraints.on(record.kept), parser.reader, parser.settings
    with kernels_for(parser.name, len(kept_words)):
        tokens = parser.model.lexicon.encode(kept_words, kept_tags)
        if reader is not None:
            known = Constraints(one for one in own if not one.label or one.label in reader.labels)
            beliefs = reader.beliefs_under(kept_words, kept_tags, known)
            tokens = with_beliefs(tokens, beliefs, settings.trust, settings.sure)
        ends = np.array([0, len(tokens)]), np.array([0, len(kept_words)])
        budgets, rows = [settings.budget_for(len(kept_words))], constraint_rows(own, parser.labels)
        parses = parser._search_all(tokens, *ends, budgets, settings, constraints=rows)
        status, counts = STATUSES[parses.statuses[0]], parses.counts[0].tolist()
        if status == "fallback" and reader is not None and set(reader.labels) <= set(parser.labels):
            read = reader.parse_under(kept_words, kept_tags, known)
            tree, scores = parser._restored(read.tree, read.scores, record)
            return ParseResult(tree, scores, read.cost, status, counts[0], counts[1])
        return parser._mended(
            record, kept_words, kept_tags, parses.items, parses.item_costs, float(parses.costs[0]), status, counts,
            tokens,
        )  # fmt: skip


def constraint_rows(constraints: Constraints, labels: Sequence[str]) -> np.ndarray:
    """Return the constraints as int32 (c, 4) in the format of `kernels.trees.constraints`; `labels`: by id."""
    numbers = {label: number for number, label in enumerate(labels)}
    listed = [(one.start, one.end, numbers[one.label] if one.label else ANY, one.wanted) for one in constraints]
    return np.array(listed, dtype=INDEX).reshape(-1, 4)
