"""Recipes: training trees, sentences and parses agree on which tokens there are."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.errors import ConfigError, TreeError
from spacy_dtparse.trees import STEPS, Recipe, Tree, parse_tree, write_tree

from . import naive


def test_named_recipes():
    assert Recipe.PLAIN.steps == ("strip_empty", "drop_repeated_unary")
    assert Recipe.TM2006.steps == STEPS
    assert Recipe(["drop_repeated_unary", "strip_empty"]) == Recipe.PLAIN  # order does not matter
    assert len({Recipe.PLAIN, Recipe(("strip_empty", "drop_repeated_unary"))}) == 1


def test_unknown_step():
    with pytest.raises(ConfigError, match="unknown preprocessing step 'lower_case'; allowed are strip_empty"):
        Recipe(("lower_case",))


QUOTED = (
    "( (S (`` ``) (S-TPC (NP-SBJ-1 (PRP It)) (VP (VBD was) (VP (VBN given) (NP (-NONE- *-1)) (PRT (RP up)))))"
    " (, ,) ('' '') (NP-SBJ (NP (DT the) (NN guide)) (, ,) (NP (DT a) (NN widow)) (, ,)) "
    "(VP (VBD said)) (. .)))"
)


def test_tm2006():
    tree = parse_tree(QUOTED)
    simple = Recipe.TM2006.apply(tree)
    assert write_tree(simple) == (
        "(TOP (S (S (NP (PRP It)) (VP (VBD was) (VP (VBN given) (ADVP (RP up))))) (, ,) "
        "(NP (NP (DT the) (NN guide)) (, ,) (NP (DT a) (NN widow))) (, ,) (VP (VBD said))))"
    )
    plain = Recipe.PLAIN.apply(tree)
    record = Recipe.TM2006.prepare(plain.words, plain.tags)
    assert Recipe.TM2006.restore(simple, record) == plain


def test_prepare_takes_words_and_tags():
    record = Recipe.TM2006.prepare(["“", "Yes", "”", "!"], ["``", "UH", "''", "."])
    assert record.kept == (1,)
    restored = Recipe.TM2006.restore(parse_tree("(INTJ (UH Yes))"), record)
    assert write_tree(restored) == "(TOP (INTJ (`` “) (UH Yes) ('' ”) (. !)))"
    with pytest.raises(TreeError, match="0 words and 0 tags"):
        Recipe.PLAIN.prepare([], [])
    with pytest.raises(TreeError, match="1 words and 0 tags"):
        Recipe.PLAIN.prepare(["a"], [])


@pytest.mark.parametrize("tags", [["."], ["``", "''"], [":", ",", "."], ["-NONE-", "."], ["``", "-NONE-", "''"]])
def test_all_punctuation(tags):
    words = [f"w{i}" for i in range(len(tags))]
    record = Recipe.TM2006.prepare(words, tags)
    assert record.kept
    parse = Tree(*zip(*[(words[i], tags[i]) for i in record.kept], strict=True), ["TOP"], [0], [len(record.kept)])
    assert Recipe.TM2006.restore(parse, record).words == tuple(words)


@pytest.mark.parametrize("recipe", [Recipe.PLAIN, Recipe.TM2006, *(Recipe((step,)) for step in STEPS), Recipe(())])
def test_any_parse_covers_every_token_again(recipe):
    rng = random.Random(6)
    for _ in range(150):
        tree = naive.random_tree(rng, rng.randint(1, 12), (*naive.TAGS, "-NONE-"))
        simple = recipe.apply(tree)
        record = recipe.prepare(tree.words, tree.tags)
        assert simple.words == tuple(tree.words[i] for i in record.kept)
        parse = naive.with_leaves(naive.random_tree(rng, len(record.kept)), simple.words, simple.tags)
        for candidate in (simple, parse):
            restored = recipe.restore(candidate, record)
            checked = Tree(restored.words, restored.tags, restored.labels, restored.starts, restored.ends)
            assert (checked.words, checked.tags) == (tree.words, tree.tags)
            assert len(checked) == len(candidate)  # no constituent is lost or added
        # a restored tree is a fixed point: the recipe makes the same simple tree of it
        assert recipe.apply(recipe.restore(simple, record)) == simple
