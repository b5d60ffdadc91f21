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
    string = "(TOP (NP (NP (DT a) (NN cat)) (NN food)))"
    assert chunks(string) == ["a cat", "food"]
    assert chunks(string, LEFTMOST) == ["a cat"]
