"""Masks of the symbols that constraints allow in a chart."""

from collections.abc import Iterator

import numpy as np

from ..core.constraints import Constraints
from .latent import spans_of_cells
from .model.model import PART, PHRASE, PcfgModel


def constraint_masks(model: PcfgModel, n: int, constraints: Constraints) -> Iterator[np.ndarray]:
    """Yield two masks uint8 (cells, coarse symbols) for a sentence of n tokens: in the first a required label is the
    only one over its span, the second allows other labels in addition.

    No symbol crosses a required constituent, and no part symbol has exactly the span of a required constituent.
    """
    kind, base = model.coarse.kind, model.coarse.base
    labels = {label: label_id for label_id, label in enumerate(model.labels)}
    cells = spans_of_cells(n)
    row_of = {span: row for row, span in enumerate(map(tuple, cells.tolist()))}
    allowed = np.ones((len(cells), len(kind)), np.uint8)
    allowed[constraints.crosses_required(cells)] = 0
    for one in constraints.prohibitions:
        allowed[row_of[one.start, one.end], (kind == PHRASE) & (not one.label or base == labels.get(one.label, -1))] = 0
    for one in constraints.requirements:
        if n > one.end - one.start > 1:
            allowed[row_of[one.start, one.end], kind == PART] = 0
    exclusive = allowed.copy()
    for one in constraints.requirements:
        if one.label:
            others = [labels[also.label] for also in constraints.requirements if also[:2] == one[:2] and also.label]
            exclusive[row_of[one.start, one.end], (kind == PHRASE) & ~np.isin(base, others)] = 0
    root = model.root(model.coarse)
    for mask in (exclusive, allowed):
        mask[:, root] = 0
        mask[row_of[0, n], root] = 1
        yield mask
