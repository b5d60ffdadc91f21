"""ConstituentMatcher: the interface of spaCy's matchers, for constituents."""

from __future__ import annotations

import pickle

import pytest
import spacy
from spacy.matcher import Matcher
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.errors import ConfigError, NonConstituentError, NotParsedError, PatternError
from spacy_dtparse.pipeline import attributes, phrases
from spacy_dtparse.pipeline.matcher import ConstituentMatcher
from spacy_dtparse.query import compile_pattern
from spacy_dtparse.trees.heads import COLLINS, LEFTMOST

from .test_attributes import CHAIN, PLAIN, gold_doc

OTHER = "(TOP (S (NP (NP (DT a) (NN dog)) (PP (IN on) (NP (PRP it)))) (VP (VBZ barks))))"


@pytest.fixture
def vocab():
    return Vocab(lookups=None, strings=[])


def matcher_of(vocab, **patterns):
    matcher = ConstituentMatcher(vocab, rules=COLLINS)
    for key, some in patterns.items():
        matcher.add(key, [some] if isinstance(some, str | dict) else some)
    return matcher


def found(matcher, doc):
    """Key, label of the node, and text of each match."""
    named = ConstituentMatcher(matcher.vocab, rules=matcher.rules)
    for key in matcher._patterns:
        for pattern in matcher.get(key)[1]:
            own = {**pattern, "NAME": "own"} if isinstance(pattern, dict) else f"__=own == ({pattern})"
            named.add(key, [own])
    matches = named(doc, as_spans=True, with_names=True)
    return [(span.label_, names["own"].label_, span.text) for span, names in matches]


def test_matches_are_ids_and_tokens_in_the_order_of_the_text(vocab):
    doc = gold_doc(PLAIN, OTHER, vocab=vocab)
    matcher = matcher_of(vocab, pp="PP", np=["NP < DT", "NP < NN"], word="on")
    assert [(vocab.strings[key], doc[start:end].text) for key, start, end in matcher(doc)] == [
        ("np", "the cat"),
        ("pp", "on it"),
        ("word", "on"),
        ("np", "a dog"),
        ("pp", "on it"),
        ("word", "on"),
    ]
    assert all(type(match) is tuple for match in matcher(doc))


def test_spans_have_the_key_as_label_and_their_level(vocab):
    doc = gold_doc(CHAIN, PLAIN, vocab=vocab)
    matcher = matcher_of(vocab, all="__")
    spans = matcher(doc, as_spans=True)
    assert all(type(span) is Span and span.label_ == "all" for span in spans)
    assert [(span.id_, span.text) for span in spans[:5]] == [
        ("", "go"), ("level-1", "go"), ("level-2", "go"), ("", "go"), ("", "go"),
    ]  # fmt: skip
    constituents = [span for span in spans if span.id]
    assert [(one.start, one.end, one.id) for one in constituents] == [
        (one.start, one.end, one.id) for one in attributes.constituents(doc)
    ]
    assert attributes.parent(constituents[1]).label_ == "S" and attributes.labels(constituents[1]) == ("VP",)


def test_spans_are_those_of_spacys_matchers(vocab):
    doc = gold_doc(PLAIN, vocab=vocab)
    matcher, theirs = matcher_of(vocab, DET="NP < DT"), Matcher(vocab)
    theirs.add("DET", [[{"TAG": "DT"}, {"TAG": "NN"}]])
    (ours,), (other,) = matcher(doc, as_spans=True), theirs(doc, as_spans=True)
    assert (ours.start, ours.end, ours.label, ours.text) == (other.start, other.end, other.label, other.text)
    doc.spans["found"] = matcher(doc, as_spans=True)
    assert [span.label_ for span in doc.spans["found"]] == ["DET"]
    assert [match for _, found in matcher.pipe([doc, doc], as_spans=True) for match in found] == [ours, ours]


def test_a_key_without_a_text_cannot_be_a_label(vocab):
    matcher = ConstituentMatcher(vocab)
    matcher.add(10**15, ["NP"])
    doc = gold_doc(PLAIN, vocab=vocab)
    assert [match[0] for match in matcher(doc)] == [10**15] * 2
    with pytest.raises(ConfigError, match="the key 1000000000000000 has no text"):
        matcher(doc, as_spans=True)


def test_names(vocab):
    doc = gold_doc(PLAIN, vocab=vocab)
    matcher = matcher_of(vocab, s="S=own < NP=subject < (VP=predicate <<# __=head)")
    matches = [
        (span.label_, {name: (named.label_, named.text) for name, named in names.items()})
        for span, names in matcher(doc, as_spans=True, with_names=True)
    ]
    own, subject, predicate = ("S", "the cat sat on it ."), ("NP", "the cat"), ("VP", "sat on it")
    assert matches == [
        ("s", {"own": own, "subject": subject, "predicate": predicate, "head": (label, "sat")}) for label in ("VBD", "")
    ]
    assert len(matcher(doc)) == 1
    assert [match[1:3] for match in matcher(doc, with_names=True)] == [(0, 6), (0, 6)]
    assert [match[3] for match in matcher(doc, with_names=True)] == [
        names for _, names in matcher(doc, as_spans=True, with_names=True)
    ]


