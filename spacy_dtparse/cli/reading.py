"""Texts from files and standard input, with the place of every error."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ..errors import DtparseError


def read_lines(paths: Iterable[str], encoding: str = "utf-8") -> Iterator[tuple[str, int, str]]:
    """(name, line number from 1, line without its end) of each file; "-" is standard input.

    A byte order mark is skipped. Raises DtparseError with file and line for missing files and undecodable
    bytes.
    """
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise DtparseError(f"unknown encoding {encoding!r}; try utf-8, latin-1 or utf-16") from None
    for path in paths:
        if path == "-":
            yield from _decode(sys.stdin.buffer, "standard input", encoding)
            continue
        if Path(path).is_dir():
            raise DtparseError(f"{path} is a folder; name the files in it")
        try:
            file = open(path, "rb")
        except FileNotFoundError:
            raise DtparseError(f"there is no file {path}; to parse a text, use --text") from None
        with file:
            yield from _decode(file, path, encoding)


def _decode(file: IO[bytes], name: str, encoding: str) -> Iterator[tuple[str, int, str]]:
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    lines: Iterable[bytes] = [file.read()] if wide else file  # a wide line end is several bytes
    number = 0
    for raw in lines:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise DtparseError(
                f"{name}:{number + 1}: byte {error.start + 1} of the line is not {encoding} "
                f"({error.reason}); "
                "give the file's encoding with --encoding"
            ) from None
        for line in text.split("\n")[: -1 if text.endswith("\n") else None]:
            number += 1
            yield name, number, (line.removeprefix("\ufeff") if number == 1 else line).removesuffix("\r")


def paragraphs(lines: Iterable[tuple[str, int, str]]) -> Iterator[str]:
    """Texts of consecutive lines up to a blank one or the end of a file."""
    block: list[str] = []
    current = None
    for name, _, line in lines:
        if block and (not line.strip() or name != current):
            yield " ".join(block)
            block = []
        current = name
        if line.strip():
            block.append(line.strip())
    if block:
        yield " ".join(block)
