"""The lines of files of trees: decoded, and long ones in pieces, so that a line of any length needs little memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, AnyStr

from ..errors import ConfigError, TreeFormatError

PIECE_BYTES = 1 << 16
"""Number of bytes that are read at once of a line."""
_BYTE_ORDER_MARK = "\ufeff"


class _Piece(str):
    """A part of a line, from its column `first` (from 0) on; `goes_on`: the line has another part."""

    __slots__ = ("first", "goes_on")
    first: int
    goes_on: bool

    def __new__(cls, text: str, first: int, goes_on: bool) -> _Piece:
        piece = super().__new__(cls, text)
        piece.first, piece.goes_on = first, goes_on
        return piece


def check_encoding(encoding: str) -> bool:
    """Whether a line end is several bytes. Raises ConfigError for an unknown encoding."""
    try:
        return codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    except (LookupError, TypeError, ValueError):
        raise ConfigError(f"unknown encoding {encoding!r}; try utf-8, latin-1 or utf-16") from None


def _pieces(read: Callable[[int], AnyStr], decode: Callable[[AnyStr], str], empty: AnyStr) -> Iterator[str]:
    """Yield the lines of a file, long ones in pieces. `read`: its method `readline`; `decode`: to text. A piece ends
    after a closing bracket or white space, which are the same byte in all encodings that extend ASCII."""
    first, begun = 0, empty
    line_end, marks = (b"\n", (b")", b" ", b"\t")) if isinstance(empty, bytes) else ("\n", (")", " ", "\t"))
    while data := read(PIECE_BYTES):
        at_end = len(data) < PIECE_BYTES or data.endswith(line_end)  # type: ignore[arg-type]
        data, begun = begun + data, empty
        if not at_end:
            end = max(data.rfind(mark) for mark in marks) + 1  # type: ignore[arg-type]
            data, begun = data[:end], data[end:]
        text, goes_on = decode(data), not at_end
        yield _Piece(text, first, goes_on) if first or goes_on else text
        first = first + len(text) if goes_on else 0
    if begun:
        yield _Piece(decode(begun), first, False)


def read_file(file: Any, encoding: str, bad_bytes: str) -> Iterator[str]:
    """The lines of an open file, or their pieces."""
    if isinstance(file, io.TextIOBase):
        lines = _pieces(file.readline, lambda text: text, "")
    elif check_encoding(encoding):
        wrapper = io.TextIOWrapper(file, encoding, "replace" if bad_bytes == "replace" else "strict")
        try:
            yield from read_file(wrapper, encoding, bad_bytes)
        finally:
            wrapper.detach()  # the caller closes the file
        return
    else:
        lines = _pieces(file.readline, lambda data: data.decode(encoding, bad_bytes), b"")
    try:
        yield from lines
    except UnicodeDecodeError as error:
        raise TreeFormatError(
            f"the file is not valid {error.encoding} ({error.reason}); give its real encoding, or open it in binary "
            "mode to learn the line"
        ) from error


def decode_lines(lines: Iterable[Any], encoding: str, bad_bytes: str = "surrogateescape") -> Iterator[str]:
    """Decode each line; undecodable bytes become lone surrogates, which the parser reports, or U+FFFD ("replace")."""
    try:
        for line in lines:
            yield line if isinstance(line, str) else line.decode(encoding, bad_bytes)
    except UnicodeDecodeError as error:  # from a file that the caller opened as text
        raise TreeFormatError(
            f"the open file is not valid {error.encoding} ({error.reason}); give its path or open it in "
            "binary mode to learn the line, or open it with its real encoding"
        ) from error


def whole_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Join the pieces of lines."""
    begun: list[str] = []
    for text in pieces:
        begun.append(text)
        if not (isinstance(text, _Piece) and text.goes_on):
            yield "".join(begun)
            begun = []


def numbered_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines, or their pieces, with the numbers of the lines."""
    number = 1
    for text in lines:
        yield number, text
        number += not (isinstance(text, _Piece) and text.goes_on)


def first_column(text: str) -> int:
    return text.first + 1 if isinstance(text, _Piece) else 1


def opens_in_column_1(text: str) -> bool:
    return text.startswith("(") and first_column(text) == 1


def strip_bom(text: str) -> str:
    """The first line, or its piece, without a byte order mark."""
    if first_column(text) > 1 or not text.startswith(_BYTE_ORDER_MARK):
        return text
    return _Piece(text[1:], 0, text.goes_on) if isinstance(text, _Piece) else text[1:]
