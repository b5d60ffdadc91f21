"""Opening a session of annotation: its inputs, and what is refused before any file is made."""

from __future__ import annotations

import pytest

import spacy_dtparse
from spacy_dtparse.annotation.corrector import Corrector
from spacy_dtparse.annotation.server import make_annotation_server
from spacy_dtparse.cli import main
from spacy_dtparse.cli.annotate import read_sentences
from spacy_dtparse.errors import ConfigError, MissingAnnotationError, TrainingDataError

from ..pipeline.conftest import make_nlp, model_file, rule_parser_loads  # noqa: F401 (fixtures)
from .window import annotating


def test_inputs(tmp_path, capsys):
    text, tokens, trees = (tmp_path / name for name in ("a.txt", "b.txt", "c.mrg"))
    text.write_text("One text.\n\nAnother.\n")
    tokens.write_text("One line .\n\nAnd more .\n")
    trees.write_text("(TOP (S (NP-SBJ (PRP She)) (VP (VBD sat))))")
    assert list(read_sentences([str(text)], False)) == ["One text.", "Another."]
    assert list(read_sentences([str(tokens)], True)) == [["One", "line", "."], ["And", "more", "."]]
    (tree,) = read_sentences([str(trees)], False)
    assert tree.labels == ("TOP", "S", "NP", "VP")
    with pytest.raises(TrainingDataError, match="there is no file"):
        list(read_sentences([str(tmp_path / "none.txt")], False))
    assert main(["annotate", str(text), "--out", str(trees)]) == 1
    assert "exists and has no journal" in capsys.readouterr().err


def test_a_parser_without_constraints_is_refused(model_file, tmp_path):  # noqa: F811
    with pytest.raises(ConfigError, match="does not support constraints"):
        make_annotation_server(["She sat."], tmp_path / "trees.mrg", make_nlp(model_file))


@pytest.mark.embedded
@pytest.mark.parametrize("label", ["", "N P", "(NP)", "TOP", "-NONE-", "N\u200bP"])
def test_labels_that_cannot_be_written_are_refused_at_the_start(nlp, tmp_path, label):
    with pytest.raises(ConfigError, match="cannot be a label"):
        make_annotation_server(["She sat."], tmp_path / "trees.mrg", nlp, labels=["OBJ", label], port=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.embedded
def test_a_port_in_use_creates_no_files(nlp, tmp_path):
    with annotating(["She sat."], tmp_path / "one" / "trees.mrg", nlp) as server:
        port = server.server_address[1]
        with pytest.raises(ConfigError, match="cannot listen at"):
            make_annotation_server(["She sat."], tmp_path / "two" / "trees.mrg", nlp, port=port)
    with pytest.raises(ConfigError, match="port=70000"):
        make_annotation_server(["She sat."], tmp_path / "two" / "trees.mrg", nlp, port=70000)
    with pytest.raises(ConfigError, match="order is 'best'"):
        make_annotation_server(["She sat."], tmp_path / "one" / "trees.mrg", nlp, port=port, order="best")
    assert not (tmp_path / "two").exists()
    with annotating(["She sat."], tmp_path / "one" / "trees.mrg", nlp):  # the failed attempt left nothing open
        pass


def test_a_pipeline_without_sentence_boundaries():
    nlp = spacy_dtparse.load()
    corrector = Corrector(nlp)
    with nlp.select_pipes(disable=["tagger"]):
        assert corrector.read_text("Go") == [["Go"]]
        with pytest.raises(MissingAnnotationError, match="no component of this pipeline finds sentences"):
            corrector.read_text("She sat. He ran.")
