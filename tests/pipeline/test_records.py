"""Tables of Docs: rows of constituents, clauses, chunks and tokens, IOB tags, measures, data frames."""

from __future__ import annotations

import json
import sys

import pytest
import spacy
from spacy.tokens import Doc, Span

import spacy_dtparse
from spacy_dtparse import chunk_tags, chunks, head, measure_syntax, syntactic_structures, to_dataframe, to_records
from spacy_dtparse.errors import ConfigError, DtparseError, NonConstituentError, NotParsedError
from spacy_dtparse.pipeline.extensions import register_extensions
from spacy_dtparse.pipeline.records import COLUMNS
from spacy_dtparse.query.measures import SyntaxMeasures

from ..query.test_syntax_measures import COUNTED
from .test_attributes import gold_doc, texts

FIRST = (
    "(TOP (S (NP (NP (DT the) (NN dog)) (PP (IN on) (NP (DT the) (NN mat)))) (VP (VBZ knows) (SBAR (IN that) (S "
    "(NP (PRP it)) (VP (VBZ sleeps))))) (. .)))"
)
SECOND = "(TOP (S (NP (PRP she)) (VP (VBD sat)) (. .)))"


@pytest.fixture
def doc():
    register_extensions()
    return gold_doc(FIRST, SECOND, vocab=spacy.blank("en").vocab)


def test_rows_of_constituents(doc):
    rows = to_records(doc)
    assert [list(row) for row in rows] == [list(COLUMNS["constituents"])] * len(doc._.constituents)
    assert rows[1] == {
        "doc": 0, "sentence": 0, "constituent": 1, "parent": 0, "depth": 1, "label": "NP", "start": 0, "end": 5,
        "start_char": 0, "end_char": 18, "head": 1, "head_text": "dog", "probability": None,
        "text": "the dog on the mat",
    }  # fmt: skip
    for row, span in zip(rows, doc._.constituents, strict=True):
        assert (row["start"], row["end"], row["label"]) == (span.start, span.end, span.label_)
        assert doc.text[row["start_char"] : row["end_char"]] == row["text"] == span.text
        assert row["head"] == head(span).i
        above = span._.parent
        assert (row["parent"] is None) == (above is None)
        assert above is None or rows[row["parent"]]["text"] == above.text
        assert row["depth"] == (0 if above is None else rows[row["parent"]]["depth"] + 1)
    assert [row["sentence"] for row in rows] == sorted(row["sentence"] for row in rows) and rows[-1]["sentence"] == 1
    assert json.loads(json.dumps(rows)) == rows


def test_rows_of_clauses(doc):
    rows = to_records(doc, rows="clauses")
    assert [(row["text"], row["clause"], row["parent"], row["depth"], row["head_text"]) for row in rows] == [
        (doc[0:10].text, 0, None, 0, "knows"), ("that it sleeps", 1, 0, 1, "that"), (doc[10:].text, 2, None, 0, "sat"),
    ]  # fmt: skip
    assert list(rows[0]) == list(COLUMNS["clauses"])


@pytest.mark.slow
def test_rows_of_clauses_have_subject_verb_and_kind(doc):
    """They are those of the functions of clauses; a sentence of a Doc in another language has none."""
    names = ("kind", "subject_start", "subject_end", "subject_text", "verb", "verb_text")
    rows = to_records(doc, rows="clauses")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("main", 0, 5, "the dog on the mat", 5, "knows"), ("complement", 7, 8, "it", 8, "sleeps"),
        ("main", 10, 11, "she", 11, "sat"),
    ]  # fmt: skip
    for row, clause in zip(rows, doc._.clauses, strict=True):
        assert (row["kind"], row["verb_text"]) == (clause._.clause_kind, clause._.verb.text)
    trees = ("(TOP (S (VP (VB Sit)) (. !)))", "(TOP (FRAG (NP (NN News)) (S (NP (PRP it)))))")
    fragments = gold_doc(*trees, vocab=doc.vocab)
    assert [tuple(row[name] for name in names) for row in to_records(fragments, "clauses")] == [
        ("main", None, None, None, 0, "Sit"), ("main", None, None, None, None, None),
    ]  # fmt: skip
    french = gold_doc(FIRST, vocab=spacy.blank("fr").vocab)
    assert {row[name] for row in to_records(french, "clauses") for name in names} == {None}
    (only,) = to_records(list(doc.sents)[1], "clauses")
    assert only["subject_text"] == "she"


def test_rows_of_chunks_and_tokens(doc):
    assert [(row["label"], row["text"]) for row in to_records(doc, "chunks")][:6] == [
        ("NP", "the dog"), ("PP", "on"), ("NP", "the mat"), ("VP", "knows"), ("SBAR", "that"), ("NP", "it"),
    ]  # fmt: skip
    rows = to_records(doc, "tokens")
    assert [row["chunk_tag"] for row in rows] == chunk_tags(doc) == [
        "B-NP", "I-NP", "B-PP", "B-NP", "I-NP", "B-VP", "B-SBAR", "B-NP", "B-VP", "O", "B-NP", "B-VP", "O",
    ]  # fmt: skip
    constituents = doc._.constituents
    assert [constituents[row["parent"]].text for row in rows[:3]] == ["the dog", "the dog", "on the mat"]
    assert [row["tag"] for row in rows] == [token.tag_ for token in doc]


