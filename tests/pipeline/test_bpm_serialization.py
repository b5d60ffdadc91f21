"""bpm_parser's model on disk, in bytes, pickles, copies and processes; models of other kinds; damaged ones."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.util import load_config
from spacy.vocab import Vocab

from spacy_dtparse.bpm_parser.component import BpmParser
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core import load_dependency_parser, load_parser
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.pcfgla.component import PcfgLa
from spacy_dtparse.pipeline.model_pipe import SAVED
from spacy_dtparse.span_parser.component import SpanParse
from spacy_dtparse.span_parser.parser import SpanParser

from ..span_models import random_model
from .conftest import make_links_nlp, train_links, tree_of

TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Run.", "  ", "", "It saw the dog."]


@pytest.fixture(scope="module")
def other_parser(tmp_path_factory):
    """Another model, without labels."""
    folder = tmp_path_factory.mktemp("other")
    return train_links(folder, 30, members=1, epochs=1, stages=1, label_members=0)


def test_disk_round_trip_without_the_model_file(linked, link_model, tmp_path):
    wanted = [tree_of(doc) for doc in linked.pipe(TEXTS)]
    linked.to_disk(tmp_path / "pipeline")
    data = link_model.read_bytes()
    link_model.unlink()
    assert (tmp_path / "pipeline" / "bpm_parser" / "model").read_bytes() == data
    config = load_config(tmp_path / "pipeline" / "config.cfg")
    assert config["components"]["bpm_parser"]["model"] == SAVED
    assert str(link_model) not in (tmp_path / "pipeline" / "config.cfg").read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = spacy.load(tmp_path / "pipeline")
    assert [tree_of(doc) for doc in loaded.pipe(TEXTS)] == wanted
    loaded.to_disk(tmp_path / "again")
    assert tree_of(spacy.load(tmp_path / "again")(TEXTS[0])) == wanted[0]


def test_settings_are_saved_and_can_be_changed(link_model, tmp_path):
    nlp = make_links_nlp(link_model, decoder="spanning", stages=1)
    nlp.to_disk(tmp_path / "pipeline")
    settings = spacy.load(tmp_path / "pipeline").get_pipe("bpm_parser").configured_parser.settings
    assert (settings.decoder, settings.stages) == ("spanning", 1)
    changed = spacy.load(tmp_path / "pipeline", config={"components": {"bpm_parser": {"stages": 2}}})
    settings = changed.get_pipe("bpm_parser").configured_parser.settings
    assert (settings.decoder, settings.stages) == ("spanning", 2)


def test_a_missing_path_in_a_config_does_not_matter_if_the_data_is_saved(linked, link_model, tmp_path):
    linked.to_disk(tmp_path / "pipeline")
    path = tmp_path / "pipeline" / "config.cfg"
    path.write_text(path.read_text().replace(f'"{SAVED}"', f'"{link_model}"'))
    link_model.unlink()
    with pytest.warns(UserWarning, match="bpm_parser: there is no model file"):
        loaded = spacy.load(tmp_path / "pipeline")
    assert loaded("The cat sat.").has_annotation("DEP")


def test_saved_without_the_component_s_data(linked, tmp_path):
    linked.to_disk(tmp_path / "pipeline", exclude=["bpm_parser"])
    with pytest.raises(ModelFormatError, match="was the component excluded while saving"):
        spacy.load(tmp_path / "pipeline")
    assert spacy.load(tmp_path / "pipeline", exclude=["bpm_parser"]).pipe_names == ["sentencizer", "list_tagger"]


def test_loading_over_a_used_component(linked, other_parser):
    wanted = tree_of(linked(TEXTS[0]))
    other = make_links_nlp(None)
    component = other.get_pipe("bpm_parser")
    component.set_parser(other_parser)
    assert {token.dep_ for token in other(TEXTS[0])} == {"ROOT", "dep"}
    other.from_bytes(linked.to_bytes())
    assert tree_of(other(TEXTS[0])) == wanted
    component.set_parser(other_parser)
    component.from_bytes(linked.get_pipe("bpm_parser").to_bytes(exclude=["model"]))
    assert component.parser is other_parser
    with pytest.raises(ModelFormatError, match="not those of a bpm_parser component"):
        component.from_bytes(b"\xc1 nonsense")
    assert component.parser is other_parser


def test_component_disk_round_trip(tmp_path, link_parser, other_parser):
    BpmParser(parser=link_parser).to_disk(tmp_path / "deep" / "folder")
    component = BpmParser(parser=other_parser)
    assert component.from_disk(tmp_path / "deep" / "folder", exclude=["model"]).parser is other_parser
    assert component.from_disk(tmp_path / "deep" / "folder") is component
    assert component.parser.model.fingerprint() == link_parser.model.fingerprint()
    named = BpmParser(model=str(tmp_path / "deep" / "folder"))
    assert named.parser.model.fingerprint() == link_parser.model.fingerprint()


def test_pickle_and_deepcopy_of_component_and_pipeline(linked, link_parser):
    wanted = tree_of(linked(TEXTS[0]))
    component = linked.get_pipe("bpm_parser")
    for twin in (pickle.loads(pickle.dumps(component)), copy.deepcopy(component)):
        assert twin is not component and twin.name == "bpm_parser"
        assert twin.parser.model.fingerprint() == link_parser.model.fingerprint()
    for pipeline in (pickle.loads(pickle.dumps(linked)), copy.deepcopy(linked)):
        assert tree_of(pipeline(TEXTS[0])) == wanted
    doc = linked(TEXTS[0])
    assert tree_of(pickle.loads(pickle.dumps(doc))) == tree_of(doc.copy()) == wanted


@pytest.mark.slow
def test_spawned_processes(linked, monkeypatch):
    wanted = [tree_of(doc) for doc in linked.pipe(TEXTS)]
    monkeypatch.setattr(spacy.language, "mp", multiprocessing.get_context("spawn"))
    assert [tree_of(doc) for doc in linked.pipe(TEXTS, n_process=2, batch_size=2)] == wanted


def test_docbin_and_json(linked):
    docs = list(linked.pipe(TEXTS))
    back = list(DocBin().from_bytes(DocBin(docs=docs).to_bytes()).get_docs(Vocab()))
    assert [tree_of(doc) for doc in back] == [tree_of(doc) for doc in docs]
    from_json = [spacy.tokens.Doc(Vocab()).from_json(doc.to_json()) for doc in docs if len(doc)]
    assert [tree_of(doc) for doc in from_json] == [tree_of(doc) for doc in docs if len(doc)]


def test_initialize_loads_a_model(link_model, tmp_path):
    nlp = make_links_nlp(None)
    nlp.config["initialize"]["components"]["bpm_parser"] = {"model": str(link_model)}
    nlp.initialize()
    wanted = tree_of(nlp(TEXTS[0]))
    nlp.to_disk(tmp_path / "pipeline")
    link_model.unlink()
    loaded = spacy.load(tmp_path / "pipeline")
    assert tree_of(loaded(TEXTS[0])) == wanted
    assert loaded.config["components"]["bpm_parser"]["model"] == SAVED
    with pytest.raises(ModelFormatError, match="no model file"):
        loaded.initialize()


def test_sourced_component_and_rename(linked):
    other = spacy.blank("en", vocab=linked.vocab)
    other.add_pipe("sentencizer")
    other.add_pipe("list_tagger")
    other.add_pipe("bpm_parser", source=linked, name="syntax")
    assert tree_of(other(TEXTS[0])) == tree_of(linked(TEXTS[0]))
    other.rename_pipe("syntax", "links")
    assert other.get_pipe("links").labels and other.to_bytes()


# ---- models of other kinds, and damaged ones ----


@pytest.fixture(scope="module")
def span_parser():
    return SpanParser(random_model())


def test_models_of_constituents_given_to_bpm_parser(span_parser, link_parser, tmp_path):
    span_parser.to_disk(tmp_path / "span.model")
    message = r"span.model: a model of kind 'span' .* builds constituents.*nlp.add_pipe\('span_parser', config="
    with pytest.raises(ModelFormatError, match=message):
        make_links_nlp(tmp_path / "span.model")
    component = BpmParser(parser=link_parser)
    message = r"bpm_parser: a model of kind 'span' .* not one for the factory 'bpm_parser'.*add_pipe\('span_parser'"
    with pytest.raises(ModelFormatError, match=message):
        component.set_parser(span_parser)
    with pytest.raises(ModelFormatError, match=r"'span' .* builds constituents"):
        component.from_bytes(SpanParse(parser=span_parser).to_bytes())
    with pytest.raises(ModelFormatError, match=r"'span' .* builds constituents"):
        component.initialize(lambda: (), model=tmp_path / "span.model")
    assert component.parser is link_parser


@pytest.mark.parametrize("kind", [DtParse, SpanParse, PcfgLa])
def test_dependency_models_given_to_others(kind, link_parser, link_model):
    message = r"links.model: a model of kind 'dependency' .* builds dependencies, not.*add_pipe\('bpm_parser', config="
    with pytest.raises(ModelFormatError, match=message):
        spacy.blank("en").add_pipe(kind.factory, config={"model": str(link_model)})
    component = kind()
    message = rf"kind 'dependency' .* not one for the factory '{kind.factory}'.*add_pipe\('bpm_parser'"
    with pytest.raises(ModelFormatError, match=message):
        component.set_parser(link_parser)
    with pytest.raises(ModelFormatError, match=r"'dependency' .* builds dependencies, not constituents"):
        component.from_bytes(BpmParser(parser=link_parser).to_bytes())


@pytest.mark.embedded
def test_embedded_models_given_to_bpm_parser():
    from spacy_dtparse import models

    for path, kind, factory in (
        (models.embedded_model("en_dtparse"), "dtree", "dtparse"),
        (models.embedded_model("en_pcfgla"), "pcfg", "pcfgla"),
    ):
        with pytest.raises(ModelFormatError, match=rf"kind '{kind}' .* builds constituents.*add_pipe\('{factory}'"):
            BpmParser(model=path)


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", r"the model is empty \(0 bytes\)"),
        (lambda data: b"PK\x03\x04" + data, "not a spacy-dtparse model file"),
        (lambda data: data[:40], "truncated model file"),
        (lambda data: data[:-100], "truncated model file"),
        (lambda data: data + b"\n", "1 bytes follow the end of the model file"),
        (lambda data: flipped(data, len(data) // 2), "does not have the digest in its header"),
    ],
)
def test_damaged_files(linked, link_model, tmp_path, change, message):
    linked.to_disk(tmp_path / "pipeline", exclude=["bpm_parser"])
    data = change(link_model.read_bytes())
    link_model.write_bytes(data)
    with pytest.raises(ModelFormatError, match=f"links.model: .*{message}"):
        make_links_nlp(link_model)
    with pytest.raises(ModelFormatError, match=message):
        load_dependency_parser(data)
    (tmp_path / "pipeline" / "bpm_parser").mkdir()
    (tmp_path / "pipeline" / "bpm_parser" / "model").write_bytes(data)
    with pytest.raises(ModelFormatError, match=f"model: .*{message}"):
        spacy.load(tmp_path / "pipeline")


def test_missing_models(tmp_path):
    with pytest.raises(ModelFormatError, match=r"folder without a 'model' file in it or in its bpm_parser/ or"):
        make_links_nlp(tmp_path)
    with pytest.warns(UserWarning, match="bpm_parser: there is no model file"):
        nlp = make_links_nlp(tmp_path / "gone")
    with pytest.raises(ModelFormatError, match=r"no model file .*gone"):
        nlp("She sat.")


def test_each_factory_finds_its_model_in_a_pipeline_folder(linked, span_parser, tmp_path):
    linked.add_pipe("span_parser").set_parser(span_parser)
    linked.to_disk(tmp_path / "both")
    assert isinstance(BpmParser(model=tmp_path / "both").parser, DependencyParser)
    assert SpanParse(model=tmp_path / "both").parser.name == "span"
    assert load_parser(tmp_path / "both" / "span_parser" / "model").name == "span"
