"""Span groups that a user edits, and garbage in their attributes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from spacy.tokens import DocBin, Span, SpanGroup

from spacy_dtparse.errors import SpanGroupError, TreeError
from spacy_dtparse.pipeline.attributes import constituents, cost, parse_string, sentence_infos, to_tree
from tests.pipeline import test_edited_groups as groups

from ..cases import case, refused

KEY = groups.KEY


@case(seconds=2, megabytes=50, each=groups.EDITS)
def edit_between_readings(edit: Callable[[SpanGroup], None]) -> None:
    doc = groups.parsed_doc()
    before = groups.values(doc)
    edit(doc.spans[KEY])
    expected = groups.fresh_of(doc)
    assert [str(to_tree(sent)) for sent in doc.sents] == [str(to_tree(sent)) for sent in expected.sents]
    assert all(now == before.get(key, (None, None)) for key, now in groups.values(doc).items())
    assert groups.values(groups.load_again(doc)) == groups.values(doc)


@case(seconds=20, megabytes=200)
def thousand_edits() -> None:
    doc = groups.parsed_doc()
    for k in range(1000):
        old = doc.spans[KEY][k % 7]
        doc.spans[KEY][k % 7] = Span(doc, old.start, old.end, f"X{k}")
        assert constituents(doc)[k % 7].label_ == f"X{k}" and cost(constituents(doc)[k % 7]) is None


@case(seconds=2, megabytes=50, each=[(0, 3), (3, 3), (1, 9), (4, 5)])
def spans_that_are_no_tree(extent: tuple[int, int]) -> None:
    doc = groups.parsed_doc()
    doc.spans[KEY].append(Span(doc, *extent, label="" if extent == (0, 3) else "X"))
    doc.spans[KEY].append(Span(doc, 2, 4, label="X"))
    refused(TreeError, lambda: parse_string(doc[0:6]))


@case(
    seconds=2,
    megabytes=50,
    each=["version", "costs", "probabilities", "sentences", "n_tokens", "parser", "noun_chunks"],
)
def garbage_in_attributes(name: str) -> None:
    values: list[Any] = [object(), "text" * 10**5, float("nan"), [float("nan")] * 7, -1, {"a": 1}]
    for value in values:
        doc = groups.parsed_doc()
        doc.spans[KEY].attrs[name] = value
        if name == "parser" and isinstance(value, str):
            continue
        refused(SpanGroupError, lambda doc=doc: (constituents(doc), sentence_infos(doc)))  # type: ignore[misc]


@case(seconds=2, megabytes=50, each=[0, 1, 100_000])
def values_of_another_length(n: int) -> None:
    """A list of costs that somebody changed in place: no cost is that of another constituent."""
    doc = groups.parsed_doc()
    costs = doc.spans[KEY].attrs["costs"]
    costs[:] = [7.0] * n
    assert {cost(one) for one in constituents(doc)} == {None}


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda doc: pickle.loads(pickle.dumps(doc)),
    "copy": lambda doc: doc.copy(),
    "bytes": lambda doc: type(doc)(doc.vocab).from_bytes(doc.to_bytes()),
    "bin": lambda doc: next(DocBin(store_user_data=True, docs=[doc]).get_docs(doc.vocab)),
}


@case(seconds=5, megabytes=50, each=[(way, edit) for way in WAYS for edit in groups.EDITS])
def edit_of_a_loaded_group(what: tuple[str, Callable[[SpanGroup], None]]) -> None:
    """Edited before it is read first, while somebody holds it, and stored and edited again."""
    way, edit = what
    doc = WAYS[way](groups.parsed_doc())
    before = groups.values(groups.parsed_doc())
    if edit in groups.DELETIONS:  # before it is read, the group is spaCy's own, which deletes the span before
        constituents(doc)
    held = doc.spans[KEY]
    edit(held)
    for _ in range(2):
        expected = groups.fresh_of(doc)
        assert [str(to_tree(sent)) for sent in doc.sents] == [str(to_tree(sent)) for sent in expected.sents]
        for key, value in groups.values(doc).items():
            assert all(one in (None, known) for one, known in zip(value, before.get(key, (None, None)), strict=True))
        doc = WAYS[way](doc)
        doc.spans[KEY].append(Span(doc, 0, 1, "X"))
