"""Calibrated probabilities: the map, its data, and the probabilities that a parser reports."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.core import ParseResult
from spacy_dtparse.core.calibration import (
    CALIBRATION,
    NO_SPAN_MODEL,
    Calibration,
    ResultCalibrator,
    packaged_calibrations,
    tree_estimates,
)
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import DtparseError, ModelFormatError, TrainingDataError
from spacy_dtparse.model_io.container import container_digest
from spacy_dtparse.models import embedded_model, open_parser
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree
from tests.jit.harness import hand_made
from tests.pipeline.rule_parser import RuleParser
from tests.span_models import SENTENCES, random_model
from training.data.calibrating import (
    CalibrationData,
    calibration_error,
    calibration_table,
    errors_by_treebank,
    fit_calibration,
    reliability,
)

PLAIN = Calibration((1, 1, 0), (-1, 0))
"""Leaves the probabilities of constituents as they are."""


def calibration_data(size: int, seed: int, sharper: float = 1.0) -> CalibrationData:
    """Log odds of a simulated parser; divided by `sharper`, they are its true log odds of being right."""
    random = np.random.default_rng(seed)
    odds = random.normal(2, 2, size)
    right = random.random(size) < 1 / (1 + np.exp(-odds))
    errors = random.exponential(1, size)
    right_trees = random.random(size) < 1 / (1 + np.exp(1 + 2 * np.log(errors + 0.01)))
    return CalibrationData(1 / (1 + np.exp(-sharper * odds)), right, errors, np.exp(-errors), right_trees)


def test_the_plain_map_changes_nothing_but_the_ends():
    p = np.array([0.0, 0.001, 0.2, 0.5, 0.97, 1.0])
    assert np.allclose(PLAIN.calibrate_constituents(p), [5e-4, 0.001, 0.2, 0.5, 0.97, 1 - 1e-5])
    assert PLAIN.calibrate_trees(np.array(0.99)) == pytest.approx(0.5)


def test_overconfidence_is_corrected():
    own = {name: calibration_data(4000, seed, sharper=2.0) for seed, name in enumerate(("one", "two"))}
    found = fit_calibration(list(own.values()))
    assert found.constituent == pytest.approx((0.5, 0.5, 0), abs=0.15)
    assert found.tree == pytest.approx((-2, -1), abs=0.2)
    records = errors_by_treebank(own, found)
    for record in records:
        for what in ("constituents", "trees"):
            one = record[what]
            assert max(one["fitted"], one["others"]) < one["chance"] + 0.015 < one["raw"]
            assert sum(part["count"] for part in one["curve"]) == one["count"] == 4000
    assert calibration_table(records).count("\n") == 3


def test_the_calibration_error_is_that_of_the_bins():
    probs, right = np.array([0.05, 0.95, 0.95, 1.0]), np.array([False, True, False, True])
    assert [one["count"] for one in reliability(probs, right)] == [1, 3]
    assert calibration_error(probs, right) == pytest.approx((0.05 + 3 * (2.9 / 3 - 2 / 3)) / 4)


def test_calibrated_probabilities_are_monotone():
    one = calibration_data(3000, 1)
    found = fit_calibration([replace(one, right=~one.right, right_trees=~one.right_trees)])
    assert found.constituent[:2] == (0, 0) and found.tree[0] == 0
    with pytest.raises(TrainingDataError, match="wrong constituents are too few"):
        fit_calibration([replace(one, right=np.ones(3000, dtype=bool))])


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({}, "constituent, tree"),
        ({**PLAIN.to_dict(), "other": 1}, "constituent, tree"),
        ([1, 2], "constituent, tree"),
        ({"constituent": [1, 2], "tree": [-1, 0]}, "3 finite numbers"),
        ({"constituent": [1, 1, math.nan], "tree": [-1, 0]}, "3 finite numbers"),
        ({"constituent": [1, 1, 0], "tree": "ab"}, "2 finite numbers"),
        ({"constituent": [-1, 1, 0], "tree": [-1, 0]}, "lower probabilities"),
    ],
)
def test_a_damaged_calibration_is_refused(stored, message):
    with pytest.raises(ModelFormatError, match=message):
        Calibration.from_dict(stored)
    parser = SpanParser(replace(random_model(1), meta={CALIBRATION: stored or [0]}))
    with pytest.raises(ModelFormatError, match="calibrat"):
        ResultCalibrator(parser)


@pytest.mark.kernel
def test_a_parser_reports_the_probability_of_its_tree():
    calibration = Calibration((0.5, 0.7, -0.1), (-1.2, -0.5))
    parser = SpanParser(replace(random_model(1), meta={CALIBRATION: calibration.to_dict()}))
    assert (
        SpanParser.from_bytes(parser.to_bytes()).calibration
        == parser.with_settings(penalty=0.2).calibration
        == calibration
    )
    for words, tags in SENTENCES:
        plain = parser.parse(words, tags)
        assert plain.probabilities is None is plain.tree_probability
        posteriors = parser.span_posteriors(words, tags)
        assert parser.parse_with_posteriors([(words, tags)]) == [(plain, posteriors)]
        (result,) = ResultCalibrator(parser).with_probabilities([plain], [posteriors])
        probs = [posteriors.get(span, 0.0) for span in result.tree.spans()[1:]]
        assert result.probabilities == (1.0, *calibration.calibrate_constituents(np.array(probs)).tolist())
        errors = sum(1 - p for p in probs)
        errors += sum(p for span, p in posteriors.items() if span not in result.tree.spans())
        assert result.tree_probability == pytest.approx(float(calibration.calibrate_trees(errors)))
        assert replace(result, probabilities=None, tree_probability=None) == plain


def test_a_parser_without_probabilities_refuses_to_report_them():
    class Silent(RuleParser):
        name = "silent"

    with pytest.raises(DtparseError, match="no probabilities"):
        Silent().span_posteriors(["a"], ["DT"])
    with pytest.raises(DtparseError, match="no probabilities"):
        ResultCalibrator(Silent())
    with pytest.raises(DtparseError, match="python -m training calibrate"):
        ResultCalibrator(SpanParser(random_model(1)))


def test_boosted_trees_without_a_span_model_cannot_be_calibrated():
    parser = DtreeParser(hand_made("shift_reduce", seed=1).model)
    assert "use en_dtparse, en_span or en_pcfgla" in NO_SPAN_MODEL and "train-boosted --span-model" in NO_SPAN_MODEL
    for ask in (lambda: ResultCalibrator(parser), lambda: parser.span_posteriors(["a"], ["DT"])):
        with pytest.raises(DtparseError) as caught:
            ask()
        assert str(caught.value) == NO_SPAN_MODEL


def test_expected_errors_do_not_depend_on_the_order_of_a_set():
    random = np.random.default_rng(0)
    posteriors = {(0, end, label): float(random.random()) for end in range(2, 60) for label in ("NP", "VP", "S")}
    words = tuple("a" for _ in range(60))
    tree = Tree(words, ("DT",) * 60, ("TOP", "NP"), (0, 0), (60, 2))
    errors = 2 - (1.0 + posteriors[0, 2, "NP"])
    missing = sorted(span for span in posteriors if span != (0, 2, "NP"))
    assert tree_estimates(posteriors, tree).errors == errors + sum(posteriors[span] for span in missing)


def test_results_of_older_versions_have_none():
    tree = Tree(("a",), ("DT",), ("TOP",), (0,), (1,))
    assert ParseResult(tree, (0.0,), 0.0, "greedy").probabilities is None


@pytest.mark.slow
@pytest.mark.embedded
def test_packaged_models_have_calibrations():
    for name in ("en_dtparse", "en_span", "en_dtparse_lg"):
        parser = open_parser(name)
        assert parser.calibration == Calibration.from_dict(parser.model.meta[CALIBRATION]), "in the model itself"
    assert {container_digest(open_parser("en_pcfgla").to_bytes())} == set(packaged_calibrations())


@pytest.mark.slow
@pytest.mark.embedded
def test_a_model_is_calibrated_by_command(tmp_path, capsys):
    from pathlib import Path

    import spacy

    import spacy_dtparse
    from training.cli import main

    dev = Path(__file__).resolve().parents[2] / "assets" / "sample" / "dev.mrg"
    source = tmp_path / "source"
    spacy_dtparse.load("en_span").to_disk(source)
    out, path = tmp_path / "pipeline", tmp_path / "report.json"
    assert main(["calibrate", str(source), "--dev", str(dev), "--out", str(out), "--json", str(path)]) == 0
    assert "| sample |" in capsys.readouterr().out
    report = json.loads(path.read_text())
    found = spacy.load(out).get_pipe("span_parser").parser.calibration
    assert found == Calibration.from_dict(report[CALIBRATION]) != packaged_calibrations()
    record = report["treebanks"][0]["constituents"]
    assert record["fitted"] < record["raw"] and record["others"] is None
    assert main(["calibrate", embedded_model(), "--dev", str(dev)]) == 1
    assert "tags=PATH" in capsys.readouterr().err
