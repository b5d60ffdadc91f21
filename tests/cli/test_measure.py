"""dtparse measure: texts and trees, formats, bad input."""

from __future__ import annotations

import csv
import io
import json

import pytest

from spacy_dtparse.query.measures import RATIOS, measure_trees
from spacy_dtparse.query.structures import STRUCTURES
from spacy_dtparse.trees.brackets import parse_tree

from .test_cli import run

TREES = "( (S (NP-SBJ (PRP She)) (VP (VBD left)) (. .)) )\n(ROOT (S (VP (VP (VB Go)) (CC and) (VP (VB stay)))))\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mrg").write_text(TREES)
    (tmp_path / "b.txt").write_text("\n  (TOP\n (NP (NN tea)))")  # what it contains decides, not its name
    return "a.mrg", "b.txt"


def test_a_table(capsys, files):
    code, output, errors = run(capsys, "measure", "a.mrg")
    assert (code, errors) == (0, "") and output == f"{measure_trees(map(parse_tree, TREES.splitlines()))}\n"
    assert output.splitlines()[:2] == ["W            5  words", "S            2  sentences"]
    lines = run(capsys, "measure", *files)[1].splitlines()
    assert lines[0].split() == ["a.mrg", "b.txt", "all"] and len(lines) == 1 + len(STRUCTURES) + len(RATIOS)
    assert lines[1].split() == ["W", "5", "1", "6", "words"] and lines[10].split()[:4] == [
        "MLS",
        "2.5000",
        "1.0000",
        "2.0000",
    ]
    rows = run(capsys, "measure", *files * 3)[1].splitlines()
    assert rows[0].split() == [*STRUCTURES, *RATIOS]
    assert [row.split()[:2] for row in rows[1:]] == [["a.mrg", "5"], ["b.txt", "1"]] * 3 + [["all", "18"]]


def test_csv_and_json(capsys, files):
    rows = list(csv.DictReader(io.StringIO(run(capsys, "measure", *files, "--format", "csv")[1])))
    assert [row["file"] for row in rows] == list(files) and list(rows[0]) == ["file", *STRUCTURES, *RATIOS]
    assert rows[0]["W"] == "5" and rows[0]["MLS"] == "2.5" and rows[1]["DC/C"] == "0.0"
    objects = [json.loads(line) for line in run(capsys, "measure", *files, "--format", "json")[1].splitlines()]
    assert [one["file"] for one in objects] == list(files) and objects[0]["CP"] == 1 and objects[1]["T"] == 1
    with open("c.mrg", "w") as file:
        file.write("(X (. .))")
    assert json.loads(run(capsys, "measure", "c.mrg", "--format", "json")[1])["MLS"] is None
    assert run(capsys, "measure", "c.mrg", "--format", "csv")[1].splitlines()[1] == "c.mrg" + ",0" * 9 + "," * 14


def test_counting(capsys, files):
    assert '"C": 2' in run(capsys, "measure", "a.mrg", "--format", "json")[1]
    assert '"C": 1' in run(capsys, "measure", "a.mrg", "--format", "json", "--counting", "l2sca")[1]


def test_psd_files(capsys, files):
    with open("d.psd", "w") as file:
        file.write("( (CODE <P_1>))\n( (IP-MAT (PRO he-he) (VBD left-leave)) (ID A,1.1))\n")
    assert '"W": 2' in run(capsys, "measure", "d.psd", "--format", "json", "--input", "trees")[1]


def test_bad_input(capsys, files):
    for arguments, message in (
        (["none.txt"], "there is no file none.txt; to measure a text, use --text"),
        (["."], ". is a folder; name the files in it"),
        (["a.mrg", "--text", "x"], "give --text or files, not both"),
        (["--text", " "], "--text: there is no text in it"),
        (["a.mrg", "--encoding", "utf-99"], "unknown encoding 'utf-99'"),
    ):
        code, output, errors = run(capsys, "measure", *arguments)
        assert code == 1 and not output and message in errors, arguments


def test_malformed_trees(capsys, files):
    with open("e.mrg", "wb") as file:
        file.write(b"(S (NP (NN a)))\n(S (NP (NN b)\n\n(S (NP (NN c)))\n")
    code, output, errors = run(capsys, "measure", "e.mrg")
    assert code == 1 and not output and "e.mrg:2" in errors
    code, output, errors = run(capsys, "measure", "e.mrg", "--errors", "skip")
    assert code == 1 and output.startswith("W            2") and "1 malformed tree was skipped" in errors


@pytest.mark.slow
@pytest.mark.embedded
def test_texts(capsys, files):
    with open("f.txt", "wb") as file:
        file.write("She sang.\r\n\r\nHe left\nbecause it rained.".encode("utf-16"))
    found = json.loads(run(capsys, "measure", "f.txt", "--encoding", "utf-16", "--format", "json")[1])
    assert [found[name] for name in STRUCTURES] == [7, 2, 3, 3, 2, 1, 1, 0, 0]
    assert json.loads(run(capsys, "measure", "--text", "(Go!)", "--format", "json")[1])["W"] == 1
    with open("g.txt", "wb") as file:
        file.write(b"She sang.\nA caf\xe9.\nHe left.")
    code, output, errors = run(capsys, "measure", "g.txt")
    assert code == 1 and not output and "g.txt:2: byte 6 of the line is not utf-8" in errors
    code, output, errors = run(capsys, "measure", "g.txt", "--errors", "skip")
    assert (
        code == 1 and output.split()[1] == "4" and "1 malformed line was skipped; the first: g.txt:2: byte 6" in errors
    )
    code, output, errors = run(capsys, "measure", "g.txt", "--errors", "replace")
    assert (code, errors) == (0, "") and output.split()[1] == "6"
