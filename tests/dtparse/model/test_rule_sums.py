"""Explanations: rules as text, and the rules that fired for a constituent add up to its score."""

from __future__ import annotations

import math
import random

import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.model.rule_sums import Rule, explain, label_rules
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, DtparseError
from tests.jit.harness import KERNEL_MARKS, SHIFT, SLOW, STRATEGIES, hand_made, sentence

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_rules_that_fired_add_up_to_the_score(strategy):
    made = hand_made(strategy, ("NP", "VP", "TOP"), 1, n_trees=10)
    fired = 0
    for budget, n in ((0, 1), (0, 3 if SLOW else 7), (20 if SLOW else 500, 4)):
        parser = DtreeParser(made.model, SearchSettings(budget=budget))
        words, tags = sentence(random.Random(n), n)
        result = parser.parse(words, tags)
        for constituent in range(len(result.tree)):
            rules = explain(parser, words, tags, constituent)
            h = sum(rule.value for rule in rules)
            assert math.log1p(math.exp(-h)) == pytest.approx(result.scores[constituent], rel=1e-9, abs=1e-12)
            sizes = [abs(rule.value) for rule in rules]
            assert sizes == sorted(sizes, reverse=True)
            known = label_rules(made.model, result.tree.labels[constituent])
            assert all(rule in known for rule in rules)
            fired += len(rules)
    assert fired > 10


def test_rules_of_a_label():
    made = hand_made("shift_reduce", ("NP", "VP", "TOP"), 2)
    names = set(made.numbers)
    for label in ("NP", "VP", "TOP", SHIFT):
        rules = label_rules(made.model, label)
        assert rules and len({(r.present, r.absent) for r in rules}) == len(rules)
        sizes = [abs(rule.value) for rule in rules]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 0
        for rule in rules:
            assert set(rule.present) | set(rule.absent) <= names
            assert not set(rule.present) & set(rule.absent)
    with pytest.raises(ConfigError, match=r"no label 'XP'; its labels are NP, VP, TOP, \*shift\*"):
        label_rules(made.model, "XP")


def test_a_rule_is_a_line_of_text():
    rule = Rule(("first label = DT",), ('head word = "cat"', "items of span > 3"), -0.5)
    assert str(rule) == '-0.5000 if first label = DT and not [head word = "cat"] and not [items of span > 3]'
    assert str(Rule((), (), 1.25)) == "+1.2500 always"


def test_models_without_rules_refuse_to_explain():
    made = hand_made("r2l", ("NP", "VP", "TOP"), 1, edge_punctuation=False)
    parser = DtreeParser(made.model, SearchSettings(budget=0))
    words, tags = ("cat", ","), ("NN", ",")
    result = parser.parse(words, tags)
    assert result.status == "fallback" and len(result.tree) > 1
    with pytest.raises(DtparseError, match="no inference built the root"):
        explain(parser, words, tags, 0)
    h = sum(rule.value for rule in explain(parser, words, tags, 1))
    assert math.log1p(math.exp(-h)) == pytest.approx(result.scores[1], rel=1e-9)
    for number in (-1, len(result.tree)):
        with pytest.raises(DtparseError, match=f"no constituent {number}; this parse has constituents 0 to"):
            explain(parser, words, tags, number)