@pytest.mark.parametrize("root", ["ROOT", "TOP", "S1", "VROOT", '""', "_ROOT_"])
def test_the_root_has_every_name(vocab, root):
    doc = gold_doc(PLAIN, CHAIN, vocab=vocab)
    assert found(matcher_of(vocab, root=root), doc) == [("root", "TOP", "the cat sat on it ."), ("root", "TOP", "go")]
    assert [text for _, _, text in found(matcher_of(vocab, s=f"S > {root}"), doc)] == ["the cat sat on it .", "go"]
    assert not matcher_of(vocab, s=f"S !> {root}")(doc) and not matcher_of(vocab, s=f"VP > {root}")(doc)
    label = {"LABEL": root.strip('"'), "HAS": [["<", "S"]]}
    assert len(matcher_of(vocab, s=label)(doc)) == (0 if root == "_ROOT_" else 2)


def test_keys_can_be_added_and_removed(vocab):
    matcher = matcher_of(vocab, a="NP", b=["VP", "PP"])
    assert len(matcher) == 2 and "a" in matcher and vocab.strings["a"] in matcher and "c" not in matcher
    assert matcher.get("b") == (None, ["VP", "PP"]) and matcher.get("c") is None and matcher.get("c", 1) == 1
    matcher.add("a", [{"LABEL": "PP"}])
    assert matcher.get("a")[1] == ["NP", {"LABEL": "PP"}] and len(matcher) == 2
    matcher.remove("b")
    assert "b" not in matcher and len(matcher) == 1
    with pytest.raises(ConfigError, match="no patterns for 'b'"):
        matcher.remove("b")


def test_two_patterns_of_a_key_find_a_constituent_once_and_two_keys_twice(vocab):
    doc = gold_doc(PLAIN, vocab=vocab)
    assert found(matcher_of(vocab, a=["PP", "PP > VP"], b="PP"), doc) == [("a", "PP", "on it"), ("b", "PP", "on it")]


def test_on_match_is_called_for_each(vocab):
    doc, calls = gold_doc(PLAIN, vocab=vocab), []
    matcher = ConstituentMatcher(vocab)
    matcher.add("np", ["NP"], on_match=lambda *arguments: calls.append(arguments))
    matches = matcher(doc)
    assert matcher(doc, as_spans=True) != matches and calls[2:] == calls[:2]  # they get tuples, as from spaCy's
    del calls[2:]
    assert len(matches) == 2 and calls == [(matcher, doc, 0, matches), (matcher, doc, 1, matches)]
    assert callable(matcher.get("np")[0])
    with pytest.raises(ConfigError, match="on_match"):
        matcher.add("np", ["NP"], on_match="print")


@pytest.mark.parametrize("patterns", ["NP", {"LABEL": "NP"}, [], [3], ["NP <"], None])
def test_bad_patterns_change_nothing(vocab, patterns):
    matcher = ConstituentMatcher(vocab)
    with pytest.raises(PatternError):
        matcher.add("np", patterns)
    assert len(matcher) == 0


def test_attributes_of_tokens_and_heads():
    vocab = spacy.blank("en").vocab
    doc = gold_doc(PLAIN, OTHER, vocab=vocab)
    for token, lemma in zip(doc, "the cat sit on it . a dog on it bark".split(), strict=True):
        token.lemma_ = lemma
        token.pos_ = "NOUN" if token.tag_ == "NN" else "X"
    cases = {
        "lemma": {"LABEL": "VP", "TOKEN": {"LEMMA": "sit"}},
        "head": {"LABEL": "NP", "TOKEN": {"LOWER": {"IN": ["dog", "cat"]}, "POS": "NOUN"}},
        "length": {"LABEL": "VBZ", "TOKEN": {"LENGTH": {">=": 5}, "IS_ALPHA": True}},
        "regex": {"TOKEN": {"TEXT": {"REGEX": "^b"}}, "LABEL": {"REGEX": "^V.$"}},
        "not": {"LABEL": {"NOT_IN": ["x"]}, "TOKEN": {"IS_PUNCT": True}},
        "child": {"LABEL": "NP", "HAS": [["<", {"LABEL": "NN", "TOKEN": {"LEMMA": {"NOT_IN": ["cat"]}}}]]},
    }
    assert found(matcher_of(vocab, **cases), doc) == [
        ("head", "NP", "the cat"),
        ("lemma", "VP", "sat on it"),
        ("not", ".", "."),
        ("not", "", "."),
        ("head", "NP", "a dog on it"),
        ("head", "NP", "a dog"),
        ("child", "NP", "a dog"),
        ("regex", "VP", "barks"),
        ("length", "VBZ", "barks"),
    ]


