"""Edits of trees as constraints."""

from __future__ import annotations

import pytest

from spacy_dtparse.annotation.edits import (
    add_constraints,
    consequences,
    insert_constituent,
    local_alternatives,
    lower_extent,
    move_extent,
    raise_extent,
    relabel_constituent,
    remove_constituent,
    tree_difference,
    unary_chains,
)
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.errors import ConstraintError, EditError
from spacy_dtparse.trees import parse_tree

LOW = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea)))))))")
HIGH = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))))")


def index(tree, label, text):
    (found,) = (k for k, (a, b, name) in enumerate(tree.spans()) if name == label and " ".join(tree.words[a:b]) == text)
    return found


def test_what_a_statement_removes_by_itself():
    extended = [Constraint(2, 6, "NP")]
    assert consequences(HIGH, extended, grows=True) == {(2, 4, "NP")}
    assert consequences(HIGH, extended, grows=False) == set()
    assert consequences(LOW, [Constraint(1, 4, "VP")], grows=False) == {(2, 6, "NP")}
    assert consequences(LOW, [Constraint(1, 4, "VP", False)], grows=True) == set()


def test_statements_about_one_constituent():
    assert insert_constituent(LOW, 1, 2, "VP") == [Constraint(1, 2, "VP")]
    assert insert_constituent(LOW, 0, 1, "NP") == [Constraint(0, 1, "NP NP", exact=True)]
    assert remove_constituent(LOW, index(LOW, "NP", "the man with tea")) == [Constraint(2, 6, "", False)]
    assert relabel_constituent(LOW, index(LOW, "NP", "I"), "X") == [
        Constraint(0, 1, "X"),
        Constraint(0, 1, "NP", False),
    ]
    chain = parse_tree("(TOP (S (VP (NP (NP (NN a))))))")
    assert remove_constituent(chain, 1) == [Constraint(0, 1, "S", False)]
    assert remove_constituent(chain, 3) == [Constraint(0, 1, "S VP NP", exact=True)]
    assert relabel_constituent(chain, 4, "QP") == [Constraint(0, 1, "S VP NP QP", exact=True)]
    with pytest.raises(EditError, match="no constituent 0 below the root"):
        remove_constituent(chain, 0)


def test_a_constituent_moves_to_another_parent():
    raised, edit = move_extent(LOW, 4, 6, index(LOW, "VP", "saw the man with tea"))
    assert raised == HIGH and edit == [Constraint(2, 6, "", False)]  # an NP that is left over its like is gone
    lowered, edit = move_extent(HIGH, 4, 6, index(HIGH, "NP", "the man"))
    assert (2, 6) in unary_chains(lowered) and (2, 4) not in unary_chains(lowered)
    assert edit == [Constraint(2, 6, "NP")]  # the parser decides whether "the man" is an NP inside
    assert move_extent(HIGH, 1, 2, index(HIGH, "NP", "I"))[0].spans()[2] == (0, 2, "NP")
    with pytest.raises(EditError, match="would have a gap"):
        move_extent(HIGH, 2, 4, index(HIGH, "S", "I saw the man with tea"))
    with pytest.raises(EditError, match="into itself"):
        move_extent(HIGH, 4, 6, index(HIGH, "NP", "tea"))


def test_a_unary_chain_may_lose_one_of_its_constituents():
    question = parse_tree("(TOP (SBARQ (WHNP (WP Who)) (SQ (VP (VBZ 's) (ADJP (JJ ready))))))")
    moved, edit = move_extent(question, 1, 2, index(question, "SQ", "'s ready"))
    assert unary_chains(moved)[1, 3] == ("SQ",) and (2, 3) in unary_chains(moved)
    assert edit == [Constraint(1, 3, "VP", False), Constraint(2, 3, "VP")]  # the SQ stays
    shown = ParseResult(question, (0.0,) * len(question), 0.0, "fallback")
    assert Constraints(edit).enforce(shown, ("SQ", "VP")).tree == moved
    twice = parse_tree("(TOP (NP (NP (DT the) (NN man))))")
    assert move_extent(twice, 0, 1, 1)[1] == [Constraint(0, 2, "NP", exact=True), Constraint(1, 2, "NP")]


def test_a_constituent_is_raised_and_lowered():
    assert raise_extent(LOW, 4, 6) == [Constraint(2, 6, "", False)]
    assert lower_extent(HIGH, 4, 6) == [Constraint(2, 6, "NP")]
    assert lower_extent(HIGH, 1, 2) == [Constraint(1, 4, "NP")]  # nothing ends before it within its parent
    with pytest.raises(EditError, match="whole sentence"):
        raise_extent(HIGH, 0, 1)
    with pytest.raises(EditError, match="no constituent beside it"):
        lower_extent(parse_tree("(TOP (S (A a) (B b)))"), 0, 1)


def test_differences_and_local_alternatives():
    assert tree_difference(LOW, HIGH) == [Constraint(2, 6, "", False)]
    assert tree_difference(HIGH, LOW) == [Constraint(2, 6, "NP", exact=True)]
    other = parse_tree("(TOP (S (X (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))))")
    found = local_alternatives(LOW, [other, HIGH])
    assert found[1, 6] == [HIGH] and len(found[0, 6]) == 1
    assert unary_chains(found[0, 6][0])[0, 1] == ("X",) and (2, 6) in unary_chains(found[0, 6][0])


def test_later_statements_replace_earlier_ones():
    stated = add_constraints((), [Constraint(2, 6, "", False)], LOW.words)
    assert add_constraints(stated, [Constraint(2, 6, "NP")], LOW.words) == Constraints([Constraint(2, 6, "NP")])
    stated = add_constraints(stated, [Constraint(2, 4, "NP"), Constraint(2, 4, "X", False)], LOW.words)
    assert len(stated) == 3 and add_constraints(stated, [Constraint(2, 4, "X")], LOW.words)[-2:] == (
        Constraint(2, 4, "NP"),
        Constraint(2, 4, "X"),
    )
    with pytest.raises(ConstraintError, match=r"VP \('man with'\) crosses NP \('the man'\), which you stated before"):
        add_constraints(stated, [Constraint(3, 5, "VP")], LOW.words)
    assert Constraint(3, 5, "VP", False) in add_constraints(stated, [Constraint(3, 5, "VP", False)], LOW.words)
