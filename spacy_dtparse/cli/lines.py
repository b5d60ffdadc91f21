"""Lines of text files and of standard input, one by one, and how much of the input they are."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import DtparseError
from ..stored_names import stored_as
from .streams import standard_input


class InputLine(NamedTuple):
    """A line: the name of its file, its number from 1, its text without the line end, and the number of bytes of the
    whole input up to its end."""

    document: str
    number: int
    text: str
    stop: int = 0


@stored_as("document", "line")
class Origin(NamedTuple):
    """Origin of a text: the name of its file and the number of its first line."""

    document: str
    line: int


class TextItem(NamedTuple):
    """A text to parse, its origin, and the number of bytes of the whole input up to its end."""

    origin: Origin
    text: str
    stop: int = 0


def check_files(paths: Iterable[str], encoding: str, purpose: str = "parse") -> None:
    """Raise DtparseError for missing files, for folders, and for an unknown encoding. `purpose`: what the command does
    with texts."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise DtparseError(f"unknown encoding {encoding!r}; try utf-8, latin-1 or utf-16") from None
    for path in paths:
        if path != "-" and Path(path).is_dir():
            raise DtparseError(f"{path} is a folder; name the files in it")
        if path != "-" and not Path(path).exists():
            raise DtparseError(f"there is no file {path}; to {purpose} a text, use --text")


def input_size(paths: Iterable[str]) -> int:
    """The number of bytes of files ("-": standard input); 0 if it is not known, as for a pipe."""
    total = 0
    for path in paths:
        try:
            status = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
        except (OSError, ValueError):  # no real file
            return 0
        if not stat.S_ISREG(status.st_mode):
            return 0
        total += status.st_size
    return total


def read_lines(
    paths: Iterable[str], encoding: str, errors: str = "strict", skipped: list[DtparseError] | None = None
) -> Iterator[InputLine]:
    """Yield the lines of each file as they come; "-" is standard input, and a byte order mark is left out.

    `errors`: one of `bad_input.ERRORS`, for lines with bytes that are not in the encoding: "skip" leaves such lines out
    and appends an error to `skipped`; "replace" replaces the bytes by U+FFFD. Raises DtparseError with file and line,
    after the lines before it, and as `check_files`.
    """
    paths = list(paths)
    check_files(paths, encoding)
    decoder = LineDecoder(encoding, errors, skipped)
    for path in paths:
        with open_file(path) as file:
            yield from decoder.lines(file, path)


def open_file(path: str) -> IO[bytes]:
    """Open a file; "-" is standard input."""
    return standard_input() if path == "-" else open(path, "rb")


class LineDecoder:
    """Decodes files line by line; the parameters are those of `read_lines`."""

    def __init__(self, encoding: str, errors: str = "strict", skipped: list[DtparseError] | None = None):
        self.encoding, self.errors, self.skipped = encoding, errors, [] if skipped is None else skipped
        self.wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))  # a line end is several bytes
        self.stop = 0

    def lines(self, file: IO[bytes], name: str) -> Iterator[InputLine]:
        """Yield the lines of a file; "-" as its name stands for standard input."""
        name = "standard input" if name == "-" else name
        number = 0
        for raw in [file.read()] if self.wide else file:
            self.stop += len(raw)
            bad: DtparseError | None = None
            try:
                text = raw.decode(self.encoding)
            except UnicodeDecodeError as error:
                bad = DtparseError(
                    f"{name}:{number + 1}: byte {error.start + 1} of the line is not {self.encoding} ({error.reason}); "
                    "give the file's encoding with --encoding"
                )
                if self.errors == "strict":
                    raise bad from None
                text = raw.decode(self.encoding, "replace")
            for line in text.split("\n")[: -1 if text.endswith("\n") else None]:
                number += 1
                if bad is not None and self.errors == "skip" and "\ufffd" in line:
                    self.skipped.append(bad)
                    continue
                line = (line.removeprefix("\ufeff") if number == 1 else line).removesuffix("\r")
                yield InputLine(name, number, line, self.stop)


def paragraphs(lines: Iterable[InputLine]) -> Iterator[TextItem]:
    """Yield texts of consecutive lines up to a blank one or the end of a file, joined by spaces."""
    block: list[str] = []
    origin, stop = Origin("", 0), 0
    for line in lines:
        if block and (not line.text.strip() or line.document != origin.document):
            yield TextItem(origin, " ".join(block), stop)
            block = []
        if line.text.strip():
            origin = origin if block else Origin(line.document, line.number)
            block.append(line.text.strip())
            stop = line.stop
    if block:
        yield TextItem(origin, " ".join(block), stop)


def from_first_text(lines: Iterable[InputLine]) -> tuple[list[InputLine], Iterator[InputLine]]:
    """The lines up to the first that is not blank, and an iterator of the others. Raises DtparseError if all are."""
    rest, first = iter(lines), []
    for line in rest:
        first.append(line)
        if line.text.strip():
            return first, rest
    raise DtparseError("the input has no text; give a text, a file with one, or pipe one in")


def is_piped(paths: Sequence[str]) -> bool:
    """Whether lines come from standard input that is no file, perhaps slowly."""
    return "-" in paths and not input_size(["-"])
