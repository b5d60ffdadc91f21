"""The scorer: PARSEVAL over Docs, including Docs whose tokens and sentences differ."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dtparse.errors import DtparseError, NotParsedError
from spacy_dtparse.pipeline.corpus import blank_copy, doc_from_trees
from spacy_dtparse.pipeline.scorer import SCORES, make_parseval_scorer, parseval_score, tree_pairs
from spacy_dtparse.scoring import score_trees
from spacy_dtparse.trees.brackets import parse_tree

GOLD = (
    "(TOP (S (NP (NP (DT the) (NN cat)) (PP (IN on) (NP (NN mat)))) (VP (VBD sat)) (. .)))",
    "(TOP (S (NP (NP (NN rain))) (VP (VBZ sleeps) (ADVP (RB quietly))) (. .)))",
)
PREDICTED = (
    "(TOP (S (NP (DT the) (NN cat)) (PP (IN on) (NP (NN mat))) (VP (VBD sat)) (. .)))",
    "(TOP (S (NP (NN rain)) (VP (VBZ sleeps) (PRT (RB quietly)) (. .))))",
)


@pytest.fixture
def vocab():
    return spacy.blank("en").vocab


def docs(strings, vocab):
    return doc_from_trees([parse_tree(string) for string in strings], vocab)


def test_counts_by_hand(vocab):
    """Gold has 6 + 5 brackets, predicted 5 + 4; 5 + 2 match (VP and ADVP/PRT of the second sentence do
    not)."""
    scores = parseval_score([Example(docs(PREDICTED, vocab), docs(GOLD, vocab))])
    assert scores["const_p"] == pytest.approx(7 / 9) and scores["const_r"] == pytest.approx(7 / 11)
    assert scores["const_f"] == pytest.approx(14 / 20)
    assert scores["const_f_evalb"] == pytest.approx(2 * 9 / 20)  # no final stop in the VP, and PRT is ADVP
    assert scores["const_uf"] == pytest.approx(2 * 8 / 20)
    assert scores["const_exact"] == 0 and scores["const_cross"] == 0
    assert scores["const_per_type"]["NP"] == {"p": 1.0, "r": pytest.approx(3 / 5), "f": pytest.approx(6 / 8)}
    spans = {f"spans_constituents_{name}": scores[f"const_{name}"] for name in ("p", "r", "f", "per_type")}
    assert set(scores) == {*SCORES, *spans} and {name: scores[name] for name in spans} == spans


def test_equals_the_scores_of_the_trees_themselves(vocab):
    pairs = list(tree_pairs(docs(GOLD, vocab), docs(PREDICTED, vocab)))
    assert [len(gold.words) for gold, _ in pairs] == [6, 4]
    direct = score_trees(map(parse_tree, GOLD), map(parse_tree, PREDICTED))
    through_docs = score_trees(*zip(*pairs, strict=True))
    assert through_docs.counts == direct.counts


def test_perfect_and_missing(vocab):
    gold = docs(GOLD, vocab)
    perfect = parseval_score([Example(docs(GOLD, vocab), gold)])
    assert perfect["const_f"] == perfect["const_exact"] == perfect["const_f_evalb"] == 1.0
    missing = parseval_score([Example(blank_copy(gold), gold)])
    assert missing["const_r"] == 0.0 and missing["const_f"] == 0.0
    none = parseval_score([Example(gold, blank_copy(gold))])
    assert none == dict.fromkeys(SCORES)
    with pytest.raises(NotParsedError):
        list(tree_pairs(blank_copy(gold), gold))
    assert make_parseval_scorer() is parseval_score


def test_other_tokens_are_compared_by_their_characters(vocab):
    gold = docs(("(TOP (S (NP (NNP New) (NNP York)) (VP (MD can) (RB not) (VP (VB wait)))))",), vocab)
    same = doc_from_trees([parse_tree("(TOP (S (NP (NNP New) (NNP York)) (VP (MD cannot) (VP (VB wait)))))")], vocab)
    assert parseval_score([Example(same, gold)])["const_exact"] == 1.0
    spaced = Doc(vocab, words=[" ", "New", "York", "\n", "cannot", "wait"], sent_starts=[True] + [False] * 5)
    spaced.spans["constituents"] = [
        spacy.tokens.Span(spaced, *span) for span in ((1, 6, "S"), (1, 3, "NP"), (4, 6, "VP"), (5, 6, "VP"))
    ]
    assert parseval_score([Example(spaced, gold)])["const_exact"] == 1.0
    spaced.spans["constituents"] = [
        spacy.tokens.Span(spaced, *span) for span in ((1, 6, "S"), (2, 6, "NP"), (4, 6, "VP"), (5, 6, "VP"))
    ]
    scores = parseval_score([Example(spaced, gold)])
    assert scores["const_f"] == pytest.approx(3 / 4) and scores["const_cross"] == 1


def test_other_sentence_boundaries_are_scored_over_the_common_stretch(vocab):
    gold = docs(GOLD, vocab)
    joined = doc_from_trees([parse_tree(string) for string in GOLD], vocab)
    for token in joined[1:]:
        token.is_sent_start = False
    ((first, second),) = tree_pairs(gold, joined)
    assert len(first.words) == len(gold) and first == second
    assert parseval_score([Example(joined, gold)])["const_f"] == 1.0


def test_other_texts_are_an_error(vocab):
    one, two = (f"(TOP (X (A the) (B cat) (C {word})))" for word in ("on", "in"))
    wanted = "different texts, 'on' against 'in' after 6 visible characters"
    with pytest.raises(DtparseError, match=wanted):
        list(tree_pairs(docs([one], vocab), docs([two], vocab)))


def test_the_component_scores_by_its_own_key(nlp):
    component = nlp.get_pipe("dtparse")
    component.spans_key = "syntax"
    gold = nlp("The cat sat. She sleeps quietly.")
    example = Example(nlp(gold.text), gold)
    assert component.score([example])["const_f"] == 1.0
    assert nlp.evaluate([Example(nlp.make_doc(gold.text), gold)])["const_exact"] == 1.0
