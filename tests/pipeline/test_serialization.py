"""Bytes, disk, pickle, copies, processes, and models named in configs."""

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

from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.pipeline.constituent_group import CHECKSUM
from spacy_dtparse.pipeline.model_pipe import SAVED

from .conftest import COMPONENTS, both_factories, make_nlp
from .rule_parser import RuleParser

TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Run.", "  ", "", "It saw the dog."]


def shape(doc):
    group = doc.spans["constituents"]
    attrs = {name: value for name, value in group.attrs.items() if name != CHECKSUM}
    return [(s.start, s.end, s.label_, s.id_) for s in group], attrs


@both_factories
def test_disk_round_trip_without_the_model_file(nlp, model_file, tmp_path, factory):
    wanted = [shape(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(tmp_path / "pipeline")
    model_file.unlink()
    config = load_config(tmp_path / "pipeline" / "config.cfg")
    assert config["components"][factory]["model"] == SAVED
    assert str(model_file) not in (tmp_path / "pipeline" / "config.cfg").read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = spacy.load(tmp_path / "pipeline")
    assert [shape(doc) for doc in loaded.pipe(TEXTS)] == wanted
    assert loaded.get_pipe(factory).parser.note == "from the file"
    loaded.to_disk(tmp_path / "again")
    assert shape(spacy.load(tmp_path / "again")(TEXTS[0])) == wanted[0]


@both_factories
def test_a_missing_path_in_a_config_does_not_matter_if_the_data_is_saved(nlp, model_file, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    path = tmp_path / "pipeline" / "config.cfg"
    path.write_text(path.read_text().replace(f'"{SAVED}"', f'"{model_file}"'))
    model_file.unlink()
    with pytest.warns(UserWarning, match="there is no model file"):
        loaded = spacy.load(tmp_path / "pipeline")
    assert len(loaded("The cat sat.")._.constituents) == 3


@both_factories
def test_a_configured_model_replaces_the_saved_one(nlp, tmp_path, factory):
    other = tmp_path / "other"
    other.write_bytes(RuleParser("another").to_bytes())
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline", config={f"components.{factory}.model": str(other)})
    assert loaded.get_pipe(factory).parser.note == "another"
    loaded.to_disk(tmp_path / "again")
    other.unlink()
    assert spacy.load(tmp_path / "again").get_pipe(factory).parser.note == "another"
    loaded = spacy.load(tmp_path / "pipeline", config={f"components.{factory}.max_tokens": 1})
    assert loaded.get_pipe(factory).parser.note == "from the file"
    assert loaded("She sat quietly.").spans["constituents"].attrs["sentences"][0]["status"] == "greedy"


@both_factories
def test_saved_without_the_component_s_data(nlp, tmp_path, factory):
    nlp.to_disk(tmp_path / "pipeline", exclude=[factory])
    with pytest.raises(ModelFormatError, match="was the component excluded while saving"):
        spacy.load(tmp_path / "pipeline")
    assert spacy.load(tmp_path / "pipeline", exclude=[factory]).pipe_names == ["sentencizer", "list_tagger"]


@both_factories
def test_bytes_round_trip_over_a_used_object(nlp, tmp_path, factory):
    other_file = tmp_path / "other"
    other_file.write_bytes(RuleParser("another").to_bytes())
    other = make_nlp(other_file, factory)
    other("The cat sat.")
    assert other.get_pipe(factory).parser.note == "another"
    other.from_bytes(nlp.to_bytes())
    assert other.get_pipe(factory).parser.note == "from the file"
    assert shape(other(TEXTS[0])) == shape(nlp(TEXTS[0]))
    component = COMPONENTS[factory](parser=RuleParser("third"))
    component.from_bytes(nlp.get_pipe(factory).to_bytes(exclude=["model"]))
    assert component.parser.note == "third"
    with pytest.raises(ModelFormatError, match=f"not those of a {factory} component"):
        component.from_bytes(b"\xc1 nonsense")


@both_factories
def test_component_disk_round_trip(tmp_path, factory):
    COMPONENTS[factory](parser=RuleParser("one")).to_disk(tmp_path / "deep" / "folder")
    component = COMPONENTS[factory](parser=RuleParser("two"))
    assert component.from_disk(tmp_path / "deep" / "folder") is component and component.parser.note == "one"
    named = COMPONENTS[factory](model=str(tmp_path / "deep" / "folder"))
    assert named.parser.note == "one"


@both_factories
def test_pickle_and_deepcopy_of_component_and_pipeline(nlp, factory):
    wanted = shape(nlp(TEXTS[0]))
    component = nlp.get_pipe(factory)
    for twin in (pickle.loads(pickle.dumps(component)), copy.deepcopy(component)):
        assert twin is not component and twin.parser.note == "from the file" and twin.name == factory
    for pipeline in (pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert shape(pipeline(TEXTS[0])) == wanted
    with nlp.memory_zone():
        assert len(pickle.loads(pickle.dumps(nlp("Run."))).spans["constituents"]) == 2


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "spawn" else ())
        for name in multiprocessing.get_all_start_methods()
        if name != "forkserver"
    ],
)
@both_factories
def test_processes(nlp, method, monkeypatch):
    wanted = [shape(doc) for doc in nlp.pipe(TEXTS)]
    context = multiprocessing.get_context(method)
    monkeypatch.setattr(spacy.language, "mp", context)
    docs = list(nlp.pipe(TEXTS, n_process=2, batch_size=2))
    assert [shape(doc) for doc in docs] == wanted
    assert docs[0]._.constituents[0]._.labels == ("S",)


@both_factories
def test_docbin_of_many_docs(nlp):
    docs = list(nlp.pipe(TEXTS))
    back = list(DocBin().from_bytes(DocBin(docs=docs, store_user_data=True).to_bytes()).get_docs(Vocab()))
    assert [shape(doc) for doc in back if len(doc)] == [shape(doc) for doc in docs if len(doc)]


@both_factories
def test_initialize_loads_a_model(model_file, tmp_path, factory):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe(factory)
    nlp.config["initialize"]["components"][factory] = {"model": str(model_file)}
    nlp.initialize()
    assert nlp.get_pipe(factory).parser.note == "from the file"
    nlp.to_disk(tmp_path / "pipeline")
    model_file.unlink()
    loaded = spacy.load(tmp_path / "pipeline")
    assert len(loaded("The cat sat.")._.constituents) == 3
    assert loaded.config["components"][factory]["model"] == SAVED
    with pytest.raises(ModelFormatError, match="no model file"):
        loaded.initialize()


@both_factories
def test_sourced_component_and_rename(nlp, factory):
    other = spacy.blank("en", vocab=nlp.vocab)
    other.add_pipe("sentencizer")
    other.add_pipe("list_tagger")
    other.add_pipe(factory, source=nlp, name="syntax")
    assert shape(other(TEXTS[0])) == shape(nlp(TEXTS[0]))
    other.rename_pipe("syntax", "trees")
    assert len(spacy.blank("en").from_bytes(spacy.blank("en").to_bytes()).pipe_names) == 0
    assert other.to_bytes()
