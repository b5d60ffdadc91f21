"""Malformed patterns: the message shows the location, what was found there and what is allowed."""

from __future__ import annotations

import pytest

from spacy_dtparse.errors import MAX_QUOTED, PatternError
from spacy_dtparse.query import compile_pattern
from spacy_dtparse.query.lexer import RELATION_ALLOWED
from spacy_dtparse.query.parser import MAX_DEPTH
from spacy_dtparse.query.syntax import SYMBOLS
from spacy_dtparse.trees.brackets import parse_tree

TEXTS = [
    ("", 1, "the pattern is empty"),
    ("   ", 4, "the pattern is empty"),
    ("NP <", 5, "the pattern ends here; a node is"),
    ("NP < (NN", 9, "goes on with a relation or ends with )"),
    ("NP [< NN", 9, "goes on with a relation, & or |, or ends with ]"),
    ("NP [NN]", 5, "found 'NN'; a relation or a group"),
    ("NP < NN)", 8, "closes nothing"),
    ("NP NN", 4, "two nodes need a relation between them"),
    ("NP (NN)", 4, "two nodes need a relation between them"),
    ("(A < B) (C < D)", 9, "two nodes need a relation between them"),
    ("NP (< NN", 9, "goes on with a relation, & or |, or ends with )"),
    ("NP (< NN]", 9, "goes on with a relation, & or |, or ends with )"),
    ("< NN", 1, "found '<'; a node is"),
    ("NP < | NN", 6, "found '|'"),
    ("NP < NN & | < DT", 11, "found '|'"),
    ("NP & < NN", 4, "'&' joins two relations"),
    ("NP < NN | ", 9, "joins whole patterns here; put each in brackets"),
    ("NP < NN | NNS", 9, "joins whole patterns here; put each in brackets"),
    ("NP < NN | (NNS < x)", 9, "joins whole patterns here"),
    ("(A) > C | (B)", 9, "joins whole patterns here"),
    ("NP | VP < NN", 4, "joins whole patterns here"),
    ("@NP | VP", 5, "joins whole patterns here"),
    ("NP | !VP", 4, "joins whole patterns here"),
    ("NP : (NN | NNS)", 10, "a node in brackets has no alternatives; labels are joined without a space"),
    ("NP < (NN |NNS)", 10, "a node in brackets has no alternatives"),
    ("NP < NN|< NNS", 8, "write a space before a | that joins relations"),
    ("NP < NN=a|< NNS", 10, "write a space before a | that joins relations"),
    ("NP=a < =a|< NNS", 10, "write a space before a | that joins relations"),
    ("NP < /NN/|DT", 10, "Tregex reads another pattern here; write labels before a regex"),
    ("NP < __|DT", 8, "Tregex reads another pattern here"),
    ("NP=a|NNP=b", 5, "alternatives of a label share one name"),
    ("NP < PP : VP < VBD", 14, "after ':' another relation belongs to the first node in Tregex"),
    ("NP : VP & < PP", 11, "after ':' another relation belongs to the first node in Tregex"),
    ("NP !: VP ?< PP", 10, "after ':' another relation belongs to the first node in Tregex"),
    ("NP=a < !=a", 9, "its negation belongs before the relation"),
    ("NP=a < !~a", 9, "its negation belongs before the relation"),
    ("NP=a < @=a", 9, "a reference is = or ~ and a name"),
    ("NP < @~a", 6, "@~a refers to a node that has no name yet"),
    ("/[a-z&&[^b]]/", 1, "inside a set of characters, which Java reads otherwise"),
    (r"/\p{Lu}/", 2, "the regex is wrong: bad escape"),
    ("NP !!< NN", 5, "one sign is allowed"),
    ("NP !?< NN", 5, "one sign is allowed"),
    ("NP ! NN", 6, "a relation or a group"),
    ("/abc", 1, "never closed"),
    ('"abc', 1, "never closed"),
    ("/a(b/", 3, "the regex is wrong: missing )"),
    ("NP < /[/", 7, "the regex is wrong"),
    ("/a/q", 1, "flag 'q'"),
    ("/a/#1%x", 4, "has 0 groups"),
    ("/(a)/#x", 6, "'#' begins a group after a label or regex, #1%name"),
    ("!NP#1%x", 2, "a negated description has no groups"),
    ("!/(a)/#1%x", 2, "a negated description has no groups"),
    ("NP <+(/(a)/#1%x) NN", 16, "the description of a chain has no groups"),
    ("NP <0 NN", 4, "the number 0"),
    ("NP <+ NN", 5, "'+' belongs to"),
    ("NP <+(NN < DT) NN", 10, "the nodes of a chain are one description"),
    ("NP <... NN", 9, "the children are written in { }"),
    ("NP <... { NN", 13, "go on with ; or end with }"),
    ("40,000", 1, "put it in quotes"),
    ("_x", 1, "put it in quotes"),
    ("NP < NN*", 8, "put the label in quotes"),
    ("NP ^ NN", 4, "put the label in quotes"),
    ("NP > 3", 7, "the pattern ends here; a node is"),
    ("NP > 3rd", 6, "put it in quotes"),
    ("NP < 40,000", 6, "put it in quotes"),
    ("NP =", 4, "not followed by a name"),
    ("NP < ~", 6, "not followed by a name"),
    ("@!NP", 2, "found '!'"),
    ("NP :", 5, "the pattern ends here"),
    ("NP !< NN=x", 7, "under a negation"),
    ("NP ![< (NN < dog=x)]", 14, "under a negation"),
    ("NP=a < NN=a", 8, "given twice"),
    ("NP < =x", 6, "refers to a node that has no name yet; no name is given before it"),
    ("NP=y < ~x", 8, "those given before it are y"),
    ("NP < =x < NN=x", 6, "refers to a node that has no name yet"),
    ("NP\n< NN\n< ", 11, "the pattern ends here"),
    ("(" * (MAX_DEPTH + 1) + "NP" + ")" * (MAX_DEPTH + 1), MAX_DEPTH + 1, "brackets are open"),
]


