"""Constraints in Docs."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc, Span

import spacy_dtparse
from spacy_dtparse.errors import ConfigError, ConstraintError
from spacy_dtparse.span_parser.parser import SpanParser
from tests.span_models import SENTENCES, random_model

from .conftest import make_nlp, model_file, rule_parser_loads  # noqa: F401 (fixtures)

WORDS, TAGS = ([*SENTENCES[0][k], *SENTENCES[1][k]] for k in (0, 1))


@pytest.fixture
def nlp(tmp_path):
    SpanParser(random_model(1)).to_disk(tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("span_parser", config={"model": str(tmp_path / "model")})
    return nlp


def a_doc(nlp, *spans, words=WORDS, tags=TAGS):
    doc = Doc(nlp.vocab, words=words, tags=tags, sent_starts=[k in (0, 7) for k in range(len(words))])
    doc.spans["constraints"] = [Span(doc, *span) for span in spans]
    return doc


def found(doc):
    return {(span.start, span.end, span.label_) for span in doc._.constituents}


@pytest.mark.kernel
def test_spans_are_obeyed(nlp):
    free = found(nlp(a_doc(nlp)))
    doc = nlp(a_doc(nlp, (1, 3, "PP"), (7, 9, ""), (3, 4, "!")))
    own = found(doc)
    assert (1, 3, "PP") in own and any(span[:2] == (7, 9) for span in own) and not any(s[:2] == (3, 4) for s in own)
    start, end, label = min(free)
    assert (start, end, label) not in found(nlp(a_doc(nlp, (start, end, f"!{label}"))))
    nlp.get_pipe("span_parser").constraints_key = None
    assert found(nlp(a_doc(nlp, (1, 3, "PP")))) == free
    nlp.get_pipe("span_parser").constraints_key = "wanted"
    doc = a_doc(nlp)
    doc.spans["wanted"] = [doc[1:3]]
    assert any(span[:2] == (1, 3) for span in found(nlp(doc)))


def test_white_space_at_the_edges_does_not_count(nlp):
    words, tags = ["The", "cat", "\n", "sat", "."], ["DT", "NN", "_SP", "VBD", "."]
    assert (0, 2, "VP") in found(nlp(a_doc(nlp, (0, 3, "VP"), words=words, tags=tags)))
    with pytest.raises(ConstraintError, match="white space only"):
        nlp(a_doc(nlp, (2, 3, "VP"), words=words, tags=tags))


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(5, 8, "NP")], "not within one sentence"),
        ([(0, 3, "NP"), (2, 4, "VP")], r"\('The cat sat'\) and .* cross"),
        ([(8, 10, "NP"), (8, 10, "!")], r"\[1, 3\) NP \('bark \.'\) .* contradict"),
        ([(0, 3, "ZZ")], "has a label that this parser does not have"),
    ],
)
def test_impossible_constraints_raise_and_fail_no_other_doc(nlp, spans, message):
    with pytest.raises(ConstraintError, match=message):
        nlp(a_doc(nlp, *spans))
    seen = []
    nlp.set_error_handler(lambda name, pipe, docs, error: seen.append(str(error)))
    assert len(list(nlp.pipe([a_doc(nlp), a_doc(nlp, *spans), a_doc(nlp, (0, 2, "NP"))]))) == 2
    assert len(seen) == 1


@pytest.mark.kernel
def test_excluded_labels_may_be_forbidden_but_not_required(nlp):
    path = nlp.get_pipe_config("span_parser")["model"]
    nlp = spacy.blank("en")
    nlp.add_pipe("span_parser", config={"model": path, "exclude_labels": ["NP"]})
    own = found(nlp(a_doc(nlp, (0, 2, "!NP"), (1, 3, ""))))
    assert any(span[:2] == (1, 3) for span in own) and "NP" not in {label for _, _, label in own}
    with pytest.raises(ConstraintError, match=r"\('The cat'\) requires a label of the parser's setting exclude_labels"):
        nlp(a_doc(nlp, (0, 2, "NP")))


def test_a_parser_without_constraints_raises(model_file):  # noqa: F811
    nlp = make_nlp(model_file)
    doc = nlp.make_doc("The cat sat.")
    doc.spans["constraints"] = [doc[0:2]]
    with pytest.raises(ConfigError, match="does not support constraints"):
        nlp(doc)


@pytest.mark.slow
@pytest.mark.embedded
def test_entities_half_a_tree_and_fixed_tags():
    nlp = spacy_dtparse.load(config={"components.dtparse.probabilities": True})
    text = "I saw the man with the telescope."
    for start, end, label in ((2, 7, "NP"), (2, 7, "!")):
        doc = nlp.make_doc(text)
        doc.spans["constraints"] = [Span(doc, start, end, label=label)]
        parsed = nlp(doc)
        assert any(span[:2] == (2, 7) for span in found(parsed)) == (label == "NP")
        if label == "NP":
            given = next(span for span in parsed._.constituents if (span.start, span.end) == (2, 7))
            assert given._.probability == 1.0
    for tag in ("NNS", "NNP"):
        doc = nlp.make_doc("The complex houses soldiers.")
        doc[2].tag_ = tag
        doc = nlp(doc)
        assert [token.tag_ for token in doc] == ["DT", "JJ", tag, "NNS", "."]
