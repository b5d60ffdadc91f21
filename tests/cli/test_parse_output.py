"""The JSON and CoNLL-U output of `dtparse parse`, its progress messages, and interruption."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from spacy_dtparse.cli import progress
from spacy_dtparse.cli.progress import Progress, stop_workers_on_error

from .test_cli import PROGRAM, ROOT, pipeline, rule_parser_loads, run  # noqa: F401 (fixtures)

TEXT = "The cat sat. She saw it.\n\nRun.\n"


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(TEXT)
    return path


def records(capsys, *arguments):
    return [json.loads(line) for line in run(capsys, "parse", *arguments, "--format", "json")[1].splitlines()]


def test_json_refers_to_lines_of_the_file(capsys, pipeline, notes):  # noqa: F811
    found = records(capsys, str(notes), "--pipeline", pipeline)
    assert [(r["document"], r["line"], r["sentence"]) for r in found] == [
        (str(notes), 1, 1),
        (str(notes), 1, 2),
        (str(notes), 3, 1),
    ]
    lines = TEXT.splitlines()
    for record in found:
        line = lines[record["line"] - 1]
        assert line[record["start_char"] : record["end_char"]] == record["text"]
        for part in record["tokens"] + record["constituents"]:
            assert line[part["start_char"] : part["end_char"]].strip()
    assert found[1]["constituents"][1] == {
        "label": "NP",
        "start": 0,
        "end": 1,
        "start_char": 13,
        "end_char": 16,
        "level": 1,
        "head": 0,
        "cost": 0.5,
    }
    assert found[1]["tokens"][1] == {
        "text": "saw",
        "tag": "VBD",
        "pos": "",
        "start_char": 17,
        "end_char": 20,
        "head": None,
    }


def test_json_of_other_inputs(capsys, pipeline, notes, monkeypatch):  # noqa: F811
    (only, second) = records(capsys, "--text", "Run.", "--text", "She sat.", "--pipeline", pipeline)
    assert (only["document"], only["line"], second["line"]) == ("--text", 1, 2)
    notes.write_text("\nThe old\n  cat sat.\n\n\nRun.")
    found = records(capsys, str(notes), "--paragraphs", "--pipeline", pipeline)
    assert [(r["line"], r["text"]) for r in found] == [(2, "The old cat sat."), (6, "Run.")]
    out = run(
        capsys,
        "parse",
        "--pretokenized",
        "--format",
        "json",
        "--pipeline",
        pipeline,
        stdin="She sat .\n\nRun .\n",
        monkeypatch=monkeypatch,
    )[1]
    first, blank, last = out.splitlines()
    assert blank == "" and json.loads(first)["document"] == "standard input" and json.loads(last)["line"] == 3


def test_several_processes_number_lines_correctly(capsys, pipeline, notes):  # noqa: F811
    notes.write_text("".join(f"Run{'.' * (k % 3 + 1)}\n" for k in range(12)))
    found = records(capsys, str(notes), "--n-process", "2", "--batch-size", "2", "--pipeline", pipeline)
    assert [r["line"] for r in found] == list(range(1, 13))


def test_conllu(capsys, pipeline, notes):  # noqa: F811
    out = run(capsys, "parse", str(notes), "--format", "conllu", "--pipeline", pipeline)[1]
    blocks = out.rstrip("\n").split("\n\n")
    assert [block.splitlines()[:3] for block in blocks] == [
        [f"# document = {notes}", f"# line = {line}", f"# sent_id = {number}"]
        for number, line in enumerate((1, 1, 3), 1)
    ]
    assert blocks[2].splitlines()[4:] == [
        "1\tRun\t_\t_\tVB\t_\t0\troot\t_\tSpaceAfter=No",
        "2\t.\t_\t_\t.\t_\t1\tdep\t_\tSpaceAfter=No",
    ]
    assert out.endswith("SpaceAfter=No\n\n")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_for_files_on_terminals(monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    for files, err, out, shown in (
        (True, Terminal(), io.StringIO(), True),
        (False, Terminal(), io.StringIO(), False),
        (True, io.StringIO(), io.StringIO(), False),
        (True, Terminal(), Terminal(), False),
    ):
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.setattr(sys, "stdout", out)
        shower = Progress(2000, files)
        shower.step(1500)
        shower.step(10)
        shower.end()
        assert ("2 of 2,000 texts, 1,510 tokens" in err.getvalue()) is shown
        assert err.getvalue().endswith("\n") is shown and out.getvalue() == ""


@pytest.mark.parametrize(
    ("total", "size", "step", "shown"),
    [
        (None, 50_000_000, (100, 5_000_000), "1 texts, 100 tokens, 100 tokens/s, 10% of 50.0 MB, 0:09 left"),
        (8, 0, (100, 0), "1 of 8 texts, 100 tokens, 100 tokens/s, 0:07 left"),
        (None, 0, (100, 0), "1 texts, 100 tokens, 100 tokens/s"),
        (None, 50_000_000, (100, 9), "1 texts, 100 tokens, 100 tokens/s, 0% of 50.0 MB"),
    ],
)
def test_progress_estimates_the_time_left(monkeypatch, total, size, step, shown):
    now = iter((0.0, 1.0, 1.0, 1.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    Progress(total, True, size).step(*step)
    assert sys.stderr.getvalue() == f"\rdtparse: {shown}\033[K"


def test_durations():
    assert [progress.format_duration(s) for s in (6.6, 750, 3723)] == ["0:07", "12:30", "1:02:03"]


def test_a_short_run_prints_no_progress(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    shower = Progress(1, True)
    shower.step(3)
    shower.end()
    assert sys.stderr.getvalue() == ""


@pytest.fixture
def heeded_interrupts():
    """Enable Ctrl-C as in a terminal: a shell's background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_handlers_are_restored(heeded_interrupts):
    with pytest.raises(KeyboardInterrupt), stop_workers_on_error():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_workers_on_error():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
@pytest.mark.parametrize("way", ["interrupt", "closed output"])
def test_two_processes_end_without_a_traceback(pipeline, tmp_path, way):  # noqa: F811
    text = tmp_path / "long.txt"
    text.write_text("The old cat sat on the mat. She saw it quietly.\n" * 20_000)
    arguments = ["parse", str(text), "--pipeline", pipeline, "--n-process", "2"]
    program = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + PROGRAM
    command = [sys.executable, "-c", program, str(ROOT), *arguments]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        try:
            assert process.stdout.readline().startswith(b"(TOP (S (NP (DT The)")
            if way == "interrupt":
                os.killpg(process.pid, signal.SIGINT)
            process.stdout.close()
            assert process.wait(timeout=60) == (130 if way == "interrupt" else 0)
            assert process.stderr.read() == b""
            with pytest.raises(ProcessLookupError):  # no worker is left
                os.killpg(process.pid, 0)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
