"""Checks that must hold for every parsed Doc."""

from __future__ import annotations

import pickle
from typing import Any

from spacy.tokens import Doc, DocBin, Span

from spacy_dtparse import sentence_infos
from spacy_dtparse.core import STATUSES
from spacy_dtparse.pipeline.attributes import trees
from spacy_dtparse.pipeline.constituent_group import CHECKSUM
from spacy_dtparse.pipeline.sentences import is_blank, plain_word, sentence_bounds
from spacy_dtparse.trees import parse_tree, write_tree

KEY = "constituents"


def view(doc: Doc) -> tuple[Any, ...]:
    """The attributes that parsing sets on a Doc."""
    group = doc.spans[KEY]
    spans = [(span.start, span.end, span.label_, span.id_) for span in group]
    attrs = {name: value for name, value in group.attrs.items() if name != CHECKSUM}
    return spans, attrs, [(token.head.i, token.dep_) for token in doc]


def check(doc: Doc, parser: Any) -> None:
    """Every token is covered once, nothing crosses, labels are the parser's, and the Doc survives serialization."""
    spans = list(doc.spans[KEY])
    assert [(span.start, span.end) for span in spans] == [(span.start, span.end) for span in doc._.constituents]
    bounds = sentence_bounds(doc)
    infos = sentence_infos(doc)
    assert [(info["start"], info["end"]) for info in infos] == bounds
    for start, end in bounds:
        open_ends = [end]
        for span in (span for span in spans if start <= span.start < end):
            while open_ends[-1] <= span.start:
                open_ends.pop()
            assert span.start < span.end <= open_ends[-1], "it crosses another, or its sentence's end"
            open_ends.append(span.end)
            assert not is_blank(doc[span.start].text) and not is_blank(doc[span.end - 1].text)
    assert {span.label_ for span in spans} <= {*parser.labels, "TOP"}
    visible = [[token for token in doc[start:end] if not is_blank(token.text)] for start, end in bounds]
    found = trees(doc)
    assert [list(tree.words) for tree in found] == [[plain_word(t.text) for t in own] for own in visible if own]
    for tree in found:
        assert parse_tree(write_tree(tree)).spans() == tree.spans()
    for info, own in zip(infos, visible, strict=True):
        assert info["status"] in STATUSES and (info["status"] == "empty") == (not own)
    check_trips(doc)


def check_trips(doc: Doc) -> None:
    """Bytes, DocBin and pickle preserve a Doc; JSON and copies preserve its constituents."""
    there = view(doc)
    assert view(Doc(doc.vocab).from_bytes(doc.to_bytes())) == there
    assert view(pickle.loads(pickle.dumps(doc))) == there
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(doc.vocab)
    assert view(again)[:2] == there[:2]
    assert view(doc.copy())[0] == there[0]
    if json_keeps_tokens(doc):
        other = Doc(doc.vocab).from_json(doc.to_json())
        assert [(s.start, s.end, s.label_) for s in other.spans[KEY]] == [one[:3] for one in there[0]]


def json_keeps_tokens(doc: Doc) -> bool:
    """Whether spaCy itself restores the tokens: its own assertion may fail, and white space may change."""
    words_only = Doc(doc.vocab, words=[token.text for token in doc], spaces=[bool(token.whitespace_) for token in doc])
    try:
        again = Doc(doc.vocab).from_json(words_only.to_json())
    except (AssertionError, ValueError):
        return False
    return [token.idx for token in again] == [token.idx for token in doc]


def same(doc: Doc, other: Doc) -> bool:
    """Whether two Docs have the same parse."""
    return view(doc) == view(other)


def inside(doc: Doc, span: Span) -> list[tuple[int, int, str]]:
    """The constituents within a span, counted from its start."""
    return [
        (one.start - span.start, one.end - span.start, one.label_)
        for one in doc.spans[KEY]
        if span.start <= one.start and one.end <= span.end
    ]
