"""Patterns as dicts are equivalent to patterns as text, and can test token attributes that texts cannot."""

from __future__ import annotations

import pytest

from spacy_dtparse.query import compile_pattern
from spacy_dtparse.trees.brackets import parse_tree
from spacy_dtparse.trees.heads import LEFTMOST

from .meanings import TREES
from .test_meanings import PARSED, shown

SAME = [
    ({}, "__"),
    ({"LABEL": "NP"}, "NP"),
    ({"LABEL": {"IN": ["NP", "VP"]}}, "NP|VP"),
    ({"LABEL": {"NOT_IN": ["NP", "VP"]}}, "!NP|VP"),
    ({"LABEL": {"REGEX": "^N"}}, "/^N/"),
    ({"CATEGORY": "NP"}, "@NP"),
    ({"CATEGORY": {"REGEX": "^.?.?NP$"}, "NAME": "x"}, "@/^.?.?NP$/=x"),
    ({"LABEL": "NP", "HAS": [["<", "NN"]]}, "NP < NN"),
    ({"LABEL": "NP", "HAS": [["<", {"LABEL": "NN"}], ["<", "DT"]]}, "NP < NN < DT"),
    ({"LABEL": "NP", "HAS": [["!<", {"LABEL": "DT"}]]}, "NP !< DT"),
    ({"LABEL": "NP", "HAS": [["?<", {"LABEL": "DT", "NAME": "d"}]]}, "NP ?< DT=d"),
    ({"LABEL": "NP", "HAS": [["<-1", "NN"], ["$..", "VP"]]}, "NP <-1 NN $.. VP"),
    ({"LABEL": "S", "HAS": [["<+(VP)", "VBN=v"]]}, "S <+(VP) VBN=v"),
    ({"LABEL": "NP", "HAS": [{"ANY": [["<", "PP"], [">", "S"]]}]}, "NP < PP | > S"),
    ({"LABEL": "NP", "NAME": "a", "HAS": [["$+", "VP=v"], ["<", "DT=d"]]}, "NP=a $+ VP=v < DT=d"),
    ({"LABEL": "B", "NAME": "a", "HAS": [["$", "~a"]]}, "B=a $ ~a"),
    ({"LABEL": "NP", "HAS": [["<", "PP < (NP < NN)"], [">", "VP : S"]]}, "NP < (PP < (NP < NN)) > VP"),
]


@pytest.mark.parametrize(("dicts", "text"), SAME, ids=[case[1] for case in SAME])
def test_dicts_are_equivalent_to_texts(dicts, text):
    first, second = compile_pattern(dicts), compile_pattern(text)
    assert first.names == second.names
    found = [[pattern.matches(tree) for tree in PARSED.values()] for pattern in (first, second)]
    assert found[0] == found[1] and any(found[0])


TOKENS = [
    ({"TEXT": "dog"}, "NP0-2 NN1 dog1"),
    ({"LOWER": "dog", "TAG": "NN"}, "NP0-2 NN1 dog1"),
    ({"LENGTH": {"<": 2}}, "DT3 a3 .7 .7"),
    ({"LENGTH": 4}, "NP6-7 NN6 town6"),
    ({"LENGTH": {"!=": 3}, "TAG": {"NOT_IN": ["NN", "IN"]}}, "DT3 a3 .7 .7"),
    ({"TAG": {"REGEX": "^V"}}, "S0-8 VP2-7 VBD2 saw2"),
    ({"TEXT": {"IN": ["saw", "in"]}}, "S0-8 VP2-7 VBD2 saw2 PP5-7 IN5 in5"),
]


@pytest.mark.parametrize(("tests", "expected"), TOKENS, ids=[str(case[0]) for case in TOKENS])
def test_attributes_are_those_of_the_head(tests, expected):
    found = [shown(match.node) for match in compile_pattern({"TOKEN": tests}).matches(PARSED["dog"])]
    assert found == expected.split()


def test_rules_choose_heads():
    tree = parse_tree(TREES["dog"], top=None)
    pattern = compile_pattern({"LABEL": "NP", "TOKEN": {"TEXT": "the"}})
    assert not pattern.matches(tree) and [shown(m.node) for m in pattern.matches(tree, LEFTMOST)] == ["NP0-2"]
    heads = compile_pattern("VP <# VBD")
    assert heads.matches(tree) and not compile_pattern("S <# VP").matches(tree, LEFTMOST)
