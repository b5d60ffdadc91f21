"""Reasons: rules in groups and in plain text; the groups add up to the scores, exactly."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.core.time_limit import TimeLimit
from spacy_dtparse.dtparse.features.fact_clauses import fact_clause, negative_clause, topic_of
from spacy_dtparse.dtparse.features.names import atom_names
from spacy_dtparse.dtparse.features.wording import (
    ALWAYS,
    GROUPS,
    OTHER,
    AtomTest,
    atom_tests,
    canonical_subject,
    group_of,
    phrase,
)
from spacy_dtparse.dtparse.model.reasons import reasons, rule_book
from spacy_dtparse.dtparse.model.replayed_atoms import atoms_of, search
from spacy_dtparse.dtparse.parser import DtreeParser
from tests.jit.harness import KERNEL_MARKS, SLOW, STRATEGIES, hand_made, sentence

pytestmark = KERNEL_MARKS


def present_atoms(parser: DtreeParser, words: list[str], tags: list[str]) -> dict[tuple[int, int, str], set[str]]:
    """The names of the atoms that are present in the window of each inference of a parse."""
    tokens = parser.encode(words, tags)
    nodes, _ = search(parser, tokens)
    names, labels = atom_names(parser.model), parser.model.names
    found = {}
    for node, atoms in atoms_of(parser.model, tokens, nodes, len(words), int(nodes.used[0])).items():
        item = nodes.item[node]
        found[int(item["start"]), int(item["end"]), labels[item["label"]]] = {names[atom] for atom in atoms}
    return found


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_groups_add_up_to_the_score_and_the_margin(strategy):
    made = hand_made(strategy, ("NP", "VP", "TOP"), 1, n_trees=10)
    parser = DtreeParser(made.model, SearchSettings(budget=0))
    seen = 0
    for n in (1, 3 if SLOW else 7):
        words, tags = sentence(random.Random(n), n)
        result, decisions = parser.parse(words, tags), parser.explain(words, tags)
        found = reasons(parser, parser.encode_sentence(words, tags))
        assert set(found) == set(result.tree.spans())
        present = present_atoms(parser, words, tags)
        for number, key in enumerate(result.tree.spans()):
            own = found[key]
            rules = list(decisions.decision(number).reasons.rules)
            assert own.score == sum(rule.value for rule in rules) == own.scores[key[2]]
            assert sorted(map(str, own.rules)) == sorted(map(str, rules)) and own.n_rules == len(rules)
            there = present[key]
            firing = [rule for rule in rule_book(made.model).rules_of_label(key[2]) if there.issuperset(rule.present)]
            assert rules == [rule for rule in firing if there.isdisjoint(rule.absent)]
            assert sum(group.value for group in own.groups) == own.score
            assert own.runner_up not in (key[2], "TOP")
            second = 0.0 if own.runner_up is None else own.scores[own.runner_up]
            assert sum(group.over for group in own.groups) == own.margin == own.score - second
            for group in own.groups:
                assert group.name in GROUPS
                assert sum(one.value for one in group.facts) == group.value
                assert sum(one.over for one in group.facts) == group.over
                seen += len(group.facts)
            if own.runner_up is not None:
                chain = {span[2] for span in list(result.tree.spans())[number:] if span[:2] == key[:2]}
                allowed = {"NP", "VP"} - chain
                assert own.scores[own.runner_up] == max(own.scores[label] for label in allowed & set(own.scores))
            assert reasons(parser, parser.encode_sentence(words, tags), only=key)[key].groups == own.groups
    assert seen > 10


def test_the_limit_ends_reasons():
    parser = DtreeParser(hand_made(STRATEGIES[0], ("NP", "VP", "TOP"), 1, n_trees=10).model, SearchSettings(budget=0))
    words, tags = sentence(random.Random(3), 3)
    assert reasons(parser, parser.encode_sentence(words, tags), limit=TimeLimit(0)) == {}
    decision = parser.explain(words, tags, limit=TimeLimit(0)).decision(0)
    assert decision.reasons is None and decision.text == "The deadline left no time for the reasons of this decision."


def test_a_model_caches_its_rule_book():
    made = hand_made("shift_reduce", ("NP", "VP", "TOP"), 2)
    book = rule_book(made.model)
    assert rule_book(made.model) is book
    assert {group_of(test.subject) for atom in range(len(book.atoms)) for test in book.tests(atom)} <= set(GROUPS)


@pytest.mark.parametrize(
    ("name", "present", "absent"),
    [
        ("head label = VP", "its head is a VP", "its head is not a VP"),
        ("some item of span: label = NP", "an NP among its children", "no NP among its children"),
        ("first child of first label = nothing", "its first child is a single word",
         "its first child is a phrase, not a single word"),
        ("start item 1 label = nothing", "there is no second child", "there is a second child"),
        ("end item 1 tag = CC", "its last child but one is headed by a conjunction (CC)",
         "its last child but one is not headed by a conjunction (CC)"),
        ("left terminal 0 tag = IN", "the next word on the left is a preposition (IN)",
         "the next word on the left is not a preposition (IN)"),
        ('right terminal 1 word = "bank"', "the second word on the right is “bank”",
         "the second word on the right is not “bank”"),
        ("span model: window chain = S VP", "the span model labels this span as S over VP",
         "the span model does not label this span as S over VP"),
        ("span model: window sure < 0.2", "the span model gives its first choice for this span a probability below 0.2",
         "the span model gives its first choice for this span a probability of at least 0.2"),
        ("span model: of right starting >= 0.9",
         "the span model expects longer constituents to begin with the next item (expected number of at least 0.9)",
         "the span model expects longer constituents to begin with the next item (expected number below 0.9)"),
        ("items of span > 3", "it has more than 3 children", "it has at most 3 children"),
        ("terminals of span = 1", "it has 1 word", "it does not have 1 word"),
        ("items of 4 of right context > 0", "there is something to the right", "there is nothing to the right"),
        ("start item 0 label = NP", "its first child is an NP", "its first child is not an NP"),
        ("span model: window second chain = NP", "the span model's second choice for this span is NP",
         "the span model's second choice for this span is not NP"),
        ("start item 6 label = NP", "its 7th child is an NP", "its 7th child is not an NP"),
        ("end item 5 label = NP", "its last child but 5 is an NP", "its last child but 5 is not an NP"),
        ("front item 2 label = NP", "the next item but one after its first child is an NP",
         "the next item but one after its first child is not an NP"),
        ("labels = DT NN", "its children are DT NN", "its children are not DT NN"),
        ("head item -1 label = TO", "the child before its head is a “to” (TO)",
         "the child before its head is not a “to” (TO)"),
    ],
)  # fmt: skip
def test_a_test_in_words(name, present, absent):
    (test,) = atom_tests(name)
    assert (phrase(test), phrase(test, holds=False)) == (present, absent)


def test_tests_joined_in_an_atom():
    tests = atom_tests('left terminal 0 word = "&" & first label = DT & some item of 2 left of head: tag = CC')
    assert [test.subject for test in tests] == [
        "left terminal 0 word",
        "first label",
        "some item of 2 left of head: tag",
    ]
    assert tests[0].value == '"&"' and tests[2].operator == "has"
    assert [group_of(test.subject) for test in tests] == ["to the left", "first and last child", "among the children"]
    assert group_of("start item 0 label") == "first and last child"
    assert group_of("start item 1 label") == "among the children"
    assert group_of(ALWAYS) == ALWAYS and group_of("hashed atom 17") == OTHER


def test_names_of_the_same_child_are_one():
    assert canonical_subject("end item 1 label", 2, 0) == "first label"
    assert canonical_subject("front item 2 tag", 2, 0) == "right item 0 tag"
    assert canonical_subject("head item -1 word", 3, 2) == "start item 1 word"
    assert canonical_subject("first child of end item 0 label", 3, 2) == "first child of last label"
    assert canonical_subject("start item 3 label", 2, 0) == "start item 3 label"
    assert topic_of("span model: window sure") == topic_of("span model: window chain") == "span model: window"
    assert topic_of("span model: window second chain") == "span model: window second"


@pytest.mark.parametrize(
    ("asked", "known", "said"),
    [
        ("word", {"word": '"and"', "label": "CC"}, "“and”"),  # of a word nobody asked whether it is a conjunction
        ("word", {"word": '"in"', "label": "PP"}, "a PP headed by “in”"),
        ("label", {"label": "CC"}, "a conjunction (CC)"),
        ("label word", {"label": "CC", "word": '"and"'}, "“and”, a conjunction (CC)"),
        ("tag", {"tag": "NN"}, "headed by a noun (NN)"),
        ("tag", {"tag": "NN", "label": "NP"}, "an NP headed by a noun (NN)"),
        ("tag", {"tag": "NN", "label": "NN"}, "a noun (NN)"),
        ("label tag", {"tag": "NN", "label": "NP"}, "an NP headed by a noun (NN)"),
        ("word tag", {"tag": "NN", "label": "NP", "word": '"cat"'}, "an NP headed by “cat” (NN)"),
    ],
)
def test_a_position_in_one_clause(asked, known, said):
    """Its label, part of speech and word, as far as they were tested; that an item is a phrase is always mentioned."""
    place = "right item 0"
    facts = {f"{place} {name}": value for name, value in known.items()}
    tests = [(AtomTest(f"{place} {name}", "=", known[name]), True) for name in asked.split()]
    assert fact_clause(place, facts, tests) == f"the next item on the right is {said}"


def test_a_fact_names_the_value_or_else_the_values_excluded():
    asked = [(AtomTest("right item 0 label", "=", "CC"), False), (AtomTest("right item 0 word", "=", '"and"'), False)]
    known = {"right item 0 label": "PP", "right item 0 word": '"in"'}
    assert fact_clause("right item 0", known, asked) == "the next item on the right is a PP headed by “in”"
    assert fact_clause("right item 0", {}, asked) == "the next item on the right is not a conjunction (CC)"
    two = [(AtomTest("right item 0 label", "=", value), False) for value in ("CC", "NN")]
    assert fact_clause("right item 0", {}, two) == "the next item on the right is not conjunction or noun"
    assert (
        negative_clause("some item of span: label", ["NN", "PRP", "NP", "X"])
        == "no noun, pronoun, NP, … among its children"
    )
    assert negative_clause("first label", ["NN", "CC"]) == "its first child is not noun or conjunction"
    assert negative_clause("first label", ["NN", "CC", "X"]) == "its first child is not noun, conjunction or X"
    mass = "span model: with right mass"
    limits = [(AtomTest(mass, "<", "0.5"), True), (AtomTest(mass, "<", "0.1"), False)]
    said = "the span model gives this span and the next item a probability from 0.1 to 0.5 of being a constituent"
    assert fact_clause("span model: with right", {}, limits) == said
