"""Parsers whose bytes are read from their file."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.core import load_parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.span_parser.parser import SpanParser
from tests.span_models import SENTENCES, random_model


def test_bytes_are_read_again(tmp_path: Path) -> None:
    parser, file = SpanParser(random_model()), tmp_path / "model"
    data = parser.to_bytes()
    parser.to_disk(file)
    parser.mmap_model(file)
    assert not isinstance(parser._data, bytes) and parser.to_bytes() == data
    other = parser.with_settings(penalty=0.5)
    assert other.to_bytes() == data and pickle.loads(pickle.dumps(other)).to_bytes() == data
    parser.to_disk(file)
    assert file.read_bytes() == data, "onto itself"
    assert pickle.loads(pickle.dumps(parser)).parse(*SENTENCES[0]) == parser.parse(*SENTENCES[0])


def test_a_replaced_file_is_detected(tmp_path: Path) -> None:
    parser, file = SpanParser(random_model()), tmp_path / "model"
    parser.to_disk(file)
    parser.mmap_model(file)
    for other in (SpanParser(random_model(seed=3)).to_bytes(), file.read_bytes()[:-1], b""):
        file.write_bytes(other)
        with pytest.raises(ModelFormatError, match="now contains another model; load it again"):
            parser.to_bytes()
    file.unlink()
    with pytest.raises(ModelFormatError, match="cannot read the model file"):
        parser.to_bytes()


def test_the_span_models_bytes_are_in_the_file_of_the_trees() -> None:
    path = Path(embedded_model("en_dtparse"))
    plain, parser = load_parser(path), load_parser(path)
    assert isinstance(plain, DtreeParser) and isinstance(parser, DtreeParser)
    parser.mmap_model(path)
    assert isinstance(plain.model.span_model, bytes) and not isinstance(parser.model.span_model, bytes)
    assert parser.to_bytes() == path.read_bytes()
    assert parser.span_parser.to_bytes() == bytes(parser.model.span_model) == plain.model.span_model
    assert bool(parser.model.span_model)


@pytest.mark.slow
def test_pipelines_of_the_package_leave_bytes_in_their_files(tmp_path: Path) -> None:
    nlp = spacy_dtparse.load()
    for name in nlp.pipe_names:
        pipe = nlp.get_pipe(name)
        assert not isinstance(pipe.parser._data, bytes)
        configured = pipe.configured_parser
        assert not isinstance(getattr(configured, "inner_parser", configured)._data, bytes)
    nlp.to_disk(tmp_path)
    assert (tmp_path / "dtparse" / "model").read_bytes() == Path(embedded_model("en_dtparse")).read_bytes()
    saved = spacy_dtparse.pipeline.embedded.spacy.load(tmp_path)
    assert isinstance(saved.get_pipe("dtparse").parser._data, bytes), "a user's file may change"
