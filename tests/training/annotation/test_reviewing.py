"""Planted errors, and how many of them a review finds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from spacy_dtparse.annotation.suspicions import Suspicion
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.pipeline.corpus import read_clean_trees
from spacy_dtparse.trees import read_trees
from training.annotation.measuring import places_of_errors, places_table, summarize_places
from training.annotation.planting import KINDS, PlantedError, plant_errors
from training.cli import main

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample" / "dev.mrg"


@pytest.fixture(scope="module")
def trees():
    return list(read_clean_trees(SAMPLE))


def test_each_error_is_in_one_tree_and_of_its_kind(trees):
    planted, errors = plant_errors(trees, 18, seed=3)
    assert Counter(error.kind for error in errors) == dict.fromkeys(KINDS, 3)
    assert len({error.sentence for error in errors}) == 18
    by_sentence = {error.sentence: error for error in errors}
    for index, (before, after) in enumerate(zip(trees, planted, strict=True)):
        assert before.words == after.words and (before == after) == (index not in by_sentence)
        if error := by_sentence.get(index):
            only_before = Counter(before.spans()) - Counter(after.spans())
            only_after = Counter(after.spans()) - Counter(before.spans())
            assert set(error.spans) == {*only_before, *only_after}
            if error.kind in ("missing", "superfluous", "wrong tag"):
                sizes = {"missing": (1, 0), "superfluous": (0, 1), "wrong tag": (0, 0)}[error.kind]
                assert (only_before.total(), only_after.total()) == sizes
            if error.kind == "wrong boundary":
                ((a, b, label),), ((c, d, other),) = only_before, only_after
                assert label == other and abs(a - c) + abs(b - d) == 1
    assert plant_errors(trees, 18, seed=3)[1] == errors != plant_errors(trees, 18, seed=4)[1]
    with pytest.raises(ConfigError, match="plant fewer, or give more trees"):
        plant_errors(trees[:5], 18)


def test_errors_are_found_at_their_constituents_and_tokens():
    errors = [
        PlantedError(0, "wrong label", ((0, 2, "NP"), (0, 2, "PP")), -1, "NP 0-2", "PP 0-2"),
        PlantedError(1, "wrong tag", (), 3, "NN 3", "VB 3"),
        PlantedError(2, "missing", ((1, 4, "VP"),), -1, "VP 1-4", ""),
    ]
    suspicions = [
        Suspicion(0, 9.0, "superfluous", 0, 2, "VP", ""),
        Suspicion(0, 8.0, "label", 0, 2, "PP", "NP"),
        Suspicion(1, 7.0, "tag", 2, 3, "NN", "VB"),
        Suspicion(2, 6.0, "missing", 1, 4, "", "VP"),
        Suspicion(1, 5.0, "tag", 3, 4, "VB", "NN"),
    ]
    assert {error.sentence: at for error, at in places_of_errors(errors, suspicions).items()} == {0: 2, 2: 4, 1: 5}
    summary = summarize_places(errors, suspicions, [2, 4])
    assert [sum(summary["found"][n].values()) for n in ("2", "4")] == [1, 2]
    assert places_table(summary).splitlines()[-1].split() == ["all", "3", "1", "2"]
    assert PlantedError.from_dict(json.loads(json.dumps(errors[0].to_dict()))) == errors[0]
    with pytest.raises(ConfigError, match="is no planted error"):
        PlantedError.from_dict({"spans": []})


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("folds", [[], ["--folds", "2"]])
def test_the_commands(tmp_path, capsys, folds):
    planted, errors = tmp_path / "planted.mrg", tmp_path / "planted.json"
    files = ["--out", str(planted), "--planted", str(errors)]
    assert main(["plant-errors", str(SAMPLE), "--n", "12", *files]) == 0
    assert len(list(read_trees(planted))) == len(list(read_trees(SAMPLE)))
    counts = tmp_path / "counts.json"
    arguments = [str(planted), "--planted", str(errors), "--places", "30", "--json", str(counts), *folds]
    assert main(["review", *arguments, "--out", str(tmp_path / "ranking.jsonl")]) == 0
    assert sum(json.loads(counts.read_text())["found"]["30"].values()) >= 6
    assert "suspicious places" in capsys.readouterr().out
    assert main(["review", str(planted), "--new-networks"]) == 1
    assert "give --folds 5" in capsys.readouterr().err
