"""Corpus scores: micro-averages and tables."""

from __future__ import annotations

import json

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.scoring import ParsevalReport, score_trees
from spacy_dtparse.trees import parse_tree

GOLD = [
    parse_tree("(S (NP (DT A) (NN kite)) (VP (VBZ flies)) (. .))"),
    parse_tree("(S (NP (NNS Bees)) (VP (VBP hum) (ADVP (RB low))))"),
    parse_tree("(NP (NP (NN Tea)) (. !))"),
]
FOUND = [
    parse_tree("(S (NP (DT A) (NN kite)) (VP (VBZ flies) (. .)))"),
    parse_tree("(S (NP (NNS Bees) (VBP hum)) (ADVP (RB low)))"),
    parse_tree("(NP (NP (NN Tea)) (. !))"),
]


def test_micro_averages():
    scores = score_trees(GOLD, FOUND).to_dict()
    everything, evalb = scores["all"], scores["evalb"]
    # brackets, gold/found/matched: 3/3/2, 4/3/2, 2/2/2
    assert (everything["matched"], everything["gold"], everything["predicted"]) == (6, 9, 8)
    assert everything["recall"] == 6 / 9
    assert everything["precision"] == 6 / 8
    assert everything["f1"] == pytest.approx(2 * (6 / 9) * (6 / 8) / (6 / 9 + 6 / 8))
    assert everything["exact_match"] == 1 / 3
    assert everything["crossing"] == 1 / 3  # (Bees hum) crosses (hum low)
    assert everything["no_crossing"] == 2 / 3
    assert everything["two_or_less_crossing"] == 1.0
    assert everything["tag_accuracy"] == 1.0
    assert (evalb["matched"], evalb["gold"], evalb["predicted"]) == (7, 9, 8)
    assert evalb["exact_match"] == 2 / 3
    assert everything["per_type"]["VP"] == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "matched": 0,
        "gold": 2,
        "predicted": 1,
    }
    assert evalb["per_type"]["VP"]["precision"] == 1.0
    assert list(everything["per_type"]) == ["NP", "S", "VP", "ADVP"]  # by falling gold count, then by name


def test_nothing_scored_is_zero():
    scores = ParsevalReport().to_dict()
    assert scores["all"]["f1"] == scores["all"]["exact_match"] == 0.0
    assert scores["all"]["per_type"] == {}


def test_errors_and_skipped_sentences_do_not_score():
    report = score_trees([*GOLD, GOLD[0], GOLD[1]], [*FOUND, FOUND[1], None])
    assert (report.sentences, report.errors, report.skipped) == (5, 1, 1)
    assert report.to_dict()["all"] == score_trees(GOLD, FOUND).to_dict()["all"]
    assert report.counts["all"] == [(2, 3, 3), (2, 4, 3), (2, 2, 2), None, None]
    assert "4 tokens and the predicted one 3" in report.messages[0]
    with pytest.raises(TreeError, match="4 tokens and the predicted one 3"):
        score_trees([GOLD[0]], [FOUND[1]], strict=True)


def test_different_numbers_of_trees():
    with pytest.raises(TreeError, match="3 gold and 2 predicted trees"):
        score_trees(GOLD, FOUND[:2])


def test_cutoff_counts_all_tokens_but_empty_ones():
    gold = parse_tree("(S (NP (-NONE- *)) (VP (VB go)) (. .))")
    found = parse_tree("(S (VP (VB go)) (. .))")
    for cutoff, scored in ((1, 0), (2, 1), (3, 1)):
        report = score_trees([gold], [found], cutoff=cutoff).to_dict()
        assert report["short"]["evalb"]["sentences"] == scored
        assert report["short"]["cutoff"] == cutoff
        assert report["all"]["sentences"] == 1


def test_json_and_table():
    report = score_trees(GOLD, FOUND)
    assert json.loads(report.to_json()) == report.to_dict()
    table = report.to_table()
    rows = {line.split("  ")[0].strip(): line.split() for line in table.splitlines() if line}
    assert rows["labelled F1"][2:] == ["70.59", "82.35", "70.59", "82.35"]
    assert rows["crossing per sentence"][3:5] == ["0.33", "0.33"]
    assert rows["sentences scored"][2:] == ["3", "3", "3", "3"]
    assert rows["NP"][1:] == ["75.00", "75.00", "75.00", "3", "4", "4"]
    assert table.splitlines()[0] == "sentences 3, errors 0, without a parse 0"
