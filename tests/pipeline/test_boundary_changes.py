"""Sentence boundaries that a later component changes: spaCy's analysis, the warning, and the messages name it."""

from __future__ import annotations

import warnings

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_dtparse import parse_string, to_tree
from spacy_dtparse.errors import NonConstituentError
from spacy_dtparse.pipeline.boundary_changes import LATER_SETTERS

from .conftest import both_factories

TEXT = "The cat sat. It saw the dog. She sleeps."


def make_early(model_file, factory="dtparse", setter="sentencizer"):
    """A pipeline whose parser comes before the component that sets sentence boundaries."""
    nlp = spacy.blank("en")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe(factory, config={"model": str(model_file)})
    nlp.add_pipe(setter, name="late")
    return nlp


@pytest.fixture
def early(model_file):
    return make_early(model_file)


@both_factories
def test_analysis_tells_that_boundaries_are_required(model_file, factory):
    problems = make_early(model_file, factory).analyze_pipes()["problems"]
    assert problems[factory] == ["token.is_sent_start"]
    nlp = spacy.blank("en")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(factory, config={"model": str(model_file)})
    assert not any(nlp.analyze_pipes()["problems"].values())


def test_the_warning_names_the_later_component(early):
    with pytest.warns(UserWarning, match=r"'late' sets them, but comes after it: use nlp\.add_pipe\('dtparse', after="):
        early(TEXT)


def test_messages_name_the_component_that_changed_the_sentences(early):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doc = early(TEXT)
    assert len(list(doc.sents)) == 3
    stored = Doc(spacy.blank("en").vocab).from_bytes(doc.to_bytes())
    for one in (doc, stored):
        with pytest.raises(NonConstituentError, match=r"changed after parsing, by 'late': tokens 0 to 4 are a sent"):
            parse_string(next(one.sents))
    pieces = doc.copy()
    for token in pieces[1:]:
        token.is_sent_start = token.i == 6
    with pytest.raises(NonConstituentError, match=r"crosses the edge .* by 'late'.*add_pipe\(.*, after='late'\)"):
        to_tree(pieces[0:6])


def test_boundaries_that_code_changes(nlp):
    doc = nlp(TEXT)
    assert LATER_SETTERS not in doc.spans["constituents"].attrs and parse_string(next(doc.sents))
    with pytest.raises(NonConstituentError, match=r"not a constituent; the constituents of a Doc are in"):
        parse_string(doc[1:4])
    doc[3].is_sent_start = True
    with pytest.raises(NonConstituentError, match=r"a later component \(parser, .*\) or your code: tokens 0 to 3"):
        parse_string(next(doc.sents))


def test_later_components_that_change_nothing_are_not_named(nlp):
    nlp.add_pipe("visible_sentences")
    nlp.add_pipe("senter", name="off")
    nlp.disable_pipe("off")
    doc = nlp(TEXT)
    assert LATER_SETTERS not in doc.spans["constituents"].attrs


def test_components_of_others_count_if_they_declare_it(model_file):
    @Language.component("lines_of_others", assigns=["doc.sents"])
    def lines_of_others(doc):
        return doc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doc = make_early(model_file, setter="lines_of_others")(TEXT)
    assert doc.spans["constituents"].attrs[LATER_SETTERS] == ["late"]
