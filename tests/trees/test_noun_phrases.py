"""Base noun phrases, each worked out by hand."""

from __future__ import annotations

import pytest

from spacy_dtparse.trees import parse_tree
from spacy_dtparse.trees.heads import COLLINS, LEFTMOST
from spacy_dtparse.trees.noun_phrases import noun_phrases


def chunks(string, rules=COLLINS):
    tree = parse_tree(string)
    return [" ".join(tree.words[start:end]) for start, end in noun_phrases(tree, rules)]


@pytest.mark.parametrize(
    ("string", "found"),
    [
        ("(NP (DT the) (NN cat))", ["the cat"]),
        ("(NP-SBJ (DT the) (NN cat))", ["the cat"]),
        ("(S (VP (VB run)))", []),
        ("(NP (NP (NN rain)))", ["rain"]),
        ("(NP (NP (DT the) (NN man)) (PP (IN in) (NP (DT the) (NN car))))", ["the man", "the car"]),
        ("(NP (DT the) (NN man) (PP (IN in) (NP (DT the) (NN car))))", ["the man", "the car"]),
        ("(NP (DT the) (NN plan) (S (VP (TO to) (VP (VB leave) (NP (NNP Rome))))))", ["the plan", "Rome"]),
        ("(NP (NP (DT the) (NN dog) (POS 's)) (NN tail))", ["the dog 's tail"]),
        ("(NP (NP (NP (DT the) (NN man)) (PP (IN at) (NP (NN home))) (POS 's)) (NN hat))", ["the man", "home", "hat"]),
        ("(NP (NP (DT a) (NN cat)) (CC and) (NP (DT a) (NN dog)))", ["a cat", "a dog"]),
        ("(NP (NN rain) (CC or) (NN snow))", ["rain or snow"]),
        ("(NP (NN rain) (CC or) (NP (DT the) (NN snow)))", ["rain", "the snow"]),
        ("(NP (NP (NNP Peter)) (, ,) (NP (DT the) (NN king)) (, ,))", ["Peter", "the king"]),
        ("(NP (NNP Boeing) (CD 747))", ["Boeing 747"]),
        ("(NP (DT a) (ADJP (NP (CD two) (NNS years)) (JJ old)) (NN car))", ["a two years old car"]),
        ("(NP (NNS cards) (ADJP (JJ worth) (NP (CD two) (NNS cents))))", ["cards", "two cents"]),
        ("(NP (NN someone) (ADJP (RB else)))", ["someone else"]),
        ("(SBAR (WHNP (WP$ whose) (NN hat)) (S (NP (PRP it)) (VP (VBZ is))))", ["whose hat", "it"]),
        ("(WHNP (WHNP (DT all)) (PP (IN of) (WHNP (WDT which))))", ["all", "which"]),
        ("(NP (`` ``) (DT the) (NN cat) ('' ''))", ["the cat"]),
        ("(NP (, ,))", [","]),
        ("(PP (IN at) (NP (NNP Anna) (POS 's)))", ["Anna 's"]),
    ],
)
def test_by_hand(string, found):
    assert chunks(f"(TOP {string})") == found
    assert chunks(f"(TOP (S {string} (. .)))") == found


def test_the_head_s_rules_count():
    string = "(TOP (NP (NN rain) (ADJP (NP (CD two) (NNS years)) (JJ old)) (NN car)))"
    assert chunks(string) == ["rain two years old car"]
    assert chunks(string, LEFTMOST) == ["rain", "two years", "car"]


WHO = "(PRN (-LRB- -LRB-) (NP (NNP WHO)) (-RRB- -RRB-))"


@pytest.mark.parametrize(
    ("string", "found"),
    [  # parentheses before the head
        (f"(NP (DT the) (NNP Office) {WHO} (NN report))", ["the Office -LRB- WHO -RRB- report"]),
        (f"(NP (NP (DT the) (NNP Office) (POS 's)) {WHO} (NN plan))", ["the Office 's -LRB- WHO -RRB- plan"]),
        (f"(NP (NP (DT the) (NNP Office)) {WHO} (NN report))", ["the Office", "WHO", "report"]),
        (f"(NP (DT a) (JJ small) {WHO} {WHO} (NN report))", ["a small -LRB- WHO -RRB- -LRB- WHO -RRB- report"]),
        (f"(NP {WHO} (NN report))", ["WHO", "report"]),
        (f"(NP (NN report) {WHO})", ["report", "WHO"]),
        (f"(NP (NNP Dow) {WHO} (CC and) (NNP Nikkei))", ["Dow", "WHO", "Nikkei"]),
        ("(NP (PRP$ her) (ADJP (JJ first) (PRN (CC and) (JJ last))) (NN visit))", ["her first and last visit"]),
        ("(NP (ADJP (NP (CD two)) (PRN (CC or) (CD six))) (NNS men))", ["two or six men"]),
        ("(NP (NN fruit) (, ,) (PRN (IN say)) (, ,) (NNS pears))", ["fruit", "pears"]),
        # other modifiers before the head
        ("(NP (DT a) (ADJP (JJR larger) (PP (IN than) (JJ usual))) (NN dog))", ["a larger than usual dog"]),
        ("(NP (DT a) (S (VP (VB wait) (CC and) (VB see))) (NN plan))", ["a wait and see plan"]),
        ("(NP (CD 5) (PP (IN of) (NP (CD 9))) (NNS men))", ["5 of 9 men"]),
        ("(NP (NML (NN cost) (PP (IN of) (NP (NN living)))) (NN index))", ["cost of living index"]),
        # nouns apart from the head
        (
            "(NP (NN fruit) (, ,) (PP (IN for) (NP (NN example))) (, ,) (NNS pears) (CC and) (NNS plums))",
            ["fruit", "example", "pears and plums"],
        ),
        (
            "(NP (NP (NN fruit)) (, ,) (PP (IN for) (NP (NN example))) (, ,) (NNS pears) (CC and) (NNS plums))",
            ["fruit", "example", "pears and plums"],
        ),
        ("(NP (NP (DT a) (NN cat)) (CC and) (NN dog))", ["a cat", "dog"]),
        ("(NP (CC both) (NP (DT a) (NN cat)) (CC and) (NP (DT a) (NN dog)))", ["a cat", "a dog"]),
        (
            "(VP (VBZ likes) (NP (NN fruit)) (, ,) (PP (IN as) (NP (NN food))) (, ,) (NNS pears) (CC and) (NNS plums))",
            ["fruit", "food", "pears and plums"],
        ),
        ("(VP (NN rain) (ADVP (RB now)))", []),
    ],
)
def test_nothing_is_lost(string, found):
    """Words of a noun phrase before a parenthesis or another modifier, and nouns apart from its head, by hand."""
    assert chunks(f"(TOP {string})") == found


@pytest.mark.parametrize("piece", [WHO, "(NN rain)", "(, ,)", "(PP (IN of) (NP (NN rain)))", "(DT a) (S (VP (VB be)))"])
def test_long_noun_phrases_take_linear_time(piece):
    string = f"(TOP (NP {piece * 10_000} (NN report)))"
    assert chunks(string)[-1].endswith("report")
