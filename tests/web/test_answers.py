"""Answers to the requests of the page, without a server."""

from __future__ import annotations

import json

import pytest
import spacy

import spacy_dtparse
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.web.answers import MAX_ALTERNATIVES, MAX_CHARACTERS, MAX_RULES, Answers

pytestmark = pytest.mark.slow

TEXT = "I met the man with the telescope yesterday. It slept."


def first_sentence(answers, text=TEXT, **look):
    reply = json.loads(json.dumps(answers.parse({"text": text, **look}), allow_nan=False))
    return reply["sentences"][0]


def ask(answers, sentence, label, text=None):
    """Return the answer for a constituent, given by its label and words."""
    for one in sentence["constituents"]:
        if one["label"] == label and text in (None, " ".join(sentence["words"][one["start"] : one["end"]])):
            reply = answers.explain_constituent({"words": sentence["words"], "tags": sentence["tags"], **one})
            return json.loads(json.dumps(reply, allow_nan=False))
    raise AssertionError(f"no {label} over {text}")


def test_any_constituent_parser_works(nlp):
    answers = Answers(nlp)
    about = answers.about()
    assert about["parser"].startswith("dtparse") and not about["has_k_best"]
    reply = answers.parse({"text": "She saw the old cat. \n It sleeps."})
    assert [one["words"][-2] for one in reply["sentences"]] == ["cat", "sleeps"]
    sentence = reply["sentences"][0]
    assert sentence["brackets"].startswith("(TOP (S (NP (PRP She))") and sentence["drawing"].startswith("<svg")
    assert "no probabilities" in sentence["probabilities"] and "only its best tree" in sentence["k_note"]
    assert sentence["constituents"][0] == {"start": 0, "end": 6, "label": "TOP", "probability": None, "shown": ""}
    assert sentence["names"] == {"TOP": "root of the tree", "S": "clause", "NP": "noun phrase", "VP": "verb phrase"}
    assert sentence["tag_names"]["PRP"] == "personal pronoun" and reply["note"] == ""
    assert about["language"] == "English" and len(about["examples"]) == 3
    answer = ask(answers, json.loads(json.dumps(sentence)), "NP", "the old cat")
    assert answer["alternatives"] == [] and answer["probability"] is None and "gives no reasons" in answer["decided"]


def test_the_drawing_has_the_requested_style_and_numbers(nlp):
    answers = Answers(nlp)
    sentence = first_sentence(answers, "She saw the old cat.", theme="dark", layout="side")
    assert "#0d1117" in sentence["drawing"] and 'class="side"' in sentence["drawing"]
    assert sentence["drawing"].count("data-constituent") == len(sentence["constituents"])
    spans = first_sentence(answers, "She saw the old cat.", style="spans", probabilities=False)
    assert spans["drawing"].startswith("<div") and "data-token" in spans["drawing"]
    assert "probability" not in spans["drawing"].partition("</style>")[2]


def test_texts_are_escaped(nlp):
    evil = '<img src=x onerror=alert(1)> She saw <b>it</b> & "them".'
    for style in ("tree", "spans"):
        for sentence in Answers(nlp).parse({"text": evil, "style": style})["sentences"]:
            assert "<img" not in sentence["drawing"] and "<b>" not in sentence["drawing"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "there is no text; type a sentence"),
        ({"text": " \n"}, "there is no text"),
        ({"text": ["She"]}, "there is no text"),
        ({"text": "a" * (MAX_CHARACTERS + 1)}, "the text has 5,001 characters; the page takes 5,000 at most"),
        ({"text": "She sat.", "style": "text"}, "style is 'text'; it must be 'tree' or 'spans'"),
        ({"text": "She sat.", "theme": "blue"}, "theme is 'blue'; it must be 'light' or 'dark'"),
        ({"text": "She sat.", "width": 0}, "width is 0; it must be a whole number from 1 to 100000"),
        ({"text": "She sat.", "k": 21}, "k is 21; it must be a whole number from 1 to 20"),
        ({"text": "She sat.", "probabilities": "yes"}, "probabilities is 'yes'; it must be true or false"),
    ],
)
def test_bad_requests_to_parse(nlp, asked, message):
    with pytest.raises(ConfigError, match=message):
        Answers(nlp).parse(asked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": "She sat"}, "words is 'She sat'; give a list of texts"),
        ({"words": []}, "give a list of texts"),
        ({"tags": ["X", 3]}, "give a list of texts"),
        ({"tags": ["X"]}, "2 words and 1 tags"),
        ({"second_tags": ["X"]}, "2 words and 1 second tags"),
        ({"words": ["x" * 6000, "y"]}, "more than 5,000 characters"),
        ({"label": "QP"}, "the tree has no constituent"),
        ({"start": [0]}, "the tree has no constituent"),
        ({"end": None}, "the tree has no constituent"),
    ],
)
def test_bad_requests_to_explain(nlp, change, message):
    asked = {"words": ["She", "sat"], "tags": ["PRP", "VBD"], "start": 0, "end": 1, "label": "NP", **change}
    with pytest.raises(ConfigError, match=message):
        Answers(nlp).explain_constituent(asked)


