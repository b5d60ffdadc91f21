"""A warning if most tags of enough words are of another tag set than the model's; a component warns once."""

from __future__ import annotations

import warnings

import pytest
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.pipeline.sentences import SentenceInput
from spacy_dtparse.pipeline.tag_sets import TagSetCheck

from .conftest import make_nlp

KNOWN = frozenset(("DT", "NN", "VBD", "."))


def sentence(tags):
    return SentenceInput(0, len(tags), ("a",) * len(tags), tuple(tags), tuple(range(len(tags))))


def problem(check, *sentences, known=KNOWN):
    return check.problem([sentence(tags) for tags in sentences], known)


def test_most_of_enough_words():
    assert problem(TagSetCheck(), ["DT", "NN"] * 10) == "" == problem(TagSetCheck(), ["NOUN"] * 19)
    said = problem(TagSetCheck(), ["NOUN"] * 12, ["DET"] * 6 + ["NN"] * 2)
    assert said.startswith("18 of 20 words have tags (token.tag_) that its model does not have, such as NOUN, DET;")
    assert "trained with others, such as DT, NN, VBD. They" in said and "token.pos_" in said
    assert problem(TagSetCheck(), ["NOUN", "NN"] * 10) == "" != problem(TagSetCheck(), ["NOUN"] * 11 + ["NN"] * 9)
    assert problem(TagSetCheck(), ["XX"] * 30) == "" == problem(TagSetCheck(), ["NOUN"] * 30, known=frozenset())
    assert problem(TagSetCheck(), [], []) == ""


def test_short_docs_are_counted_together():
    check = TagSetCheck()
    assert [bool(problem(check, ["NOUN"] * 5)) for _ in range(8)] == [False, False, False, True] * 2
    mixed = TagSetCheck()
    assert [bool(problem(mixed, tags)) for tags in (["NN"] * 15, ["NOUN"] * 10, ["NOUN"] * 20)] == [False, False, True]


def test_a_few_words_are_enough_if_all_tags_are_unknown():
    said = problem(TagSetCheck(), ["DET", "NOUN", "VERB"])
    assert said.startswith("3 of 3 words have tags (token.tag_) that its model does not have, such as DET, NOUN, VERB;")
    check = TagSetCheck()
    assert problem(check, ["DT", "NN", "VBD", "."] * 5) == "" != problem(check, ["DET", "NOUN"], ["VERB"])
    assert problem(TagSetCheck(), ["DET", "NOUN", "VERB", "."]) == ""  # one tag is known
    assert problem(TagSetCheck(), ["DET", "NOUN", "XX"]) == ""  # a missing tag is not one of another set
    assert problem(TagSetCheck(), ["NFP"] * 3) == "" == problem(TagSetCheck(), ["NOUN"])


def test_a_component_warns_once(model_file, monkeypatch):
    nlp = make_nlp(model_file)
    nlp.remove_pipe("list_tagger")
    component = nlp.get_pipe("dtparse")
    doc = Doc(nlp.vocab, words=["a"] * 25, tags=["NOUN"] * 25, sent_starts=[True] + [False] * 24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        component(doc.copy())  # a parser of another package without `known_tags`
        monkeypatch.setattr(type(component.parser), "known_tags", KNOWN, raising=False)
        component(Doc(nlp.vocab, words=["a"] * 25, tags=["NN"] * 25, sent_starts=[True] + [False] * 24))
    with pytest.warns(UserWarning, match="dtparse: 25 of 25 words have tags .* such as NOUN"):
        component(doc.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(component.pipe([doc.copy() for _ in range(3)]))) == 3


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", ["en_dtparse", "en_span", "en_pcfgla"])
def test_the_english_models_have_penn_tags(name):
    nlp = spacy_dtparse.load(name, exclude=["tagger"])
    component = nlp.pipeline[-1][1]
    if name == "en_pcfgla":
        component = type(component)(parser=component.parser, tags="given")
    assert component.parser.known_tags >= {"NN", "DT", "VBD", "PRP$", ".", "-LRB-"}
    words, starts = ["cats"] * 12 + ["sleep"] * 12, [True] + [False] * 23
    with pytest.warns(UserWarning, match="24 of 24 words have tags .* such as NOUN, VERB; .* such as CC, CD, DT"):
        component(Doc(nlp.vocab, words=words, tags=["NOUN"] * 12 + ["VERB"] * 12, sent_starts=starts))
