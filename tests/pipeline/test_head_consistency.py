"""Consistency of heads and constituents of a Doc, counted by hand."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc, Span

import spacy_dtparse
from spacy_dtparse import HeadConsistency, head_consistency
from spacy_dtparse.errors import MissingAnnotationError, NotParsedError, TreeError
from spacy_dtparse.pipeline.attributes import to_tree
from spacy_dtparse.pipeline.corpus import doc_from_trees
from spacy_dtparse.trees import parse_tree
from spacy_dtparse.trees.heads import LEFTMOST, head_rules

from .conftest import make_links_nlp, make_nlp

CAT = "(TOP (S (NP (DT The) (JJ old) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"
SHE = "(TOP (S (NP (PRP She)) (VP (VBZ sleeps) (ADVP (RB quietly))) (. .)))"
CAT_HEADS = [2, 2, 3, 3, 3, 6, 4, 3]
SHE_HEADS = [1, 1, 1, 1]


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


def with_heads(vocab, strings, heads, blanks=()):
    """Make a Doc with the constituents of trees and these heads (indices in the Doc); `blanks`: tokens before which
    white space is inserted; its head is the token before it, or the first word."""
    trees = doc_from_trees([parse_tree(string) for string in strings], vocab)
    words, tags = [token.text for token in trees], [token.tag_ for token in trees]
    moved = list(range(len(words)))
    extents = [(span.start, span.end, span.label_) for span in trees.spans["constituents"]]
    for index in sorted(blanks, reverse=True):
        words.insert(index, "\n")
        tags.insert(index, "_SP")
        moved = [at + (at >= index) for at in moved]
        heads = [head + (head >= index) for head in heads]
        heads.insert(index, index - 1 if index else 1)
    deps = ["ROOT" if head == index else "dep" for index, head in enumerate(heads)]
    doc = Doc(vocab, words=words, tags=tags, heads=heads, deps=deps)
    doc.spans["constituents"] = [Span(doc, moved[s], moved[e - 1] + 1, label) for s, e, label in extents]
    assert len(list(doc.sents)) == len(strings)
    return doc


def rule_heads(strings):
    """The heads by the English rules, as indices in the Doc."""
    heads, start = [], 0
    for string in strings:
        found = head_rules("en").links(parse_tree(string))[0]
        heads += [start + (head if head >= 0 else index) for index, head in enumerate(found)]
        start += len(found)
    return heads


def test_heads_by_the_rules_agree_in_full(vocab):
    assert rule_heads([CAT, SHE]) == CAT_HEADS + [8 + head for head in SHE_HEADS]
    found = head_consistency(with_heads(vocab, [CAT, SHE], rule_heads([CAT, SHE])))
    # NP, VP, PP, NP; of the second sentence the VP, as (NP She) and (ADVP quietly) have one word
    assert found == HeadConsistency(tokens=12, same_heads=12, constituents=5, connected=5)
    assert (found.same_head_rate, found.connected_rate) == (1.0, 1.0)
    assert spacy_dtparse.head_consistency is head_consistency and "head_consistency" in dir(spacy_dtparse)


def test_one_moved_head(vocab):
    heads = list(CAT_HEADS)
    heads[1] = 3  # old under sat: the noun phrase has two ways out
    assert head_consistency(with_heads(vocab, [CAT], heads)) == HeadConsistency(8, 7, 4, 3)
    heads = list(CAT_HEADS)
    heads[4] = 2  # on under cat: the verb phrase has two ways out, the prepositional one still one
    found = head_consistency(with_heads(vocab, [CAT], heads))
    assert found == HeadConsistency(8, 7, 4, 3) and found.same_head_rate == 7 / 8 and found.connected_rate == 3 / 4
    heads[5] = 4  # the under on: inside its phrases but not under mat
    assert head_consistency(with_heads(vocab, [CAT], heads)) == HeadConsistency(8, 6, 4, 2)


def test_another_root(vocab):
    """*quietly* heads the sentence: every head is different, but only the VP has more than one way out."""
    found = head_consistency(with_heads(vocab, [SHE], [2, 2, 2, 2]))
    assert found == HeadConsistency(tokens=4, same_heads=0, constituents=1, connected=1)


def test_another_convention_leaves_the_phrases_connected(vocab):
    """Prepositions below nouns, as in Universal Dependencies."""
    found = head_consistency(with_heads(vocab, [CAT], [2, 2, 3, 3, 6, 6, 3, 3]))
    assert found == HeadConsistency(8, 6, 4, 4)


def test_other_rules(vocab):
    doc = with_heads(vocab, [CAT], CAT_HEADS)
    heads = LEFTMOST.links(parse_tree(CAT))[0]
    same = sum(a == b for a, b in zip(heads, [2, 2, 3, -1, 3, 6, 4, 3], strict=True))
    assert head_consistency(doc, rules=LEFTMOST) == HeadConsistency(8, same, 4, 4) and same < 8


@pytest.mark.parametrize("blanks", [(0,), (8,), (3,), (2, 5, 6), (0, 1, 4, 8)])
def test_white_space_does_not_count(vocab, blanks):
    doc = with_heads(vocab, [CAT], CAT_HEADS, blanks)
    assert any(token.is_space for token in doc) and str(to_tree(doc[:])) == str(parse_tree(CAT))
    assert head_consistency(doc) == HeadConsistency(8, 8, 4, 4)


def test_a_white_space_head_does_not_count(vocab):
    hung = Doc(vocab, words=["She", "\n", "sat"], tags=["PRP", "_SP", "VBD"], heads=[1, 2, 2], deps=["a", "b", "ROOT"])
    hung.spans["constituents"] = [Span(hung, 0, 3, "S"), Span(hung, 0, 1, "NP"), Span(hung, 2, 3, "VP")]
    assert head_consistency(hung) == HeadConsistency(2, 1, 0, 0)


def test_nothing_to_compare(vocab):
    empty = Doc(vocab)
    empty.spans["constituents"] = []
    blank = Doc(vocab, words=["\n"], heads=[0], deps=["ROOT"])
    blank.spans["constituents"] = []
    for doc in (empty, blank):
        found = head_consistency(doc)
        assert found == HeadConsistency(0, 0, 0, 0) and (found.same_head_rate, found.connected_rate) == (1.0, 1.0)


def test_missing_annotation_raises(vocab):
    unparsed = Doc(vocab, words=["She", "sat"], heads=[1, 1], deps=["a", "ROOT"])
    with pytest.raises(NotParsedError, match="add 'dtparse' to the pipeline"):
        head_consistency(unparsed)
    no_heads = doc_from_trees([parse_tree(SHE)], vocab)
    with pytest.raises(MissingAnnotationError, match=r"no dependency heads.*bpm_parser"):
        head_consistency(no_heads)
    crossing = Doc(vocab, words=["a", "b", "c"], heads=[0, 0, 0], deps=["ROOT", "x", "x"])
    crossing.spans["constituents"] = [Span(crossing, 0, 2, "A"), Span(crossing, 1, 3, "B")]
    with pytest.raises(TreeError, match="cross"):
        head_consistency(crossing)


def test_agreement_of_two_components_under_another_key(model_file, stored_link_model):
    nlp = make_nlp(model_file, spans_key="rule")
    nlp.add_pipe("bpm_parser", config={"model": str(stored_link_model)})
    doc = nlp("The old cat sat on the mat. \n She sleeps quietly.")
    found = head_consistency(doc, "rule")
    assert found == head_consistency(doc) and found.tokens == 12
    assert 0 < found.same_heads <= 12 and 0 < found.connected <= found.constituents
    with pytest.raises(NotParsedError):
        head_consistency(make_links_nlp(stored_link_model)("The cat sat."), "rule")