def test_a_pipeline_without_a_parser():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(DtparseError, match="no constituent parser, only sentencizer; add 'dtparse'"):
        Answers(nlp)


@pytest.mark.embedded
def test_trees_with_a_span_model_give_everything():
    answers = Answers(spacy_dtparse.load())
    sentence = first_sentence(answers, text="We saw the boy with the dog.")
    assert all(0.9 < one["probability"] <= 1 for one in sentence["constituents"][1:])
    answer = ask(answers, sentence, "NP", "the boy")
    assert answer["probability"] == pytest.approx(sentence["constituents"][4]["probability"])
    assert sentence["constituents"][4]["shown"] == f"{answer['probability']:.2f}"
    assert all(one["shown"] == f"{one['probability']:.2f}" for one in answer["alternatives"])
    longer = answer["alternatives"][0]
    assert (longer["relation"], sentence["words"][longer["start"] : longer["end"]][-1]) == ("contains", "dog")
    assert sum(group["value"] for group in answer["groups"]) == pytest.approx(answer["score"])
    assert len(answer["rules"]) == MAX_RULES and "span model" in answer["decided"]
    root = {**sentence["constituents"][0], "words": sentence["words"], "tags": sentence["tags"]}
    assert root["label"] == "TOP" and answers.explain_constituent(root)["decided"] == "The root, which every tree has."


@pytest.mark.embedded
def test_the_layout_is_the_one_that_fits():
    answers = Answers(spacy_dtparse.load("en_span"))
    wide = first_sentence(answers, width=1400)
    assert 'class="side"' not in wide["drawing"]
    assert 'class="side"' in first_sentence(answers, width=390)["drawing"]
    assert 'class="side"' not in first_sentence(answers, width=390, layout="down")["drawing"]
    long = "Although the old bridge is narrow, " * 4 + "they use it."
    assert 'class="side"' in first_sentence(answers, text=long, width=1400)["drawing"]
    assert 'class="side"' not in first_sentence(answers, text=long, width=4000)["drawing"]
    narrow, wide = (first_sentence(answers, style="spans", width=width)["drawing"] for width in (390, 1400))
    assert narrow.count('class="line"') > wide.count('class="line"') == 1


@pytest.mark.embedded
def test_other_parsers_give_what_they_have():
    network = Answers(spacy_dtparse.load("en_span"))
    answer = ask(network, first_sentence(network, text="We saw the boy with the dog."), "NP", "the boy")
    assert answer["alternatives"] and "no rules" in answer["decided"] and not answer["groups"]
    assert len(answer["alternatives"]) <= MAX_ALTERNATIVES
    trees = Answers(spacy_dtparse.load("en_trees"))
    sentence = first_sentence(trees)
    assert "decisions that built the tree" in sentence["probabilities"] and "NP" in sentence["drawing"]
    answer = ask(trees, sentence, "PP", "with the telescope")
    assert answer["probability"] is None and answer["rules"] and answer["decided"] == "The rules decided."


@pytest.mark.embedded
@pytest.mark.parametrize("name", ["en_dtparse", "en_span", "en_pcfgla"])
def test_the_best_trees_are_listed(name):
    answers = Answers(spacy_dtparse.load(name))
    assert answers.about()["has_k_best"]
    sentence = first_sentence(answers, text="We saw the boy with the dog in the park.", k=3)
    best = sentence["k_best"]
    assert len(best) == 3 and best[0]["brackets"] == sentence["brackets"] and best[0]["other"] == []
    assert [one["margin"] for one in best] == sorted(one["margin"] for one in best) and best[0]["margin"] == 0.0
    assert ("expected to be right" in sentence["k_note"]) == (name == "en_span")
    assert any(other.startswith("+ ") for one in best[1:] for other in one["other"])
    assert len(first_sentence(answers, k=1)["k_best"]) == 1
