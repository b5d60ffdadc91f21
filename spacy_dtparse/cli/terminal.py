"""Standard output and error of a command: a terminal gets no control characters of texts, and closed streams are
noticed."""

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters other than tab and line end, and those that change the direction of writing."""


def show_controls(text: str) -> str:
    r"""The text with its control characters written as \x1b and the like."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


class TerminalStream(io.TextIOBase):
    """A text stream to a terminal that shows control characters. `send` writes a text as it is."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """The error handler of the stream."""
        return self._stream.errors

    @property
    def buffer(self) -> Any:
        """The binary stream below."""
        return self._stream.buffer

    def write(self, text: str) -> int:
        """Write a text; return its number of characters."""
        self._stream.write(show_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]
        """Write several texts."""
        for line in lines:
            self.write(line)

    def send(self, text: str) -> None:
        """Write a text with the control characters of a command's own, such as those of a progress line."""
        self._stream.write(text)

    def flush(self) -> None:
        """Write out what is buffered."""
        self._stream.flush()

    def isatty(self) -> bool:
        """True."""
        return True

    def fileno(self) -> int:
        """The file descriptor."""
        return self._stream.fileno()

    def close(self) -> None:
        """Do nothing: the stream belongs to Python."""


def send(text: str) -> None:
    """Write a text with control characters to standard error."""
    getattr(sys.stderr, "send", sys.stderr.write)(text)
    sys.stderr.flush()


@contextmanager
def protected_streams() -> Iterator[None]:
    """For the time of a command: terminals get no control characters of texts, messages to a closed standard error are
    dropped."""
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


def discard_output() -> None:
    """Direct standard output to nowhere, so that Python does not try to write the rest when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def shown_name(path: str) -> str:
    r"""The name of a file for output: bytes that are not UTF-8 are written as \xff and the like."""
    return os.fsencode(path).decode("utf-8", "backslashreplace") if not path.isascii() else path
