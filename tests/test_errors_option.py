"""Every command that reads files of trees, dependencies or text has the option --errors, and does as it says."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spacy_dtparse.cli import annotate
from spacy_dtparse.cli import build_parser as dtparse_parser
from spacy_dtparse.cli import main as dtparse
from spacy_dtparse.trees.bad_input import ERRORS
from training.cli import build_parser as training_parser
from training.cli import main as training
from training.data import collecting

INPUTS = {
    "files", "gold", "predicted", "source", "--trees", "text", "--text", "folder", "treebank", "--treebank", "--train",
    "--dev", "--corpus", "--pretrain-trees", "--exclude", "--held-out", "--evaluate", "--dependencies", "--shards",
    "shards", "sources", "teacher", "first", "second", "file", "trees", "--adjudicate",
}  # fmt: skip
"""Arguments that name files or folders of trees, dependencies or text."""
OTHERS = {
    *("pattern", "names", "pipelines", "--credit", "--source-of", "--skip"),  # words, not files
    # models, and files that other commands write
    *("--model", "--span-model", "--start", "--teacher", "--baseline", "--parser", "--interpolate", "--encoder"),
    *("encoder", "--student-encoder", "--teacher-encoder", "networks", "--arrays"),
    *("model", "models", "pipeline", "teachers", "--tagger", "--guide", "--dependency-model", "--word-vectors"),
    *("--scheme", "--heads", "--recipe", "--meta", "--tags", "--marginals", "--clusters", "--distill"),
    *("--ranking", "--current", "--span-models", "--tag-layer"),
    # output
    *("--out", "--output", "--svg", "--html", "target", "--workdir", "--json", "--write", "results", "--page"),
    *("--images", "--report", "--planted"),
}  # fmt: skip
"""Other arguments that could name a file."""
EXCEPTIONS = {
    ("dtparse explain", "text"): "a text, not a file",
    ("training clean", "folder"): "the folder of a run",
    ("training teacher vectors", "--shards"): "binary files that teacher annotate wrote",
    ("training teacher trees", "shards"): "binary files that teacher annotate wrote",
}
"""Arguments for which a command needs no --errors, with the reason."""


def commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, list[argparse.Action]]]:
    """All commands and subcommands of a parser with their arguments."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for part, inner in group.choices.items():
            yield from commands(inner, f"{name} {part}")
    if not groups:
        yield name, parser._actions


def may_name_a_file(action: argparse.Action) -> bool:
    """Whether the value of an argument may be the name of a file, by its declaration."""
    if action.nargs == 0 or action.choices or action.dest == "help":
        return False
    named = re.search("FILE|PATH|DIR|TREES|FOLDER|ROOT|TEXT", str(action.metavar))
    return action.type is Path or not action.option_strings or named is not None


def argument_name(action: argparse.Action) -> str:
    return action.option_strings[0] if action.option_strings else action.dest


ALL = [*commands(dtparse_parser(), "dtparse"), *commands(training_parser(), "training")]


def test_all_commands_that_read_have_the_option():
    reading = set()
    for name, actions in ALL:
        names = {argument_name(action) for action in actions if may_name_a_file(action)}
        assert names <= INPUTS | OTHERS, f"{name}: is one of {names - INPUTS - OTHERS} a file of trees or text?"
        inputs = {one for one in names & INPUTS if (name, one) not in EXCEPTIONS}
        policies = [action.choices for action in actions if "--errors" in action.option_strings]
        assert policies == ([ERRORS] if inputs else policies), f"{name} reads {inputs} and has no --errors"
        reading |= {name} if inputs else set()
    assert {"dtparse annotate", "training collect", "training verify", "training teacher retag"} <= reading
    assert len(reading) >= 35
    known = {name for name, _ in ALL}
    assert {name for name, _ in EXCEPTIONS} <= known


GOOD = ["(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps))))", "(TOP (S (NP (NNS Dogs)) (VP (VBP bark))))"]
BAD = {"tree": b"(TOP (S ()))", "bytes": b"(TOP (S (NP (NN ca\xff)) (VP (VBZ sleeps))))"}


@pytest.fixture(params=["tree", "bytes"])
def bad(request):
    return request.param


def write_trees(path: Path, bad: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join([GOOD[0].encode(), BAD[bad], GOOD[1].encode()]) + b"\n")
    return path


