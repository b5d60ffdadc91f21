"""Annotation schemes."""

from __future__ import annotations

import json

import pytest

import spacy_dtparse
from spacy_dtparse.annotation.scheme import letter_keys, load_scheme, scheme_names
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import parse_tree

from .test_answers import act, spans
from .window import annotating


def test_the_schemes_of_the_package():
    assert scheme_names() == ["penn", "tiger"]
    penn, tiger = load_scheme("penn", ["OBJ"]), load_scheme("tiger")
    assert penn.allows("NP-SBJ-1") and penn.allows("OBJ") and not penn.allows("NP-XX") and not penn.allows("CNP")
    assert tiger.allows("NP-SB") and tiger.root == "VROOT" and tiger.descriptions["VZ"] == "infinitive with zu"
    assert letter_keys(penn.labels, penn.keys)["b"] == "SBAR" and set(tiger.keys.values()) <= set(tiger.labels)
    tree = parse_tree("(TOP (S (NP-SBJ (X a)) (CNP (X b))))")
    assert penn.unknown_labels(tree) == ["CNP"]


def test_letters_for_labels():
    assert letter_keys(["NP", "VP", "Sub"], {}) == {"n": "NP", "v": "VP", "s": "Sub"}
    assert letter_keys(["Clause", "Call", "FIX"], {"q": "Call"}) == {"q": "Call", "c": "Clause"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "is a JSON object with labels"),
        ({"tags": []}, "is a JSON object with labels"),
        ({"labels": ["A"], "more": 1}, "its keys are"),
        ({"labels": ["A B"]}, "'A B' cannot be a label"),
        ({"labels": ["A"], "root": "A"}, "root is 'A'"),
        ({"labels": ["A"], "keys": {"k": "A"}}, "'k' cannot be a key"),
        ({"labels": ["A"], "keys": {"a": "B"}}, "'B', which is none of the labels"),
        ({"labels": ["A"], "functions": ["X-Y"]}, "'X-Y' cannot be one of the functions"),
        ({"labels": "A"}, "labels is 'A'; give a list"),
    ],
)
def test_bad_schemes(tmp_path, data, message):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=message):
        load_scheme(path)
    path.write_text("{")
    with pytest.raises(ConfigError, match="cannot read the scheme"):
        load_scheme(path)
    with pytest.raises(ConfigError, match="there is no scheme 'none'; give one of penn, tiger"):
        load_scheme("none")


@pytest.mark.embedded
def test_an_annotation_follows_its_scheme(tmp_path):
    path, nlp = tmp_path / "mine.json", spacy_dtparse.load()
    path.write_text(
        json.dumps({"root": "ROOT", "labels": {"S": "clause", "NP": "thing", "Pred": "verbs"}, "functions": ["SBJ"]})
    )
    options = {"scheme": path, "order": "given", "dev_fraction": 0}
    with annotating([["She", "sat", "."]], tmp_path / "trees.mrg", nlp, **options) as server:
        answers = server.answers
        about = answers.about()
        assert about["labels"] == ["NP", "Pred", "S"] and about["label_names"]["Pred"] == "verbs"
        assert about["keys"] == {"n": "NP", "s": "S", "p": "Pred"} and about["functions"] == ("SBJ",)
        state = act(answers, "next")
        assert spans(state) == {("TOP", "She sat ."), ("S", "She sat ."), ("NP", "She"), ("VP", "sat")}
        with pytest.raises(ConfigError, match=r"VP \('sat'\) is no label of the scheme mine"):
            act(answers, "accept")
        with pytest.raises(ConfigError, match=r"'NP-TMP' is no label of this annotation.*after '-': SBJ"):
            act(answers, "relabel", constituent=2, label="NP-TMP")
        act(answers, "relabel", constituent=3, label="Pred")
        state = act(answers, "relabel", constituent=2, label="NP-SBJ")
        assert spans(state) == {("TOP", "She sat ."), ("S", "She sat ."), ("NP-SBJ", "She"), ("Pred", "sat")}
        shown = {one["label"]: one["shown"] for one in state["constituents"]}
        assert shown["NP-SBJ"]  # the probability of an NP
        act(answers, "accept")
        assert (tmp_path / "trees.mrg").read_text() == "(ROOT (S (NP-SBJ (PRP She)) (Pred (VBD sat)) (. .)))\n"
    with annotating([["She", "sat", "."]], tmp_path / "trees.mrg", nlp, **options) as server:
        assert server.answers.session.note == "" and server.answers.session.figures()["accepted"] == 1