@pytest.mark.parametrize(("text", "column", "problem"), TEXTS, ids=[repr(case[0])[:40] for case in TEXTS])
def test_texts(text, column, problem):
    with pytest.raises(PatternError) as caught:
        compile_pattern(text)
    said, shown, mark = str(caught.value).rsplit("\n", 2)
    assert said.startswith(f"the pattern is wrong at column {column}: ") and problem in said
    if len(text) <= MAX_QUOTED:
        assert shown[2:] == text.replace("\n", " ") and mark == " " * (column + 1) + "^"
    else:  # the part around the column
        assert len(shown) <= MAX_QUOTED + 4 and shown[mark.index("^")] == text[column - 1]


DICTS = [
    (3, "a pattern is 3"),
    ({"LABLE": "NP"}, "at its top: unknown key 'LABLE'; allowed are LABEL, CATEGORY, TOKEN, HAS, NAME"),
    ({"LABEL": 3}, "at LABEL: found 3; a label is a string"),
    ({"LABEL": None}, "at LABEL: found None"),
    ({"LABEL": {"IS": "NP"}}, "at LABEL: found {'IS': 'NP'}; a dict has one key, of IN, NOT_IN, REGEX"),
    ({"LABEL": {"IN": "NP"}}, "at LABEL.IN: found 'NP'; give a list"),
    ({"LABEL": {"REGEX": "("}}, "at LABEL.REGEX: '(' is no regex"),
    ({"LABEL": {">": 3}}, "at LABEL: found {'>': 3}; a label is a string"),
    ({"LABEL": "NP", "CATEGORY": "NP"}, "LABEL and CATEGORY are both given"),
    ({"NAME": "a b"}, "at NAME: found 'a b'; a name is"),
    ({"TOKEN": "dog"}, "at TOKEN: found 'dog'; give a dict of attributes"),
    ({"TOKEN": {"LEMA": "dog"}}, "at TOKEN: unknown attribute 'LEMA'; allowed are TEXT, ORTH"),
    ({"TOKEN": {"LEMMA": 3}}, "at TOKEN.LEMMA: found 3; the values of LEMMA are strings"),
    ({"TOKEN": {"IS_ALPHA": "yes"}}, "the values of IS_ALPHA are numbers, True or False"),
    ({"TOKEN": {"LENGTH": {"REGEX": "1"}}}, "LENGTH is not compared by REGEX"),
    ({"TOKEN": {"LEMMA": {">": 1}}}, "LEMMA is not compared by >"),
    ({"TOKEN": {"LENGTH": {">": "a"}}}, "at TOKEN.LENGTH.>: found 'a'; a comparison is with a whole number"),
    ({"TOKEN": {"LEMMA": {"IN": [None]}}}, "values are strings, numbers, True and False"),
    ({"HAS": "< NN"}, "at HAS: found '< NN'; give a list"),
    ({"HAS": ["< NN"]}, "at HAS[0]: found '< NN'; allowed are [relation, node]"),
    ({"HAS": [["<"]]}, "at HAS[0]: found ['<']"),
    ({"HAS": [["<", "NN"], ["<<<<", "NN"]]}, "at HAS[1][0]: the pattern is wrong at column 4: found '<'"),
    ({"HAS": [["NP", "NN"]]}, "at HAS[0][0]: the pattern is wrong at column 1: found 'NP'; relations are"),
    ({"HAS": [["<", "NN <"]]}, "at HAS[0][1]: the pattern is wrong at column 5: the pattern ends here"),
    ({"HAS": [["<", {"LABEL": "NN", "HAS": [["<", 3]]}]]}, "at HAS[0][1].HAS[0][1]: found 3; a node is"),
    ({"HAS": [{"ANY": []}]}, "at HAS[0]: found {'ANY': []}"),
    ({"HAS": [{"OR": [["<", "NN"]]}]}, "at HAS[0]: found"),
    ({"HAS": [{"ANY": [["<", {"LABEL": 3}]]}]}, "at HAS[0].ANY[0][1].LABEL: found 3"),
    ({"HAS": [["!<", {"NAME": "x"}]]}, "at HAS[0][1]: the name 'x' is given under a negation"),
    ({"HAS": [["<", {"NAME": "x"}], ["<", {"NAME": "x"}]]}, "at HAS[1][1]: the name 'x' is given twice"),
    ({"HAS": [["<", "=x"]]}, "=x refers to a node that has no name yet"),
]


@pytest.mark.parametrize(("pattern", "problem"), DICTS, ids=[str(case[0])[:50] for case in DICTS])
def test_dicts(pattern, problem):
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert problem in str(caught.value)


def test_messages_name_all_relations():
    """The message names all relations, except for synonyms in backquotes."""
    named = set(RELATION_ALLOWED.removeprefix("relations are ").split())
    assert {symbol.removesuffix("(…)") for symbol in named} >= set(SYMBOLS) - {"<`", ">`", "<<`", ">>`"}
    for symbol in named:
        node = "{ NN }" if symbol == "<...{…}" else "NN"
        written = symbol.replace("(…)", "(NP)").replace("{…}", "")
        assert compile_pattern(f"NP {written} {node}")


def test_trees_have_no_lemmas():
    pattern = compile_pattern({"LABEL": "NP", "TOKEN": {"LEMMA": "dog"}})
    with pytest.raises(PatternError, match="LEMMA, which trees do not have; they have TEXT, ORTH, LOWER, TAG, LENGTH"):
        pattern.matches(parse_tree("(NP (NN dogs))"))
