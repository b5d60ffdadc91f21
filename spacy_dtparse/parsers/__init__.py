"""Parsers behind one protocol, and the one function that loads any of them."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ModelFormatError
from .base import STATUSES, UNKNOWN_TAG, ConstituentParser, ParseResult

__all__ = ["STATUSES", "UNKNOWN_TAG", "ConstituentParser", "ParseResult", "load_parser", "read_model"]


def load_parser(source: str | os.PathLike | bytes) -> ConstituentParser:
    """The parser in a model file, or in the bytes of one.

    Raises ModelFormatError when the file is missing, damaged, truncated, foreign or of another version.
    """
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else read_model(source)
    if not data:
        raise ModelFormatError("the model is empty (0 bytes); give a file written by spacy-dtparse")
    if isinstance(source, bytes | bytearray | memoryview):
        return _from_bytes(data)
    try:
        return _from_bytes(data)
    except ModelFormatError as error:
        raise ModelFormatError(f"{Path(source)}: {error}") from error


def _from_bytes(data: bytes) -> ConstituentParser:
    from ..model.container import container_kind

    kind = container_kind(data)
    if kind == "dtree":
        from .dtree import DtreeParser

        return DtreeParser.from_bytes(data)
    if kind == "pcfg":
        from .pcfg import PcfgParser

        return PcfgParser.from_bytes(data)
    if kind == "span":
        from .span import SpanParser

        return SpanParser.from_bytes(data)
    raise ModelFormatError(
        f"this release has no parser for model files of kind {kind!r}, only 'dtree', 'pcfg' and 'span'; "
        "install a newer spacy-dtparse"
    )


def read_model(path: str | os.PathLike) -> bytes:
    """The bytes of a model file. Raises ModelFormatError with the path when there is no readable file."""
    path = Path(path)
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise ModelFormatError(f"{path} is a folder; give the model file inside it") from None
    except FileNotFoundError:
        raise ModelFormatError(
            f"there is no model file {path}; give the path of a file that exists"
        ) from None
    except OSError as error:
        raise ModelFormatError(f"cannot read the model file {path}: {error.strerror or error}") from error
