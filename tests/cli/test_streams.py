"""Terminals, closed streams, full disks, names that are not UTF-8, and long lines."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from spacy_dtparse.cli import main
from spacy_dtparse.cli.lines import LineDecoder
from spacy_dtparse.cli.progress import Progress
from spacy_dtparse.cli.terminal import TerminalStream, printable_path, show_controls
from spacy_dtparse.errors import ConfigError, TreeFormatError
from spacy_dtparse.files import atomic_write, write_atomically
from spacy_dtparse.json_text import to_json
from spacy_dtparse.trees.brackets import read_trees

from ..documents import ROOT
from .test_cli import run

ESC = "\x1b]0;title\x07\x1b[31m"
EVIL = f"(TOP (NN {ESC}dog))\n"


@contextmanager
def terminal() -> Iterator[Callable[[], str]]:
    """A terminal as standard output and error of the block; yields a function that reads what came."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    before = sys.stdout, sys.stderr
    with open(slave, "w", encoding="utf-8") as stream:

        def read_output() -> str:
            stream.flush()
            data = b""
            with suppress(BlockingIOError):
                while more := os.read(master, 100_000):
                    data += more
            return data.decode().replace("\r\n", "\n")

        sys.stdout = sys.stderr = stream
        try:
            yield read_output
        finally:
            sys.stdout, sys.stderr = before
    os.close(master)


@pytest.mark.parametrize(
    "arguments",
    [
        ("grep", "NN", "evil.mrg"),
        ("grep", "NN", "evil.mrg", "--json"),
        ("grep", "-c", "NN", "evil.mrg", f"{ESC}.mrg"),
        ("grep", "-l", "NN", f"{ESC}.mrg"),
        ("grep", f"NN < {ESC}", "evil.mrg"),
        ("grep", "NN", f"{ESC}none.mrg"),
        ("edit", "NN=n", f"relabel n {ESC}", "evil.mrg"),
        ("show", "--trees", "evil.mrg"),
        ("show", "--trees", "bad.mrg"),
        ("parse", f"{ESC}none.txt"),
        ("parse", "--encoding", ESC, "evil.mrg"),
        ("convert", "evil.mrg", f"{ESC}"),
        ("evaluate", "bad.mrg", "bad.mrg"),
        ("explain", "a", "--rules", ESC),
        ("grep", "NN", "evil.mrg", f"--{ESC}"),
        (f"{ESC}x", "y"),
    ],
)
def test_terminals_get_no_control_characters(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name, content in (("evil.mrg", EVIL), (f"{ESC}.mrg", EVIL), ("bad.mrg", f"(TOP {ESC} (X")):
        Path(name).write_text(content)
    with terminal() as received:
        stream = sys.stdout
        with suppress(SystemExit):
            main(arguments)
        assert sys.stdout is sys.stderr is stream
        output = received()
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", output) is None
    assert r"\x1b" in output or r"\u001b" in output or "\ufffd" in output  # as drawings show them


def test_files_and_pipes_get_texts_as_they_are(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.mrg").write_text(EVIL)
    assert run(capsys, "grep", "NN", "evil.mrg")[1] == f"(NN {ESC}dog)\n"


def test_what_is_shown():
    assert show_controls("a\tb\nc\r\x1b[0m\x9b\x7f\u202e") == "a\tb\nc\\r\\x1b[0m\\x9b\\x7f\\u202e"
    assert show_controls("na\u00efve \u0645\u200f \U0001f600") == "na\u00efve \u0645\u200f \U0001f600"


def test_progress_still_controls_its_line():
    with terminal() as received:
        sys.stderr = TerminalStream(sys.stderr)
        progress = Progress(3, True, output_follows=True)
        progress.last_printed = progress.start_time = -1.0
        progress.step(5)
        assert received().startswith("\rdtparse: 1 of 3 texts")


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "message"),
    [
        ("<&-", "grep NN", 2, "standard input is closed; name a file"),
        ("<&-", "edit NN=n 'delete n'", 1, "standard input is closed; name a file"),
        (">&-", "grep NN evil.mrg", 2, "standard output is closed; write to a file"),
        ("2>&-", "grep NN", 0, ""),
        ("<&- 2>&-", "grep NN evil.mrg", 0, ""),
        (">/dev/full", "grep NN evil.mrg", 2, "No space left on device"),
    ],
)
@pytest.mark.slow
def test_closed_streams(tmp_path, closed, arguments, code, message):
    (tmp_path / "evil.mrg").write_text(EVIL)
    command = f"{sys.executable} -m spacy_dtparse {arguments} {closed}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, input=EVIL, env=environment
    )
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (1 if message else 0)


def test_closed_standard_streams_in_this_process(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["grep", "NN"]) == 2
    assert capsys.readouterr().err.startswith("dtparse: error: standard input is closed")
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["grep", "NN"]) == 2
    assert capsys.readouterr().err.startswith("dtparse: error: standard output is closed")


