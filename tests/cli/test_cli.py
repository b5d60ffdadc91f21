"""The command line, in process, on a pipeline with a rule parser: every option, every kind of bad input."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spacy

import spacy_dtparse.core
from spacy_dtparse.cli import main

from ..pipeline.conftest import load_rule_or_real, make_nlp
from ..pipeline.rule_parser import RuleParser

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def rule_parser_loads(monkeypatch):
    monkeypatch.setattr(spacy_dtparse.core, "load_parser", load_rule_or_real)
    monkeypatch.setattr("spacy_dtparse.jit.cache_state.are_kernels_compiled", lambda: True)


@pytest.fixture
def pipeline(tmp_path):
    model = tmp_path / "rule.model"
    model.write_bytes(RuleParser("cli").to_bytes())
    make_nlp(model).to_disk(tmp_path / "pipeline")
    return str(tmp_path / "pipeline")


def run(capsys, *arguments, stdin=None, monkeypatch=None):
    if stdin is not None:
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_text_instead_of_a_command_is_refused(capsys, pipeline):
    code, out, _ = run(capsys, "The cat sat on the mat.", "--pipeline", pipeline)
    assert code == 0
    assert " ".join(out.split()) == (
        "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (IN on) (NP (DT the) (NN mat)) (. .))))"
    )
    assert run(capsys, "Hello", "--pipeline", pipeline)[1].strip() == "(TOP (UH Hello))"
    assert "(NN -but)" in run(capsys, "-but she sat", "--pipeline", pipeline)[1].replace("\n", " ")


def test_formats(capsys, pipeline):
    arguments = ("parse", "--text", "She sat. Run.", "--pipeline", pipeline)
    code, out, _ = run(capsys, *arguments)
    assert code == 0 and out.splitlines() == [
        "(TOP (S (NP (PRP She)) (VP (VBD sat) (. .))))",
        "(TOP (S (VP (VB Run) (. .))))",
    ]
    records = [json.loads(line) for line in run(capsys, *arguments, "--format", "json")[1].splitlines()]
    assert [token["text"] for token in records[1]["tokens"]] == ["Run", "."] and records[1]["status"] == "optimal"
    constituents = [(c["start"], c["end"], c["label"], c["cost"]) for c in records[1]["constituents"]]
    assert constituents == [(0, 2, "S", 0.25), (0, 2, "VP", 0.5)]
    assert records[0]["tree"] == out.splitlines()[0]


def test_files_and_standard_input(capsys, pipeline, tmp_path, monkeypatch):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("\ufeffThe cat sat.\r\n\r\nShe sat.\r\n", newline="")
    two.write_text("The old\ncat sat.\n\nRun.")
    code, out, _ = run(capsys, "parse", str(one), str(two), "--pipeline", pipeline)
    assert code == 0 and len(out.splitlines()) == 5 and out.startswith("(TOP (S (NP (DT The)")
    out = run(capsys, "parse", str(two), "--paragraphs", "--pipeline", pipeline)[1]
    assert out.splitlines()[0] == "(TOP (S (NP (DT The) (JJ old) (NN cat)) (VP (VBD sat) (. .))))"
    out = run(capsys, "parse", "--pipeline", pipeline, stdin="Run.\n", monkeypatch=monkeypatch)[1]
    assert out == "(TOP (S (VP (VB Run) (. .))))\n"
    wide = tmp_path / "wide.txt"
    wide.write_bytes("Run.\nShe sat.\n".encode("utf-16"))
    assert len(run(capsys, "parse", str(wide), "--encoding", "utf-16", "--pipeline", pipeline)[1].splitlines()) == 2


def test_pretokenized_and_tagged(capsys, pipeline, monkeypatch):
    out = run(
        capsys,
        "parse",
        "--pretokenized",
        "--pipeline",
        pipeline,
        stdin="She sat . It sat .\n\n-LRB- run -RRB-\n",
        monkeypatch=monkeypatch,
    )[1]
    assert out.splitlines() == [
        "(TOP (S (NP (PRP She)) (VP (VBD sat) (. .) (NP (PRP It)) (VP (VBD sat) (. .)))))",
        "",
        "(TOP (S (-LRB- -LRB-) (VP (VB run) (-RRB- -RRB-))))",
    ]
    out = run(capsys, "parse", "--tagged", "--pipeline", pipeline, stdin="zip_VB a_b_NN\n", monkeypatch=monkeypatch)[1]
    assert out == "(TOP (S (VP (VB zip) (NP (NN a_b)))))\n"
    code, _, err = run(
        capsys, "parse", "--tagged", "--pipeline", pipeline, stdin="a_DT\nnope\n", monkeypatch=monkeypatch
    )
    assert code == 1 and "standard input:2: 'nope' is not a token_TAG pair" in err


def test_model_and_budget(capsys, pipeline, tmp_path):
    text = ("parse", "--text", "She sat quietly.", "--pipeline", pipeline)
    assert "ADVP" in run(capsys, *text)[1]
    assert "ADVP" not in run(capsys, *text, "--budget", "0")[1]
    other = tmp_path / "other"
    other.write_bytes(RuleParser("swapped").to_bytes())
    out = run(capsys, "info", "--json", "--pipeline", pipeline, "--model", str(other), "--budget", "7")[1]
    facts = json.loads(out)
    assert facts["parser"]["note"] == "swapped" and facts["parser"]["budget"] == 7
    assert facts["pipeline"]["components"] == ["sentencizer", "list_tagger", "dtparse"]
    assert "  labels: S, VP" in run(capsys, "info", "--pipeline", pipeline)[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["parse", "gone.txt"], 1, "there is no file gone.txt"),
        (["parse", "FOLDER"], 1, "is a folder; name the files"),
        (["parse", "--text", "a", "x.txt"], 1, "give --text or files, not both"),
        (["parse", "--text", "  "], 1, "the input has no text"),
        (["parse", "LATIN", "--encoding", "klingon"], 1, "unknown encoding 'klingon'"),
        (["parse", "--text", "a", "--budget", "-3"], 2, "'-3' is not a whole number from 0"),
        (["parse", "--text", "a", "--n-process", "0"], 2, "'0' is not a whole number from 1"),
        (["parse", "--text", "a", "--format", "xml"], 2, "invalid choice: 'xml'"),
        (["parse", "--text", "a", "--pipeline", "no_such_pipeline"], 1, "cannot load the pipeline 'no_such_pipeline'"),
        (["parse", "--text", "a", "--pipeline", "UNKNOWN"], 1, "Can't find factory for 'nobody_s_component'"),
        (["parse", "--tagged", "--pretokenized"], 2, "not allowed with"),
        (["prase", "x.txt"], 2, "'prase' is not a command"),
        (["LATIN"], 2, "is a file; to parse its text: dtparse parse"),
        (["--nonsense"], 2, "COMMAND"),
        (["convert", "gone.mrg", "out.spacy"], 1, "no treebank there"),
        (["convert", "gone.mrg", "out.bin"], 1, "must end in .spacy"),
    ],
)
def test_bad_input_is_refused(capsys, tmp_path, arguments, code, message):
    (tmp_path / "latin.txt").write_bytes("fine\ncaf\u00e9\n".encode("latin-1"))
    unknown = tmp_path / "unknown"
    spacy.blank("en").to_disk(unknown)
    config = (unknown / "config.cfg").read_text().replace("pipeline = []", 'pipeline = ["x"]')
    (unknown / "config.cfg").write_text(config + '\n[components.x]\nfactory = "nobody_s_component"\n')
    names = {"UNKNOWN": str(unknown), "LATIN": str(tmp_path / "latin.txt"), "FOLDER": str(tmp_path)}
    found, out, err = run(capsys, *(names.get(argument, argument) for argument in arguments))
    assert (found, out) == (code, "") and message in err


def test_help_names_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0 and all(name in out for name in ("parse", "evaluate", "show", "info", "convert"))
    for command in ("parse", "evaluate", "show", "info", "convert"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0 and "options:" in out and len(out.splitlines()) > 5
    assert run(capsys, "--version")[1].startswith("spacy-dtparse ")


def test_convert(capsys, tmp_path):
    (tmp_path / "gold.mrg").write_text("( (S (NP (PRP She)) (VP (VBD sat)) (. .)) )\n" * 3)
    code, out, _ = run(capsys, "convert", str(tmp_path / "gold.mrg"), str(tmp_path / "gold.spacy"), "--n-sents", "2")
    assert code == 0 and "2 Docs" in out and (tmp_path / "gold.spacy").stat().st_size > 0


def test_no_arguments_on_a_terminal_is_help(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    code, out, _ = run(capsys)
    assert code == 2 and "usage: dtparse" in out


PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import spacy_dtparse.core
from tests.pipeline.conftest import load_rule_or_real
spacy_dtparse.core.load_parser = load_rule_or_real
from spacy_dtparse.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_closed_pipe_and_an_ascii_terminal(pipeline, tmp_path):
    text = tmp_path / "long.txt"
    text.write_text("The caf\u00e9 sat.\n" * 3000, encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, str(ROOT), "parse", str(text), "--pipeline", pipeline]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        first = process.stdout.readline().decode("utf-8")
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(timeout=60) == 0, errors
    assert "caf\u00e9" in first and "Traceback" not in errors and "Exception" not in errors


GOLD = """\
( (S (NP-SBJ (PRP She)) (VP (VBD sat) (ADVP-MNR (RB quietly))) (. .)) )
( (S (NP-SBJ (PRP It)) (VP (VBD saw) (NP (DT a) (-LRB- -LRB-) (NN dog))) (. .)) )
"""


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "gold.mrg"
    path.write_text(GOLD)
    return str(path)


def test_evaluate_a_model(capsys, pipeline, gold, tmp_path):
    """The rule parser puts the final full stop into the VP (wrong except for EVALB) and splits the last NP in two."""
    out_file = str(tmp_path / "predicted.mrg")
    code, out, err = run(
        capsys, "evaluate", gold, "--tags", "gold", "--json", "--pipeline", pipeline, "--output", out_file
    )
    scores = json.loads(out)
    assert code == 0 and "2 sentences, 10 tokens" in err
    assert (scores["all"]["matched"], scores["all"]["gold"], scores["all"]["predicted"]) == (5, 8, 9)
    assert scores["evalb"]["matched"] == 7
    assert Path(out_file).read_text().splitlines()[0] == (
        "(TOP (S (NP (PRP She)) (VP (VBD sat) (ADVP (RB quietly)) (. .))))"
    )
    assert "-LRB- -LRB-" in Path(out_file).read_text()
    code, table, _ = run(capsys, "evaluate", gold, out_file)
    assert code == 0 and "evalb" in table and "NP" in table
    tagged = json.loads(run(capsys, "evaluate", gold, "--json", "--limit", "1", "--pipeline", pipeline)[1])
    assert tagged["sentences"] == 1 and tagged["all"]["matched"] == 3


def test_evaluate_bad_pairs(capsys, gold, tmp_path):
    other = tmp_path / "other.mrg"
    other.write_text(GOLD.splitlines()[0])
    code, _, err = run(capsys, "evaluate", gold, str(other))
    assert code == 1 and "has 2 trees and" in err
    other.write_text(GOLD.replace("dog", "cat"))
    code, _, err = run(capsys, "evaluate", gold, str(other))
    assert code == 1 and "token 4 is 'dog' in gold and 'cat'" in err
    assert run(capsys, "evaluate", str(tmp_path / "gone.mrg"))[0] == 1
    other.write_text("(TOP (NN a)")
    code, _, err = run(capsys, "evaluate", str(other))
    assert code == 1 and "other.mrg:1:" in err


def test_show(capsys, pipeline, gold, tmp_path, monkeypatch):
    code, out, _ = run(capsys, "show", "She sat.", "--pipeline", pipeline)
    assert code == 0 and "┌─" in out and "sat" in out
    code, out, _ = run(capsys, "show", "She sat.", "--layout", "side", "--pipeline", pipeline)
    assert code == 0 and "├─ " in out and "sat" in out
    given = ("--ascii", "--no-tags", "--layout", "side", "--pipeline", pipeline)
    out = run(capsys, "show", "She sat. Run.", *given)[1]
    assert "VBD" not in out and "+- " in out and out.count("TOP") == 2
    target = tmp_path / "tree.svg"
    code, _, err = run(capsys, "show", "She sat.", "--svg", str(target), "--pipeline", pipeline)
    assert code == 0 and str(target) in err and target.read_text().startswith("<svg")
    assert run(capsys, "show", "--trees", gold, "--svg", str(target))[0] == 0
    assert (tmp_path / "tree-1.svg").exists() and "dog" in (tmp_path / "tree-2.svg").read_text()
    code, out, _ = run(
        capsys, "show", "--trees", "-", "--svg", "-", stdin=GOLD.splitlines()[0], monkeypatch=monkeypatch
    )
    assert code == 0 and out.startswith("<svg") and out.rstrip().endswith("</svg>")
    assert run(capsys, "show", "--trees", gold, "--svg", str(target), "--theme", "dark")[0] == 0
    assert 'fill="#0d1117"' in (tmp_path / "tree-2.svg").read_text()
    code, _, err = run(capsys, "show", "--trees", gold, "--svg", "-")
    assert code == 1 and "2 trees for standard output" in err
    assert run(capsys, "show")[0] == 2
    assert run(capsys, "show", "She sat.", "--svg", "a.svg", "--html", "a.html")[0] == 2
    assert run(capsys, "show", " ")[0] == 1


def test_show_fits_the_width(capsys, pipeline):
    text = "The cat on the mat saw the old dog on the mat."
    wide = run(capsys, "show", text, "--pipeline", pipeline, "--width", "120")[1].split("\n")
    narrow = run(capsys, "show", text, "--pipeline", pipeline, "--width", "40")[1].split("\n")
    assert any("┌" in line for line in wide) and max(map(len, wide)) > 40
    assert not any("┌" in line for line in narrow) and max(map(len, narrow)) <= 40
    code, _, err = run(capsys, "show", text, "--pipeline", pipeline, "--width", "5")
    assert code == 1 and "width=5; give the columns of a line, a whole number from 20" in err


def test_show_html(capsys, pipeline, gold, tmp_path):
    target = tmp_path / "page"
    code, _, err = run(capsys, "show", "She sat. Run.", "--html", str(target), "--pipeline", pipeline)
    page = (tmp_path / "page.html").read_text()
    assert code == 0 and "page.html" in err and page.startswith("<!DOCTYPE html>") and page.count("<svg") == 2
    look = ("--style", "spans", "--theme", "auto", "--width", "50")
    spans = run(capsys, "show", "--trees", gold, "--html", "-", *look)[1]
    assert spans.count('class="line"') >= 2 and "prefers-color-scheme" in spans
    plain = run(capsys, "show", "--trees", gold, "--html", "-", "--no-colors")[1]
    assert 'class="label"' in plain and 'class="label c' not in plain
    code, _, err = run(capsys, "show", "--trees", gold, "--style", "spans")
    assert code == 1 and "--style spans is for a page: add --html FILE" in err
    assert run(capsys, "show", "--trees", gold, "--style", "spans", "--svg", str(target))[0] == 1
    code, _, err = run(capsys, "show", "--trees", gold, "--probabilities")
    assert code == 1 and "a file of trees has no probabilities" in err


def test_show_probabilities(capsys, pipeline):
    out = run(capsys, "show", "She sat.", "--probabilities", "--layout", "side", "--pipeline", pipeline)[1]
    assert re.search(r"NP \d\.\d\d", out), out
