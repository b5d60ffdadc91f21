"""Each factory's settings: typed, checked when the component is made, saved with the pipeline; and what 0.1.0 saved."""

from __future__ import annotations

import copy
import pickle

import pytest
import spacy
import srsly
from spacy.util import load_config

from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.parsers.span import SpanParser, SpanSettings
from spacy_dtparse.pipeline.component import DtParse, SpanParse

from ..span_models import random_model
from .conftest import make_nlp
from .rule_parser import RuleParser

CHOSEN = {"networks": 1, "penalty": 0.4, "max_tokens": 50}
WANTED = SpanSettings(networks=1, penalty=0.4, max_tokens=50)
TEXT = "The cat sat on the mat. Dogs bark."


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "span.model"
    SpanParser(random_model()).to_disk(path)
    return path


def found(nlp):
    doc = nlp(TEXT)
    return [(s.start, s.end, s.label_) for s in doc.spans["constituents"]]


def in_force(nlp, name="span_parser"):
    return nlp.get_pipe(name).configured_parser.settings


def test_they_reach_the_parser(model_file):
    nlp = make_nlp(model_file, "span_parser", **CHOSEN)
    assert in_force(nlp) == WANTED and nlp.get_pipe("span_parser").parser.settings == SpanSettings()
    assert in_force(make_nlp(model_file, "span_parser")) == SpanSettings()
    words, tags = zip(("The", "DT"), ("cat", "NN"), ("sat", "VBD"), strict=True)
    plain = SpanParser(random_model()).with_settings(**CHOSEN).parse(words, tags)
    assert nlp.get_pipe("span_parser").configured_parser.parse(words, tags) == plain
    trees = spacy.blank("en").add_pipe("dtparse", config={"betas": [0.2], "gate": 0.01, "confident": 3, "budget": 9})
    settings = trees.configured_parser.settings
    assert (settings.betas, settings.gate, settings.confident, settings.budget) == ((0.2,), 0.01, 3, 9)