def test_several_docs_and_spans(doc):
    _, second = doc.sents
    rows = to_records([doc, second], "clauses")
    assert [(row["doc"], row["clause"], row["sentence"]) for row in rows] == [
        (0, 0, 0),
        (0, 1, 0),
        (0, 2, 1),
        (1, 2, 1),
    ]
    for kind in COLUMNS:
        assert to_records(second, kind) == [row for row in to_records(doc, kind) if row["sentence"] == 1]
        assert to_records([], kind) == [] == to_records(doc[10:10], kind)
    assert texts(chunks(doc[0:4])) == ["the dog", "on"] and chunk_tags(doc[1:5]) == ["O", "B-PP", "B-NP", "I-NP"]
    assert chunk_tags(second) == ["B-NP", "B-VP", "O"]
    assert all(type(chunk) is Span and chunk.label_ == "NP" for chunk in chunks(doc)[:1])


def test_white_space_is_in_no_row():
    vocab = spacy.blank("en").vocab
    words = ["She", "\n", "may", "\n\n", "sleep", "."]
    doc = Doc(
        vocab,
        words=words,
        spaces=[False] * 6,
        tags=["PRP", "_SP", "MD", "_SP", "VB", "."],
        sent_starts=[True] + [False] * 5,
    )
    doc.spans["constituents"] = [
        Span(doc, 0, 6, "S"),
        Span(doc, 0, 1, "NP"),
        Span(doc, 2, 5, "VP"),
        Span(doc, 4, 5, "VP"),
    ]
    assert chunk_tags(doc) == ["B-NP", "O", "B-VP", "I-VP", "I-VP", "O"]
    assert [row["token"] for row in to_records(doc, "tokens")] == [0, 2, 4, 5]
    assert [row["head_text"] for row in to_records(doc)] == ["may", "She", "may", "sleep"]
    assert measure_syntax(doc).counts["W"] == 3
    assert texts(syntactic_structures(doc)["VP"]) == ["may\n\nsleep"]


def test_errors(doc):
    with pytest.raises(ConfigError, match="rows='words'; allowed are 'constituents', 'clauses', 'chunks', 'tokens'"):
        to_records(doc, "words")
    with pytest.raises(ConfigError, match="type str has no table; give a parsed Doc or a Span"):
        to_records("a text")
    unparsed = Doc(doc.vocab, words=["a"])
    for function in (to_records, chunks, chunk_tags, measure_syntax, syntactic_structures):
        with pytest.raises(NotParsedError):
            function(unparsed)
    with pytest.raises(ConfigError, match="type str has no trees"):
        measure_syntax("a text")
    with pytest.raises(NonConstituentError):
        measure_syntax(doc[1:4])


def test_pandas_is_optional(doc, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        DtparseError, match=r"pandas is not installed; install it \(pip install pandas\), or use to_rec"
    ):
        to_dataframe(doc)
    assert to_records(doc)


def test_data_frames(doc):
    pytest.importorskip("pandas")
    for kind in COLUMNS:
        frame = to_dataframe([doc], kind)
        assert list(frame.columns) == list(COLUMNS[kind]) and len(frame) == len(to_records(doc, kind))
        assert list(to_dataframe([], kind).columns) == list(COLUMNS[kind])
    frame = to_dataframe(doc)
    assert frame["parent"].dtype == "Int64" and frame["probability"].isna().all()
    assert frame[frame.label == "NP"].text.tolist() == ["the dog on the mat", "the dog", "the mat", "it", "she"]


def test_measures_of_docs(doc):
    assert measure_syntax(doc).counts == {
        "W": 11, "S": 2, "VP": 3, "C": 3, "T": 2, "DC": 1, "CT": 1, "CP": 0, "CN": 2,
    }  # fmt: skip
    first, second = doc.sents
    assert measure_syntax(first) + measure_syntax(second) == measure_syntax(doc) == measure_syntax([first, second])
    assert measure_syntax(spacy_dtparse.to_tree(first)) == measure_syntax(first)
    assert measure_syntax(doc, counting="l2sca") == measure_syntax(doc)
    assert measure_syntax([]) == SyntaxMeasures()
    found = syntactic_structures(doc)
    assert {name: len(spans) for name, spans in found.items()} == measure_syntax(doc).counts
    assert texts(found["CN"]) == ["the dog on the mat", "that it sleeps"] and found["CN"][0].label_ == "CN"
    assert texts(syntactic_structures(second)["T"]) == [second.text]


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", sorted(COUNTED.keys() - {"quotations"}))  # whose first tree has another form
def test_parsed_texts_have_the_counts_of_hand(name):
    text, _, counts = COUNTED[name]
    assert measure_syntax(spacy_dtparse.load()(text)).counts == counts
