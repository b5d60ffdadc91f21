"""Constituents after tokens were merged or split, and in Docs made of spans."""

from __future__ import annotations

import random

import pytest
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse import as_doc, cost, is_parsed, parse_string, sentence_infos
from spacy_dtparse.errors import NonConstituentError, NotParsedError
from spacy_dtparse.pipeline.attributes import trees

from .test_attributes import gold_doc, texts

FIRST = "(TOP (S (NP (NP (DT the) (NNP New) (NNP York) (NN cat)) (PP (IN on) (NP (PRP it)))) (VP (VBD sat)) (. .)))"
SECOND = "(TOP (S (NP (PRP She)) (VP (VBD saw) (NP (NNP Big) (NNP Ben)))))"


@pytest.fixture(autouse=True)
def registered():
    spacy_dtparse.register_extensions()


def merge(doc, *ranges):
    with doc.retokenize() as retokenizer:
        for start, end in ranges:
            retokenizer.merge(doc[start:end])


def split(doc, i, *parts):
    with doc.retokenize() as retokenizer:
        heads = [(doc[i], k) for k in range(len(parts))]
        retokenizer.split(doc[i], list(parts), heads=heads, attrs={"TAG": [doc[i].tag_] * len(parts)})


def strings(doc):
    return [parse_string(sentence) for sentence in doc.sents]


def test_tokens_merged_within_constituents():
    doc = gold_doc(FIRST, SECOND)
    before = texts(doc._.constituents)
    merge(doc, (1, 3), (10, 12))
    assert strings(doc) == [
        "(S (NP (NP (DT the) (NNP New_York) (NN cat)) (PP (IN on) (NP (PRP it)))) (VP (VBD sat)) (. .))",
        "(S (NP (PRP She)) (VP (VBD saw) (NP (NNP Big_Ben))))",
    ]
    assert texts(doc._.constituents) == before, "all constituents are kept"
    assert [(info["start"], info["end"]) for info in sentence_infos(doc)] == [(0, 7), (7, 10)]
    assert doc.spans["constituents"].attrs["n_tokens"] == len(doc) == 10
    assert texts(doc.spans["constituents"]) == before, "the group itself is put right"
    copy = Doc(Vocab()).from_bytes(doc.to_bytes())
    assert strings(copy) == strings(doc)


def test_constituents_within_a_merged_token_are_left_out():
    doc = gold_doc(FIRST)
    doc.spans["constituents"].attrs["costs"] = [float(k) for k in range(6)]
    merge(doc, (0, 6))
    assert strings(doc) == ["(S (NP (DT the_New_York_cat_on_it)) (VP (VBD sat)) (. .))"]
    assert [cost(span) for span in doc._.constituents] == [0.0, 1.0, 5.0]
    assert doc[0]._.constituents == doc._.constituents[1::-1]


def test_a_unary_chain_that_becomes_one_token_keeps_its_members():
    doc = gold_doc("(TOP (S (NP (NX (NNP Big) (NNP Ben))) (VP (VBZ rings))))")
    merge(doc, (0, 2))
    assert strings(doc) == ["(S (NP (NX (NNP Big_Ben))) (VP (VBZ rings)))"] and doc[0]._.labels == ("NP", "NX")


def test_split_tokens():
    doc = gold_doc(FIRST, SECOND)
    split(doc, 3, "c", "at")
    stored = doc.to_bytes()
    for one in (doc, Doc(Vocab()).from_bytes(stored)):
        assert strings(one)[0].startswith("(S (NP (NP (DT the) (NNP New) (NNP York) (NN c) (NN at)) (PP")
        assert strings(one)[1] == "(S (NP (PRP She)) (VP (VBD saw) (NP (NNP Big) (NNP Ben))))"
        assert [(info["start"], info["end"]) for info in sentence_infos(one)] == [(0, 9), (9, 13)]


@pytest.mark.parametrize("look_first", [False, True])
def test_as_many_tokens_as_before(look_first):
    """A merge and a split leave the number of tokens as it was."""
    doc = gold_doc(FIRST, SECOND)
    sentence = next(doc.sents)
    if look_first:
        assert doc._.constituents and sentence._.labels
    merge(doc, (1, 3))
    split(doc, 2, "c", "at")
    wanted = "(S (NP (NP (DT the) (NNP New_York) (NN c) (NN at)) (PP (IN on) (NP (PRP it)))) (VP (VBD sat)) (. .))"
    assert len(doc) == 12 and parse_string(next(doc.sents)) == wanted
    doc = gold_doc(FIRST, SECOND)
    assert not look_first or doc[0:4]._.labels == ("NP",)
    merge(doc, (1, 3))
    split(doc, 4, "i", "t")
    assert doc[4:6]._.labels == ("NP",) and doc[0:3]._.labels == ("NP",)
    with pytest.raises(NonConstituentError):
        _ = doc[0:4]._.labels