def test_they_are_saved_with_the_pipeline(model_file, tmp_path):
    nlp = make_nlp(model_file, "span_parser", **CHOSEN)
    wanted = found(nlp)
    nlp.to_disk(tmp_path / "pipeline")
    model_file.unlink()
    saved = load_config(tmp_path / "pipeline" / "config.cfg")["components"]["span_parser"]
    assert {name: saved[name] for name in CHOSEN} == CHOSEN and saved["model"] == "@saved"
    loaded = spacy.load(tmp_path / "pipeline")
    over = spacy.blank("en", config=nlp.config).from_bytes(nlp.to_bytes())
    for other in (loaded, over, pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert in_force(other) == WANTED and found(other) == wanted
    changed = spacy.load(tmp_path / "pipeline", config={"components": {"span_parser": {"networks": 2, "penalty": 0.5}}})
    assert in_force(changed) == SpanSettings(networks=2, max_tokens=50)


def test_a_model_that_the_config_names_takes_the_place_of_the_saved_one(model_file, tmp_path):
    make_nlp(model_file, "span_parser").to_disk(tmp_path / "pipeline")
    (tmp_path / "pipeline" / "span_parser" / "model").write_bytes(b"not read")
    nlp = spacy.load(tmp_path / "pipeline", config={"components.span_parser.model": str(model_file)})
    assert nlp.get_pipe("span_parser").parser.to_bytes() == model_file.read_bytes()
    with pytest.raises(ModelFormatError):
        spacy.load(tmp_path / "pipeline")


@pytest.mark.parametrize(
    ("factory", "settings", "message"),
    [
        ("span_parser", {"gate": 0.1}, "gate"),
        ("dtparse", {"penalty": 0.1}, "penalty"),
        ("span_parser", {"budget": 0}, "budget"),
        ("span_parser", {"networks": 0}, "networks = 0; it is a whole number from 1, or None"),
        ("span_parser", {"penalty": 1.5}, "penalty = 1.5; it is a number from 0 to below 1"),
        ("span_parser", {"confident": -1}, "confident = -1; it is a number from 0"),
        ("dtparse", {"betas": [0.1, 2]}, r"betas = \[0.1, 2\]; it is a list of numbers from 0 to 1"),
        ("dtparse", {"settings": {"depth": 3}}, "there is no setting depth; allowed are model, budget, max_tokens"),
        ("pcfgla", {"candidates_n": 0}, "candidates_n = 0; it is a whole number from 1"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*the table `settings`")
def test_what_is_not_allowed_is_refused_at_once(factory, settings, message):
    with pytest.raises((ConfigError, ValueError), match=message):  # spaCy's error for names that a factory lacks
        spacy.blank("en").add_pipe(factory, config=settings)


@pytest.mark.parametrize(("setting", "value"), [("penalty", "much"), ("whole", "no"), ("networks", 2.5)])
def test_values_of_another_type(setting, value):
    with pytest.raises(ConfigError, match=f"span_parser: {setting} = {value!r}; it is "):
        SpanParse(**{setting: value})


def test_a_parser_without_a_setting_that_was_given(model_file):
    component = make_nlp(model_file, "span_parser", **CHOSEN).get_pipe("span_parser")
    before = component.configured_parser
    with pytest.raises(ConfigError, match="a parser of kind 'rule' has no setting networks, penalty; take it out"):
        component.set_parser(RuleParser())
    assert component.configured_parser is before and component.parser.name == "span"
    with pytest.raises(ConfigError, match="settings = 3; give each setting by its own name"):
        DtParse(settings=3)


# ---- what 0.1.0 saved: a network under dtparse, with a table of settings ----


@pytest.fixture
def old_pipeline(model_file, tmp_path):
    """A pipeline as 0.1.0 wrote it."""
    folder = tmp_path / "old"
    make_nlp(model_file, "span_parser", max_tokens=50).to_disk(folder)
    (folder / "span_parser").rename(folder / "dtparse")
    text = (folder / "config.cfg").read_text(encoding="utf8").replace("span_parser", "dtparse")
    for name in ("networks", "confident", "penalty", "whole"):
        text = text.replace(f"{name} = null\n", "")
    table = '{"networks":1,"penalty":0.4}'
    (folder / "config.cfg").write_text(text.replace("settings = null", f"budget = null\nsettings = {table}"), "utf8")
    meta = srsly.json_loads((folder / "meta.json").read_text(encoding="utf8").replace("span_parser", "dtparse"))
    srsly.write_json(folder / "meta.json", meta)
    return folder


def test_a_network_that_0_1_0_saved_under_dtparse(old_pipeline, model_file, tmp_path):
    with pytest.warns(UserWarning) as caught:
        nlp = spacy.load(old_pipeline)
    said = [str(warning.message) for warning in caught]
    assert any("its factory is 'span_parser' now" in message for message in said), said
    assert any("give networks, penalty beside the other settings" in message for message in said), said
    assert in_force(nlp, "dtparse") == WANTED
    assert found(nlp) == found(make_nlp(model_file, "span_parser", **CHOSEN))
    nlp.to_disk(tmp_path / "again")
    with pytest.warns(UserWarning, match="'span_parser' now"):
        again = spacy.load(tmp_path / "again")
    for other in (again, pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert found(other) == found(nlp) and in_force(other, "dtparse") == WANTED


def test_a_network_is_refused_where_it_is_given_to_dtparse(model_file):
    with pytest.raises(ModelFormatError, match=r"one for the factory 'dtparse'; use it with .*'span_parser'"):
        make_nlp(model_file, "dtparse")
    with pytest.raises(ModelFormatError, match=r"one for the factory 'span_parser'; use it with .*'dtparse'"):
        spacy.blank("en").add_pipe("span_parser", config={"model": embedded_model("en_dtparse")})
    with pytest.raises(ModelFormatError, match="'span_parser'"):
        DtParse().set_parser(SpanParser(random_model()))
