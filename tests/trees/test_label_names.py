"""Descriptions of labels, tags and function tags."""

from __future__ import annotations

import pytest

import spacy_dtparse
from spacy_dtparse.trees.label_names import FUNCTIONS, LABELS, TAGS, describe_label, describe_tag
from spacy_dtparse.trees.universal import PARTS_OF_SPEECH


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("NP", "noun phrase"),
        ("NP-SBJ", "noun phrase, subject"),
        ("NP-SBJ-1", "noun phrase, subject"),
        ("NP=2", "noun phrase"),
        ("PP-LOC-PRD", "prepositional phrase, place, predicate"),
        ("S-XYZ", "clause"),
        ("TOP", "root of the tree"),
        ("NOUN", ""),
        ("", ""),
    ],
)
def test_labels(label, words):
    assert describe_label(label) == words


def test_tags():
    assert describe_tag("NNS") == "noun, plural" and describe_tag("-LRB-") == "opening round bracket"
    assert describe_tag(",") == "comma" and describe_tag("NOUN") == describe_tag("") == ""
    assert set(PARTS_OF_SPEECH) <= set(TAGS)


def test_descriptions_are_short_and_differ():
    for table in (LABELS, TAGS, FUNCTIONS):
        assert all(words and len(words) < 70 for words in table.values())
    assert len(set(FUNCTIONS.values())) == len(FUNCTIONS)


@pytest.mark.slow
@pytest.mark.embedded
def test_the_models_have_no_other_labels():
    parser = spacy_dtparse.load("en_span").get_pipe("span_parser").parser
    assert all(map(describe_label, parser.labels)) and all(map(describe_tag, parser.known_tags - {"''", "``"}))
