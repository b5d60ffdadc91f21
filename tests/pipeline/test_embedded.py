"""The embedded English pipeline: one model file for load() and for the component's default."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse import models
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ModelFormatError

from .conftest import make_nlp


@pytest.fixture
def embedded(model_file, tmp_path, monkeypatch):
    make_nlp(model_file).to_disk(tmp_path / "en_dtparse")
    monkeypatch.setattr(models, "EMBEDDED_PIPELINE", tmp_path / "en_dtparse")


def test_load_and_default_model(embedded, capsys, monkeypatch):
    nlp = spacy_dtparse.load()
    assert nlp.pipe_names == ["sentencizer", "list_tagger", "dtparse"]
    assert len(nlp("The cat sat.")._.constituents) == 3
    greedy = spacy_dtparse.load(config={"components.dtparse.budget": 0})
    assert len(greedy("She sat quietly.")._.constituents) == 3
    default = spacy.blank("en")
    default.add_pipe("dtparse")
    assert default.get_pipe("dtparse").labels == ()  # not loaded before the first Doc
    doc = Doc(default.vocab, words=["she", "sat"], tags=["PRP", "VBD"], sent_starts=[True, False])
    assert len(default(doc)._.constituents) == 3
    assert default.get_pipe("dtparse").parser.note == "from the file"
    assert default.get_pipe_config("dtparse")["model"] is None
    assert models.embedded_model().parent.parent == models.embedded_pipeline()
    monkeypatch.setattr("spacy_dtparse.kernels.warmup.kernels_compiled", lambda: False)
    assert main(["She sat."]) == 0
    captured = capsys.readouterr()
    assert (
        "(VBD sat)" in captured.out and "compiling the parser's kernels (the first run only)" in captured.err
    )


def test_an_untouched_default_is_saved_with_its_model(embedded, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("dtparse")
    nlp.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "dtparse" / "model").read_bytes() == models.embedded_model().read_bytes()
    assert spacy.load(tmp_path / "saved").config["components"]["dtparse"]["model"] is None


def test_an_installation_without_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(models, "EMBEDDED_PIPELINE", tmp_path / "en_dtparse")
    with pytest.raises(ModelFormatError, match=r"has no English model .*install the package again"):
        spacy_dtparse.load()
    nlp = spacy.blank("en")
    nlp.add_pipe("dtparse")
    with pytest.raises(ModelFormatError, match="name a model of your own"):
        nlp(Doc(nlp.vocab, words=["she"], tags=["PRP"]))
    assert main(["She sat."]) == 1
    assert "has no English model" in capsys.readouterr().err


@pytest.mark.skipif(not models.EMBEDDED_PIPELINE.exists(), reason="the English pipeline is not built yet")
def test_the_real_thing():
    doc = spacy_dtparse.load()("The cat sat on the mat. (It was black.)\n\nNobody saw it!")
    assert doc.has_annotation("TAG") and len(list(doc.sents)) == 3
    for sentence, tree in zip(doc.sents, spacy_dtparse.pipeline.attributes.trees(doc), strict=True):
        assert len(tree.words) == sum(not token.is_space for token in sentence)
    assert "(NP (DT The) (NN cat))" in next(doc.sents)._.parse_string
