"""NAME=VALUE settings of the trainers' command lines."""

from __future__ import annotations

import pytest

from spacy_dtparse.errors import ConfigError
from training.cli import main
from training.recurrent_tagger.config import TaggingConfig
from training.runs.files import read_lines
from training.runs.metrics_log import log_metrics
from training.runs.progress import show_progress
from training.runs.settings import apply_field_settings, apply_settings, like_value


def test_settings_of_plain_data():
    data = {"seed": 0, "name": "x", "path": {"patience": 5, "lambda_start": None}}
    assert apply_settings(data, ["path.patience=8", "seed=2", "seed=3", "name=a=b", "path.lambda_start=0.5"]) == {
        "seed": 3,
        "name": "a=b",
        "path": {"patience": 8, "lambda_start": 0.5},
    }
    assert data["seed"] == 0 and data["path"]["patience"] == 5
    for setting in ("path.nothing=1", "seed.x=1", "seed", "=1"):
        with pytest.raises(ConfigError, match=r"no setting '.*'; allowed are seed, name, path\.patience, path\.lam"):
            apply_settings(data, [setting])


def test_settings_of_dataclasses():
    config = apply_field_settings(TaggingConfig(), ["fit.epochs=8", "fit.run_lengths=1,2", "network.width=64"])
    assert (config.fit.epochs, config.fit.run_lengths, config.network.width) == (8.0, (1, 2), 64)
    assert isinstance(config.fit.epochs, float) and config.fingerprint() != TaggingConfig().fingerprint()
    with pytest.raises(ConfigError, match=r"'fit\.epoch'; allowed are .*fit\.epochs"):
        apply_field_settings(config, ["fit.epoch=8"])
    with pytest.raises(ConfigError, match=r"'many' is no float; give a value like 8\.0"):
        apply_field_settings(config, ["fit.epochs=many"])
    with pytest.raises(ConfigError, match="'3' is no dict"):
        apply_field_settings(config, ["fit=3"])
    with pytest.raises(ConfigError, match=r"'fit\.epochs'; allowed are network\.width"):
        apply_field_settings(config, ["fit.epochs=3"], but=["fit"])


def test_the_taggers_command_reports_wrong_settings(tmp_path, capsys):
    (tmp_path / "bank").mkdir()
    for part in ("train", "dev"):
        (tmp_path / "bank" / f"{part}.mrg").write_text("(TOP (NP (NN cat)))\n")
    arguments = ["--treebank", str(tmp_path / "bank"), "--out", str(tmp_path / "out"), "--set", "fit.epochs=many"]
    assert main(["jackknife-tags", *arguments]) == 1
    assert "fit.epochs=many: 'many' is no float" in capsys.readouterr().err


def test_metrics_are_printed_and_logged(tmp_path, capsys):
    show_progress()
    log_metrics(None, step="em", cycle=1, loss=1 / 3)
    for step in (1, 2):
        log_metrics(tmp_path / "new" / "log.jsonl", step=step)
    assert capsys.readouterr().out.splitlines() == ["step em, cycle 1: loss 0.333", "step 1", "step 2"]
    assert read_lines(tmp_path / "new" / "log.jsonl") == [{"step": 1}, {"step": 2}]


def test_true_and_false() -> None:
    assert like_value("true", False) is True and like_value("False", True) is False
    with pytest.raises(ValueError, match="yes"):
        like_value("yes", False)
