"""Constraints on a Doc that cannot be satisfied, and some that can."""

from __future__ import annotations

from spacy.tokens import Doc, Span

from spacy_dtparse.errors import ConstraintError

from .cases import TREES, Bench, Case, Raises, Returns, whole

CAT = "The cat sat on the mat. It slept."


def under(bench: Bench, *constraints: tuple[int, int, str]) -> Doc:
    """Parse CAT under constraints: spans of tokens with a label."""
    doc = bench.nlp.make_doc(CAT)
    doc.spans["constraints"] = [Span(doc, start, end, label) for start, end, label in constraints]
    return bench.nlp(doc)


def case(name: str, gets: Raises | Returns, *constraints: tuple[int, int, str]) -> Case:
    return Case("constraints", name, lambda bench: under(bench, *constraints), gets)


def has_adverb_phrase(doc: Doc) -> bool:
    return whole(doc) and (0, 3, "ADVP") in [(span.start, span.end, span.label_) for span in doc._.constituents]


CONSTRAINTS = [
    case("two that cross", Raises(ConstraintError, "cross; take one of them out"), (0, 2, "NP"), (1, 4, "VP")),
    case("one that contradicts another", Raises(ConstraintError, "contradict each other"), (0, 2, ""), (0, 2, "!")),
    case(
        "a label that the parser does not have",
        Raises(ConstraintError, "that this parser does not have"),
        (0, 2, "FOO"),
    ),
    case("over two sentences", Raises(ConstraintError, "which is not within one sentence"), (5, 9, "NP")),
    case("none", Returns(TREES, whole)),
    case(
        "with a label that no rule builds there",
        Returns(TREES + ", with that constituent", has_adverb_phrase),
        (0, 3, "ADVP"),
    ),
]
