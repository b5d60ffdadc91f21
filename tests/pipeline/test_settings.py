"""The setting `settings` of dtparse: those of the model's kind of parser, by name."""

from __future__ import annotations

import copy
import pickle

import pytest
import spacy
from spacy.util import load_config

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.parsers.span import SpanParser, SpanSettings
from spacy_dtparse.pipeline.component import DtParse

from ..span_models import random_model
from .conftest import make_nlp
from .rule_parser import RuleParser

CHOSEN = {"networks": 1, "penalty": 0.4}
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


def in_force(nlp):
    return nlp.get_pipe("dtparse").configured_parser.settings


def test_they_reach_the_parser_beside_the_others(model_file):
    nlp = make_nlp(model_file, settings=CHOSEN, max_tokens=50)
    assert in_force(nlp) == WANTED and nlp.get_pipe("dtparse").parser.settings == SpanSettings()
    assert in_force(make_nlp(model_file, settings={})) == in_force(make_nlp(model_file)) == SpanSettings()
    words, tags = zip(("The", "DT"), ("cat", "NN"), ("sat", "VBD"), strict=True)
    plain = SpanParser(random_model()).with_settings(**CHOSEN).parse(words, tags)
    assert nlp.get_pipe("dtparse").configured_parser.parse(words, tags) == plain


def test_they_are_saved_with_the_pipeline(model_file, tmp_path):
    nlp = make_nlp(model_file, settings=CHOSEN, max_tokens=50)
    wanted = found(nlp)
    nlp.to_disk(tmp_path / "pipeline")
    model_file.unlink()
    assert load_config(tmp_path / "pipeline" / "config.cfg")["components"]["dtparse"]["settings"] == CHOSEN
    loaded = spacy.load(tmp_path / "pipeline")
    over = spacy.blank("en", config=nlp.config).from_bytes(nlp.to_bytes())
    for other in (loaded, over, pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert in_force(other) == WANTED and found(other) == wanted
    changed = spacy.load(
        tmp_path / "pipeline", config={"components": {"dtparse": {"settings": {"networks": 2, "penalty": 0.5}}}}
    )
    assert in_force(changed) == SpanSettings(networks=2, max_tokens=50)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gate": 0.1}, "has gate; for a model of kind 'span' it may have networks, confident, penalty, whole. Take"),
        ({"budget": 0, "networks": 1}, "has budget; for"),
        ({"networks": 0}, "'networks' is 0; it must be 1 or more"),
        ({"penalty": "much"}, "'penalty' is 'much'; it must be a number from 0"),
        ({"whole": "no"}, "'whole' is 'no'; it must be true or false"),
    ],
)
def test_what_cannot_be_used_is_said(model_file, settings, message):
    with pytest.raises(ConfigError, match=message):
        make_nlp(model_file, settings=settings)


def test_another_kind_of_parser_is_refused_and_nothing_changes(model_file):
    component = make_nlp(model_file, settings=CHOSEN).get_pipe("dtparse")
    before = component.configured_parser
    with pytest.raises(ConfigError, match="has networks, penalty; for a model of kind 'rule' it may have nothing"):
        component.set_parser(RuleParser())
    assert component.configured_parser is before and component.parser.name == "span"
    with pytest.raises(ConfigError, match="settings = 3; it is a table of settings by name"):
        DtParse(settings=3)
