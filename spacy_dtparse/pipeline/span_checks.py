"""Checks of the spans of a group before they become constituents."""

import numpy as np

from ..errors import TreeError


def check_spans(
    starts: np.ndarray, ends: np.ndarray, labels: np.ndarray, names: list[str], blanks: frozenset[int]
) -> None:
    """Raise TreeError for a span that is no constituent: an empty one, one without a label, one with white space at an
    edge. The parameters are those of `constituents.SpanColumns`; `blanks`: the tokens without visible text."""
    problem, bad = "", np.zeros(0, np.int64)
    if not (starts < ends).all():
        bad, problem = np.flatnonzero(starts >= ends), "is empty"
    elif "" in names:
        bad, problem = np.flatnonzero(labels == names.index("")), "has no label"
    elif blanks:
        at = np.array(sorted(blanks))
        bad = np.flatnonzero(np.isin(starts, at) | np.isin(ends - 1, at))
        problem = "begins or ends with white space"
    if len(bad):
        k = int(bad[0])
        raise TreeError(
            f"the constituent {names[labels[k]]} [{starts[k]}, {ends[k]}) {problem}; remove it "
            "from the span group, or replace it by a span of words with a label"
        )
