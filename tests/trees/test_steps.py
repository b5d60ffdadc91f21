"""The preprocessing steps, one by one."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.trees import PUNCTUATION_TAGS, Recipe, Tree, base_label, parse_tree, write_tree
from spacy_dtparse.trees.punctuation import lower_punctuation
from spacy_dtparse.trees.transforms import (
    drop_repeated_unary,
    keep_tokens,
    merge_prt,
    raise_punctuation,
    remove_edge_punctuation,
    remove_quotes,
    split_prt,
    strip_empty,
)

from . import naive


def done(step, text: str) -> str:
    return write_tree(step(parse_tree(text)))


def recipe_of(step) -> Recipe:
    return Recipe((step.__name__,))


@pytest.mark.parametrize(
    ("label", "base"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("ADVP|PRT", "ADVP"),
        ("NP-SBJ=3", "NP"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("S", "S"),
        ("", ""),
        ("PRP$", "PRP$"),
    ],
)
def test_base_label(label, base):
    assert base_label(label) == base


def test_strip_empty():
    text = "(S (NP-SBJ-1 (-NONE- *)) (VP (VB try) (S-NOM (NP (-NONE- *-1))) (ADVP=2 (RB again)) (-NONE- *U*)))"
    whole = parse_tree(text)
    tree, record = strip_empty(whole), recipe_of(strip_empty).prepare(whole.words, whole.tags)
    assert write_tree(tree) == "(TOP (S (VP (VB try) (ADVP (RB again)))))"
    assert record.kept == (1, 3)
    assert recipe_of(strip_empty).restore(tree, record).words == ("*", "try", "*-1", "again", "*U*")


def test_strip_empty_of_nothing_else_keeps_the_tokens():
    assert done(strip_empty, "(S-IMP (NP-SBJ (-NONE- *)))") == "(TOP (S (NP (-NONE- *))))"


def test_prt():
    assert done(merge_prt, "(VP (VB give) (PRT (RP up)))") == "(TOP (VP (VB give) (ADVP (RP up))))"
    parse = parse_tree("(VP (VB go) (ADVP (RP out)) (ADVP (RB now)) (ADVP (RP on) (RB top)))")
    assert split_prt(parse).labels == ("TOP", "VP", "PRT", "ADVP", "ADVP")


def test_remove_quotes():
    text = "(S (`` ``) (NP (DT The) (`` `) (NN plan) ('' ')) (NP ('' '')) (VP (VBZ holds)) (. .) ('' ''))"
    assert done(remove_quotes, text) == "(TOP (S (NP (DT The) (NN plan)) (VP (VBZ holds)) (. .)))"
    assert done(remove_quotes, "(X (`` ``) ('' ''))") == "(TOP (X (`` ``) ('' '')))"


def test_remove_edge_punctuation():
    text = "(S (: -) (S (, ,) (NP (NN a) (, ,) (NN b)) (VP (VB c) (. .))) ('' ''))"
    assert done(remove_edge_punctuation, text) == "(TOP (S (S (NP (NN a) (, ,) (NN b)) (VP (VB c)))))"
    assert done(remove_edge_punctuation, "(S (NN a))") == "(TOP (S (NN a)))"
    assert done(remove_edge_punctuation, "(X (. .) (. .))") == "(TOP (X (. .) (. .)))"


def test_brackets_are_no_edge_punctuation():
    text = "(TOP (PRN (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))"
    assert done(remove_edge_punctuation, text) == text


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("(S (NP (NN a) (, ,)) (VP (VB b)))", "(TOP (S (NP (NN a)) (, ,) (VP (VB b))))"),
        ("(S (NP (NN a)) (VP (, ,) (VB b)))", "(TOP (S (NP (NN a)) (, ,) (VP (VB b))))"),
        ("(S (NP (NN a) (, ,) (NN b)) (. .))", "(TOP (S (NP (NN a) (, ,) (NN b))) (. .))"),
        ("(S (X (NP (NN a) (, ,)) (, ,)) (NN b))", "(TOP (S (X (NP (NN a))) (, ,) (, ,) (NN b)))"),
        ("(S (NN a) (X (: -) (, ,)) (NN b))", "(TOP (S (NN a) (: -) (, ,) (NN b)))"),
        ("(S (X (. .)))", "(TOP (. .))"),
        ("(S (NP (: -) (NP (NN a))))", "(TOP (: -) (S (NP (NP (NN a)))))"),
    ],
)
def test_raise_punctuation(text, raised):
    assert done(raise_punctuation, text) == raised


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("(NP (NP (NN a)))", "(TOP (NP (NN a)))"),
        ("(NP (NP (NP (NN a) (NN b))))", "(TOP (NP (NN a) (NN b)))"),
        ("(NP (S (NP (NN a))))", "(TOP (S (NP (NN a))))"),
        ("(NP (S (NP (S (NN a)))))", "(TOP (NP (S (NN a))))"),
        ("(NP (NP (NN a)) (NN b))", "(TOP (NP (NP (NN a)) (NN b)))"),
        ("(S (NP (NP (NN a))) (NP (NP (NN b))))", "(TOP (S (NP (NN a)) (NP (NN b))))"),
    ],
)
def test_drop_repeated_unary(text, dropped):
    assert done(drop_repeated_unary, text) == dropped


def test_drop_repeated_unary_keeps_the_root():
    tree = Tree(["a"], ["X"], ["TOP", "S", "TOP"], [0, 0, 0], [1, 1, 1])
    assert drop_repeated_unary(tree).labels == ("TOP", "S", "TOP")


@pytest.mark.parametrize(
    "text",
    [
        # final punctuation: last child of the highest constituent below the root
        "(TOP (S (NP (NN a)) (VP (VB b)) (. .)))",
        "(TOP (S (NP (NN a)) (VP (VB b)) (. .) ('' '')))",
        "(TOP (NP (NP (NN a)) (PP (IN b) (NP (NN c))) (. .)))",
        "(TOP (CAPTION (S (NP (NN a)) (VP (VB b)) (. .))))",
        # initial quotes too
        "(TOP (S (`` ``) (NP (NN a)) (VP (VB b)) (. .)))",
        "(TOP (S (`` ``) (S (NN a)) (, ,) ('' '') (NP (PRP b)) (VP (VBD c)) (. .)))",
        # between constituents: where the two meet
        "(TOP (S (PP (IN a)) (, ,) (NP (NN b)) (VP (VB c)) (. .)))",
        # an apposition's second comma
        "(TOP (S (NP (NP (NN a)) (, ,) (NP (NN b)) (, ,)) (VP (VB c)) (. .)))",
        # but not after a coordination
        "(TOP (S (NP (NN a) (, ,) (NN b) (CC c) (NN d)) (, ,) (VP (VB e))))",
        # commas around a parenthetical
        "(TOP (S (NP (NN a)) (PRN (, ,) (S (NN b)) (, ,)) (VP (VB c)) (. .)))",
        "(TOP (NP (NP (NN a)) (PRN (: -) (NP (NN b)) (: -)) (PP (NN c))))",
        # a closing quote in the constituent of its opening one
        "(TOP (S (NP (DT a) (`` ``) (NN b) ('' '')) (VP (VB c)) (. .)))",
        # nothing but punctuation
        "(TOP (X (. .) (. .)))",
        "(TOP (. .))",
    ],
)
def test_treebank_habits_survive_raising_and_lowering(text):
    tree = parse_tree(text)
    raised = raise_punctuation(tree)
    if all(tag in PUNCTUATION_TAGS for tag in tree.tags):
        assert lower_punctuation(raised).labels == ("TOP",)
    else:
        assert write_tree(lower_punctuation(raised)) == text


def test_restoring_checks_the_length():
    record = recipe_of(remove_quotes).prepare(("``", "a", "''"), ("``", "NN", "''"))
    with pytest.raises(TreeError, match="the tree has 2 tokens, but 1 of 3 were kept"):
        recipe_of(remove_quotes).restore(parse_tree("(S (NN a) (NN b))"), record)


@pytest.mark.parametrize("step", [strip_empty, remove_quotes, remove_edge_punctuation])
def test_removal_properties(step):
    rng = random.Random(8)
    tags = (*naive.TAGS, "-NONE-")
    removed = 0
    for _ in range(400):
        tree = naive.random_tree(rng, rng.randint(1, 12), tags)
        smaller, record = step(tree), recipe_of(step).prepare(tree.words, tree.tags)
        removed += len(tree.words) - len(smaller.words)
        assert smaller == Tree(smaller.words, smaller.tags, smaller.labels, smaller.starts, smaller.ends)
        assert smaller.words == tuple(tree.words[i] for i in record.kept)
        other = naive.with_leaves(naive.random_tree(rng, len(smaller.words)), smaller.words, smaller.tags)
        back = recipe_of(step).restore(other, record)
        assert back == Tree(back.words, back.tags, back.labels, back.starts, back.ends)
        assert (back.words, back.tags) == (tree.words, tree.tags)
        assert keep_tokens(back, record.kept) == other  # nothing but removed tokens has moved
    assert removed > 200


def test_raising_properties():
    rng = random.Random(9)
    moved = 0
    for _ in range(400):
        tree = naive.random_tree(rng, rng.randint(1, 12))
        raised = raise_punctuation(tree)
        assert raised == Tree(raised.words, raised.tags, raised.labels, raised.starts, raised.ends)
        for start, end, _label in raised.spans()[1:]:
            assert raised.tags[start] not in PUNCTUATION_TAGS
            assert raised.tags[end - 1] not in PUNCTUATION_TAGS
        assert raise_punctuation(raised) == raised
        lowered = lower_punctuation(raised)
        assert lowered == Tree(lowered.words, lowered.tags, lowered.labels, lowered.starts, lowered.ends)
        assert raise_punctuation(lowered) == raised  # lowering only undoes raising
        moved += raised != lowered
    assert moved > 100


def test_steps_on_a_deep_tree():
    tree = parse_tree("(NP (, ,) (NN a) " * 2500 + "(NN a) (, ,)" + ")" * 2500)
    raised = raise_punctuation(tree)
    lowered = lower_punctuation(raised)
    assert raise_punctuation(lowered) == raised
    quoted = parse_tree("(NP (`` ``) (NN a) " * 2500 + "(NN a)" + " ('' ''))" * 2500)
    smaller, record = remove_quotes(quoted), recipe_of(remove_quotes).prepare(quoted.words, quoted.tags)
    assert recipe_of(remove_quotes).restore(smaller, record).n_tokens == quoted.n_tokens
    assert drop_repeated_unary(parse_tree("(NP " * 5000 + "(NN a)" + ")" * 5000)).labels == ("TOP", "NP")
