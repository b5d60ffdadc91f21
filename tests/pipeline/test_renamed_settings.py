"""The old name of a setting raises an error with the new name, wherever the old one is used."""

from __future__ import annotations

import pytest
import spacy
from spacy.util import load_config

from spacy_dtparse.checks import RENAMED_SETTINGS
from spacy_dtparse.core.settings import PcfgSettings, SearchSettings, SpanSettings
from spacy_dtparse.dtparse.component import DtParse, make_dtparse
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.component import SpanParse

RENAMED = [
    ("dtparse", "confident", "shift_threshold"),
    ("dtparse", "gate", "window_filter"),
    ("dtparse", "trust", "marginal_weight"),
    ("dtparse", "sure", "commit_threshold"),
    ("dtparse", "whole", "attach_unattached"),
    ("span_parser", "confident", "ensemble_threshold"),
    ("span_parser", "whole", "attach_unattached"),
]
COMPONENTS = {"dtparse": DtParse, "span_parser": SpanParse}
SETTINGS = {"dtparse": SearchSettings, "span_parser": SpanSettings}
TABLE = "there is no table 'settings'; give each setting by its own name"


def message(old: str, new: str) -> str:
    return f"the setting '{old}' is now called '{new}'"


@pytest.mark.parametrize(("factory", "old", "new"), RENAMED)
@pytest.mark.parametrize("value", [0.9, None])
def test_add_pipe_gives_the_new_name(factory, old, new, value):
    with pytest.raises(ConfigError, match=f"{factory}: {message(old, new)}"):
        spacy.blank("en").add_pipe(factory, config={old: value})
    with pytest.raises(ConfigError, match=f"{factory}: {message(old, new)}"):
        COMPONENTS[factory](**{old: value})


@pytest.mark.parametrize(("factory", "old", "new"), RENAMED)
def test_a_saved_config_gives_the_new_name(factory, old, new, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    nlp.to_disk(tmp_path, exclude=[factory])
    config = load_config(tmp_path / "config.cfg")
    settings = config["components"][factory]
    settings[old] = settings.pop(new)
    config.to_disk(tmp_path / "config.cfg")
    with pytest.raises(ConfigError, match=message(old, new)):
        spacy.load(tmp_path, exclude=[])


@pytest.mark.parametrize(("factory", "old", "new"), RENAMED)
def test_settings_of_parsers_give_the_new_name(factory, old, new):
    with pytest.raises(ConfigError, match=message(old, new)):
        SETTINGS[factory]().with_changes(**{old: 1})


@pytest.mark.parametrize("factory", ["dtparse", "span_parser", "pcfgla"])
@pytest.mark.parametrize("table", [None, {"max_tokens": 50}])
def test_a_table_of_settings_is_refused(factory, table):
    with pytest.raises(ConfigError, match=f"{factory}: {TABLE}"):
        spacy.blank("en").add_pipe(factory, config={"settings": table})


def test_old_names_are_in_no_config():
    """spaCy reads a factory's signature with the old names before it makes a component, without them afterwards."""
    nlp = spacy.blank("en")
    for factory in ("dtparse", "span_parser", "pcfgla", "bpm_parser"):
        nlp.add_pipe(factory, config={"spans_key": factory})
    make_dtparse(nlp, "another")  # which leaves the next signature without old names
    for name in ("first", "second"):
        nlp.add_pipe("dtparse", name, config={"spans_key": name})
    assert not any(set(RENAMED_SETTINGS).intersection(settings) for settings in nlp.config["components"].values())


def test_a_name_that_was_never_a_setting_of_the_parser():
    for unknown in ("gate", "depth"):
        with pytest.raises(ValueError, match=unknown):  # spaCy's error
            spacy.blank("en").add_pipe("span_parser", config={unknown: 1})
        with pytest.raises(ConfigError, match=f"span_parser: there is no setting {unknown}; allowed are model, "):
            SpanParse(**{unknown: 1})
        with pytest.raises(ConfigError, match=f"unknown parser setting {unknown}; allowed are "):
            PcfgSettings().with_changes(**{unknown: 1})
