"""bpm_parser on Docs of every kind: heads, labels, roots; other annotation is unchanged."""

from __future__ import annotations

import random
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
import spacy
from spacy.attrs import ENT_IOB, ENT_TYPE, LEMMA, MORPH, NORM, ORTH, POS, SPACY, TAG
from spacy.tokens import Doc, Span, Token

from spacy_dtparse.bpm_parser.component import BpmParser
from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.errors import MissingAnnotationError
from training.bpm_parser.running import read_treebank_file

from ..documents import ROOT
from ..reference.dependencies import is_projective
from .conftest import N_TRAINING_TREES, make_links_nlp, tree_of
from .link_stubs import Chain, Zigzag, tagged, whole

TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Run.", "  ", "", "It saw the dog.", "Hello, old dog!"]


@pytest.fixture(scope="module")
def shared(stored_link_model):
    """A pipeline that no test changes."""
    return make_links_nlp(stored_link_model)


def test_heads_labels_and_roots_come_from_the_parser(shared, link_parser):
    doc = shared("The old cat sat on the mat. She sleeps quietly. I saw the dog! Run!")
    whole(doc, [(0, 8), (8, 12), (12, 17), (17, 19)])
    for sent in doc.sents:
        found = link_parser.parse(TokenColumns([t.text for t in sent], [t.tag_ for t in sent]))
        assert [token.head.i - sent.start for token in sent] == [
            head if head >= 0 else place for place, head in enumerate(found.heads)
        ]
        assert [token.dep_ for token in sent] == [
            label if head >= 0 else "ROOT" for label, head in zip(found.labels, found.heads, strict=True)
        ]
    assert [token.head.text for token in doc[:4]] == ["cat", "cat", "sat", "sat"]
    assert [sent.root.text for sent in doc.sents] == ["sat", "sleeps", "saw", "Run"]
    assert doc.has_annotation("DEP") and next(chunk.text for chunk in doc[3].subtree) == "The"


SPACED = [
    ("\n she sat .", {0}),
    ("she \n sat \t .", {0}),
    ("she sat . \n\n", {0}),
    ("she sat . \n it sat .", {0, 4}),
    ("she sat . \n it sat .", {0, 3}),
    ("she sat . \n \t it sat .", {0, 3, 5}),
    ("\n she sat . \n", {0, 1, 4}),
    ("\n \n she \n \n sat \n", {0}),
    ("\n", {0}),
    ("\n \t", {0}),
    ("\n \t \n", {0, 1, 2}),
    ("\n \t \n she", {0, 2, 3}),
]


@pytest.mark.parametrize(("words", "starts"), SPACED)
def test_white_space_is_not_parsed_and_depends_on_the_word_before(shared, words, starts):
    words = words.split(" ")
    kinds = {"she": "PRP", "it": "PRP", "sat": "VBD", ".": "."}
    tags = [kinds.get(word, "_SP") for word in words]
    doc = Doc(shared.vocab, words=words, tags=tags, sent_starts=[k in starts for k in range(len(words))])
    bounds = [(sent.start, sent.end) for sent in doc.sents]
    component = shared.get_pipe("bpm_parser")
    whole(component(doc), bounds)
    for start, end in bounds:
        visible = [token for token in doc[start:end] if not token.is_space]
        if visible:
            words_only = tagged(shared.vocab, " ".join(t.text for t in visible), " ".join(t.tag_ for t in visible), {0})
            component(words_only)
            places = [token.i for token in visible]
            assert [token.head.i for token in visible] == [places[token.head.i] for token in words_only]
            assert [token.dep_ for token in visible] == [token.dep_ for token in words_only]
        before = visible[0].i if visible else start
        for token in doc[start:end]:
            if token.is_space:
                assert token.head.i == before and token.dep_ == ("dep" if visible or token.i > start else "ROOT")
            else:
                before = token.i


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \u00a0"])
def test_nothing_to_parse(shared, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = shared(text)
    whole(doc, [(0, len(doc))] if len(doc) else [])


def test_one_token(shared):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = shared("Run")
        assert [(t.head.i, t.dep_) for t in doc] == [(0, "ROOT")]
        single = tagged(shared.vocab, "run", "VB")  # one token needs no sentence boundary
        assert shared.get_pipe("bpm_parser")(single)[0].dep_ == "ROOT"


def test_merged_tokens_are_one_word(shared):
    component = BpmParser(parser=Chain())
    doc = shared.make_doc("The old cat sat. She  slept.")
    for place, token in enumerate(doc):
        token.tag_, token.is_sent_start = "NN", place in (0, 5)
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:3], attrs={"TAG": "NN"})
        retokenizer.merge(doc[5:8], attrs={"TAG": "NN"})
    whole(component(doc), [(0, 3), (3, 5)])
    assert component.parser.seen == [("The_old_cat", "sat", "."), ("She_slept", ".")]
    whole(shared.get_pipe("bpm_parser")(doc), [(0, 3), (3, 5)])


