"""Moving in a tree: ancestors, depth, siblings, paths, lowest common ancestors, c-command."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse import (
    ancestors,
    c_commands,
    depth,
    lowest_common_ancestor,
    parent,
    path,
    phrase,
    siblings,
    subconstituents,
    superconstituents,
)
from spacy_dtparse.errors import DtparseError, NonConstituentError, NotParsedError

from .test_attributes import gold_doc, texts
from .test_dependency_io import random_doc

PLAIN = (
    "(TOP (S (NP (PRP He)) (VP (VBD put) (NP (DT the) (JJ old) (NN dog)) (PP (IN in) (NP (DT the) (NN box)))) (. .)))"
)
CHAIN = "(TOP (S (VP (VB go))))"


@pytest.fixture(autouse=True)
def registered():
    spacy_dtparse.register_extensions()


def names(spans):
    return [(span.label_, span.text) if span.label_ else span.text for span in spans]


def test_ancestors_and_depth():
    doc = gold_doc(PLAIN, CHAIN)
    s, np, vp = doc._.constituents[:3]
    assert ancestors(doc[0:1]) == [s] == doc[0]._.ancestors == np._.ancestors
    assert [span.label_ for span in doc[7]._.ancestors] == ["NP", "PP", "VP", "S"]
    assert [depth(span) for span in doc._.constituents] == [0, 1, 1, 2, 2, 3, 0, 1]
    assert doc[7]._.depth == 4 and doc[0]._.depth == 1 and vp._.depth == 1
    assert ancestors(s) == [] and s._.depth == 0
    top, below = doc._.constituents[-2:]
    assert ancestors(below) == [top] and ancestors(top) == [] == ancestors(doc[9]), "a token stands for its whole chain"
    assert depth(below) == 1 and depth(doc[9]) == 0


def test_constituents_and_phrase_of_a_token():
    doc = gold_doc(PLAIN, CHAIN)
    assert names(doc[0]._.constituents) == [("NP", "He"), ("S", "He put the old dog in the box .")]
    assert [span.label_ for span in doc[7]._.constituents] == ["NP", "PP", "VP", "S"]
    assert doc[3]._.phrase.text == "the old dog" and doc[1]._.phrase.label_ == "VP"
    assert doc[9]._.phrase.label_ == "VP" and [c.label_ for c in doc[9]._.constituents] == ["VP", "S"]
    assert superconstituents(doc._.constituents[-2]) == [doc._.constituents[-2]]
    assert superconstituents(doc[2:5])[0] == phrase(doc[2:5]) == doc._.constituents[3]


def test_siblings():
    doc = gold_doc(PLAIN, CHAIN)
    assert texts(siblings(doc[1])) == ["the old dog", "in the box"]
    assert texts(doc[2:5]._.siblings) == ["put", "in the box"]
    assert texts(doc[0]._.siblings) == ["put the old dog in the box", "."]
    assert siblings(doc[0:9]) == [] == siblings(doc._.constituents[-1]) == siblings(doc[9])


def test_paths():
    doc = gold_doc(PLAIN, CHAIN)
    assert names(path(doc[0], doc[1])) == [
        ("NP", "He"), ("S", doc[0:9].text), ("VP", "put the old dog in the box"), "put",
    ]  # fmt: skip
    assert [s.label_ for s in doc[2:5]._.path(doc[6:8])] == ["NP", "VP", "PP", "NP"]
    assert [s.label_ for s in doc[6:8]._.path(doc[2:5])] == ["NP", "PP", "VP", "NP"]
    assert [s.label_ for s in doc[6:8]._.path(doc[1:8])] == ["NP", "PP", "VP"]
    assert [s.label_ for s in doc[1:8]._.path(doc[6:8])] == ["VP", "PP", "NP"]
    assert [s.label_ for s in doc[6:8]._.path()] == ["S", "VP", "PP", "NP"]
    assert names(doc[7]._.path())[-2:] == [("NP", "the box"), "box"]
    assert names(path(doc[6], doc[7])) == ["the", ("NP", "the box"), "box"]
    assert names(path(doc[6], doc[6])) == ["the"] and names(path(doc[0], doc[0])) == [("NP", "He")]
    assert [s.label_ for s in path(doc[9])] == ["S", "VP"]
    assert path(doc[0], doc[9]) == [], "two sentences"


def test_lowest_common_ancestor():
    doc = gold_doc(PLAIN, CHAIN)
    constituents = doc._.constituents
    assert lowest_common_ancestor(doc[2], doc[4]) == constituents[3]
    assert doc[4]._.lowest_common_ancestor(doc[6]) == constituents[2]
    assert lowest_common_ancestor(doc[0], doc[4], doc[7]) == constituents[0]
    assert lowest_common_ancestor(doc[3:6]) == constituents[2], "any span"
    assert lowest_common_ancestor(doc[6:8], doc[5:8]) == constituents[4], "a constituent contains itself"
    assert lowest_common_ancestor(doc[9]) == constituents[-1]
    assert lowest_common_ancestor(constituents[-2], doc[9]) == constituents[-2]
    assert lowest_common_ancestor(doc[0], doc[9]) is None


def test_c_command():
    doc = gold_doc(PLAIN)
    assert doc[0]._.c_commands(doc[1:8]) and c_commands(doc[0], doc[7]) and c_commands(doc[1:8], doc[0])
    assert not c_commands(doc[2:5], doc[0]) and not c_commands(doc[0], doc[0:9]) and not c_commands(doc[0:9], doc[0])
    assert c_commands(doc[1], doc[6]) and not c_commands(doc[6], doc[1])
    quoted = gold_doc("(TOP (S (NP (`` ``) (NP (NNP Emma)) ('' '')) (VP (VBZ sells))))")
    assert c_commands(quoted[1], quoted[3]), "quotation marks do not branch"


def test_equal_spans_have_equal_results():
    doc = gold_doc(PLAIN, "(TOP (S (NP (NP (NNS cats))) (VP (VBP sleep))))")
    known = {}
    for span in doc._.constituents:
        known[span] = span
    for token in doc:
        for span in (*ancestors(token), *superconstituents(token), *(s for s in path(token) if s.label)):
            assert span in known and hash(span) == hash(known[span])
        above = parent(token)
        if above is not None:
            assert ancestors(above) == ancestors(known[above]) and path(above) == path(known[above])
            assert siblings(above) == siblings(known[above]) and depth(above) == depth(known[above])


@pytest.mark.filterwarnings("ignore:.*have no token.tag_")
@pytest.mark.parametrize("seed", range(12))
def test_random_trees_against_their_definitions(seed):
    rng = random.Random(seed)
    doc = random_doc(rng, Vocab(), [rng.choice((1, 4, 12)) for _ in range(3)], 0.2)
    every = doc._.constituents
    for k, span in enumerate(every):
        above = [one for one in every[:k] if one.start <= span.start and span.end <= one.end]
        assert ancestors(span) == above[::-1] and depth(span) == len(above)
        assert path(span) == [*above, span]
    words = [token for token in doc if token.text.strip()]
    for one in words:
        holding = [span for span in every if span.start <= one.i < span.end]
        assert superconstituents(one) == holding[::-1] and phrase(one) == (holding[-1] if holding else None)
        for other in rng.sample(words, min(4, len(words))):
            both = [span for span in holding if span.start <= other.i < span.end]
            lowest = lowest_common_ancestor(one, other)
            assert lowest == (both[-1] if both else None)
            way = path(one, other)
            assert bool(way) == bool(both) or one == other
            for first, second in pairwise(way):
                assert (
                    first in siblings(second)
                    or first in ancestors(second)[:1]
                    or second in ancestors(first)[:1]
                    or (parent(first) == second or parent(second) == first)
                )


def test_errors():
    doc = gold_doc(PLAIN)
    for function in (ancestors, depth, siblings, superconstituents, phrase, path):
        with pytest.raises(NonConstituentError, match="not a constituent"):
            function(doc[3:6])
        with pytest.raises(NotParsedError, match="add 'dtparse'"):
            function(spacy.blank("en")("the cat")[0])
    other = gold_doc(PLAIN)
    for function in (path, lowest_common_ancestor, c_commands):
        with pytest.raises(DtparseError, match="different Docs"):
            function(doc[0], other[0])
    with pytest.raises(DtparseError, match="at least one"):
        lowest_common_ancestor()
    with pytest.raises(NotParsedError):
        lowest_common_ancestor(Doc(Vocab(), words=["a"])[0])


def test_linear_time():
    """A token at the end of a deep tree: four times the depth takes far less than sixteen times as long."""
    seconds = []
    for size in (1000, 4000):
        doc = gold_doc("(TOP " + "(NP (DT a) " * size + "(NN b)" + ")" * (size + 1))
        assert depth(doc[size]) == size
        began = time.process_time()
        for _ in range(3):
            assert len(ancestors(doc[size])) == len(path(doc[0], doc[size])) - 2 == size
            assert lowest_common_ancestor(doc[0], doc[size]).end == size + 1
        assert len(list(subconstituents(doc[size - 1 :]))) == 3
        seconds.append(time.process_time() - began)
    assert seconds[1] < 10 * seconds[0] + 0.05
