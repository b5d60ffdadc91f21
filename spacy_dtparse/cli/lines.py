"""Lines of text files and of standard input, one by one, and how much of the input they are."""

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
from .terminal import printable_path


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
        except (AttributeError, OSError, ValueError):  # no real file, or standard input is closed
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


_CHUNK_BYTES = 1 << 16


class LineDecoder:
    """Decodes files line by line; the parameters are those of `read_lines`."""

    def __init__(self, encoding: str, errors: str = "strict", skipped: list[DtparseError] | None = None):
        self.encoding, self.errors, self.skipped = encoding, errors, [] if skipped is None else skipped
        self.wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))  # a line end is several bytes
        self.stop = 0

    def lines(self, file: IO[bytes], name: str) -> Iterator[InputLine]:
        """Yield the lines of a file; "-" as its name stands for standard input."""
        name = "standard input" if name == "-" else printable_path(name)
        number = 0
        for text, size, problem in self._wide_lines(file) if self.wide else self._lines(file):
            number += 1
            self.stop += size
            if problem:
                bad = DtparseError(f"{name}:{number}: {problem}; give the file's encoding with --encoding")
                if self.errors == "strict":
                    raise bad
                if self.errors == "skip":
                    self.skipped.append(bad)
                    continue
            line = (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\n").removesuffix("\r")
            yield InputLine(name, number, line, self.stop)

    def _lines(self, file: IO[bytes]) -> Iterator[tuple[str, int, str]]:
        """Yield each line, its number of bytes, and the problem with its bytes, if any."""
        for raw in file:
            try:
                yield raw.decode(self.encoding), len(raw), ""
            except UnicodeDecodeError as error:
                problem = f"byte {error.start + 1} of the line is not {self.encoding} ({error.reason})"
                yield raw.decode(self.encoding, "replace"), len(raw), problem

    def _wide_lines(self, file: IO[bytes]) -> Iterator[tuple[str, int, str]]:
        """The same if a line end is several bytes."""
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        begun: list[str] = []  # parts of an unfinished line
        size, chunk = 0, b"first"
        while chunk:
            chunk = file.read(_CHUNK_BYTES)
            size += len(chunk)
            *ended, rest = decoder.decode(chunk, final=not chunk).split("\n")
            for k, text in enumerate(ended):
                line = "".join([*begun, text]) if k == 0 else text
                yield line, size, self._wide_problem(line)
                begun, size = [] if k == 0 else begun, 0
            begun.append(rest)
        if line := "".join(begun):
            yield line, size, self._wide_problem(line)

    def _wide_problem(self, line: str) -> str:
        return f"it has bytes that are not {self.encoding}" if "\ufffd" in line else ""


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


def split_leading_blanks(lines: Iterable[InputLine]) -> tuple[list[InputLine], Iterator[InputLine]]:
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
