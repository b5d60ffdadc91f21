"""The input and output of bpm_parser in a Doc, all sentences at once, compared with references that work token by
token."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
import spacy
from spacy.attrs import DEP, HEAD
from spacy.tokens import Doc, Span, SpanGroup

from spacy_dtparse.bpm_parser import component
from spacy_dtparse.bpm_parser.component import DEADLINE_EXCEEDED, BpmParser, DependencyInput, read_guide
from spacy_dtparse.bpm_parser.parser import DependencyResult
from spacy_dtparse.errors import NonConstituentError, NotParsedError, TreeError
from spacy_dtparse.pipeline import stored_group
from spacy_dtparse.pipeline.constituents import read_constituents, read_spans
from spacy_dtparse.pipeline.sentences import read_words
from spacy_dtparse.trees import COLLINS, HeadRules, Tree
from spacy_dtparse.trees.heads import LEFTMOST, MODES, tree_guide
from spacy_dtparse.trees.heads_compiled import TextGuide

from ..jit.harness import KERNEL_MARKS
from .link_stubs import Chain

pytestmark = KERNEL_MARKS

LABELS = ("S", "NP", "VP", "PP", "NP-SBJ", "VP|X", "TOP", "?", "-LRB-", "ODD", "NX")
TAGS = ("NN", "VB", "IN", "CC", ",", ".", "``", "-LRB-", "NN-X", "?", "", "RARE")


class Guided(Chain):
    """A parser that needs a guide."""

    needs_guide = True

    def __init__(self, lang="en"):
        super().__init__()
        self.meta = {"lang": lang}


def nested(rng, start, end, label=None):
    """Random constituents within words [start, end), in pre-order: chains, flat ones, words without any."""
    found = [] if label is None else [(start, end, label)]
    while rng.random() < 0.2:
        found.append((start, end, rng.choice(LABELS)))
    if end - start == 1 or rng.random() < 0.1:
        return found
    places = sorted({start, end, *(rng.randrange(start, end) for _ in range(rng.choice((1, 2, 5))))})
    for first, last in pairwise(places):
        if (first, last) != (start, end):
            found += nested(rng, first, last, rng.choice((None, *LABELS)))
    return found


def random_doc(rng, vocab, lengths, blanks=0.15):
    """Make a Doc of sentences of the given lengths; some tokens are white space; constituents are over words."""
    words, tags, starts, spans = [], [], [], []
    for length in lengths:
        own = ["\n" if rng.random() < blanks else rng.choice("abc") for _ in range(length)]
        places = [len(words) + k for k, word in enumerate(own) if word != "\n"]
        if places and rng.random() < 0.9:
            found = nested(rng, 0, len(places), rng.choice(("S", "TOP", None)))
            spans += [(places[first], places[last - 1] + 1, label) for first, last, label in found]
        words += own
        tags += [rng.choice(TAGS) for _ in own]
        starts += [k == 0 for k in range(length)]
    doc = Doc(vocab, words=words, tags=tags, sent_starts=starts)
    doc.spans["constituents"] = [Span(doc, *span) for span in spans]
    return doc


def reference_guide(doc, rules):
    """(Heads, labels) of each sentence's words by `tree_guide` of a checked Tree; () if there are no words."""
    spans = sorted(((s.start, s.end, s.label_) for s in doc.spans["constituents"]), key=lambda s: (s[0], -s[1]))
    found = []
    for sent in doc.sents:
        places = [token.i for token in sent if not token.is_space]
        own = [(places.index(a), places.index(b - 1) + 1, c) for a, b, c in spans if a in places]
        if own[:1] != [(0, len(places), "TOP")]:
            own.insert(0, (0, len(places), "TOP"))
        if not places:
            found.append(())
            continue
        tree = Tree(
            [doc[place].text for place in places],
            [doc[place].tag_ or "XX" for place in places],
            [c for _, _, c in own],
            [a for a, _, _ in own],
            [b for _, b, _ in own],
        )
        found.append(tree_guide(tree, rules))
    return found


def random_rules(rng):
    def scans():
        names = (*LABELS, *TAGS)
        return [(rng.choice(MODES), rng.sample(names, rng.randrange(4))) for _ in range(rng.randrange(4))]

    return HeadRules(
        rules={label: scans() for label in rng.sample(("S", "NP", "VP", "PP", "ODD", "TOP"), 3)},
        default=scans(),
        candidate=scans(),
        conjunctions=frozenset(rng.sample(TAGS, 2)),
        punctuation=frozenset(rng.sample(TAGS, 3)),
        no_coordination=frozenset(rng.sample(("NX", "NP", "S"), rng.randrange(3))),
    )


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


@pytest.fixture
def no_single_trees(monkeypatch):
    """Remove the function that makes trees of single sentences, so that nothing can use it."""
    monkeypatch.delattr(component, "tree_of")