def test_heads_follow_the_doc(vocab):
    """The rules are those of `span._.head`: those of the parser's model, else those of the language."""
    tree = "(TOP (NP (DT a) (NN dog)))"
    english = spacy.blank("en").vocab

    def head_of(doc, **given):
        matcher = ConstituentMatcher(doc.vocab, **given)
        matcher.add("head", ["NP <# __=head"])
        ((_, _, _, names),) = matcher(doc, with_names=True)
        assert given or names["head"].text == phrases.head(names["head"].sent).text
        return names["head"].text

    assert head_of(gold_doc(tree, vocab=vocab)) == "a" and head_of(gold_doc(tree, vocab=english)) == "dog"
    for own in (LEFTMOST.to_dict(), "xx"):
        doc = gold_doc(tree, vocab=english)
        doc.spans["constituents"].attrs["head_rules"] = own
        assert head_of(doc) == "a" and head_of(doc, rules=COLLINS) == "dog"
        other = gold_doc(tree, vocab=english)
        matcher = ConstituentMatcher(english)
        matcher.add("dog", ["NP <# NN"])
        assert [len(found) for _, found in matcher.pipe([doc, other, doc])] == [0, 1, 0]


def test_pipe_finds_what_single_calls_find(vocab):
    docs = [gold_doc(PLAIN, vocab=vocab), gold_doc("(TOP (X (. .)))", vocab=vocab), gold_doc(OTHER, CHAIN, vocab=vocab)]
    matcher = matcher_of(vocab, a="NP=x $+ VP=y", b="__ !> __", c={"TOKEN": {"TEXT": "it"}})
    for size in (1, 2, 256):
        piped = list(matcher.pipe(docs, batch_size=size, with_names=True))
        assert [doc for doc, _ in piped] == docs
        assert [matches for _, matches in piped] == [matcher(doc, with_names=True) for doc in docs]


def test_only_the_span_is_searched(vocab):
    doc = gold_doc(PLAIN, OTHER, vocab=vocab)
    matcher = matcher_of(vocab, np="NP", root="TOP")
    second = list(doc.sents)[1]
    assert found(matcher, second) == [
        ("root", "TOP", "a dog on it barks"),
        ("np", "NP", "a dog on it"),
        ("np", "NP", "a dog"),
        ("np", "NP", "it"),
    ]
    assert found(matcher, doc[8:10]) == [("root", "TOP", "on it"), ("np", "NP", "it")]
    assert [match[1:] for match in matcher(doc[8:10])] == [(8, 10), (9, 10)]
    with pytest.raises(NonConstituentError):
        matcher(doc[7:9])


def test_white_space_is_left_out(vocab):
    doc = gold_doc(PLAIN, vocab=vocab, space_after="cat")
    assert found(matcher_of(vocab, a="NN . VBD", b="VP|TOP"), doc)[1:] == [("a", "NN", "cat"), ("b", "VP", "sat on it")]


def test_docs_without_trees(vocab):
    matcher = matcher_of(vocab, np="NP")
    with pytest.raises(NotParsedError):
        matcher(Doc(vocab, words=["a"]))
    assert ConstituentMatcher(vocab)(gold_doc(PLAIN, vocab=vocab)) == []
    assert matcher(gold_doc(vocab=vocab)) == []


def test_other_span_groups(vocab):
    doc = gold_doc(PLAIN, vocab=vocab)
    doc.spans["mine"] = doc.spans["constituents"]
    del doc.spans["constituents"]
    assert len(ConstituentMatcher(vocab, spans_key="mine")(doc)) == 0
    matcher = ConstituentMatcher(vocab, spans_key="mine")
    matcher.add("np", ["NP"])
    assert len(matcher(doc)) == 2


def test_it_agrees_with_the_search_of_trees(vocab):
    doc = gold_doc(PLAIN, OTHER, CHAIN, vocab=vocab)
    for text in ("NP", "__ . __", "VP <<# __", "NP=a .. (__=b !< =a)"):
        matches = list(compile_pattern(text).search(attributes.trees(doc)))
        own = found(matcher_of(vocab, key=text), doc)
        assert [m.node.label if m.node.kind != "word" else "" for m in matches] == [label for _, label, _ in own]


def test_it_can_be_pickled(vocab):
    matcher = pickle.loads(pickle.dumps(matcher_of(vocab, np=["NP=x < DT", {"LABEL": "PP"}])))
    doc = gold_doc(PLAIN, vocab=matcher.vocab)
    assert [match[1:] for match in matcher(doc)] == [(0, 2), (3, 5)]


def test_the_package_exports_it():
    assert spacy_dtparse.ConstituentMatcher is ConstituentMatcher
