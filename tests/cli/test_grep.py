"""dtparse grep: every option, exit codes, bad input."""

from __future__ import annotations

import json

import pytest

from .test_cli import run

TREES = """\
( (S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)))) )
(S (NP (PRP it))
   (VP (VBZ sleeps)))
(TOP (X (-NONE- *)))
(S (NP-SBJ-1 (-NONE- *)) (NP (NNP Ann)) (VP (VBZ -LRB-)))
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mrg").write_text(TREES)
    (tmp_path / "b.mrg").write_text("(S (VP (VB go)))")
    return "a.mrg", "b.mrg"


def test_subtrees_are_printed(capsys, files):
    assert run(capsys, "grep", "@NP < DT", "a.mrg") == (0, "(NP-SBJ (DT the) (NN dog))\n(NP (DT a) (NN cat))\n", "")
    assert run(capsys, "grep", "NNP|/LRB/", "a.mrg")[1] == "(NNP Ann)\n-LRB-\n"


def test_file_names_stand_before_matches_of_several_files(capsys, files):
    assert run(capsys, "grep", "VP < /^VB.?$/ !< NP", *files)[1] == (
        "a.mrg:(VP (VBZ sleeps))\na.mrg:(VP (VBZ -LRB-))\nb.mrg:(VP (VB go))\n"
    )


def test_tree_numbers_and_outputs(capsys, files):
    assert run(capsys, "grep", "NP", "-n", "a.mrg", "-o", "words")[1] == "1:a cat\n2:it\n4:Ann\n"
    tree = "1:( (S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)))))\n"
    assert run(capsys, "grep", "DT", "-n", "a.mrg", "--output", "tree")[1] == tree
    assert run(capsys, "grep", "DT", "a.mrg", "-m", "1")[1] == "(DT the)\n"


def test_counts_and_files(capsys, files):
    assert run(capsys, "grep", "-c", "@NP", *files) == (0, "a.mrg:5\nb.mrg:0\n", "")
    assert run(capsys, "grep", "-c", "@NP", "a.mrg")[1] == "5\n"
    assert run(capsys, "grep", "-l", "@NP", *files)[1] == "a.mrg\n"
    assert run(capsys, "grep", "-l", "VP", ".")[1] == "a.mrg\nb.mrg\n"


def test_clean(capsys, files):
    assert run(capsys, "grep", "--clean", "-n", "NP", "a.mrg")[1] == (
        "1:(NP (DT the) (NN dog))\n1:(NP (DT a) (NN cat))\n2:(NP (PRP it))\n4:(NP (NNP Ann))\n"
    )
    assert run(capsys, "grep", "--clean", "-c", "/NONE/", "a.mrg") == (1, "0\n", "")


def test_json(capsys, files):
    code, out, _ = run(capsys, "grep", "--json", "@NP=np < DT=d", "a.mrg", "-m", "1")
    assert code == 0 and json.loads(out) == {
        "file": "a.mrg", "tree": 1, "kind": "constituent", "label": "NP-SBJ", "start": 0, "end": 2,
        "words": ["the", "dog"], "brackets": "(NP-SBJ (DT the) (NN dog))",
        "names": {
            "np": {"kind": "constituent", "label": "NP-SBJ", "start": 0, "end": 2, "words": ["the", "dog"],
                   "brackets": "(NP-SBJ (DT the) (NN dog))"},
            "d": {"kind": "tag", "label": "DT", "start": 0, "end": 1, "words": ["the"], "brackets": "(DT the)"},
        },
    }  # fmt: skip


def test_standard_input(capsys, monkeypatch):
    for names in ([], ["-"]):
        assert run(capsys, "grep", "NN", *names, stdin="(NP (NN x))", monkeypatch=monkeypatch)[:2] == (0, "(NN x)\n")


def test_codes_are_those_of_grep(capsys, files, tmp_path):
    assert run(capsys, "grep", "QP", "a.mrg") == (1, "", "")
    code, out, said = run(capsys, "grep", "NP < ", "a.mrg")
    assert code == 2 and out == "" and said.startswith("dtparse: error: the pattern is wrong at column 6")
    assert said.endswith("\n  NP < \n       ^\n")
    code, _, said = run(capsys, "grep", "NP", "missing.mrg")
    assert code == 2 and "there is no file missing.mrg" in said
    (tmp_path / "bad.mrg").write_text("(S (NP")
    code, _, said = run(capsys, "grep", "NP", "bad.mrg")
    assert code == 2 and "bad.mrg:1:" in said
    assert run(capsys, "grep", "NP", "a.mrg", "-c", "-l")[0] == 2
    (tmp_path / "empty").mkdir()
    assert run(capsys, "grep", "NP", "empty")[0] == 2


ROOTS = "(ROOT (S (VP (VB go))))\n( (S (VP (VB go))))\n(S (VP (VB go)))\n(S1 (VROOT (FRAG (UH no))))\n"


@pytest.mark.parametrize("root", ["ROOT", "TOP", "S1", "VROOT", '""', "_ROOT_"])
def test_the_root_has_every_name_and_is_written_with_its_own(capsys, tmp_path, monkeypatch, root):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mrg").write_text(ROOTS)
    assert run(capsys, "grep", root, "-n", "a.mrg")[1] == (
        "1:(ROOT (S (VP (VB go))))\n2:( (S (VP (VB go))))\n3:(TOP (S (VP (VB go))))\n4:(S1 (FRAG (UH no)))\n"
    )
    assert run(capsys, "grep", f"S > {root}", "-n", "a.mrg", "-o", "tree")[1] == (
        "1:(ROOT (S (VP (VB go))))\n2:( (S (VP (VB go))))\n3:(TOP (S (VP (VB go))))\n"
    )
    assert run(capsys, "grep", f"S !> {root}", "-c", "a.mrg") == (1, "0\n", "")
    assert run(capsys, "grep", f"FRAG > {root}", "-c", "a.mrg")[1] == "1\n"
    assert run(capsys, "grep", root, "-c", "--clean", "a.mrg")[1] == "4\n"


BAD = b"(S (X a))\n(S ())\n(S (X caf\xe9))\n(S (X b))\n(S (X c))\n"


def test_matches_before_a_malformed_tree_are_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mrg").write_bytes(BAD)
    for clean in ([], ["--clean"]):
        code, out, said = run(capsys, "grep", "X", "bad.mrg", *clean)
        assert (code, out) == (2, "(X a)\n") and "bad.mrg:2:" in said


@pytest.mark.parametrize(
    ("errors", "expected", "count"),
    [
        ("skip", "1:(X a)\n4:(X b)\n5:(X c)\n", "2 malformed trees were"),
        ("replace", "1:(X a)\n3:(X caf\ufffd)\n4:(X b)\n5:(X c)\n", "1 malformed tree was"),
    ],
)
def test_malformed_trees_can_be_skipped(capsys, tmp_path, monkeypatch, errors, expected, count):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mrg").write_bytes(BAD)
    code, out, said = run(capsys, "grep", "X", "--errors", errors, "-n", "bad.mrg")
    assert (code, out) == (1, expected)
    assert said.startswith(f"dtparse: warning: {count} skipped; the first: bad.mrg:2:")


def test_good_files_have_no_warnings(capsys, files):
    for errors in ("strict", "skip", "replace"):
        assert run(capsys, "grep", "-c", "@NP", "--errors", errors, "a.mrg") == (0, "5\n", "")


def test_many_trees_keep_their_numbers(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.mrg").write_text("(S (X x))\n" * 2500 + "(S (Y y))\n" + "(S (X x))\n" * 600 + "(S (Y z))\n")
    assert run(capsys, "grep", "Y", "-n", "many.mrg")[1] == "2501:(Y y)\n3102:(Y z)\n"
