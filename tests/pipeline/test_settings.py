"""Each factory's settings: typed, checked when the component is made, saved with the pipeline."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
import spacy
from spacy.util import load_config

import spacy_dtparse
from spacy_dtparse.core.registry import KINDS
from spacy_dtparse.core.settings import PcfgSettings, SpanSettings
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.errors import ConfigError, DtparseError, ModelFormatError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.span_parser.component import SpanParse
from spacy_dtparse.span_parser.parser import SpanParser

from ..documents import ROOT
from ..span_models import random_model
from .conftest import make_nlp
from .rule_parser import RuleParser

CHOSEN = {"networks": 1, "penalty": 0.4, "max_tokens": 50, "exclude_labels": ["NP", "PP"]}
WANTED = SpanSettings(networks=1, penalty=0.4, max_tokens=50, exclude_labels=("NP", "PP"))
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


@pytest.mark.parametrize("factory", sorted({kind.factory for kind in KINDS.values()}))
def test_they_are_in_the_docstring_and_in_the_tutorial(factory):
    """Each setting of a parser in the docstring of its component, all settings in a table of the tutorial."""
    kind = type(spacy.blank("en").create_pipe(factory))
    assert [name for name in kind.SETTINGS if f"`{name}`" not in kind.__doc__] == []
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "docs/tutorial.md").read_text(encoding="utf8"), re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {*kind.SETTINGS, *kind.COMPONENT_SETTINGS} - explained == set()


def test_they_reach_the_parser(model_file):
    nlp = make_nlp(model_file, "span_parser", **CHOSEN)
    assert in_force(nlp) == WANTED and nlp.get_pipe("span_parser").parser.settings == SpanSettings()
    assert nlp.get_pipe("span_parser").labels == ("S", "VP") and nlp(TEXT)._.phrases("NP") == []
    assert in_force(make_nlp(model_file, "span_parser")) == SpanSettings()
    words, tags = zip(("The", "DT"), ("cat", "NN"), ("sat", "VBD"), strict=True)
    plain = SpanParser(random_model()).with_settings(**CHOSEN).parse(words, tags)
    assert nlp.get_pipe("span_parser").configured_parser.parse(words, tags) == plain
    config = {"betas": [0.2], "window_filter": 0.01, "shift_threshold": 3, "budget": 9}
    trees = spacy.blank("en").add_pipe("dtparse", config=config)
    settings = trees.configured_parser.settings
    assert (settings.betas, settings.window_filter, settings.shift_threshold, settings.budget) == ((0.2,), 0.01, 3, 9)


@pytest.mark.slow
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
    assert in_force(changed) == SpanSettings(networks=2, max_tokens=50, exclude_labels=("NP", "PP"))
    everything = spacy.load(tmp_path / "pipeline", config={"components": {"span_parser": {"exclude_labels": []}}})
    assert in_force(everything).exclude_labels == ()
    for nothing in (nlp, loaded, over):
        assert {"NP", "PP"}.isdisjoint(span.label_ for span in nothing(TEXT)._.constituents)


def test_a_setting_that_is_changed_later_counts_and_is_saved(model_file, tmp_path):
    nlp = make_nlp(model_file, "span_parser")
    pipe = nlp.get_pipe("span_parser")
    for name, value in CHOSEN.items():
        setattr(pipe, name, value)
    assert in_force(nlp) == WANTED and found(nlp) == found(make_nlp(model_file, "span_parser", **CHOSEN))
    pipe.deadline, pipe.threads, pipe.spans_key = 7.0, 2, "syntax"
    assert pipe.timed is not None and "syntax" in nlp(TEXT).spans
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    again = loaded.get_pipe("span_parser")
    assert in_force(loaded) == WANTED and (again.deadline, again.threads, again.spans_key) == (7.0, 2, "syntax")
    again.deadline = again.penalty = None
    assert again.timed is None and in_force(loaded).penalty == SpanSettings().penalty


def test_a_later_value_that_is_not_allowed_changes_nothing(model_file):
    nlp = make_nlp(model_file, "span_parser", **CHOSEN)
    pipe, before = nlp.get_pipe("span_parser"), dict(nlp.get_pipe_config("span_parser"))
    for name, value, message in (
        ("threads", 0, "span_parser: threads = 0; it is a whole number from 1 to 256"),
        ("deadline", -1, "span_parser: deadline = -1; it is"),
        ("networks", 0, "span_parser: networks = 0; it is a whole number from 1, or None for the model's own setting"),
        ("exclude_labels", ["XX"], "XX"),
        ("probabilities", True, "calibrat"),
    ):
        kept = getattr(pipe, name)
        with pytest.raises(DtparseError, match=re.escape(message)):
            setattr(pipe, name, value)
        assert getattr(pipe, name) == kept
    assert in_force(nlp) == WANTED and nlp.get_pipe_config("span_parser") == before and found(nlp)
    rules = spacy.blank("de").add_pipe("dependency_phrases")
    with pytest.raises(ConfigError, match="dependency_phrases: profile = 'french'; allowed is"):
        rules.profile = "french"
    assert rules.profile == "universal"


def test_a_later_setting_of_the_rules_is_saved(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("dependency_phrases").profile = "penn"
    nlp.to_disk(tmp_path / "rules")
    assert spacy.load(tmp_path / "rules").get_pipe("dependency_phrases").profile == "penn"


def test_a_model_in_the_config_replaces_the_saved_one(model_file, tmp_path):
    make_nlp(model_file, "span_parser").to_disk(tmp_path / "pipeline")
    (tmp_path / "pipeline" / "span_parser" / "model").write_bytes(b"not read")
    nlp = spacy.load(tmp_path / "pipeline", config={"components.span_parser.model": str(model_file)})
    assert nlp.get_pipe("span_parser").parser.to_bytes() == model_file.read_bytes()
    with pytest.raises(ModelFormatError):
        spacy.load(tmp_path / "pipeline")


@pytest.mark.parametrize(
    ("factory", "settings", "message"),
    [
        ("span_parser", {"window_filter": 0.1}, "window_filter"),
        ("dtparse", {"penalty": 0.1}, "penalty"),
        ("span_parser", {"budget": 0}, "budget"),
        ("span_parser", {"networks": 0}, "networks = 0; it is a whole number from 1, or None"),
        ("span_parser", {"penalty": 1.5}, "penalty = 1.5; it is a number from 0 to below 1"),
        ("span_parser", {"ensemble_threshold": -1}, "ensemble_threshold = -1; it is a number from 0"),
        ("dtparse", {"betas": [0.1, 2]}, r"betas = \[0.1, 2\]; it is a list of numbers from 0 to 1"),
        ("span_parser", {"exclude_labels": "NP"}, r"exclude_labels = 'NP'; it is a list of labels, such as"),
        ("span_parser", {"exclude_labels": ["NP", 3]}, r"exclude_labels = \['NP', 3\]; it is a list of labels"),
        ("dtparse", {"exclude_labels": ["NP"]}, "exclude_labels"),
        ("pcfgla", {"candidates_n": 0}, "candidates_n = 0; it is a whole number from 1"),
    ],
)
def test_invalid_values_are_refused_at_once(factory, settings, message):
    with pytest.raises((ConfigError, ValueError), match=message):  # spaCy's error for names that a factory lacks
        spacy.blank("en").add_pipe(factory, config=settings)


@pytest.mark.parametrize(
    ("excluded", "message"),
    [
        (["QUUX"], "exclude_labels has 'QUUX', which is no label of the model"),
        (["TOP"], "exclude_labels has 'TOP', the root of every tree"),
        (["NP", "PP", "S", "VP"], "leaves the parser no constituent"),
    ],
)
def test_labels_that_the_model_cannot_exclude_are_refused(model_file, tmp_path, excluded, message):
    with pytest.raises(ConfigError, match=message):
        make_nlp(model_file, "span_parser", exclude_labels=excluded)
    make_nlp(model_file, "span_parser").to_disk(tmp_path / "pipeline")
    with pytest.raises(ConfigError, match=message):
        spacy.load(tmp_path / "pipeline", config={"components.span_parser.exclude_labels": excluded})


@pytest.mark.embedded
def test_labels_of_the_default_model_are_checked_at_the_first_doc():
    nlp = spacy_dtparse.load("en_span", config={"components.span_parser.exclude_labels": ["NPS"]})
    with pytest.raises(ConfigError, match="exclude_labels has 'NPS', which is no label of the model; did you mean"):
        nlp(TEXT)
    nlp = spacy_dtparse.load("en_span", config={"components.span_parser.exclude_labels": ["NML", "FRAG", "HEADING"]})
    text = "The test covers gene and protein names. Materials and methods."
    assert "(NP (NN gene) (CC and) (NN protein) (NNS names))" in next(nlp(text).sents)._.parse_string
    assert {"NML", "FRAG", "HEADING"}.isdisjoint(span.label_ for span in nlp(text)._.constituents)


@pytest.mark.parametrize(("setting", "value"), [("penalty", "much"), ("attach_unattached", "no"), ("networks", 2.5)])
def test_values_of_another_type(setting, value):
    with pytest.raises(ConfigError, match=f"span_parser: {setting} = {value!r}; it is "):
        SpanParse(**{setting: value})


def test_a_parser_without_the_given_setting(model_file):
    component = make_nlp(model_file, "span_parser", **CHOSEN).get_pipe("span_parser")
    before = component.configured_parser
    with pytest.raises(ConfigError, match="kind 'rule' has no setting exclude_labels, networks, penalty; take it out"):
        component.set_parser(RuleParser())
    assert component.configured_parser is before and component.parser.name == "span"
    with pytest.raises(ConfigError, match="there is no setting depth; allowed are model, budget, max_tokens"):
        DtParse(depth=3)


@pytest.mark.slow
def test_dtparse_refuses_a_network(model_file):
    with pytest.raises(ModelFormatError, match=r"one for the factory 'dtparse'; use it with .*'span_parser'"):
        make_nlp(model_file, "dtparse")
    with pytest.raises(ModelFormatError, match=r"one for the factory 'span_parser'; use it with .*'dtparse'"):
        spacy.blank("en").add_pipe("span_parser", config={"model": embedded_model("en_trees")})
    with pytest.raises(ModelFormatError, match="'span_parser'"):
        DtParse().set_parser(SpanParser(random_model()))


def test_an_unknown_name_is_an_error():
    for unknown in ("gate", "depth"):
        with pytest.raises(ValueError, match=unknown):  # spaCy's error
            spacy.blank("en").add_pipe("span_parser", config={unknown: 1})
        with pytest.raises(ConfigError, match=f"span_parser: there is no setting {unknown}; allowed are model, "):
            SpanParse(**{unknown: 1})
        with pytest.raises(ConfigError, match=f"unknown parser setting {unknown}; allowed are "):
            PcfgSettings().with_changes(**{unknown: 1})
