"""PARSEVAL as a spaCy scorer, `spacy_dtparse.parseval_scorer.v1`, of Docs of the same text with any tokenization.

(No `from __future__ import annotations` here: spaCy reads the annotations of registered functions.)
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from ..core.parser import UNKNOWN_TAG
from ..errors import DtparseError
from ..trees.tree import TOP, Tree
from .constituents import DEFAULT_KEY, group_key, read_constituents
from .sentences import sentence_bounds

_RATES = {"p": "precision", "r": "recall", "f": "f1"}
_REST = {"const_uf": "unlabelled_f1", "const_exact": "exact_match", "const_cross": "crossing"}
_SPANS = {f"spans_{{}}_{name}": f"const_{name}" for name in (*_RATES, "per_type")}
"""The scores that `spacy evaluate` prints for a key of doc.spans, by its names for them."""
SCORES = (*(f"const_{name}" for name in _RATES), *(f"const_{name}_evalb" for name in _RATES), *_REST, "const_per_type")


@registry.scorers("spacy_dtparse.parseval_scorer.v1")
def make_parseval_scorer() -> Callable:
    """The function `parseval_score`, for the setting `scorer` of the component."""
    return parseval_score


def parseval_score(examples: Iterable[Example], *, spans_key: str = DEFAULT_KEY, **_: Any) -> dict[str, Any]:
    """PARSEVAL of the predicted against the gold constituents, both in `doc.spans[spans_key]`.

    `const_p`, `const_r`, `const_f`: labelled brackets, all but the root, as multisets; the same with `_evalb` by
    EVALB's rules (no punctuation, PRT is ADVP). `const_uf`: unlabelled F1. `const_exact`: fraction of sentences without
    an error. `const_cross`: predicted brackets that cross a gold one, per sentence. `const_per_type`: {label: {"p",
    "r", "f"}}.

    All but `const_cross` are in [0, 1]. `spans_KEY_p`, `_r`, `_f` and `_per_type` are `const_p` and so on under the
    names that `spacy evaluate --spans-key KEY` prints. Examples without gold constituents are left out; if none has
    any, the scores of SCORES are None. If tokens differ, brackets are compared by the characters that they cover (see
    `tree_pairs`).
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
    scores = {
        **{f"const_{name}": everything[rate] for name, rate in _RATES.items()},
        **{f"const_{name}_evalb": evalb[rate] for name, rate in _RATES.items()},
        **{name: everything[score] for name, score in _REST.items()},
        "const_per_type": {
            label: {name: values[rate] for name, rate in _RATES.items()}
            for label, values in everything["per_type"].items()
        },
    }
    return {**scores, **{name.format(spans_key): scores[own] for name, own in _SPANS.items()}}


class _Side(NamedTuple):
    """A Doc in offsets of visible characters. `cuts`: end of each visible token; `edges`: end of each sentence."""

    text: str
    cuts: list[int]
    tags: list[str]
    edges: list[int]
    spans: list[tuple[int, int, str]]


def tree_pairs(gold: Doc, predicted: Doc, key: str | None = None) -> Iterator[tuple[Tree, Tree]]:
    """Yield pairs (gold, predicted) of trees over equal leaves, which carry the gold tags.

    The leaves are the pieces that result from cutting the text at the token boundaries of both sides (white space left
    out), so constituents are compared by the characters that they cover; with equal tokens the leaves are the tokens. A
    pair covers the fewest sentences for which both sides begin and end together; with equal sentences it is one
    sentence. All constituents count as missed if the predicted Doc has none. Raises NotParsedError if `gold` has none,
    DtparseError if the texts differ in more than white space.
    """
    sides = gold_side, predicted_side = _side(gold, key, needed=True), _side(predicted, key, needed=False)
    if gold_side.text != predicted_side.text:
        different = (k for k, (a, b) in enumerate(zip(gold_side.text, predicted_side.text, strict=False)) if a != b)
        position = next(different, min(len(gold_side.text), len(predicted_side.text)))
        raise DtparseError(
            f"the gold and the predicted Doc have different texts, {gold_side.text[position : position + 20]!r} "
            f"against {predicted_side.text[position : position + 20]!r} after {position} visible characters; "
            "they can only be compared on the same text"
        )
    cuts = sorted(set(gold_side.cuts) | set(predicted_side.cuts))
    begins = [0, *cuts[:-1]]
    words = [gold_side.text[begin:cut] for begin, cut in zip(begins, cuts, strict=True)] if cuts else []
    tags = [gold_side.tags[bisect_right(gold_side.cuts, begin)] for begin in begins] if cuts else []
    leaf = {cut: k + 1 for k, cut in enumerate(cuts)} | {0: 0}
    spans_of_sides = [[(leaf[a], leaf[b], label) for a, b, label in side.spans] for side in sides]
    start = 0
    for edge in sorted(set(gold_side.edges) & set(predicted_side.edges)):
        end = leaf[edge]
        pair = []
        for spans in spans_of_sides:
            inside = spans[bisect_left(spans, (start,)) : bisect_left(spans, (end,))]
            below = [(a - start, b - start, label) for a, b, label in inside if label != TOP]
            pair.append(Tree.from_spans(words[start:end], tags[start:end], [(0, end - start, TOP), *below]))
        yield pair[0], pair[1]
        start = end


def _side(doc: Doc, key: str | None, needed: bool) -> _Side:
    texts = ["".join(token.text.split()) for token in doc]
    ends = list(accumulate(map(len, texts)))  # per token, offset of its visible end
    visible = [token.i for token in doc if texts[token.i]]
    cuts, tags = [ends[i] for i in visible], [doc[i].tag_ or UNKNOWN_TAG for i in visible]
    begins = [0, *ends[:-1]]
    edges = sorted({ends[end - 1] for _, end in sentence_bounds(doc)} - {0})
    spans: list[tuple[int, int, str]] = []
    if needed or doc.spans:
        try:
            found = read_constituents(doc, key)
        except DtparseError:
            if needed:
                raise
        else:
            spans = [
                (begins[a], ends[b - 1], label)
                for a, b, label in zip(found.starts, found.ends, found.labels, strict=True)
                if begins[a] < ends[b - 1]
            ]
    return _Side("".join(texts), cuts, tags, edges, spans)
