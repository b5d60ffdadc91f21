"""The command `calibrate`; its results are tested in `tests/core/test_calibration.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.models import open_parser
from spacy_dtparse.span_parser.model import PackedNetwork, SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from tests.jit.harness import hand_made
from training.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"


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


@pytest.mark.slow
def test_another_network_can_be_put_inside_boosted_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = open_parser("en_dtparse")
    network = trees.span_parser.model
    one = network.networks[0]
    other = PackedNetwork.pack(one._replace(label_bias=one.label_bias + np.float32(0.25)))
    files = {name: tmp_path / f"{name}.model" for name in ("trees", "network", "words", "new")}
    trees.to_disk(files["trees"])
    meta = {**network.meta, "credits": ["a new text"]}
    changed = SpanModel(network.words, network.chains, (other,), meta, network.attach_tables)
    SpanParser(changed).to_disk(files["network"])
    dev = [str(ASSETS / "sample" / "dev.mrg"), "--tags", "gold"]
    calibrate = ["calibrate", str(files["trees"]), "--dev", *dev, "--out", str(files["new"])]
    assert main([*calibrate, "--span-model", str(files["network"])]) == 0
    new = load_parser(files["new"])
    assert bytes(new.model.span_model) == files["network"].read_bytes() != bytes(trees.model.span_model)
    assert new.model.meta["credits"] == [*trees.model.meta["credits"], "a new text"]
    assert len(new.model.ensembles) == len(trees.model.ensembles)
    capsys.readouterr()
    DtreeParser(hand_made("shift_reduce", seed=1).model).to_disk(files["words"])
    wrong = ["calibrate", str(files["words"]), "--dev", *dev, "--span-model", str(files["network"])]
    assert main(wrong) == 1
    assert "this parser has no span model inside; give boosted trees" in capsys.readouterr().err
    assert main([*calibrate, "--span-model", str(files["words"])]) == 1
    assert "the span model must be of kind 'span'" in capsys.readouterr().err
