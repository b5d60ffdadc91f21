"""PARSEVAL as a spaCy scorer, `spacy_dtparse.parseval_scorer.v1`.

(No `from __future__ import annotations` here: spaCy reads the annotations of registered functions.)
"""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.training import Example
from spacy.util import registry

from .alignment import tree_pairs
from .constituents import DEFAULT_KEY, group_key

SCORES = (
    "const_p",
    "const_r",
    "const_f",
    "const_p_evalb",
    "const_r_evalb",
    "const_f_evalb",
    "const_uf",
    "const_exact",
    "const_cross",
    "const_per_type",
)


@registry.scorers("spacy_dtparse.parseval_scorer.v1")
def make_parseval_scorer() -> Callable:
    """The function `parseval_score`, for the setting `scorer` of the component."""
    return parseval_score


def parseval_score(examples: Iterable[Example], *, spans_key: str = DEFAULT_KEY, **_: Any) -> dict[str, Any]:
    """PARSEVAL of the predicted against the gold constituents, both in `doc.spans[spans_key]`.

    `const_p`, `const_r`, `const_f`: labelled brackets, all but the root, as multisets; the same with
    `_evalb` by EVALB's rules (no punctuation, PRT is ADVP). `const_uf`: unlabelled F1. `const_exact`: share
    of sentences without an error. `const_cross`: predicted brackets that cross a gold one, per sentence.
    `const_per_type`: {label: {"p", "r", "f"}}. All but `const_cross` are in [0, 1]. Examples without gold
    constituents are left out; when none has any, every score is None. Where tokens differ, brackets are
    compared by the characters they cover (see `alignment`).

    Raises DtparseError when the texts of an example differ.
    """
    from ..scoring import ParsevalReport

    report = ParsevalReport(strict=True)
    for example in examples:
        if group_key(example.reference, spans_key) is None:
            continue
        for gold, predicted in tree_pairs(example.reference, example.predicted, spans_key):
            report.add(gold, predicted)
    if not report.sentences:
        return dict.fromkeys(SCORES)
    everything, evalb = (report.totals[name].to_dict() for name in ("all", "evalb"))
    return {
        "const_p": everything["precision"],
        "const_r": everything["recall"],
        "const_f": everything["f1"],
        "const_p_evalb": evalb["precision"],
        "const_r_evalb": evalb["recall"],
        "const_f_evalb": evalb["f1"],
        "const_uf": everything["unlabelled_f1"],
        "const_exact": everything["exact_match"],
        "const_cross": everything["crossing"],
        "const_per_type": {
            label: {"p": values["precision"], "r": values["recall"], "f": values["f1"]}
            for label, values in everything["per_type"].items()
        },
    }