def test_links_may_cross(link_model, link_parser):
    nlp = make_links_nlp(link_model, decoder="spanning")
    component = nlp.get_pipe("bpm_parser")
    draw = random.Random(1)
    crossed = 0
    for _ in range(20):
        lengths = [draw.randrange(1, 25) for _ in range(3)]
        starts = {0, lengths[0], lengths[0] + lengths[1]}
        n = sum(lengths)
        tags = [draw.choice(["DT", "NN", "VBD", "IN", "PRP", "JJ", "RB", "."]) for _ in range(n)]
        doc = tagged(nlp.vocab, " ".join(["zzz"] * n), " ".join(tags), starts)
        whole(component(doc), list(zip(sorted(starts), [*sorted(starts)[1:], n], strict=True)))
        heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
        crossed += not is_projective((-1, *heads))
        with_eisner = BpmParser(parser=link_parser)(doc)
        for s in with_eisner.sents:
            assert is_projective((-1, *(0 if t.head is t else t.head.i - s.start + 1 for t in s)))
    assert crossed > 10


@pytest.mark.parametrize("n", [1, 2, 5, 30, 70, 90, 200])
def test_boundaries_stay_where_spacy_loses_the_edges_of_trees(shared, n):
    doc = tagged(shared.vocab, " ".join(["w"] * (3 * n)), " ".join(["NN"] * (3 * n)), {0, n, 2 * n})
    whole(BpmParser(parser=Zigzag())(doc), [(0, n), (n, 2 * n), (2 * n, 3 * n)])
    assert [token.head.i for token in doc if token.dep_ != "ROOT"] == [
        head + start for start in (0, n, 2 * n) for head in Zigzag().heads(n) if head >= 0
    ]


def test_other_annotation_is_unchanged(shared):
    if not Doc.has_extension("bpm_note"):
        Doc.set_extension("bpm_note", default=None)
        Token.set_extension("bpm_mark", default=0)
    doc = shared.make_doc("The old cat sat on the mat. \n She sleeps.")
    for place, token in enumerate(doc):
        token.tag_, token.pos_, token.lemma_, token.norm_ = "NN", "NOUN", f"lemma{place}", f"norm{place}"
        token.set_morph("Number=Sing")
        token.is_sent_start = place in (0, 9)
    doc.ents = [Span(doc, 1, 3, "ANIMAL", kb_id="Q1")]
    doc.spans["mine"] = [Span(doc, 0, 5, "A"), Span(doc, 3, 7, "B")]  # crossing spans of another program
    doc.cats, doc.user_data["me"], doc._.bpm_note, doc[2]._.bpm_mark = {"x": 0.5}, {"a": 1}, "kept", 7
    attributes = [ORTH, SPACY, TAG, POS, LEMMA, MORPH, NORM, ENT_IOB, ENT_TYPE]
    before = doc.to_array(attributes)
    text, user_data, spans = doc.text, dict(doc.user_data), [(s.start, s.end, s.label_) for s in doc.spans["mine"]]
    found = shared.get_pipe("bpm_parser")(doc)
    assert found is doc and doc.text == text and doc.user_data == user_data and doc.cats == {"x": 0.5}
    assert (doc.to_array(attributes) == before).all()
    assert [(s.start, s.end, s.label_) for s in doc.spans["mine"]] == spans and list(doc.spans) == ["mine"]
    assert [(e.start, e.end, e.label_, e.kb_id_) for e in doc.ents] == [(1, 3, "ANIMAL", "Q1")]
    assert (doc._.bpm_note, doc[2]._.bpm_mark) == ("kept", 7)
    whole(doc, [(0, 9), (9, len(doc))])


def test_parsing_again_replaces_the_result(linked):
    doc = linked("The old cat sat. She sleeps.")
    wanted = tree_of(doc)
    BpmParser(parser=Chain())(doc)
    assert [token.dep_ for token in doc[:3]] == ["ROOT", "next", "next"] and tree_of(doc) != wanted
    assert tree_of(linked.get_pipe("bpm_parser")(doc)) == wanted