@pytest.mark.filterwarnings("ignore:.*have no token.tag_")
@pytest.mark.parametrize("seed", range(40))
def test_guides_are_those_of_trees(vocab, no_single_trees, seed):
    """With the rules of a language, and with random rules."""
    rng = random.Random(seed)
    doc = random_doc(rng, vocab, [rng.choice((1, 2, 5, 20)) for _ in range(rng.randrange(1, 8))], rng.choice((0, 0.3)))
    words, sentences = read_words(doc)
    tags = [token.tag_ or "XX" for token in doc]
    for rules in (COLLINS, LEFTMOST, random_rules(rng), random_rules(rng)):
        heads, labels = read_guide(doc, "constituents", words, sentences, tags, TextGuide(rules))
        found = [
            ([heads[k] for k in one.positions], [labels[k] for k in one.positions]) if one.positions else ()
            for one in sentences
        ]
        assert found == [tuple(map(list, one)) for one in reference_guide(doc, rules)]
    for lang, rules in (("en", COLLINS), ("de", LEFTMOST)):
        if any(words) and any(token.tag_ for token in doc if not token.is_space):
            read = BpmParser(parser=Guided(lang)).read_doc(doc)
            for sentence, columns, guide in zip(read.sentences, read.columns, reference_guide(doc, rules), strict=True):
                assert (columns is None) == (not sentence.positions)
                if columns is not None:
                    assert columns.words == tuple(doc[place].text for place in sentence.positions)
                    assert columns.tags == tuple(doc[place].tag_ for place in sentence.positions)
                    assert (columns.guide_heads, columns.guide_labels) == guide and columns.pos == ()


def test_long_guides(vocab, no_single_trees):
    """A chain of thousands, one flat constituent, and more labels than are cached."""
    n = 3000
    for spans in (
        [(k, n, "S") for k in range(n)],
        [(0, k, "NP") for k in range(n, 1, -1)],
        [(0, n, "NP")] * 50,
        [(k, k + 2, f"L{k}") for k in range(0, n, 2)],
        [],
    ):
        doc = Doc(vocab, words=["a"] * n, tags=["NN", "CC", ","] * (n // 3), sent_starts=[True] + [False] * (n - 1))
        doc.spans["constituents"] = [Span(doc, *span) for span in spans]
        (columns,) = BpmParser(parser=Guided()).read_doc(doc).columns
        assert [(columns.guide_heads, columns.guide_labels)] == reference_guide(doc, COLLINS)


def make_doc(vocab, words, spans, starts=(0,)):
    words = words.split(" ")
    doc = Doc(vocab, words=words, tags=["NN"] * len(words), sent_starts=[k in starts for k in range(len(words))])
    doc.spans["constituents"] = [Span(doc, *span) for span in spans]
    return doc


@pytest.mark.parametrize(
    ("spans", "error", "message"),
    [
        ([(0, 3, "NP"), (2, 4, "VP")], TreeError, "cross"),
        ([(1, 1, "NP")], TreeError, "is empty"),
        ([(3, 5, "NP")], NonConstituentError, "crosses the edge"),
        ([(0, 5, "NP")], NonConstituentError, "crosses the edge"),
        ([(4, 7, "NP")], TreeError, "white space"),
        ([(6, 8, "NP")], TreeError, "white space"),
    ],
)
def test_invalid_trees_are_refused_as_in_the_reference(vocab, spans, error, message):
    doc = make_doc(vocab, "a b c d e f \n g", spans, {0, 4})
    with pytest.raises(error, match=message):
        BpmParser(parser=Guided()).read_doc(doc)


def test_constituents_over_several_sentences_are_ignored(vocab):
    doc = make_doc(vocab, "a b c d e f", [(0, 6, "TEXT"), (0, 3, "S"), (1, 3, "VP"), (3, 6, "S")], {0, 3})
    without = make_doc(vocab, "a b c d e f", [(0, 3, "S"), (1, 3, "VP"), (3, 6, "S")], {0, 3})
    component = BpmParser(parser=Guided())
    assert component.read_doc(doc).columns == component.read_doc(without).columns


def test_sentences_of_a_hook_may_overlap_and_omit_tokens(vocab):
    doc = make_doc(vocab, "a b c d e f", [(0, 2, "NP"), (3, 5, "VP")])
    doc.user_hooks["sents"] = lambda doc: iter([doc[0:3], doc[2:5]])
    first, second = BpmParser(parser=Guided()).read_doc(doc).columns
    assert first.words == ("a", "b", "c") and second.words == ("c", "d", "e")
    assert len(first.guide_heads) == len(second.guide_labels) == 3


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize("seed", range(6))
def test_spans_of_a_group_in_any_order(vocab, monkeypatch, few, seed):
    """Spans are read from the bytes of the group, and one by one."""
    monkeypatch.setattr(stored_group, "_MAX_PACKED_SPANS", few)
    rng = random.Random(seed)
    doc = random_doc(rng, vocab, [15, 40, 1, 7])
    spans = list(doc.spans["constituents"])
    rng.shuffle(spans)
    attrs = [{}, {"costs": [None, 0.5]}, {"mine": object()}][seed % 3]  # the last ones cannot be stored
    doc.spans["constituents"] = SpanGroup(doc, name="constituents", attrs=attrs, spans=spans)
    found = read_spans(doc)
    wanted = sorted(((s.start, s.end, s.label_) for s in spans), key=lambda s: (s[0], -s[1]))
    labels = [found.names[label] for label in found.labels]
    assert list(zip(found.starts.tolist(), found.ends.tolist(), labels, strict=True)) == wanted
    tree = read_constituents(doc)
    assert list(zip(tree.starts, tree.ends, tree.labels, strict=True)) == wanted
    assert read_spans(doc) is found and read_constituents(doc) is tree, "kept"
    doc.spans["constituents"].append(Span(doc, 0, len(doc), "ALL"))
    assert len(read_spans(doc).starts) == len(wanted) + 1


@pytest.mark.parametrize("few", [0, 10**9])
def test_spans_beyond_the_end_get_new_tokens_or_are_stale(vocab, monkeypatch, few):
    monkeypatch.setattr(stored_group, "_MAX_PACKED_SPANS", few)
    doc = make_doc(vocab, "a b c d", [(0, 4, "S"), (2, 4, "NP")])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:4])
    assert read_spans(doc).starts.tolist() == [0, 2] and read_spans(doc).ends.tolist() == [3, 3]
    doc = make_doc(vocab, "a b c d", [(0, 4, "S"), (2, 4, "NP")])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    with pytest.raises(NotParsedError, match="merged or split"):
        read_spans(doc)


