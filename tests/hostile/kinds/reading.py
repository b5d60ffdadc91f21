"""Files to read and to write: encodings, long lines, a full disk, control characters."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from spacy_dtparse.cli.terminal import show_controls
from spacy_dtparse.errors import ConfigError, TreeFormatError
from spacy_dtparse.files import write_atomically
from spacy_dtparse.trees.brackets import read_trees

from ..cases import case, refused

ONE = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)))) "


def _file(data: bytes) -> Path:
    path = Path(tempfile.mkdtemp()) / "t.mrg"
    path.write_bytes(data)
    return path


@case(seconds=10, megabytes=20)
def first_tree_of_a_line_of_50_megabytes() -> None:
    path = Path(tempfile.mkdtemp()) / "t.mrg"
    with path.open("w") as file:
        for _ in range(50):
            file.write(ONE * (1_000_000 // len(ONE)))
    assert next(read_trees(path)).words == ("the", "dog", "runs")
    path.unlink()


@case(seconds=60, megabytes=40)
def all_trees_of_a_line_of_5_megabytes() -> None:
    path = _file((ONE * (5_000_000 // len(ONE))).encode())
    assert sum(1 for _ in read_trees(path)) == 5_000_000 // len(ONE)


@case(seconds=2, megabytes=50, each=["utf-16", "utf-16-le", "utf-32"])
def wide_encoding(encoding: str) -> None:
    path = _file((ONE + "\n" + ONE).encode(encoding))
    assert len(list(read_trees(path, encoding=encoding))) == 2
    refused(TreeFormatError, lambda: list(read_trees(_file(b"\x00\xd8" * 50), encoding="utf-16-le")))


@case(seconds=2, megabytes=200, each=["none", "", "utf-\x00", "x" * 10**6])
def unknown_encoding(encoding: str) -> None:
    refused(ConfigError, lambda: list(read_trees(_file(b"(S (NN a))"), encoding=encoding)))


@case(seconds=2, megabytes=50)
def full_disk() -> None:
    import os
    import resource

    path = _file(b"old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        write_atomically(path, b"x" * 10_000)
    except OSError as error:
        assert error.filename == str(path)
    assert path.read_bytes() == b"old" and os.listdir(path.parent) == ["t.mrg"]


@case(seconds=2, megabytes=50)
def control_characters() -> None:
    shown = show_controls("".join(map(chr, range(0x20))) + "\x7f\x9b\u202e")
    assert all(character in "\t\n" or character.isprintable() for character in shown)


@case(
    seconds=20,
    megabytes=60,
    each=["\n" * 2_000_000, ONE.replace(" ", "\r") * 2000, "\ufeff" + ONE * 3, ONE + "\x0c\x1c\x85\u2028" * 9],
)
def odd_ends_of_lines(text: str) -> None:
    """All trees, or the error of a character that ends no line."""
    try:
        trees = list(read_trees(_file(text.encode())))
    except TreeFormatError as error:
        assert "\x85" in text and "outside of any tree" in str(error)
        return
    assert {one.words for one in trees} <= {("the", "dog", "runs")}
    assert len(trees) == text.count("TOP")


COMMANDS = (["grep", "NP"], ["edit", "NP=n !== X", "relabel n X"], ["measure"], ["agreement"], ["convert"])


@case(seconds=20, megabytes=500, each=range(len(COMMANDS)))
def control_characters_on_a_terminal(number: int) -> None:
    """Words, labels and file names with ESC, BEL and a C1 control, on a terminal: shown, not sent."""
    path = Path(tempfile.mkdtemp()) / "t\x1b]0;x\x07.mrg"
    path.write_bytes("(TOP (S (NP\x1b[31m (DT \x1b]0;x\x07) (NN \x9b31m)) (VP (VBZ runs)))) (NP (x".encode())
    arguments = [*COMMANDS[number], *[str(path)] * (2 if COMMANDS[number] == ["agreement"] else 1)]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "spacy_dtparse", *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env=environment,
    )  # fmt: skip
    os.close(theirs)
    sent = b""
    try:
        while more := os.read(ours, 65536):
            sent += more
    except OSError:  # the terminal's other end is closed
        pass
    process.wait()
    assert sent and not {0x1B, 0x07} & set(sent) and "\x9b" not in sent.decode("utf-8", "replace"), sent[:300]