def test_no_tags_is_an_error_and_the_rest_of_the_batch_is_parsed(linked):
    component = linked.get_pipe("bpm_parser")
    vocab = linked.vocab
    docs = [
        tagged(vocab, "she sat", "PRP VBD", {0}),
        Doc(vocab, words=["she", "\n", "sat"], sent_starts=[True, False, False]),
        Doc(vocab, words=["\n"], sent_starts=[True]),
        tagged(vocab, "it sat", "PRP VBD", {0}),
    ]
    message = r"bpm_parser needs token.tag_, and none of the 2 words of this Doc has it. Put a .*tagger\) before"
    with pytest.raises(MissingAnnotationError, match=message):
        component(docs[1])
    assert not docs[1].has_annotation("DEP") and not docs[1].has_annotation("HEAD")
    seen = []
    linked.set_error_handler(lambda name, proc, docs, error: seen.append((name, docs[0].text, type(error))))
    with linked.select_pipes(enable=["bpm_parser"]):
        parsed = list(linked.pipe(docs, batch_size=4))
    assert parsed == [docs[0], docs[2], docs[3]] and all(doc.has_annotation("DEP") for doc in parsed)
    assert seen == [("bpm_parser", docs[1].text, MissingAnnotationError)]


def test_some_tags_missing_warn_once(linked):
    docs = [Doc(linked.vocab, words=["she", "sat", "zzz"], tags=["PRP", "VBD", ""]) for _ in range(2)]
    for doc in docs:
        doc[0].is_sent_start, doc[1].is_sent_start, doc[2].is_sent_start = True, False, False
    component = linked.get_pipe("bpm_parser")
    with pytest.warns(UserWarning, match=r"1 words of a Doc have no token.tag_; they are parsed as unknown") as caught:
        for doc in docs:
            whole(component(doc), [(0, 3)])
    assert len(caught) == 1 and docs[0][2].tag_ == ""


def test_no_boundaries_is_one_sentence_with_one_warning(link_parser):
    component = BpmParser(parser=link_parser)
    vocab = spacy.blank("en").vocab
    docs = [tagged(vocab, "she sat . it sat .", "PRP VBD . PRP VBD .") for _ in range(2)]
    with pytest.warns(UserWarning, match="bpm_parser: a Doc has no sentence boundaries.*senter") as caught:
        for doc in docs:
            whole(component(doc), [(0, 6)])
    assert len(caught) == 1


def test_boundaries_in_only_some_places_and_from_a_hook(shared):
    component = shared.get_pipe("bpm_parser")
    doc = tagged(shared.vocab, "she sat it sat", "PRP VBD PRP VBD")
    doc[2].is_sent_start = True
    whole(component(doc), [(0, 2), (2, 4)])
    hooked = tagged(shared.vocab, "she sat it sat", "PRP VBD PRP VBD")
    hooked.user_hooks["sents"] = lambda d: iter([d[0:3], d[3:4]])
    whole(component(hooked), [(0, 3), (3, 4)])


def test_an_error_leaves_the_doc_unchanged(linked):
    doc = linked("She sat. It CRASH now.")
    wanted = tree_of(doc)
    component = linked.get_pipe("bpm_parser")
    component.set_parser(Chain())
    with pytest.raises(RuntimeError, match="told to crash"):
        component(doc)
    assert tree_of(doc) == wanted and component.parser.seen == [("She", "sat", ".")]
    seen = []
    linked.set_error_handler(lambda name, proc, docs, error: seen.append((name, [d.text for d in docs])))
    texts = ["The cat sat.", "CRASH now.", "She sat."]
    assert [doc.text for doc in linked.pipe(texts, batch_size=3)] == [texts[0], texts[2]]
    assert seen == [("bpm_parser", ["CRASH now."])]


def test_a_very_long_sentence_is_parsed_in_pieces(shared):
    words, tags = ["cat", "sat", "quietly"] * 1000, ["NN", "VBD", "RB"] * 1000
    doc = shared.get_pipe("bpm_parser")(tagged(shared.vocab, " ".join(words), " ".join(tags), {0}))
    whole(doc, [(0, 3000)])
    assert doc[0:150].root.dep_ == "ROOT"
    # the setting max_tokens is 150 tokens; the root of a piece depends on the piece before
    for start in range(150, 3000, 150):
        assert doc[start : start + 150].root.head == doc[start - 150 : start].root


@pytest.mark.parametrize(
    "text",
    [
        "😀 👍🏽 🎉",
        "הכלב רץ מהר. الكلب ran.",
        "The\x01 cat\x07 sat \x1b[31m. The cat\x00 sat.",
        "T\u0301he\u0308 c\u0327a\u0300t s\u0323at.",
        "The\u200bcat\u00a0sat\ufeff here.",
        "a" * 10_000 + " is long.",
        "1" * 10_000 + ",5 % of <root> and <before> and <number>.",
        "... !? -- ; ( ) [ ] \" ' `` ''",
        "桌子上有一只猫。3年5月",
    ],
)
def test_strange_text(shared, text):
    doc = shared(text)
    assert doc.text == text
    whole(doc, [(sent.start, sent.end) for sent in shared.get_pipe("sentencizer")(shared.make_doc(text)).sents])


