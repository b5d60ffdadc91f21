"""Published patterns of syntactic complexity (Lu 2010), on sentences counted by hand: clauses, T-units and others.

Patterns name the root of a sentence ROOT; it must be found whatever a treebank calls it.
"""

from __future__ import annotations

import io

import pytest

from spacy_dtparse.query import compile_pattern
from spacy_dtparse.trees.brackets import parse_tree, read_trees

CLAUSE = (
    "S|SINV|SQ [> ROOT <, (VP <# VB) | <# MD|VBZ|VBP|VBD | < (VP [<# MD|VBP|VBZ|VBD | < CC < (VP <# MD|VBP|VBZ|VBD)])]"
)
T_UNIT = "S|SBARQ|SINV|SQ > ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]"
PATTERNS = {
    "sentence": "ROOT !> __",
    "verb phrase": "VP > S|SINV|SQ",
    "clause": CLAUSE,
    "fragment": "FRAG > ROOT !<< VP",
    "dependent clause": f"SBAR < ({CLAUSE})",
    "T-unit": T_UNIT,
    "fragment T-unit": f"FRAG > ROOT !<< ({T_UNIT})",
    "complex T-unit": f"S|SBARQ|SINV|SQ [> ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]] << (SBAR < ({CLAUSE}))",
    "coordinate phrase": "ADJP|ADVP|NP|VP < CC",
    "complex nominal": "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
    "nominal clause": "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
    "gerund or infinitive as subject": "S < (VP <# VBG|TO) $+ VP",
}
COUNTED = {
    "She left.": (
        "(S (NP (PRP She)) (VP (VBD left)) (. .))",
        {"sentence": 1, "verb phrase": 1, "clause": 1, "T-unit": 1},
    ),
    "She left and he stayed.": (
        "(S (S (NP (PRP She)) (VP (VBD left))) (CC and) (S (NP (PRP he)) (VP (VBD stayed))) (. .))",
        {"sentence": 1, "verb phrase": 2, "clause": 2, "T-unit": 2},
    ),
    "Go home.": (
        "(S (VP (VB Go) (ADVP (RB home))) (. .))",
        {"sentence": 1, "verb phrase": 1, "clause": 1, "T-unit": 1},
    ),
    "She said that he left because it rained.": (
        "(S (NP (PRP She)) (VP (VBD said) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD left) (SBAR (IN because) "
        "(S (NP (PRP it)) (VP (VBD rained)))))))) (. .))",
        {
            "sentence": 1,
            "verb phrase": 3,
            "clause": 3,
            "dependent clause": 2,
            "T-unit": 1,
            "complex T-unit": 1,
            "nominal clause": 1,
        },
    ),
    "Who left?": (
        "(SBARQ (WHNP (WP Who)) (SQ (VP (VBD left))) (. ?))",
        {"sentence": 1, "verb phrase": 1, "clause": 1, "T-unit": 1},
    ),
    "Is he ill?": ("(SQ (VBZ Is) (NP (PRP he)) (ADJP (JJ ill)) (. ?))", {"sentence": 1, "clause": 1, "T-unit": 1}),
    "Perhaps.": ("(FRAG (ADVP (RB Perhaps)) (. .))", {"sentence": 1, "fragment": 1, "fragment T-unit": 1}),
    "She sang and danced.": (
        "(S (NP (PRP She)) (VP (VP (VBD sang)) (CC and) (VP (VBD danced))) (. .))",
        {"sentence": 1, "verb phrase": 1, "clause": 1, "T-unit": 1, "coordinate phrase": 1},
    ),
    "He wants to go.": (
        "(S (NP (PRP He)) (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))) (. .))",
        {"sentence": 1, "verb phrase": 2, "clause": 1, "T-unit": 1},
    ),
    "Reading old books in bed helps.": (
        "(S (S (VP (VBG Reading) (NP (JJ old) (NNS books)) (PP (IN in) (NP (NN bed))))) (VP (VBZ helps)) (. .))",
        {
            "sentence": 1,
            "verb phrase": 2,
            "clause": 1,
            "T-unit": 1,
            "complex nominal": 1,
            "gerund or infinitive as subject": 1,
        },
    ),
    "If it rains, the dogs and cats of the town hide.": (
        "(S (SBAR (IN If) (S (NP (PRP it)) (VP (VBZ rains)))) (, ,) (NP (NP (DT the) (NNS dogs) (CC and) (NNS cats)) "
        "(PP (IN of) (NP (DT the) (NN town)))) (VP (VBP hide)) (. .))",
        {
            "sentence": 1,
            "verb phrase": 2,
            "clause": 2,
            "dependent clause": 1,
            "T-unit": 1,
            "complex T-unit": 1,
            "coordinate phrase": 1,
            "complex nominal": 1,
        },
    ),
}
ROOTS = ("ROOT", "", "TOP", "S1", "VROOT")


def counts(trees):
    return {name: found for name, text in PATTERNS.items() if (found := len(list(compile_pattern(text).search(trees))))}


@pytest.mark.parametrize("sentence", COUNTED)
def test_measures_are_those_counted_by_hand(sentence):
    brackets, expected = COUNTED[sentence]
    for root in ROOTS:
        text = f"({root} {brackets})"
        assert counts([parse_tree(text)]) == expected
        assert counts([parse_tree(text, top=None)]) == expected
        assert counts(list(read_trees(io.StringIO(text), keep_root=True))) == expected
    assert counts([parse_tree(brackets)]) == expected  # no root is written: the reader adds one


def test_measures_add_up():
    trees = [parse_tree(f"({root} {brackets})", top=None) for root in ROOTS for brackets, _ in COUNTED.values()]
    expected = {name: len(ROOTS) * sum(own.get(name, 0) for _, own in COUNTED.values()) for name in PATTERNS}
    assert counts(trees) == expected
