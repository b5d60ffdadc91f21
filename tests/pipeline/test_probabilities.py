"""The probabilities of a component: in Docs, in plain data, in pictures, on the command line."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin

import spacy_dtparse
from spacy_dtparse.cli import main
from spacy_dtparse.core.calibration import CALIBRATION, Calibration, ResultCalibrator
from spacy_dtparse.errors import DtparseError
from spacy_dtparse.span_parser import encoder
from spacy_dtparse.span_parser.component import SpanParse
from spacy_dtparse.span_parser.parser import SpanParser
from tests.span_models import SENTENCES, random_model

EXAMPLE = Calibration((0.5, 0.7, -0.1), (-1.2, -0.5))


@pytest.fixture
def model(tmp_path):
    """A file of a calibrated model."""
    meta = {CALIBRATION: EXAMPLE.to_dict(), "lang": "en"}
    SpanParser(replace(random_model(1), meta=meta)).to_disk(tmp_path / "model")
    return tmp_path / "model"


def pipeline(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("span_parser", config={"model": str(model), "penalty": 0.0, **config})
    return nlp


def two_sentences(vocab) -> Doc:
    words, tags = ([*SENTENCES[0][k], *SENTENCES[1][k]] for k in (0, 1))
    return Doc(vocab, words=words, tags=tags, sent_starts=[k in (0, 7) for k in range(10)])


@pytest.mark.kernel
def test_a_doc_has_them_if_the_setting_is_on(model, tmp_path):
    silent = pipeline(model)
    doc = silent(two_sentences(silent.vocab))
    assert all(span._.probability is None and span._.tree_probability is None for span in doc._.constituents)
    nlp = pipeline(model, probabilities=True)
    doc, without = nlp(two_sentences(nlp.vocab)), doc
    assert [*doc.spans["constituents"].attrs["costs"]] == [*without.spans["constituents"].attrs["costs"]]
    parser = ResultCalibrator(nlp.get_pipe("span_parser").configured_parser)
    for sentence, (words, tags) in zip(doc.sents, SENTENCES[:2], strict=True):
        tree = spacy_dtparse.to_tree(sentence)
        each, whole = parser.probabilities(words, tags, tree)
        own = [span._.probability for span in doc._.constituents if sentence.start <= span.start < sentence.end]
        assert own == list(each[len(each) - len(own) :]) and len(own) > 1
        assert {token_span._.tree_probability for token_span in (sentence, sentence[-1:])} == {whole}
    nlp.to_disk(tmp_path / "saved")
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (again,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    (anew,) = spacy.load(tmp_path / "saved").pipe([two_sentences(nlp.vocab)])
    for other in (again, anew):
        assert [s._.probability for s in other._.constituents] == [s._.probability for s in doc._.constituents]
    record = spacy_dtparse.sentence_record(next(iter(doc.sents)))
    assert record["tree_probability"] == next(iter(doc.sents))._.tree_probability
    assert all(0 < one["probability"] < 1 for one in record["constituents"] if one["label"] != "TOP")
    shown = re.findall(r"\d\.\d\d", spacy_dtparse.render(doc, "text", jupyter=False, options={"probabilities": True}))
    assert f"{doc._.constituents[-1]._.probability:.2f}" in shown


def test_a_parser_without_a_calibration_is_refused(tmp_path):
    SpanParser(random_model(1)).to_disk(tmp_path / "model")
    with pytest.raises(DtparseError, match="calibrate"):
        pipeline(tmp_path / "model", probabilities=True)
    with pytest.raises(DtparseError, match="true or false"):
        SpanParse(probabilities="yes")


def test_the_command_line_prints_them(model, capsys):
    line = "The_DT cat_NN sat_VBD on_IN the_DT mat_NN ._."
    given = ["parse", "--model", str(model), "--tagged", "--text", line, "--probabilities"]
    assert main([*given, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert 0 < record["tree_probability"] < 1 and all("probability" in one for one in record["constituents"])
    assert main(given) == 1
    assert "--format json" in capsys.readouterr().err


def rows_encoded(monkeypatch, nlp, docs) -> int:
    """Number of rows that the span networks encode while a pipeline's last component processes Docs."""
    sizes, run = [], encoder.encode_gaps

    def counted(network, ids, *arguments):
        sizes.append(len(ids))
        return run(network, ids, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "encode_gaps", counted)
        list(nlp.pipeline[-1][1].pipe(docs))
    return sum(sizes)


@pytest.mark.kernel
def test_networks_run_once_for_a_tree_and_its_probabilities(model, monkeypatch):
    rows = sum(len(words) + 2 for words, _ in SENTENCES[:2])
    for probabilities in (False, True):
        nlp = pipeline(model, probabilities=probabilities)
        assert rows_encoded(monkeypatch, nlp, [two_sentences(nlp.vocab)]) == rows


@pytest.mark.embedded
def test_a_sentence_is_encoded_once_for_its_tree_repairs_and_probabilities(monkeypatch):
    nlp = spacy_dtparse.load("en_dtparse", config={"components": {"dtparse": {"probabilities": True}}})
    with nlp.select_pipes(disable=["dtparse"]):
        doc = nlp("The old cat sat on the mat. She saw it, quietly.")
    parser = nlp.get_pipe("dtparse").configured_parser.inner_parser  # loads it, which encodes the self-test
    rows = sum(len(sentence) + 2 for sentence in doc.sents)
    assert rows_encoded(monkeypatch, nlp, [doc.copy()]) == rows
    # no complete tree: the tree of the span model comes from the same output, and so does that with attached tokens
    batch = parser.encode_sentence([token.text for token in doc[:7]], [token.tag_ for token in doc[:7]])
    with monkeypatch.context() as patch:
        patch.setattr(encoder, "encode_gaps", None)
        tokens, _ = batch.tokens(parser.settings)
        labels = [*parser.labels, "TOP"]
        spans = (0, 7, "TOP"), (0, 7, "S"), (3, 6, "VP")  # the subject is unattached
        items = np.array([(start, end, labels.index(label)) for start, end, label in spans], np.int32)
        arguments = batch, 0, tokens, items, np.zeros(3), 0.0
        fallback = parser.repaired_result(*arguments, "fallback", [1, 1, 0, 0])
        attached = parser.repaired_result(*arguments, "complete", [1, 1, 0, 0])
    sentence = batch.prepared[0][1:]
    assert fallback.tree == parser.span_parser.parse(*sentence).tree and fallback.status == "fallback"
    assert {*spans, (0, 3, "NP")} <= set(attached.tree.spans())
