"""Standard output and error of a command: a terminal gets no control characters of texts, and closed streams are
noticed."""

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters other than tab and line end, and those that change the direction of writing."""


def show_controls(text: str) -> str:
    r"""The text with its control characters written as \x1b and the like."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


class TerminalStream:
    """A text stream to a terminal that shows control characters. `send` writes a text as it is."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self.send = stream.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; return its number of characters."""
        self._stream.write(show_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)


def send(text: str) -> None:
    """Write a text with control characters to standard error."""
    getattr(sys.stderr, "send", sys.stderr.write)(text)
    sys.stderr.flush()


@contextmanager
def protected_streams() -> Iterator[None]:
    """Context manager for a command: control characters in texts do not reach a terminal, and messages to a closed
    standard error are dropped."""
    before = sys.stdout, sys.stderr
    if sys.stderr is None:  # `2>&-`
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, TerminalStream) and stream.isatty():
            setattr(sys, name, TerminalStream(stream))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def quiet_warnings() -> None:
    """Show warnings as one line each, without the source line that raised them."""

    def show(message, category, filename, lineno, file=None, line=None):  # type: ignore[no-untyped-def]
        print(f"dtparse: warning: {message}", file=file or sys.stderr)

    warnings.showwarning = show


def discard_output() -> None:
    """Direct standard output to nowhere, so that Python does not try to write the rest when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable_path(path: str) -> str:
    r"""The name of a file for output: bytes that are not UTF-8 are written as \xff and the like."""
    return os.fsencode(path).decode("utf-8", "backslashreplace") if not path.isascii() else path
