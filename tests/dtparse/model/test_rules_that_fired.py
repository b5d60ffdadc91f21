"""Rules as text, and the rules that fired for a constituent add up to its score."""

from __future__ import annotations

import math
import random

import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.model.reasons import rule_book
from spacy_dtparse.dtparse.model.rules import Rule
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError
from tests.jit.harness import KERNEL_MARKS, SHIFT, SLOW, STRATEGIES, hand_made, sentence

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_rules_that_fired_add_up_to_the_score(strategy):
    made = hand_made(strategy, ("NP", "VP", "TOP"), 1, n_trees=10)
    fired = 0
    for budget, n in ((0, 1), (0, 3 if SLOW else 7), (20 if SLOW else 500, 4)):
        parser = DtreeParser(made.model, SearchSettings(budget=budget))
        words, tags = sentence(random.Random(n), n)
        result, decisions = parser.parse(words, tags), parser.explain(words, tags)
        for constituent in range(len(result.tree)):
            rules = decisions.decision(constituent).reasons.rules
            h = sum(rule.value for rule in rules)
            assert math.log1p(math.exp(-h)) == pytest.approx(result.costs[constituent], rel=1e-9, abs=1e-12)
            sizes = [abs(rule.value) for rule in rules]
            assert sizes == sorted(sizes, reverse=True)
            known = rule_book(made.model).rules_of_label(result.tree.labels[constituent])
            assert all(rule in known for rule in rules)
            fired += len(rules)
    assert fired > 10


def test_rules_of_a_label():
    made = hand_made("shift_reduce", ("NP", "VP", "TOP"), 2)
    names = set(made.numbers)
    for label in ("NP", "VP", "TOP", SHIFT):
        rules = rule_book(made.model).rules_of_label(label)
        assert rules and len({(r.present, r.absent) for r in rules}) == len(rules)
        sizes = [abs(rule.value) for rule in rules]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 0
        for rule in rules:
            assert set(rule.present) | set(rule.absent) <= names
            assert not set(rule.present) & set(rule.absent)
    with pytest.raises(ConfigError, match=r"no label 'XP'; its labels are NP, VP, TOP, \*shift\*"):
        rule_book(made.model).rules_of_label("XP")


def test_a_rule_is_a_line_of_text():
    rule = Rule(("first label = DT",), ('head word = "cat"', "items of span > 3"), -0.5)
    assert str(rule) == '-0.5000 if first label = DT and not [head word = "cat"] and not [items of span > 3]'
    assert str(Rule((), (), 1.25)) == "+1.2500 always"


def test_a_constituent_that_no_rule_built_has_no_reasons():
    made = hand_made("r2l", ("NP", "VP", "TOP"), 1, edge_punctuation=False)
    parser = DtreeParser(made.model, SearchSettings(budget=0))
    words, tags = ("cat", ","), ("NN", ",")
    result = parser.parse(words, tags)
    assert result.status == "fallback" and len(result.tree) > 1
    decisions = parser.explain(words, tags)
    root = decisions.decision(0)
    assert root.reasons is None and root.text.startswith("No rule built it: pieces were joined")
    h = sum(rule.value for rule in decisions.decision(1).reasons.rules)
    assert math.log1p(math.exp(-h)) == pytest.approx(result.costs[1], rel=1e-9)
