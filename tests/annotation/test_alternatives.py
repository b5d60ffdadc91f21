"""Trees to pick from, where an annotator points."""

from __future__ import annotations

import pytest

from spacy_dtparse.annotation.alternatives import MAX_PICKS, choose_useful, pointed_alternatives, replace_within
from spacy_dtparse.annotation.corrector import Corrector
from spacy_dtparse.annotation.edits import unary_chains
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.trees import parse_tree

LOW = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea)))))))")
HIGH = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))))")
OTHER = parse_tree("(TOP (S (X (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (X (NN tea))))))")


def test_a_part_of_another_tree_is_taken():
    assert replace_within(LOW, OTHER, (1, 6)).spans()[2] == (0, 1, "NP")
    assert replace_within(LOW, HIGH, (1, 6)) == HIGH
    assert replace_within(LOW, OTHER, (0, 6)) == OTHER


def test_the_rest_of_the_tree_stays():
    asked = []

    def parse(constraints, k):
        asked.append([str(one) for one in constraints])
        required = [one for one in constraints if one.required and not one.label]
        return [one for one in (LOW, OTHER, HIGH) if all(each[:2] in unary_chains(one) for each in required)]

    found = pointed_alternatives(parse, LOW, (), Constraints(), (1, 6))
    assert found == [replace_within(LOW, OTHER, (1, 6)), HIGH]
    assert len(asked[0]) == 2  # S and the subject stay
    assert pointed_alternatives(parse, HIGH, (), Constraints(), (2, 6)) == [LOW]  # words that are no constituent
    assert asked[1] == [str(Constraint(2, 6))]
    assert pointed_alternatives(parse, LOW, [HIGH], Constraints(), (0, 1)) == []
    found, whole = pointed_alternatives(parse, LOW, [OTHER], Constraints(), (0, 6))
    assert found.labels[2] == "X" and found.labels.count("NP") == 3  # one part of the other tree
    assert whole == OTHER


def test_words_that_cross_a_statement_have_no_alternatives():
    assert pointed_alternatives(lambda *_: [LOW], LOW, (), Constraints([Constraint(2, 6, "NP")]), (1, 4)) == []


@pytest.mark.embedded
def test_statements_hold_in_all_alternatives():
    import spacy_dtparse

    corrector = Corrector(spacy_dtparse.load())
    words = "I met the man with the red hat in the old town yesterday .".split()
    tags = corrector.tag(words)
    stated = Constraints([Constraint(2, 12, "NP")])
    tree, *others = corrector.parse(words, tags, stated, 20)

    def parse(constraints, k):
        return corrector.parse(words, tags, constraints, k)

    ours = unary_chains(tree)
    for extent in [*ours, (5, 9), (3, 8), (11, 13)]:
        found = pointed_alternatives(parse, tree, others, stated, extent)
        assert len(found) <= MAX_PICKS and tree not in found and len(set(found)) == len(found)
        assert not found or all("NP" in unary_chains(one).get((2, 12), ()) for one in found)
        if extent in ours:
            outside = {one: chain for one, chain in ours.items() if not (extent[0] <= one[0] and one[1] <= extent[1])}
            assert all(outside.items() <= unary_chains(one).items() for one in found)
        else:
            assert all(extent in unary_chains(one) for one in found)
    assert pointed_alternatives(parse, tree, others, stated, (5, 9))
    assert not pointed_alternatives(parse, tree, others, stated, (11, 13))  # crosses the statement


def test_trees_that_correct_most_brackets_are_listed():
    shape = "(TOP (S (NP (PRP I)) (VP (VBD saw) (%s (DT the) (NN man)) (%s (IN in)))))"
    labels = [("NP", "PP"), ("NX", "PP"), ("NX", "PRT"), ("X", "PP")]
    tree, one, both, other = (parse_tree(shape % pair) for pair in labels)
    assert choose_useful(tree, [one, other, both]) == [one, other, both]
    assert choose_useful(tree, [one, other, both], 2) == [one, other]
    assert choose_useful(tree, [both, one, other], 2) == [both, one]
    assert choose_useful(tree, [other, one, both], 1) == [one]  # corrects what `both` corrects, too
    assert choose_useful(tree, [one]) == [one] and choose_useful(tree, []) == []
