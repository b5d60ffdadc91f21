"""--errors of the commands that read files: what is right is written, what is skipped is counted."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading

import pytest

from spacy_dtparse.cli import progress
from spacy_dtparse.cli.streams import batches

from .test_cli import PROGRAM, ROOT, pipeline, rule_parser_loads, run  # noqa: F401 (fixtures)

RUN, SAT = "(TOP (S (VP (VB Run) (. .))))\n", "(TOP (S (NP (PRP She)) (VP (VBD sat) (. .))))\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_parse_writes_the_lines_before_a_bad_one(capsys, pipeline, folder):  # noqa: F811
    (folder / "a.txt").write_bytes(b"Run.\ncaf\xe9.\nShe sat.\n")
    code, out, said = run(capsys, "parse", "a.txt", "--pipeline", pipeline)
    assert (code, out) == (1, RUN)
    assert said.startswith("dtparse: error: a.txt:2: byte 4 of the line is not utf-8")


@pytest.mark.parametrize("options", [[], ["--n-process", "2"], ["--paragraphs"]])
def test_parse_skips_bad_bytes(capsys, pipeline, folder, options):  # noqa: F811
    (folder / "a.txt").write_bytes(b"Run.\n\ncaf\xe9.\n\nShe sat.\n")
    code, out, said = run(capsys, "parse", "a.txt", "--pipeline", pipeline, "--errors", "skip", *options)
    assert (code, out) == (1, RUN + SAT)
    assert said.startswith("dtparse: warning: 1 malformed line was skipped; the first: a.txt:3: byte 4")
    code, out, said = run(capsys, "parse", "a.txt", "--pipeline", pipeline, "--errors", "replace", *options)
    assert code == 0 and "\ufffd" in out and out.startswith(RUN) and out.endswith(SAT) and said == ""


def test_parse_skips_bad_bytes_of_wide_encodings(capsys, pipeline, folder):  # noqa: F811
    run_line, sat_line = ("Run.\n".encode("utf-16-le"), "She sat.\n".encode("utf-16-le"))
    (folder / "a.txt").write_bytes(run_line + b"\x00\xd8x\x00\n\x00" + sat_line)
    arguments = ("parse", "a.txt", "--encoding", "utf-16-le", "--pipeline", pipeline)
    assert run(capsys, *arguments)[:2] == (1, RUN)  # the lines before the bad one
    assert run(capsys, *arguments, "--errors", "skip")[:2] == (1, RUN + SAT)


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        (["--tagged"], "She_PRP sat", "a.txt:2: 'sat' is not a token_TAG pair"),
        ([], "(" * 3000, "a.txt:2: starting at character 1 there are 3,000 characters"),
    ],
)
def test_parse_skips_bad_lines(capsys, pipeline, folder, options, line, message):  # noqa: F811
    good = "She_PRP sat_VBD ._." if options else "She sat."
    (folder / "a.txt").write_text(f"{good}\n{line}\n{good}\n")
    arguments = ("parse", "a.txt", *options, "--pipeline", pipeline)
    code, out, said = run(capsys, *arguments)
    assert (code, out) == (1, SAT) and said.startswith(f"dtparse: error: {message}")
    for errors in ("skip", "replace"):
        code, out, said = run(capsys, *arguments, "--errors", errors)
        assert (code, out) == (1, SAT * 2)
        assert said.startswith(f"dtparse: warning: 1 malformed line was skipped; the first: {message}")


def test_good_lines_give_no_warning(capsys, pipeline, folder):  # noqa: F811
    (folder / "a.txt").write_text("Run.\n")
    for errors in ("strict", "skip", "replace"):
        assert run(capsys, "parse", "a.txt", "--pipeline", pipeline, "--errors", errors) == (0, RUN, "")


@pytest.mark.parametrize("options", [["--errors", "skip"], ["--errors", "strict"]])
def test_an_error_of_standard_input_comes_after_the_lines_before_it(capsys, pipeline, monkeypatch, options):  # noqa: F811
    lines = b"Run.\n" * 300 + b"caf\xe9.\n" + b"Run.\n"
    code, out, said = run(capsys, "parse", *options, "--pipeline", pipeline, stdin=lines, monkeypatch=monkeypatch)
    assert (code, out) == (1, RUN * (300 if "strict" in options else 301)) and "standard input:301: byte 4" in said


@pytest.mark.slow
def test_standard_input_is_parsed_as_it_comes(pipeline):  # noqa: F811
    """Each line gets its answer before the next is written."""
    command = [sys.executable, "-c", PROGRAM, str(ROOT), "parse", "--pipeline", pipeline]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        for line, tree in (("Run.", RUN), ("She sat.", SAT), ("Run.", RUN)):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == tree
        process.stdin.close()
        assert process.stdout.read() == "" and process.wait() == 0
        guard.cancel()


@pytest.mark.parametrize("command", [["grep", "NN"], ["edit", "NN=n", "relabel n NN-X"]])
def test_trees_of_standard_input_are_searched_as_they_come(command):
    program = [sys.executable, "-m", "spacy_dtparse", *command]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        for word in ("a", "b"):
            process.stdin.write(f"(NP (NN {word}))\n")
            process.stdin.flush()
            assert word in process.stdout.readline()
        process.stdin.close()
        assert process.wait() == 0
        guard.cancel()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("way", ["limit", "interrupt", "closed output"])
def test_a_program_that_waits_for_input_can_end(way):
    """The thread that reads is then still waiting."""
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from spacy_dtparse.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "grep", "NN", *(["-m", "1"] if way == "limit" else [])]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        process.stdin.write("(NP (NN x))\n")
        process.stdin.flush()
        assert process.stdout.readline() == "(NN x)\n"
        if way == "interrupt":
            process.send_signal(signal.SIGINT)
        elif way == "closed output":
            process.stdout.close()
            process.stdin.write("(NP (NN x))\n")
            process.stdin.flush()
        code = process.wait()
        assert process.stderr.read() == "" and code == (130 if way == "interrupt" else 0)
        guard.cancel()


def test_batches():
    def fails():
        yield from range(5)
        raise OSError("gone")

    for live in (False, True):
        assert [item for batch in batches(range(1000), 7, live) for item in batch] == list(range(1000))
        assert max(map(len, batches(range(1000), 7, live))) == 7
        assert list(batches([], 3, live)) == []
    found = []
    with pytest.raises(OSError, match="gone"):
        for batch in batches(fails(), 2, True):
            found += batch
    assert found == list(range(5))


def test_a_batch_does_not_wait_for_more():
    more = threading.Event()

    def slow():
        yield 1
        assert more.wait(30)
        yield 2

    found = batches(slow(), 10, True)
    assert next(found) == [1]
    more.set()
    assert next(found) == [2]


GOOD = b"(S (NP (PRP She)) (VP (VBD sat)) (. .))\n"
BAD = GOOD + b"(S ())\n" + GOOD + b"(S (NP (PRP Sh\xe9)) (VP (VBD sat)) (. .))\n"
SKIPPED = "dtparse: warning: 2 malformed trees were skipped; the first: bad.mrg:2:5: '()' has no word"


def test_evaluate_leaves_out_pairs_with_a_malformed_tree(capsys, folder):
    (folder / "bad.mrg").write_bytes(BAD)
    (folder / "other.mrg").write_bytes(GOOD + GOOD + b"(S (NP (PRP She)) (VP (VBD sat) (. .))\n" + GOOD)
    assert run(capsys, "evaluate", "bad.mrg", "other.mrg")[:2] == (1, "")
    code, out, said = run(capsys, "evaluate", "bad.mrg", "other.mrg", "--json", "--errors", "skip")
    assert code == 1 and json.loads(out)["sentences"] == 1
    assert said.startswith(SKIPPED.replace("2 ", "3 ", 1))
    code, out, said = run(capsys, "evaluate", "bad.mrg", "bad.mrg", "--json", "--errors", "replace")
    assert code == 1 and json.loads(out)["sentences"] == 3
    assert run(capsys, "evaluate", "other.mrg", "bad.mrg", "--limit", "1")[0] == 0


def test_evaluate_parses_the_good_trees(capsys, pipeline, folder):  # noqa: F811
    (folder / "bad.mrg").write_bytes(BAD)
    code, out, said = run(
        capsys, "evaluate", "bad.mrg", "--json", "--errors", "skip", "--pipeline", pipeline, "--output", "out.mrg"
    )
    assert code == 1 and json.loads(out)["sentences"] == 2 and SKIPPED in said
    assert len((folder / "out.mrg").read_text().splitlines()) == 2


def test_show_draws_the_good_trees(capsys, folder):
    (folder / "bad.mrg").write_bytes(BAD)
    assert run(capsys, "show", "--trees", "bad.mrg")[:2] == (1, "")
    code, out, said = run(capsys, "show", "--trees", "bad.mrg", "--errors", "skip")
    assert code == 1 and out.count("She") == 2 and said.startswith(SKIPPED)
    code, _, said = run(capsys, "show", "--trees", "bad.mrg", "--errors", "replace", "--svg", "t.svg")
    assert code == 1 and "t-3.svg" in said and "1 malformed tree was skipped" in said


def test_convert_writes_the_good_trees(capsys, folder):
    (folder / "bad.mrg").write_bytes(BAD)
    code, out, said = run(capsys, "convert", "bad.mrg", "out.spacy")
    assert (code, out) == (1, "") and not (folder / "out.spacy").exists()
    arguments = ("convert", "bad.mrg", "out.spacy", "--n-sents", "1", "--errors")
    assert run(capsys, *arguments, "skip")[:2] == (1, "out.spacy: 2 Docs\n")
    code, out, said = run(capsys, *arguments, "replace")
    assert (code, out) == (1, "out.spacy: 3 Docs\n") and "1 malformed tree was skipped" in said


@pytest.mark.parametrize("command", ["evaluate", "show", "convert"])
def test_a_file_without_any_good_tree_is_an_error(capsys, folder, command):
    (folder / "bad.mrg").write_bytes(b"(S ())\n")
    arguments = {"evaluate": ["bad.mrg", "bad.mrg"], "show": ["--trees", "bad.mrg"], "convert": ["bad.mrg", "o.spacy"]}
    code, out, said = run(capsys, command, *arguments[command], "--errors", "skip")
    assert (code, out) == (1, "") and "bad.mrg: no tree in it" in said


def test_evaluate_shows_progress_on_terminals(monkeypatch):
    now = iter((0.0, 1.0, 1.0, 1.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})
    monkeypatch.setattr(sys, "stderr", terminal())
    monkeypatch.setattr(sys, "stdout", terminal())
    progress.Progress(8, True, output_follows=True).step(50)
    assert sys.stderr.getvalue() == "\rdtparse: 1 of 8 texts, 50 tokens, 50 tokens/s, 0:07 left\033[K"