def test_batches_and_processes_give_the_same(linked):
    wanted = [tree_of(linked(text)) for text in TEXTS]
    for size in (1, 2, 100):
        assert [tree_of(doc) for doc in linked.pipe(TEXTS, batch_size=size)] == wanted
    assert [tree_of(doc) for doc in linked.pipe(TEXTS, n_process=2, batch_size=2)] == wanted
    component = linked.get_pipe("bpm_parser")
    with linked.select_pipes(disable=["bpm_parser"]):
        docs = [doc for _ in range(5) for doc in linked.pipe(TEXTS)]
    with ThreadPoolExecutor(4) as pool:
        assert [tree_of(doc) for doc in pool.map(component, docs)] == wanted * 5


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(stored_link_model, linked, threads):
    wanted = [tree_of(linked(text)) for text in TEXTS] * 20
    nlp = make_links_nlp(stored_link_model, threads=threads)
    assert nlp.get_pipe("bpm_parser").threads == threads
    for size in (1, 7, 1000):
        assert [tree_of(doc) for doc in nlp.pipe(TEXTS * 20, batch_size=size)] == wanted


def test_docs_are_read_and_written_in_the_calling_thread(shared, monkeypatch):
    """Parses come out of the pool, Docs never go into it; several Docs are parsed with one call."""
    calls, threads = [], set()

    class Watched(Chain):
        def parse(self, sentence):
            threads.add(threading.get_ident())
            return super().parse(sentence)

    component = BpmParser(parser=Watched(), threads=2)

    def watched(name, real, *given):
        calls.append((name, threading.get_ident(), len(given[0])))
        return real(*given)

    for name in ("read_doc", "set_annotations", "predict"):
        monkeypatch.setattr(component, name, partial(watched, name, getattr(component, name)))
    docs = [tagged(shared.vocab, "she sat . it sat .", "PRP VBD . PRP VBD .", {0, 3}) for _ in range(9)]
    assert list(component.pipe(docs, batch_size=4)) == docs
    here = threading.get_ident()
    assert all((thread == here) == (name != "predict") for name, thread, _ in calls) and here not in threads
    assert [n for name, _, n in calls if name == "predict"] == [4, 4, 1]
    assert [name for name, _, _ in calls].count("set_annotations") == 9


@pytest.mark.parametrize("threads", [1, 2])
def test_only_the_bad_docs_of_a_batch_are_missing(shared, threads):
    """One Doc cannot be read, one cannot be parsed, one cannot be written."""

    class Short(Chain):
        def parse(self, sentence):
            found = super().parse(sentence)
            return replace(found, heads=found.heads[:-1]) if "SHORT" in sentence.words else found

    component = BpmParser(parser=Short(), threads=threads)
    texts = ["she sat", "CRASH", "it sat", "NONE", "SHORT sat", "she sat"]
    docs = [tagged(shared.vocab, text, " ".join("NN" for _ in text.split()), {0}) for text in texts]
    docs[3][0].tag_ = ""
    seen = []
    component.set_error_handler(lambda name, proc, bad, error: seen.append((bad[0][:].text, type(error))))
    assert list(component.pipe(docs)) == [docs[0], docs[2], docs[5]]
    assert seen == [("CRASH", RuntimeError), ("NONE", MissingAnnotationError), ("SHORT sat", ValueError)]
    assert [doc.has_annotation("DEP") for doc in docs] == [True, False, True, False, False, True]
    seen.clear()
    assert list(component.pipe([docs[3], docs[3]])) == [] and len(seen) == 2


def test_it_learns_its_training_trees(shared):
    right = total = 0
    component = shared.get_pipe("bpm_parser")
    for sentence in read_treebank_file(str(ROOT / "assets" / "sample" / "train.mrg"), "en")[:N_TRAINING_TREES]:
        words, tags = list(sentence.columns.words), list(sentence.columns.tags)
        doc = component(Doc(shared.vocab, words=words, tags=tags, sent_starts=[k == 0 for k in range(len(words))]))
        labels = [label if head else "ROOT" for label, head in zip(sentence.labels, sentence.heads, strict=True)]
        for token, head, label in zip(doc, sentence.heads, labels, strict=True):
            right += (token.head.i if head else token.i, token.dep_) == (head - 1 if head else token.head.i, label)
            total += 1
    assert (right, total) == (722, 725)


def test_labels_and_protocol(linked, link_parser):
    component = linked.get_pipe("bpm_parser")
    assert component.labels == link_parser.labels and linked.meta["labels"]["bpm_parser"] == list(component.labels)
    assert not component.is_trainable and BpmParser().labels == () and component.cfg == {}
    found = linked.analyze_pipes()
    assert found["problems"]["bpm_parser"] == []
    assert found["summary"]["bpm_parser"]["assigns"] == ["token.dep", "token.head", "token.is_sent_start", "doc.sents"]
    with linked.select_pipes(disable=["bpm_parser"]):
        assert not linked("The cat sat.").has_annotation("DEP")