@pytest.mark.parametrize("few", [0, 10**9])
def test_many_spans_are_read_by_their_bytes(vocab, monkeypatch, few):
    monkeypatch.setattr(stored_group, "_MAX_PACKED_SPANS", few)
    doc = make_doc(vocab, " ".join(["a"] * 600), [(k, k + 1, "NP") for k in range(600)])
    group = doc.spans["constituents"]
    spans = stored_group.stored_spans(group)
    assert spans["extent"].tolist() == [[k, k + 1] for k in range(600)]
    assert spans["chars"].tolist() == [[2 * k, 2 * k + 1] for k in range(600)]
    assert set(spans["label"].tolist()) == {vocab.strings["NP"]}
    group.attrs["mine"] = object()  # cannot be stored
    assert stored_group.stored_spans(group).tobytes() == spans.tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_heads_and_labels_are_written(vocab, seed):
    """Random trees of sentences with and without white space, words, labels."""
    rng = random.Random(seed)
    doc = random_doc(rng, vocab, [rng.choice((1, 2, 5, 30)) for _ in range(rng.randrange(1, 8))], rng.choice((0, 0.3)))
    _, sentences = read_words(doc)
    parses, heads, deps = [], [token.i for token in doc], ["dep"] * len(doc)
    for start, end, places in sentences:
        n = len(places)
        order = rng.sample(range(n), n)
        above = dict(zip(order, [-1, *(rng.choice(order[:k]) for k in range(1, n))], strict=True)) if n else {}
        labels = tuple(rng.choice(("x", "y", "é")) for _ in range(n)) if rng.random() < 0.8 else ()
        parse = DependencyResult(tuple(above[k] for k in range(n)), labels, 0.0, deadline_exceeded=rng.random() < 0.3)
        parses.append(parse if n else None)
        for k, place in enumerate(places):
            root = above[k] < 0
            heads[place] = place if root else places[above[k]]
            deps[place] = "ROOT" if root else labels[k] if labels else "dep"
        before = places[0] if n else start
        for place in range(start, end):
            before = place if place in places else before
            heads[place] = heads[place] if place in places else before
        if not n:
            deps[start] = "ROOT"
    BpmParser(parser=Chain()).set_annotations(doc, DependencyInput(sentences, [], 0.0), parses)
    assert (doc.to_array([HEAD]).reshape(-1).astype(np.int64) + np.arange(len(doc))).tolist() == heads
    assert [vocab.strings[label] for label in doc.to_array([DEP]).reshape(-1)] == deps
    ends = zip(sentences, parses, strict=True)
    struck = [[one.start, one.end] for one, parse in ends if parse is not None and parse.deadline_exceeded]
    assert doc.user_data.get(DEADLINE_EXCEEDED, []) == struck
    assert [(sent.start, sent.end) for sent in doc.sents] == [(one.start, one.end) for one in sentences]


def test_a_tree_of_another_length_is_refused(vocab):
    doc = make_doc(vocab, "a b c", [])
    _, sentences = read_words(doc)
    parse = DependencyResult((-1, 0), ("x", "x"), 0.0)
    with pytest.raises(ValueError):
        BpmParser(parser=Chain()).set_annotations(doc, DependencyInput(sentences, [], 0.0), [parse])


def test_the_parser_is_given_the_time_of_reading(vocab):
    """The time of a sentence is proportional to its words."""
    times = []

    class Timed(Chain):
        def parse(self, sentence, spent):
            times.append(spent)
            return super().parse(sentence)

    component = BpmParser(parser=Chain(), deadline=1.0)
    component.timed = Timed()
    read = component.read_doc(make_doc(vocab, "a b c d e \n", [], {0, 4, 5}))
    assert read.seconds > 0
    component.predict([read])
    assert times == [4 * read.seconds, read.seconds]
