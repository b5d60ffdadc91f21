"""Each parser on arbitrary Docs, and operations on parsed Docs."""

from __future__ import annotations

from itertools import pairwise

import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span

from spacy_dtparse.errors import (
    ConstraintError,
    DtparseError,
    MissingAnnotationError,
    NonConstituentError,
    NotParsedError,
    TreeError,
)
from spacy_dtparse.pipeline.attributes import parse_string, to_tree
from spacy_dtparse.pipeline.constituents import read_constituents
from spacy_dtparse.pipeline.k_best import k_best
from spacy_dtparse.pipeline.sentences import is_blank

from .checking import KEY, check, inside, same, view
from .conftest import PARSERS, few, pipeline
from .making import Made, docs

BAD = Made(["No", "tags"], [True, True], None, None, [], False)


def component(name):
    """(A pipeline's last component, the ones before it that it needs.)"""
    nlp = pipeline(name)
    pipe = nlp.get_pipe(PARSERS[name])
    return pipe, [nlp.get_pipe("span_parser")] if name == "en_bpm" else []


def parse(name, made, vocab):
    """The Doc after the pipeline's parser has run."""
    pipe, before = component(name)
    doc = made.doc(vocab)
    for one in (*before, pipe):
        doc = one(doc)
    return doc


def needs_tags(name):
    return name != "en_pcfgla"


def may_fail(name, made):
    """Whether a Doc lacks attributes that the parser requires."""
    seen = [k for k, word in enumerate(made.words) if not is_blank(word)]
    return needs_tags(name) and bool(seen) and (made.tags is None or not any(made.tags[k] for k in seen))


@given(docs())
@example(Made(["a", "\n", "b"], [True, False, False], ["NN", "_SP", ""], [True, True, True], [(0, 3, "NP")], True))
def test_any_doc_is_parsed(name, made):
    vocab = pipeline(name).vocab
    pipe, before = component(name)
    if may_fail(name, made):
        doc = made.doc(vocab)
        there = list(doc.spans[KEY])
        try:
            (before or [pipe])[0](doc)
            raise AssertionError("a Doc without tags was parsed")
        except MissingAnnotationError:
            assert list(doc.spans[KEY]) == there, "it is as it was"
        return
    doc = parse(name, made, vocab)
    check(doc, (before or [pipe])[0].parser)
    assert [span.label_ for span in doc.spans["mine"]] == [label for _, _, label in made.old]
    assert doc.user_data.get("mine") == ({"of": len(doc)} if made.data else None)
    if made.tags is not None:
        assert [token.tag_ for token in doc] == made.tags
    there = view(doc)
    assert view(pipe(doc)) == there, "parsing once more changes nothing"


@few(15)
@given(st.lists(docs(tagged=True, most=12), min_size=1, max_size=4), st.integers(0, 4), st.integers(1, 3))
def test_one_bad_doc_does_not_affect_the_others(name, several, place, size):
    vocab = pipeline(name).vocab
    pipe, before = component(name)
    several = [made for made in several if not may_fail(name, made)]
    one_by_one = [parse(name, made, vocab) for made in several]
    stream = [*several[:place], BAD, *several[place:]] if needs_tags(name) else several
    handled = []
    for one in (*before, pipe):
        one.set_error_handler(lambda name, pipe, docs, error: handled.append((docs, error)))
    try:
        found = (made.doc(vocab) for made in stream)
        for one in (*before, pipe):
            found = one.pipe(found, batch_size=size)
        found = list(found)
    finally:
        for one in (*before, pipe):
            one.set_error_handler(lambda name, pipe, docs, error: (_ for _ in ()).throw(error))
    assert len(found) == len(several) and all(map(same, one_by_one, found))
    assert len(handled) == needs_tags(name)
    for lost, error in handled:
        assert [token.text for token in lost[0]] == BAD.words and isinstance(error, MissingAnnotationError)


