"""dtparse edit: patterns and operations, scripts, forms of output, bad input."""

from __future__ import annotations

import pytest

from .test_cli import run

TREES = """\
( (S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)))) )
(S (NP (PRP it))
   (VP (VBZ sleeps)))
(ROOT (S (NP-SBJ-1 (-NONE- *)) (NP (NNP Ann))))
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mrg").write_text(TREES)
    return "a.mrg"


def test_trees_are_written_with_the_root_that_they_had(capsys, file):
    assert run(capsys, "edit", "DT=d", "delete d", file) == (
        0,
        "( (S (NP-SBJ (NN dog)) (VP (VBD saw) (NP (NN cat)))))\n"
        "(S (NP (PRP it)) (VP (VBZ sleeps)))\n"
        "(ROOT (S (NP-SBJ-1 (-NONE- *)) (NP (NNP Ann))))\n",
        "",
    )
    out = run(capsys, "edit", "S=s > ROOT < VP=v", "excise s s", file)[1]
    assert out.splitlines()[:2] == [
        "( (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))",
        "(TOP (NP (PRP it)) (VP (VBZ sleeps)))",  # two nodes need a root
    ]


def test_a_root_with_its_own_name_is_kept(capsys, file):
    assert run(capsys, "edit", "_ROOT_=r !< X", "insert (X x) >1 r\nrelabel r TOP", file)[1].splitlines()[1] == (
        "(TOP (X x) (S (NP (PRP it)) (VP (VBZ sleeps))))"
    )


def test_clean_and_pretty(capsys, file):
    assert run(capsys, "edit", "NN=n", "relabel n N", "--clean", "--format", "pretty", file)[1] == (
        "( (S (NP (DT the) (N dog)) (VP (VBD saw) (NP (DT a) (N cat)))))\n"
        "(S (NP (PRP it)) (VP (VBZ sleeps)))\n"
        "(ROOT (S (NP (NNP Ann))))\n"
    )


def test_scripts(capsys, file, tmp_path):
    (tmp_path / "script.txt").write_text("NN=n % nouns\n\nrelabel n N\n\n/^NP/=np < (DT=d $+ N)\n\nprune d\n")
    assert run(capsys, "edit", "--script", "script.txt", file)[1].splitlines()[0] == (
        "( (S (NP-SBJ (N dog)) (VP (VBD saw) (NP (N cat)))))"
    )
    (tmp_path / "script.txt").write_text("NN=n\n")
    code, out, said = run(capsys, "edit", "--script", "script.txt", file)
    assert (code, out) == (1, "") and "no operations follow the pattern 'NN=n'" in said
    code, _, said = run(capsys, "edit", "--script", "missing.txt", file)
    assert code == 1 and "missing.txt: No such file" in said


def test_scripts_in_other_encodings(capsys, file, tmp_path):
    script = "NN=n % nouns\r\n\r\nrelabel n N\r\n"
    (tmp_path / "script.txt").write_bytes(script.encode("utf-8-sig"))
    code, out, _ = run(capsys, "edit", "--script", "script.txt", file)
    assert code == 0 and "(N dog)" in out
    (tmp_path / "script.txt").write_bytes(script.encode("utf-16"))
    code, out, said = run(capsys, "edit", "--script", "script.txt", file)
    assert (code, out) == (1, "") and "script.txt is not UTF-8" in said and said.count("\n") == 1


def test_standard_input(capsys, monkeypatch):
    for names in ([], ["-"]):
        found = run(capsys, "edit", "NN=n", "relabel n X", *names, stdin="(NP (NN x))", monkeypatch=monkeypatch)
        assert found == (0, "(NP (X x))\n", "")


def test_wrong_usage(capsys, file):
    code, _, said = run(capsys, "edit", "NN=n")
    assert code == 1 and "a pattern without operations; give a pattern and operations" in said
    code, _, said = run(capsys, "edit", "NN=n", file)
    assert code == 1 and "the operation is wrong at column 1: found 'a.mrg'; operations are delete" in said
    code, _, said = run(capsys, "edit", "NN=n", "delete m", file)
    assert code == 1 and "the operations use the name 'm', which the pattern does not give" in said


ENDLESS = "prune n: no word would be left in the tree"


def test_what_was_right_is_written(capsys, file, tmp_path):
    bad = b"(NP (DT a) (NN x))\n(NP (NN y))\n(NP ())\n(NP (DT caf\xe9) (NN z))\n(NP (QP z))\n"
    (tmp_path / "b.mrg").write_bytes(bad)
    code, out, said = run(capsys, "edit", "NN=n", "prune n", "b.mrg")
    assert (code, out) == (1, "(NP (DT a))\n")
    assert said == f"dtparse: error: b.mrg: tree 2: 'NN=n': 'prune n', at 'NN': {ENDLESS}; a tree needs one\n"
    code, out, said = run(capsys, "edit", "NN=n", "prune n", "b.mrg", "--errors", "skip")
    assert (code, out) == (1, "(NP (DT a))\n(NP (QP z))\n")
    assert said.startswith("dtparse: warning: 3 trees were skipped; the first: b.mrg:3:6: ")
    code, out, said = run(capsys, "edit", "NN=n", "prune n", "b.mrg", "--errors", "replace")
    assert (code, out) == (1, "(NP (DT a))\n(NP (DT caf\ufffd))\n(NP (QP z))\n")
    assert said.startswith("dtparse: warning: 2 trees were skipped; the first: ")


def test_endless_rewriting(capsys, file):
    code, _, said = run(capsys, "edit", "NP=n", "insert (NN x) >1 n", "--max-changes", "20", file)
    assert code == 1 and "a.mrg: tree 1: 'NP=n': 'insert (NN x) >1 n' changed it 20 times" in said
