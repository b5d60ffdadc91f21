"""Licence, sources, credits and requirement of a pipeline with components of this package, and its licence files."""

from __future__ import annotations

import json
import shutil

import pytest
import spacy

import spacy_dtparse
from spacy_dtparse.core.registry import CONSTITUENT_FACTORIES
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.model_io.container import container_meta, container_to_bytes
from spacy_dtparse.models import HERE, open_parser
from spacy_dtparse.pipeline.registration import PARSER_FACTORIES

from .conftest import REAL_LOAD

LICENCE = "CC BY-SA 4.0"
embedded = pytest.mark.skipif(not (HERE / "en_dtparse" / "config.cfg").exists(), reason="no English pipeline")


@pytest.fixture
def model_copy(tmp_path):
    """The file of a shipped model in a folder with a licence, outside the package."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "span.model").write_bytes(open_parser("en_span").to_bytes())
    (folder / "LICENSE.txt").write_text("terms")
    (folder / "README.md").write_text("no licence")
    return folder / "span.model"


@pytest.mark.parametrize("factory", [*PARSER_FACTORIES, "recurrent_tagger", "visible_sentences", "dependency_phrases"])
def test_the_package_is_a_requirement_of_the_pipeline(factory):
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    assert nlp.meta["requirements"] == ["spacy-dtparse>=0.1.0,<0.2.0"]
    with_key = (*CONSTITUENT_FACTORIES, "dependency_phrases")
    nlp.add_pipe(factory, name="another", config={"spans_key": "another"} if factory in with_key else {})
    assert len(nlp.meta["requirements"]) == 1


@pytest.mark.parametrize("given", ["spacy-dtparse", "spacy_dtparse==0.1.0", "spacy-dtparse>=0.1.0"])
def test_a_requirement_that_is_there_stays(given):
    nlp = spacy.blank("en", meta={"requirements": ["spacy-dtparse-models>=2", given]})
    nlp.add_pipe("dtparse")
    assert nlp.meta["requirements"] == ["spacy-dtparse-models>=2", given]


@embedded
@pytest.mark.parametrize("factory", ["dtparse", "span_parser", "pcfgla", "recurrent_tagger"])
def test_an_embedded_model_gives_its_licence_without_being_loaded(factory):
    nlp = spacy.blank("en")
    component = nlp.add_pipe(factory)
    assert component._loaded_parser is None and nlp.meta["license"] == LICENCE
    assert any("CRAFT" in credit for credit in nlp.meta["credits"])
    assert {"name", "url", "author", "license"} == set(nlp.meta["sources"][0])
    before = json.dumps(nlp.meta)
    nlp.add_pipe(factory, name="another", config={} if factory == "recurrent_tagger" else {"spans_key": "another"})
    assert [json.loads(before)[field] for field in ("license", "sources", "credits")] == [
        nlp.meta[field] for field in ("license", "sources", "credits")
    ]


@embedded
def test_a_licence_of_the_pipeline_stays():
    for own, wanted in (
        ("MIT", f"MIT AND {LICENCE}"), (LICENCE, LICENCE), ("CC-BY-SA-4.0", "CC-BY-SA-4.0"),
        (f"MIT AND {LICENCE}", f"MIT AND {LICENCE}"),
    ):  # fmt: skip
        nlp = spacy.blank("en", meta={"license": own, "sources": None, "credits": ["Ann"]})
        nlp.add_pipe("dtparse")
        assert nlp.meta["license"] == wanted and nlp.meta["credits"][0] == "Ann" and len(nlp.meta["credits"]) > 1


@pytest.mark.slow
@embedded
def test_the_default_pipelines_name_the_sources_of_their_parser():
    network, trees = (
        [source["name"] for source in spacy_dtparse.load(name).meta["sources"]] for name in ("en_span", "en_trees")
    )
    assert network and {*network} <= {*trees}
    assert len({*trees}) == len(trees), "each once"


@embedded
def test_licence_files_stay_with_the_model(model_copy, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_dtparse.core.load_parser", REAL_LOAD)
    nlp = spacy.blank("en")
    nlp.add_pipe("span_parser", config={"model": str(model_copy)})
    assert nlp.meta["license"] == LICENCE
    nlp.to_disk(tmp_path / "one")
    shutil.rmtree(model_copy.parent)
    spacy.load(tmp_path / "one").to_disk(tmp_path / "two")
    for folder in (tmp_path / "one", tmp_path / "two"):
        assert {path.name for path in (folder / "span_parser").iterdir()} == {"model", "LICENSE.txt"}
        assert (folder / "span_parser" / "LICENSE.txt").read_text() == "terms"
        assert json.loads((folder / "meta.json").read_text())["license"] == LICENCE


@embedded
def test_shipped_pipelines_write_their_licences(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_dtparse.core.load_parser", REAL_LOAD)
    spacy_dtparse.load("en_span").to_disk(tmp_path)
    for component in ("tagger", "span_parser"):
        assert {path.name for path in (tmp_path / component).iterdir()} == {"model", "LICENSE", "LICENSE.GENIA.txt"}


def test_metadata_of_a_container():
    data = container_to_bytes("x", {"meta": {"license": "MIT"}}, {})
    assert container_meta(data) == {"meta": {"license": "MIT"}}
    for damaged in (b"", b"text", data[:40], data[:90] + b"\0\0" + data[92:]):
        with pytest.raises(ModelFormatError):
            container_meta(damaged)


def test_a_model_without_a_licence_adds_none(model_file):
    nlp = spacy.blank("en")
    nlp.add_pipe("dtparse", config={"model": str(model_file)})
    assert nlp.meta["license"] == "" and "credits" not in nlp.meta
