"""Accuracy of spines as a spaCy scorer, `spacy_dtparse.spine_scorer.v1`.

(No `from __future__ import annotations` here: spaCy reads the annotations of registered functions.)
"""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.training import Example
from spacy.util import registry

from ..pipeline.spines import SPINES_KEY, has_spines, spine, spines

SCORE_WEIGHTS = {"spine_acc": 1.0, "spine_multi_acc": None, "spine_labels": None}


@registry.scorers("spacy_dtparse.spine_scorer.v1")
def make_spine_scorer() -> Callable:
    """The function `spine_score`, for the setting `scorer` of the component."""
    return spine_score


def spine_score(examples: Iterable[Example], *, spans_key: str = SPINES_KEY, **_: Any) -> dict[str, Any]:
    """Predicted against gold spines, both in `doc.spans[spans_key]`.

    `spine_acc`: fraction of words with a gold spine whose best predicted one is equal. `spine_multi_acc`: fraction of
    these words whose candidates contain it. `spine_labels`: candidates per word. A word that is not a token of the
    prediction counts as wrong. Examples without gold spines are left out; if none has any, every score is None.
    """
    n_words = n_correct = n_found = n_candidates = 0
    for example in examples:
        if not has_spines(example.reference, spans_key):
            continue
        predicted = {(token.idx, len(token)): token for token in example.predicted}
        for token in example.reference:
            gold = spine(token, spans_key)
            if not gold:
                continue
            n_words += 1
            found = predicted.get((token.idx, len(token)))
            if found is not None:
                best = spine(found, spans_key)
                names = {best, *(name for name, _ in spines(found, spans_key))} - {""}
                n_correct += best == gold
                n_found += gold in names
                n_candidates += len(names)
    if not n_words:
        return dict.fromkeys(SCORE_WEIGHTS)
    return dict(zip(SCORE_WEIGHTS, (n_correct / n_words, n_found / n_words, n_candidates / n_words), strict=True))
