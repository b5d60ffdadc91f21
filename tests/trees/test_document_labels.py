"""Trees without the labels of the parts of an article."""

import pytest

from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.trees.document_labels import document_labels_of, has_verb, remove_document_labels

S = "(S (NP (NN test)) (VP (VBZ works)))"
MARKER = "(LST (-LRB- -LRB-) (LS A) (-RRB- -RRB-))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"(TOP (CAPTION {S}))", f"(TOP {S})"),
        (f"(TOP (CAPTION {S} (. .)))", "(TOP (S (NP (NN test)) (VP (VBZ works)) (. .)))"),
        (f"(TOP (HEADING (`` ``) {S} (. .) ('' '')))",
         "(TOP (S (`` ``) (NP (NN test)) (VP (VBZ works)) (. .) ('' '')))"),
        ("(TOP (CAPTION (NP (NN test)) (VP (VBZ works)) (. .)))",
         "(TOP (S (NP (NN test)) (VP (VBZ works)) (. .)))"),
        ("(TOP (CAPTION (VP (VB Add) (NP (NN salt))) (. .)))", "(TOP (S (VP (VB Add) (NP (NN salt))) (. .)))"),
        ("(TOP (TITLE (NP (NN test)) (PP (IN of) (NP (NN time)))))",
         "(TOP (FRAG (NP (NN test)) (PP (IN of) (NP (NN time)))))"),
        ("(TOP (CAPTION (NP (NN test)) (VP (VBN made))))", "(TOP (FRAG (NP (NN test)) (VP (VBN made))))"),
        ("(TOP (HEADING (NN test)))", "(TOP (FRAG (NN test)))"),
        ("(TOP (HEADING (LS 1) (NP (NN test))))", "(TOP (FRAG (LS 1) (NP (NN test))))"),
        (f"(TOP (CAPTION {MARKER} {S} (. .)))",
         f"(TOP (S {MARKER} (NP (NN test)) (VP (VBZ works)) (. .)))"),
        (f"(TOP (CAPTION (TITLE {S} (. .))))", "(TOP (S (NP (NN test)) (VP (VBZ works)) (. .)))"),
        (f"(TOP (TITLE (NP (NN test)) (. .)) (CAPTION {S}))", f"(TOP (NP (NN test) (. .)) {S})"),
        (f"(TOP (S (NP (TITLE {S})) (VP (VBZ is) (ADJP (JJ old)))))",
         f"(TOP (S (NP {S}) (VP (VBZ is) (ADJP (JJ old)))))"),
        (f"(TOP {S})", f"(TOP {S})"),
    ],
)  # fmt: skip
def test_the_constituent_below_takes_the_place(before, after):
    tree = parse_tree(before)
    found, origins = remove_document_labels(tree)
    assert str(found) == str(parse_tree(after))
    assert Tree(found.words, found.tags, found.labels, found.starts, found.ends) == found  # a valid tree
    assert len(origins) == len(found) and len({*origins}) == len(origins)
    for origin, label in zip(origins, found.labels, strict=True):
        assert tree.labels[origin] == label or label in ("S", "FRAG")


def test_origins_are_the_constituents_before():
    tree = parse_tree(f"(TOP (CAPTION {MARKER} {S} (. .)))")
    assert tree.labels == ("TOP", "CAPTION", "LST", "S", "NP", "VP")
    assert remove_document_labels(tree).origins == (0, 3, 2, 4, 5)


def test_a_constituent_that_is_kept():
    tree = parse_tree(f"(TOP (CAPTION (TITLE {S} (. .))))")
    found = remove_document_labels(tree, {(0, 3, "CAPTION")}).tree
    assert str(found) == str(parse_tree("(TOP (CAPTION (S (NP (NN test)) (VP (VBZ works)) (. .))))"))


@pytest.mark.parametrize(
    ("before", "excluded", "after"),
    [
        ("(TOP (CAPTION (NP (NN test)) (VP (VBZ works)) (. .)))", ["S"],
         "(TOP (NP (NN test)) (VP (VBZ works)) (. .))"),
        ("(TOP (CAPTION (NP (NN test)) (VP (VBZ works)) (. .)))", ["FRAG"],
         "(TOP (S (NP (NN test)) (VP (VBZ works)) (. .)))"),
        ("(TOP (HEADING (NN test)))", ["FRAG"], "(TOP (NN test))"),
        ("(TOP (S (TITLE (NP (NN test)) (PP (IN of) (NP (NN time)))) (VP (VBZ works))))", ["FRAG"],
         "(TOP (S (NP (NN test)) (PP (IN of) (NP (NN time))) (VP (VBZ works))))"),
        ("(TOP (CAPTION (TITLE (NN test) (: :)) (NP (NN time))))", ["FRAG"], "(TOP (NN test) (: :) (NP (NN time)))"),
        ("(TOP (CAPTION (TITLE (NP (NN test)) (VP (VBZ works))) (. .)))", ["S", "FRAG"],
         "(TOP (NP (NN test)) (VP (VBZ works)) (. .))"),
        (f"(TOP (CAPTION {S} (. .)))", ["S"], "(TOP (S (NP (NN test)) (VP (VBZ works)) (. .)))"),
    ],
)  # fmt: skip
def test_no_constituent_gets_an_excluded_label(before, excluded, after):
    tree = parse_tree(before)
    found, origins = remove_document_labels(tree, (), excluded)
    assert str(found) == str(parse_tree(after))
    assert Tree(found.words, found.tags, found.labels, found.starts, found.ends) == found
    for origin, label in zip(origins, found.labels, strict=True):
        assert tree.labels[origin] == label or label in ("S", "FRAG")


def test_only_models_with_all_of_them_have_them():
    assert document_labels_of(("S", "NP", "CAPTION", "HEADING", "TITLE")) == {"CAPTION", "HEADING", "TITLE"}
    assert document_labels_of(("S", "TITLE")) == document_labels_of(()) == frozenset()


def test_words_with_a_verb():
    assert has_verb(["DT", "NN", "VBZ"]) and has_verb(["VB", "NN"]) and has_verb(["NN", "MD"])
    assert not has_verb(["NN", "IN", "VBG", "NNS"]) and not has_verb(["NNS", "VBN"]) and not has_verb([])