def run(capsys, program, *arguments) -> tuple[int, str, str]:
    code = program([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_verify(capsys, tmp_path, bad):
    write_trees(tmp_path / "mine" / "train.mrg", bad)
    code, out, said = run(capsys, training, "verify", tmp_path, "mine")
    assert code == 1 and "train.mrg: FAILED: " in out and "train.mrg:2:" in out and said == ""
    code, out, said = run(capsys, training, "verify", tmp_path, "mine", "--errors", "skip")
    assert code == 1 and "train.mrg: 2 trees, readable" in out
    assert said.startswith("training: warning: 1 malformed part of the input was skipped; the first: ")
    code, out, said = run(capsys, training, "verify", tmp_path, "mine", "--errors", "replace")
    assert (code, said == "", "3 trees" in out) == ((0, True, True) if bad == "bytes" else (1, False, False))


def test_collect(capsys, tmp_path, bad, monkeypatch):
    for document in ("a", "b"):
        write_trees(tmp_path / "in" / "mine" / f"{document}.tree", bad)
    layout = collecting.Layout("mine", "", "", ".tree", "", "", {"train": ["a"], "dev": ["b"]})
    monkeypatch.setattr(collecting, "layouts", lambda: {"mine": layout})
    arguments = ("collect", tmp_path / "in", "--names", "mine", "--out", tmp_path / "out")
    code, _, said = run(capsys, training, *arguments)
    assert code == 1 and "training: error: mine: " in said and not (tmp_path / "out" / "mine").exists()
    code, out, said = run(capsys, training, *arguments, "--errors", "skip")
    assert code == 1 and "4 trees: train 2 (1 files), dev 2 (1 files)" in out
    assert said.startswith("training: warning: 2 malformed parts of the input were skipped; the first: ")
    for part in ("train", "dev"):
        assert (tmp_path / "out" / "mine" / f"{part}.mrg").read_text(encoding="utf-8").splitlines() == GOOD


def test_collect_keeps_the_roots_of_the_source(capsys, tmp_path, monkeypatch):
    """Also after a tree without its last bracket."""
    trees = ["( (S (NP (NN a))))", "( (S (NP (NN b)))", "(ROOT (S (NP (NN c))))", "(S (NP (NN d)))"]
    for document in ("a", "b"):
        path = tmp_path / "in" / "mine" / f"{document}.tree"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(trees), encoding="utf-8")
    layout = collecting.Layout("mine", "", "", ".tree", "", "", {"train": ["a"], "dev": ["b"]})
    monkeypatch.setattr(collecting, "layouts", lambda: {"mine": layout})
    arguments = ("collect", tmp_path / "in", "--names", "mine", "--out", tmp_path / "out", "--errors", "skip")
    code, _, said = run(capsys, training, *arguments)
    assert code == 1 and said.startswith("training: warning: 2 malformed parts of the input were skipped; the first: ")
    written = (tmp_path / "out" / "mine" / "dev.mrg").read_text(encoding="utf-8").splitlines()
    assert written == ["((S (NP (NN a))))", "(ROOT (S (NP (NN c))))", "(S (NP (NN d)))"]


@pytest.mark.parametrize("kind", ["text", "tokens", "trees"])
def test_annotate(capsys, tmp_path, monkeypatch, bad, kind):
    served: list = []
    monkeypatch.setattr("spacy_dtparse.annotation.server.annotate", lambda found, *_, **__: served.append(found))
    monkeypatch.setattr(annotate, "load_chosen_pipeline", lambda *_, **__: None)
    source = tmp_path / ("a.mrg" if kind == "trees" else "a.txt")
    if kind == "trees":
        write_trees(source, bad)
    else:
        source.write_bytes(b"One .\n\ncaf\xe9 .\n\nTwo .\n")
    arguments = ["annotate", source, "--out", tmp_path / "out.mrg", *(["--pretokenized"] if kind == "tokens" else [])]
    code, _, said = run(capsys, dtparse, *arguments)
    assert code == 1 and re.search(r"a\.(mrg|txt):[23]:", said) and not served
    code, _, said = run(capsys, dtparse, *arguments, "--errors", "skip")
    assert code == 1 and said.startswith("dtparse: warning: 1 malformed line or tree was skipped; the first: ")
    (found,) = served
    assert len(found) == 2 and len({json.dumps(str(one)) for one in found}) == 2
    code, _, said = run(capsys, dtparse, *arguments, "--errors", "replace")
    assert len(served[-1]) == (2 if kind == "trees" and bad == "tree" else 3)
    assert code == (1 if len(served[-1]) == 2 else 0)


def test_annotate_reads_other_encodings(capsys, tmp_path, monkeypatch):
    served: list = []
    monkeypatch.setattr("spacy_dtparse.annotation.server.annotate", lambda found, *_, **__: served.append(found))
    monkeypatch.setattr(annotate, "load_chosen_pipeline", lambda *_, **__: None)
    (tmp_path / "a.txt").write_bytes("Un café.\r\nDeux.\n".encode("latin-1"))
    arguments = ("annotate", tmp_path / "a.txt", "--out", tmp_path / "out.mrg", "--encoding")
    assert run(capsys, dtparse, *arguments, "latin-1")[0] == 0 and served == [["Un café.\nDeux."]]
    assert "unknown encoding 'klingon'" in run(capsys, dtparse, *arguments, "klingon")[2]