def test_a_token_across_an_edge_is_an_error_everywhere():
    doc = gold_doc(FIRST)
    merge(doc, (3, 5))
    assert not is_parsed(doc)
    message = r"merged or split after parsing.*the token 'cat on' crosses the edge of NP 'the New York cat'; retokenize"
    for look in (
        lambda: doc._.constituents,
        lambda: doc._.clauses,
        lambda: doc._.phrases("NP"),
        lambda: doc._.predicates,
        lambda: doc[0]._.ancestors,
        lambda: doc[:]._.parse_string,
        lambda: sentence_infos(doc),
        lambda: trees(doc),
    ):
        with pytest.raises(NotParsedError, match=message):
            look()


def test_white_space_at_the_edge_of_a_token_belongs_to_no_constituent():
    doc = gold_doc("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))", space_after="cat")
    merge(doc, (1, 3))
    assert doc[1].text == "cat   " and strings(doc)[0].startswith("(S (NP (DT the) (NN cat")
    assert doc[0:2]._.labels == ("NP",)


def test_a_span_from_before_is_an_error():
    doc = gold_doc(FIRST)
    old = doc._.constituents[3]
    assert old.text == "on it"
    merge(doc, (1, 3))
    with pytest.raises(NonConstituentError, match=r"'on it' was made before .*doc.char_span\(17, 22\)"):
        _ = old._.labels
    assert doc.char_span(17, 22)._.labels == ("PP",)


def test_the_attrs_of_users_are_kept():
    doc = gold_doc(FIRST)
    mine = object()
    doc.spans["constituents"].attrs["mine"] = mine  # cannot be stored
    merge(doc, (1, 3))
    assert strings(doc) and doc.spans["constituents"].attrs["mine"] is mine
    by_hand = Doc(Vocab(), words=["a", "b", "c"])
    by_hand.spans["constituents"] = SpanGroup(by_hand, spans=[Span(by_hand, 0, 3, "NP"), Span(by_hand, 1, 3, "NX")])
    merge(by_hand, (1, 3))
    assert [(span.start, span.end) for span in by_hand._.constituents] == [(0, 2), (1, 2)]


@pytest.mark.parametrize("seed", range(30))
def test_random_changes(seed):
    """Constituents are those with the same characters, or an error where a token crosses the edge of one."""
    rng = random.Random(seed)
    doc = gold_doc(FIRST, SECOND)
    wanted = [(span.start_char, span.end_char, span.label_) for span in doc._.constituents]
    start = rng.randrange(len(doc) - 1)
    merge(doc, (start, rng.randrange(start + 2, min(start + 5, len(doc)) + 1)))
    if rng.random() < 0.5:
        i = rng.choice([k for k, token in enumerate(doc) if len(token) > 1 and " " not in token.text])
        split(doc, i, doc[i].text[:1], doc[i].text[1:])
    begins, ends = {token.idx for token in doc}, {token.idx + len(token) for token in doc}
    fit = [(a, b, label) for a, b, label in wanted if a in begins and b in ends]
    inside = [(a, b) for a, b, _ in wanted if any(t.idx <= a and b <= t.idx + len(t) for t in doc)]
    if any((a, b, label) not in fit and (a, b) not in inside for a, b, label in wanted):
        assert not is_parsed(doc)
        return
    assert [(span.start_char, span.end_char, span.label_) for span in doc._.constituents] == fit


def test_a_doc_of_a_span():
    doc = gold_doc(FIRST, SECOND)
    second = list(doc.sents)[1]
    part = second._.as_doc()
    assert strings(part) == [second._.parse_string] and sentence_infos(part) == [
        {"start": 0, "end": 4, "status": "gold"}
    ]
    assert [(s.label_, s.id_) for s in part._.constituents] == [(s.label_, s.id_) for s in doc._.constituents[6:]]
    phrase = as_doc(doc[0:6])
    assert parse_string(phrase[:]).startswith("(NP (NP (DT the)") and sentence_infos(phrase) == []
    assert as_doc(doc[:]).spans["constituents"].attrs == doc.spans["constituents"].attrs
    with pytest.raises(NonConstituentError, match="crosses the edge"):
        as_doc(doc[1:5])
    with pytest.raises(NotParsedError):
        as_doc(Doc(Vocab(), words=["a"])[:])
