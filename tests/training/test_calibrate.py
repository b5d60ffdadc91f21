"""The command `calibrate`; its results are tested in `tests/core/test_calibration.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacy_dtparse.dtparse.parser import DtreeParser
from tests.jit.harness import hand_made
from training.cli import main


def test_boosted_trees_without_a_span_model_are_refused_before_parsing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "words.model"
    DtreeParser(hand_made("shift_reduce", seed=1).model).to_disk(model)
    assert main(["calibrate", str(model), "--dev", str(tmp_path / "none.mrg"), "--out", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert f"{model}: this dtparse model has no span model" in message
    assert "use en_dtparse, en_span or en_pcfgla" in message and "train-boosted --span-model MODEL" in message
    assert not (tmp_path / "out").exists()
