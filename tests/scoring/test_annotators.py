"""Agreement of two annotators."""

from __future__ import annotations

import json

import pytest

from spacy_dtparse.cli import main
from spacy_dtparse.scoring.annotators import AnnotatorAgreement, align_trees, differing_constituents
from spacy_dtparse.trees import parse_trees

FIRST = parse_trees(
    "(TOP (S (NP-SBJ (PRP She)) (VP (VBD sat))))"
    "(TOP (S (NP-SBJ (PRP We)) (VP (MD can) (RB not) (VP (VB go)))))"
    "(TOP (NP (NN Tea)))"
)
SECOND = parse_trees(
    "(TOP (NP (NN Tea)))(TOP (S (NP-SBJ (PRP We)) (VP (MD cannot) (ADVP (VB go)))))(TOP (NP (NN Tea)))"
)


def test_trees_are_aligned_by_their_text():
    pairs = align_trees(FIRST, SECOND)
    assert [(one.first, one.second) for one in pairs] == [
        (FIRST[0], None),
        (FIRST[1], SECOND[1]),
        (FIRST[2], SECOND[0]),
        (None, SECOND[2]),
    ]
    assert [one.is_same for one in pairs] == [False, False, True, False]


def test_agreement_by_label():
    data = AnnotatorAgreement(align_trees(FIRST, SECOND)).to_dict()
    assert (data["sentences"], data["same_trees"], data["only_first"], data["only_second"]) == (2, 1, 1, 1)
    assert (data["first"], data["second"], data["both"]) == (5, 5, 4)
    assert data["f1"] == pytest.approx(0.8) and data["unlabelled_f1"] == 1.0
    assert data["labels"]["VP"] == {"first": 2, "second": 1, "both": 1, "f1": pytest.approx(2 / 3)}
    assert data["labels"]["ADVP"]["f1"] == 0 and data["labels"]["NP-SBJ"]["f1"] == 1
    assert data["pairs"] == [{"first": "VP", "second": "ADVP", "count": 1}]
    assert (data["tokens"], data["same_tags"]) == (3, 1.0)  # We, go, Tea: the others are not tokens of both
    expected = (1 + 1 + 1 + 2 * 1) / 25  # S, NP-SBJ, NP, and VP (2 and 1)
    assert data["kappa"] == pytest.approx((0.8 - expected) / (1 - expected))
    same = AnnotatorAgreement(align_trees(FIRST, FIRST)).to_dict()
    assert same["f1"] == same["kappa"] == same["unlabelled_f1"] == 1 and same["pairs"] == []


def test_differing_constituents():
    assert differing_constituents(FIRST[1], SECOND[1]) == [4]
    assert differing_constituents(SECOND[1], FIRST[1]) == [4]
    doubled = parse_trees("(TOP (NP (NP (NN Tea))))")[0]
    assert differing_constituents(doubled, SECOND[0]) == [2] and differing_constituents(SECOND[0], doubled) == []


def test_the_command(tmp_path, capsys):
    files = [tmp_path / "ada.mrg", tmp_path / "ben.mrg"]
    for file, trees in zip(files, (FIRST, SECOND), strict=True):
        file.write_text("\n".join(map(str, trees)))
    assert main(["agreement", *map(str, files)]) == 0
    text = capsys.readouterr().out
    assert "only of ada.mrg: 1, only of ben.mrg: 1" in text and "1  VP / ADVP" in text
    assert "F1 80.00, without labels 100.00" in text
    assert main(["agreement", *map(str, files), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["both"] == 4
    files[1].write_text("(TOP (NP (NN Coffee)))")
    assert main(["agreement", *map(str, files)]) == 1
    assert "have no sentence in common" in capsys.readouterr().err
    assert main(["agreement", str(files[0]), str(tmp_path / "none.mrg")]) == 1
    assert "there is no file" in capsys.readouterr().err