def test_files_are_complete_or_unchanged(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    path.chmod(0o640)
    with pytest.raises(OSError, match="No space"), atomic_write(path) as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    link = tmp_path / "link"
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink() and path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o640
    write_atomically("/dev/null", "gone")
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "none" / "a", "x")
    assert caught.value.filename == str(tmp_path / "none" / "a")


@pytest.mark.parametrize("option", ["--svg", "--html"])
def test_a_full_disk_leaves_the_old_file(capsys, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    Path("t.mrg").write_text("(S (NN dog))")
    Path("t.out").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    code, _, said = run(capsys, "show", "--trees", "t.mrg", option, "t.out")
    assert code == 1 and said == "dtparse: error: t.out: No space left on device\n"
    assert Path("t.out").read_text() == "old" and sorted(p.name for p in tmp_path.iterdir()) == ["t.mrg", "t.out"]


def test_names_that_are_not_utf8(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9.mrg")
    Path(name).write_text("(S (NN dog))")
    assert printable_path(name) == "caf\\xe9.mrg"
    assert run(capsys, "grep", "-l", "NN", name) == (0, "caf\\xe9.mrg\n", "")
    assert json.loads(run(capsys, "grep", "--json", "NN", name)[1])["file"] == "caf\\xe9.mrg"
    assert run(capsys, "grep", "-c", "NN", name, name)[1] == "caf\\xe9.mrg:1\n" * 2


def test_json_has_no_nan():
    assert to_json({"a": [float("nan"), 1.5, (float("inf"),)]}) == '{"a": [null, 1.5, [null]]}'


WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32"]


@pytest.mark.parametrize("encoding", WIDE)
def test_wide_encodings(tmp_path, encoding):
    text = "(S (NN h\u00fcnd))\n" * 9000 + "(S (NN x))"
    path = tmp_path / "t.mrg"
    path.write_bytes(text.encode(encoding))
    assert [tree.words[0] for tree in read_trees(path, encoding=encoding)] == ["h\u00fcnd"] * 9000 + ["x"]
    with path.open("rb") as file:
        assert sum(1 for _ in read_trees(file, encoding=encoding)) == 9001
        assert not file.closed
    with path.open("rb") as file:
        lines = list(LineDecoder(encoding).lines(file, "t"))
    assert [line.text for line in lines] == text.splitlines() and lines[-1].stop == path.stat().st_size
    path.write_bytes(text.encode(encoding) + b"\x00")
    with pytest.raises(TreeFormatError, match="give its real encoding"):
        list(read_trees(path, encoding=encoding))


@pytest.mark.parametrize("encoding", ["none", "", "utf-\x00"])
def test_unknown_encodings(tmp_path, encoding):
    (tmp_path / "t.mrg").write_text("(S (NN x))")
    with pytest.raises(ConfigError, match="unknown encoding"):
        list(read_trees(tmp_path / "t.mrg", encoding=encoding))


def test_trees_on_one_line_are_streamed(tmp_path):
    path = tmp_path / "t.mrg"
    one = "(TOP (S (NP (DT the) (NN h\u00fcnd)) (VP (VBZ runs)))) "
    with path.open("w", encoding="utf-8") as file:
        file.writelines([one * 1000] * 60)  # 3 MB
    tracemalloc.start()
    trees = read_trees(path)
    first = next(trees)
    assert first.words == ("the", "h\u00fcnd", "runs") and tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()
    assert sum(tree == first for tree in trees) == 59_999


def test_locations_on_a_long_line(tmp_path):
    path = tmp_path / "t.mrg"
    good = "(S (NN x)) " * 20_000
    path.write_text(f"{good}(S (NN))\n(S (NN y))\n")
    with pytest.raises(TreeFormatError, match="'\\(NN\\)' has no word") as caught:
        list(read_trees(path))
    assert (caught.value.line, caught.value.column) == (1, len(good) + 7)
    errors: list[TreeFormatError] = []
    found = list(read_trees(path, on_error="skip", errors=errors))
    assert len(found) == 20_001 and [(one.line, one.column) for one in errors] == [(1, len(good) + 7)]


@pytest.mark.parametrize("shift", range(0, 24))
def test_any_cut_of_a_line_gives_the_same_trees(tmp_path, monkeypatch, shift):
    from spacy_dtparse.trees import bracket_lines

    text = " " * shift + "( (S (NP (DT the) (NN a b)) (VP (VBZ  runs ) )) )(TOP (X (Y (YY yy))))\n(S\n(NN q))"
    path = tmp_path / "t.mrg"
    path.write_text(text)
    expected = list(read_trees(path))
    for size in (2, 3, 5, 8, 13):
        monkeypatch.setattr(bracket_lines, "PIECE_BYTES", size)
        assert list(read_trees(path)) == expected
