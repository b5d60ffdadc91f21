"""Data for the annotation page."""

from __future__ import annotations

from spacy_dtparse.annotation.page_state import differing_part
from spacy_dtparse.trees import parse_tree

LOW = parse_tree(
    "(TOP (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD saw) (NP (NP (DT the) (NN man)) "
    "(PP (IN with) (NP (NN tea))))))))))"
)
HIGH = parse_tree(
    "(TOP (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD saw) (NP (DT the) (NN man)) "
    "(PP (IN with) (NP (NN tea)))))))))"
)


def test_the_part_of_a_tree_that_differs():
    assert str(differing_part(LOW, HIGH)) == ("(VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))")
    assert differing_part(HIGH, LOW).words == ("saw", "the", "man", "with", "tea")
    assert differing_part(LOW, LOW) is LOW
    root = parse_tree(str(LOW).replace("(TOP (S", "(TOP (FRAG", 1))
    assert str(differing_part(LOW, root)) == "(TOP (FRAG (NP (PRP I)) (VP (… know\u00a0…\u00a0tea))))"
    short = parse_tree("(TOP (S (NP (PRP I)) (VP (VBP know))))")
    assert differing_part(parse_tree("(TOP (FRAG (NP (PRP I)) (VP (VBP know))))"), short) is short
