"""Every convention of PARSEVAL and EVALB, with a separate tree for each."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.scoring import ALL, EVALB, score_sentence
from spacy_dtparse.trees import PUNCTUATION_TAGS, Tree, base_label, parse_tree
from tests.trees import naive


def score(gold: str, predicted: str, convention=ALL, **options):
    return score_sentence(parse_tree(gold), parse_tree(predicted), convention, **options)


def counts(gold: str, predicted: str, convention=ALL) -> tuple[int, int, int]:
    result = score(gold, predicted, convention)
    return result.matched, result.gold, result.predicted


BOTH = pytest.mark.parametrize("convention", [ALL, EVALB], ids=["all", "evalb"])


@BOTH
def test_top_does_not_count(convention):
    assert counts("(TOP (S (NN a)))", "(ROOT (S (NN a)))", convention) == (1, 1, 1)
    assert counts("(TOP (NN a))", "( (X (NN a)))", convention) == (0, 0, 1)


@BOTH
def test_recall_is_of_gold_precision_of_predicted(convention):
    gold = "(S (NP (DT a) (NN b)) (VP (VB c) (NP (NN d))))"
    predicted = "(S (NP (DT a) (NN b)) (VB c) (NN d))"
    assert counts(gold, predicted, convention) == (2, 4, 2)
    assert counts(predicted, gold, convention) == (2, 2, 4)


@BOTH
def test_label_and_span_must_agree(convention):
    result = score("(S (NP (NN a) (NN b)) (NN c))", "(S (VP (NN a) (NN b)) (NN c))", convention)
    assert (result.matched, result.unlabelled) == (1, 2)
    result = score("(S (NP (NN a) (NN b)) (NN c))", "(S (NN a) (NP (NN b) (NN c)))", convention)
    assert (result.matched, result.unlabelled) == (1, 1)


@BOTH
def test_unary_chains_match_in_any_order(convention):
    assert counts("(S (NP (NN a)))", "(NP (S (NN a)))", convention) == (2, 2, 2)


@BOTH
def test_repeated_labels_are_a_multiset(convention):
    assert counts("(NP (NP (NN a)))", "(NP (NN a))", convention) == (1, 2, 1)
    assert counts("(NP (NN a))", "(NP (NP (NN a)))", convention) == (1, 1, 2)
    assert counts("(NP (NP (NN a)))", "(NP (NP (NN a)))", convention) == (2, 2, 2)
    assert counts("(NP (NP (NP (NN a))))", "(NP (X (NP (NN a))))", convention) == (2, 3, 3)


@BOTH
def test_function_tags_do_not_count(convention):
    assert counts("(S-NOM (NP-SBJ-1 (NN a)) (VP=2 (VB b)))", "(S (NP (NN a)) (VP (VB b)))", convention) == (3, 3, 3)


def test_prt_counts_as_advp_for_evalb_only():
    gold, predicted = "(VP (VB a) (PRT (RP b)))", "(VP (VB a) (ADVP (RP b)))"
    assert counts(gold, predicted, ALL) == (1, 2, 2)
    assert counts(gold, predicted, EVALB) == (2, 2, 2)
    assert score(gold, predicted, EVALB).by_label["ADVP"] == (1, 1, 1)
    assert score(gold, predicted, ALL).by_label["PRT"] == (0, 1, 0)


@pytest.mark.parametrize("tag", [",", ":", ".", "``", "''", "?", "!"])
def test_punctuation_is_taken_out_for_evalb_only(tag):
    gold = f"(S (NP (NN a) ({tag} x)) (VP (VB b)))"
    predicted = f"(S (NP (NN a)) ({tag} x) (VP (VB b)))"
    assert counts(gold, predicted, ALL) == (2, 3, 3)
    assert counts(gold, predicted, EVALB) == (3, 3, 3)


@pytest.mark.parametrize("tag", ["-LRB-", "-RRB-", "HYPH", "$", "#", "SYM", "NFP"])
def test_other_signs_stay(tag):
    gold = f"(S (NP (NN a) ({tag} x)) (VP (VB b)))"
    predicted = f"(S (NP (NN a)) ({tag} x) (VP (VB b)))"
    assert counts(gold, predicted, EVALB) == (2, 3, 3)


def test_punctuation_inside_a_bracket_shortens_it():
    gold = "(S (NP (NN a) (, ,) (NN b)) (VP (VB c)))"
    predicted = "(S (NP (NN a)) (, ,) (X (NN b) (VB c)))"
    result = score(gold, predicted, EVALB)
    assert (result.matched, result.gold, result.predicted, result.tokens) == (1, 3, 3, 3)


def test_bracket_of_only_punctuation_vanishes_for_evalb():
    gold = "(S (NP (NN a)) (PRN (, ,) (: -)) (VP (VB b)))"
    assert counts(gold, "(S (NP (NN a)) (, ,) (: -) (VP (VB b)))", EVALB) == (3, 3, 3)
    assert counts(gold, "(S (NP (NN a)) (, ,) (: -) (VP (VB b)))", ALL) == (3, 4, 3)


def test_sentence_of_only_punctuation():
    result = score("(X (. .) (. .))", "(TOP (. .) (. .))", EVALB)
    assert (result.matched, result.gold, result.predicted, result.tokens) == (0, 0, 0, 0)
    assert result.exact
    assert counts("(X (. .) (. .))", "(TOP (. .) (. .))", ALL) == (0, 1, 0)


@BOTH
def test_empty_elements_do_not_count(convention):
    gold = "(S (NP (-NONE- *)) (VP (VB a) (NP (NN b) (-NONE- *T*))))"
    assert counts(gold, "(S (VP (VB a) (NP (NN b))))", convention) == (3, 3, 3)
    assert score(gold, "(S (VP (VB a) (NP (NN b))))", convention).tokens == 2


@BOTH
def test_crossing_counts_predicted_brackets(convention):
    gold = "(S (A (X a) (X b)) (B (X c) (X d)))"
    predicted = "(S (X a) (C (C (X b) (X c))) (X d))"
    assert score(gold, predicted, convention).crossing == 2  # each of the two equal predicted brackets
    assert score(predicted, gold, convention).crossing == 2  # A and B each cross C
    assert score(gold, "(S (X a) (X b) (X c) (X d))", convention).crossing == 0
    assert score(gold, "(S (D (X a)) (D (X b) ) (D (X c) (X d)))", convention).crossing == 0


def test_crossing_ignores_punctuation_for_evalb():
    gold, predicted = "(S (A (X a) (, ,)) (X b))", "(S (X a) (B (, ,) (X b)))"
    assert score(gold, predicted, ALL).crossing == 1
    assert score(gold, predicted, EVALB).crossing == 0


def test_tags():
    gold = "(S (NN a) (VB b) (. .) (JJ c))"
    predicted = "(S (NN a) (NN b) (: .) (JJ c))"
    result = score(gold, predicted, ALL)
    assert (result.tags, result.tokens) == (2, 4)
    result = score(gold, predicted, EVALB)
    assert (result.tags, result.tokens) == (2, 3)


def test_exact():
    assert score("(S (NN a))", "(S (JJ a))").exact
    assert not score("(S (NN a))", "(S (S (NN a)))").exact
    assert not score("(S (S (NN a)))", "(S (NN a))").exact
    assert score("(TOP (NN a))", "(TOP (NN a))").exact


def test_a_wrong_punctuation_tag_costs_no_sentence():
    gold, predicted = "(S (NP (NN a)) (, ,))", "(S (NP (NN a)) (NN ,))"
    assert counts(gold, predicted, EVALB) == (2, 2, 2)
    assert score(gold, predicted, EVALB).tags == 1


def test_other_words_are_an_error():
    with pytest.raises(TreeError, match="the gold tree has 2 tokens and the predicted one 1"):
        score("(S (NN a) (NN b))", "(S (NN a))")
    with pytest.raises(TreeError, match=r"token 1 is 'b' in gold and 'c' in the predicted"):
        score("(S (NN a) (NN b))", "(S (NN a) (NN c))")


def naive_brackets(tree: Tree, convention) -> list[tuple[frozenset[int], str]]:
    """Brackets as sets of the tokens that count: nothing is renumbered."""
    ignored = {i for i, tag in enumerate(tree.tags) if convention is EVALB and tag in PUNCTUATION_TAGS}
    found = []
    for start, end, label in tree.spans()[1:]:
        tokens = frozenset(range(start, end)) - ignored
        label = base_label(label)
        if tokens:
            found.append((tokens, "ADVP" if convention is EVALB and label == "PRT" else label))
    return found


@BOTH
def test_agrees_with_a_naive_scorer(convention):
    rng = random.Random(12)
    crossings = 0
    for _ in range(400):
        gold = naive.random_tree(rng, rng.randint(1, 14))
        predicted = naive.with_leaves(naive.random_tree(rng, gold.n_tokens), gold.words, gold.tags)
        result = score_sentence(gold, predicted, convention)
        a, b = naive_brackets(gold, convention), naive_brackets(predicted, convention)
        assert (result.gold, result.predicted) == (len(a), len(b))
        left = list(b)
        matched = 0
        for bracket in a:
            if bracket in left:
                left.remove(bracket)
                matched += 1
        assert result.matched == matched
        assert result.unlabelled == (Counter(t for t, _ in a) & Counter(t for t, _ in b)).total()
        crossing = sum(
            any(tokens & other and not tokens <= other and not other <= tokens for other, _ in a) for tokens, _ in b
        )
        assert result.crossing == crossing
        crossings += crossing
        assert sum(x[0] for x in result.by_label.values()) == matched
        assert sum(x[1] for x in result.by_label.values()) == len(a)
        assert sum(x[2] for x in result.by_label.values()) == len(b)
        assert score_sentence(gold, gold, convention).exact
    assert crossings > 300


def test_deep_trees():
    deep = parse_tree("(S (X x) " * 3000 + "(X x)" + ")" * 3000)
    left = parse_tree("(S " * 3000 + "(X x)" + " (X x))" * 3000)
    result = score_sentence(deep, left)
    assert (result.matched, result.gold, result.crossing) == (1, 3000, 2999)
