"""Malformed trees, lines and bytes in the files that a command reads: stop at the first, or skip and count them (the
option --errors). The choice holds for all files that are read in the process while `input_errors` is active."""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spacy_dtparse import trees
from spacy_dtparse.errors import ConfigError, DtparseError, TrainingDataError, TreeFormatError
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.bad_input import on_error


class _Policy:
    """`errors`: one of `spacy_dtparse.trees.bad_input.ERRORS`. `skipped`: the errors of what was skipped, by message: a
    file that is read twice counts once."""

    def __init__(self, errors: str = "strict"):
        self.errors = errors
        self.skipped: dict[str, DtparseError] = {}


_current = _Policy()


@contextmanager
def input_errors(errors: str) -> Iterator[dict[str, DtparseError]]:
    """Read files with --errors `errors` in the body of the `with` statement; its value gets the errors of what is
    skipped, by message."""
    global _current
    before, _current = _current, _Policy(errors)
    try:
        yield _current.skipped
    finally:
        _current = before


def skip_or_raise(error: DtparseError) -> None:
    """Record the error of a part of a file that the caller then skips. Raises it with --errors strict."""
    if _current.errors == "strict":
        raise error
    _current.skipped.setdefault(str(error), error)


def input_policy() -> str:
    """The value of --errors that holds now, so that a worker process can read in the same way."""
    return _current.errors


def decoding_errors() -> str:
    """The argument `errors` of `bytes.decode`: "replace" with --errors replace, else "strict"."""
    return "replace" if _current.errors == "replace" else "strict"


def read_trees(source: str | Path, **options: Any) -> Iterator[Tree]:
    """Yield the trees of a file as `spacy_dtparse.trees.read_trees`, which has the same options; a malformed tree is
    skipped or raises TreeFormatError by --errors."""
    yield from (tree for tree in read_aligned_trees(source, **options) if tree is not None)


def read_aligned_trees(source: str | Path, **options: Any) -> Iterator[Tree | None]:
    """The same as `read_trees`, with None for each malformed tree that is skipped."""
    found: list[TreeFormatError] = []
    yielded = 0
    try:
        for tree in trees.read_trees(source, on_error=on_error(_current.errors), errors=found, **options):
            yield from [None] * (len(found) - yielded)
            yielded = len(found)
            yield tree
        yield from [None] * (len(found) - yielded)
    finally:
        for error in found:
            _current.skipped.setdefault(str(error), error)


def numbered_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str | None]]:
    """Yield the lines of a file with their numbers, from 1. None stands for a line with bytes that are not in the
    encoding, which is skipped or raises by --errors. Raises TrainingDataError with file and line, OSError, and
    ConfigError for an unknown encoding."""
    data = path.read_bytes()
    try:
        is_wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))  # a line end is several bytes
    except LookupError:
        raise ConfigError(f"the encoding {encoding!r} is unknown; give one such as utf-8 or latin-1") from None
    lines: list[Any] = list(data.decode(encoding, "replace").split("\n") if is_wide else data.split(b"\n"))
    advice = f"give a {encoding.upper()} file, or use --errors"
    for number, line in enumerate(lines, 1):
        try:
            text = line if isinstance(line, str) else line.decode(encoding, decoding_errors())
            if is_wide and "\ufffd" in text and decoding_errors() != "replace":
                raise TrainingDataError(f"{path}:{number}: it has bytes that are not {encoding}; {advice}")
        except UnicodeDecodeError as error:
            where = f"{error.reason} at byte {error.start} of the line"
            skip_or_raise(TrainingDataError(f"{path}:{number}: this is not {encoding} ({where}); {advice}"))
            yield number, None
        except TrainingDataError as error:
            skip_or_raise(error)
            yield number, None
        else:
            yield number, (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\r")
