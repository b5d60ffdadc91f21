"""Checks of the spans of a group before they become constituents."""

import numpy as np
from spacy.tokens import Doc

from ..errors import TreeError
from .sentences import has_blank_token, is_blank, token_texts


def check_spans(doc: Doc, starts: np.ndarray, ends: np.ndarray, labels: np.ndarray, names: list[str]) -> None:
    """Raise TreeError for a span that is no constituent: an empty one, one without a label, one with white space at an
    edge. The parameters are those of `constituents.SpanColumns`."""
    problem, bad = "", np.flatnonzero(starts >= ends)
    if len(bad):
        problem = "is empty"
    elif "" in names:
        bad, problem = np.flatnonzero(labels == names.index("")), "has no label"
    elif len(starts) and has_blank_token(doc):
        blank = np.array([is_blank(text) for text in token_texts(doc)], dtype=bool)
        bad, problem = np.flatnonzero(blank[starts] | blank[ends - 1]), "begins or ends with white space"
    if len(bad):
        k = int(bad[0])
        raise TreeError(
            f"the constituent {names[labels[k]]} [{starts[k]}, {ends[k]}) {problem}; remove it "
            "from the span group, or replace it by a span of words with a label"
        )