@few(15)
@given(docs(least=2, tagged=True), st.data())
def test_a_parsed_doc_can_be_changed_copied_and_merged(made, data):
    nlp = pipeline("en_dtparse")
    if may_fail("en_dtparse", made):
        return
    doc = parse("en_dtparse", made, nlp.vocab)
    first = data.draw(st.integers(0, len(doc) - 1))
    last = data.draw(st.integers(first + 1, len(doc)))
    span = doc[first:last]
    within = inside(doc, span)
    try:
        tree = to_tree(span)
        assert [(s, e, label) for s, e, label in tree.spans() if label != "TOP"] or len(tree.words) >= 1
    except (NonConstituentError, TreeError):
        pass
    try:
        assert parse_string(span).startswith("(") or all(is_blank(token.text) for token in span)
    except NonConstituentError:
        pass
    piece = span.as_doc()
    try:
        read_constituents(piece)
        raise AssertionError("as_doc keeps no span groups")
    except NotParsedError:
        pass
    both = Doc.from_docs([doc, doc.copy()])
    if len(doc):
        check_from_docs(both, doc)
    assert within == inside(doc, span)
    del doc.spans["mine"]  # spaCy's groups do not follow tokens
    with doc.retokenize() as retokenizer:
        retokenizer.merge(span)
    if last - first > 1:
        try:
            kept = read_constituents(doc)  # those that no token crosses
            assert all(0 <= start < end <= len(doc) for start, end in zip(kept.starts, kept.ends, strict=True))
        except NotParsedError as error:
            assert "merged or split" in str(error)
    if any(token.tag_ for token in doc if not is_blank(token.text)) or all(is_blank(token.text) for token in doc):
        check(nlp.get_pipe("dtparse")(doc), nlp.get_pipe("dtparse").parser)


def check_from_docs(both, doc):
    """The constituents of the Docs, one after the other."""
    spans = [(span.start, span.end, span.label_) for span in doc.spans[KEY]]
    try:
        found = [(span.start, span.end, span.label_) for span in both.spans[KEY]]
    except KeyError:
        return  # spaCy leaves out what is empty
    assert found == spans + [(s + len(doc), e + len(doc), label) for s, e, label in spans]


@few(15)
@given(docs(least=1, most=10, tagged=True), st.data())
def test_constraints_hold_or_are_refused(name, made, data):
    if name == "en_bpm" or may_fail(name, made):
        return
    pipe, _ = component(name)
    vocab = pipeline(name).vocab
    doc = made.doc(vocab)
    n = len(doc)
    labels = st.sampled_from(["NP", "!NP", "", "!", "S", "!VP", "QQ"])
    spans = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, 6), labels), min_size=1, max_size=3))
    wanted = [(first, min(first + size, n), label) for first, size, label in spans]
    doc.spans["constraints"] = [Span(doc, first, last, label=label) for first, last, label in wanted]
    try:
        doc = pipe(doc)
    except ConstraintError as error:
        assert "doc.spans['constraints']" in str(error) or "constraint" in str(error).lower()
        return
    check(doc, pipe.parser)
    for first, last, label in wanted:
        while is_blank(doc[first].text):
            first += 1
        while is_blank(doc[last - 1].text):
            last -= 1
        there = [one.label_ for one in doc.spans[KEY] if (one.start, one.end) == (first, last) and one.label_ != "TOP"]
        name_of = label.removeprefix("!")
        holds = name_of in there if name_of else bool(there)
        assert holds != label.startswith("!")


@few(10)
@given(docs(least=1, most=8, tagged=True), st.integers(1, 12))
def test_k_best_lists_of_any_doc(name, made, k):
    if name == "en_bpm" or may_fail(name, made):
        return
    nlp = pipeline(name)
    doc = parse(name, made, nlp.vocab)
    for start, end in [(info["start"], info["end"]) for info in doc.spans[KEY].attrs["sentences"]]:
        sentence = doc[start:end]
        if all(is_blank(token.text) for token in sentence):
            continue
        found = k_best(nlp, sentence, k)
        assert 1 <= len(found) <= k and found[0].tree == to_tree(sentence)
        assert len({tuple(one.tree.spans()) for one in found}) == len(found)
        assert all(a.margin <= b.margin for a, b in pairwise(found))


def test_docs_of_other_languages():
    nlp = pipeline("en_dtparse")
    texts = {"ar": "ذهب الكلب إلى الحديقة.", "xx": "Der Hund — schläft?", "zh": "狗在花园里睡觉。", "he": "הכלב ישן."}
    for lang, text in texts.items():
        doc = spacy.blank(lang)(text)
        for token in doc:
            token.tag_ = "NN"
        try:
            doc = nlp.get_pipe("dtparse")(doc)
        except DtparseError as error:
            raise AssertionError(lang) from error
        check(doc, nlp.get_pipe("dtparse").parser)
