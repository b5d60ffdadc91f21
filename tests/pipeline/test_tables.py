"""The functions for worker processes: texts in, Docs or rows out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from spacy.language import Language

from spacy_dtparse import parse_docs, parse_rows, sentence_record
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.pipeline import tables

from .conftest import make_nlp

TEXT = "The dog saw the cat on the mat .  \n She sleeps ( quietly ) ."


@Language.component("fussy")
def fussy(doc):
    if "bad" in doc.text:
        raise RuntimeError("a bad text: \ud800")
    return doc


@Language.factory("brittle")
class Brittle:
    """A component that fails on all Docs of a batch if one is bad."""

    def __init__(self, nlp, name):
        self.handler = None

    def __call__(self, doc):
        return fussy(doc)

    def set_error_handler(self, handler):
        self.handler = handler

    def get_error_handler(self):
        return self.handler

    def pipe(self, stream, *, batch_size):
        docs = list(stream)
        try:
            yield from [fussy(doc) for doc in docs]
        except RuntimeError as error:
            self.handler("brittle", self, docs, error)


@pytest.fixture(params=["fussy", "brittle", "a crash"])
def folder(request, tmp_path, model_file, monkeypatch):
    """A pipeline on disk that raises on some texts: on one Doc, on a batch, or out of `pipe`."""
    nlp = make_nlp(model_file)
    nlp.add_pipe("fussy" if request.param == "fussy" else "brittle")
    if request.param == "a crash":
        monkeypatch.setattr(Brittle, "pipe", lambda self, stream, *, batch_size: map(fussy, stream))
    nlp.to_disk(tmp_path / "pipeline")
    return str(tmp_path / "pipeline")


def test_rows_are_those_of_records(tmp_path, model_file):
    nlp = make_nlp(model_file)
    nlp.to_disk(tmp_path / "pipeline")
    texts = [("one", TEXT), ("two", " \n"), ("three", ""), (4, "It run")]
    rows = list(parse_rows(texts, str(tmp_path / "pipeline")))
    assert [row["id"] for row in rows] == ["one", "one", "two", "three", 4]
    assert [row["sentence"] for row in rows] == [1, 2, None, None, 1]
    assert all(row["error"] is None for row in rows)
    assert {value for row in rows[2:4] for key, value in row.items() if key != "id"} == {None}
    records = [sentence_record(sentence) for text in (TEXT, "It run") for sentence in nlp(text).sents]
    for row, record in zip([rows[0], rows[1], rows[4]], records, strict=True):
        assert row["tree"] == record["tree"]
        assert row["constituents"] == [
            {name: one[name] for name in ("label", "start_char", "end_char")} for one in record["constituents"]
        ]
        assert row["text"] == record["text"].strip()
    assert TEXT[rows[1]["start_char"] : rows[1]["end_char"]] == rows[1]["text"] == "She sleeps ( quietly ) ."


def test_a_bad_text_fails_no_other(folder):
    bad = {1: "bad", 3: None, 4: float("nan"), 5: "\ud800", 6: b"The dog", 7: "a " * 500_001}
    texts = [(key, bad.get(key, "The dog sleeps .")) for key in range(10)]
    rows = list(parse_rows(texts, folder))
    assert [row["id"] for row in rows] == [*range(10)]
    assert {row["id"] for row in rows if row["error"]} == {*bad}
    alike = {str({**row, "id": 0}) for row in rows if not row["error"]}
    assert len(alike) == 1 and "(NN dog)" in alike.pop()
    words = {1: r"RuntimeError: a bad text: \ud800", 3: "NoneType", 4: "float", 5: "surrogates", 6: "bytes", 7: "E088"}
    for key, word in words.items():
        assert word in rows[key]["error"] and rows[key]["tree"] is rows[key]["constituents"] is None
    for (key, doc, error), row in zip(parse_docs(texts, folder), rows, strict=True):
        assert key == row["id"] and error == row["error"] and (len(doc) == 0) == (key in bad)
        assert error or doc.text == "The dog sleeps ."


def test_a_process_loads_once_and_its_memory_does_not_grow(tmp_path, model_file, monkeypatch):
    make_nlp(model_file).to_disk(tmp_path / "pipeline")
    folder, loaded, load = str(tmp_path / "pipeline"), [], tables.load_named
    monkeypatch.setattr(tables, "_load_once", tables.cache(lambda name: loaded.append(load(name)) or loaded[-1]))
    monkeypatch.setattr(tables, "MAX_TEXTS", 3)
    texts = [[(key, f"The {word}{key} sleeps .") for key in range(20)] for word in ("cat", "dog", "mat")]
    with ThreadPoolExecutor(3) as pool:
        rows = list(pool.map(lambda part: list(parse_rows(part, folder)), texts))
    (nlp,) = loaded
    strings = len(nlp.vocab.strings)
    assert [[row["text"] for row in part] for part in rows] == [[text for _, text in part] for part in texts]
    assert len(list(parse_rows(texts[0] + [(0, "Brandnew words .")], folder))) == 21
    assert len(nlp.vocab.strings) == strings and "Brandnew" not in nlp.vocab.strings
    assert len(loaded) == 1


def test_a_missing_pipeline_is_an_error():
    with pytest.raises(ModelFormatError, match="cannot load the pipeline 'no_such'"):
        list(parse_rows([(1, "It sleeps .")], "no_such"))


@pytest.mark.embedded
def test_the_default_pipeline():
    (row,) = parse_rows([("a", "  It slept. ")])
    assert row["tree"] == "(TOP (S (NP (PRP It)) (VP (VBD slept)) (. .)))"
    assert row["constituents"][0] == {"label": "S", "start_char": 2, "end_char": 11}
    assert (row["start_char"], row["end_char"], row["text"]) == (2, 11, "It slept.")
