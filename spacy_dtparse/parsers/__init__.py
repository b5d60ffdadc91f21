"""Parsers behind one protocol, and the one function that loads any of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import ModelFormatError
from .base import STATUSES, UNKNOWN_TAG, ConstituentParser, ParseResult

if TYPE_CHECKING:
    from .dependency import DependencyParser
    from .tagging import SequenceTagger

P = TypeVar("P")

__all__ = [
    "STATUSES",
    "UNKNOWN_TAG",
    "ConstituentParser",
    "ParseResult",
    "load_dependency_parser",
    "load_parser",
    "load_tagger",
    "read_model",
]


def load_parser(source: str | os.PathLike | bytes) -> ConstituentParser:
    """The constituent parser in a model file, or in the bytes of one.

    Raises ModelFormatError when the file is missing, damaged, truncated, foreign, of another version, a dependency
    parser's or a tagger's.
    """
    return _load(source, _constituent_parser)


def load_dependency_parser(source: str | os.PathLike | bytes) -> DependencyParser:
    """The dependency parser in a model file, or in the bytes of one. Raises ModelFormatError as `load_parser` does."""
    return _load(source, _dependency_parser)


def load_tagger(source: str | os.PathLike | bytes) -> SequenceTagger:
    """The tagger in a model file, or in the bytes of one. Raises ModelFormatError as `load_parser` does."""
    return _load(source, _tagger)


def _load(source: str | os.PathLike | bytes, read: Callable[[bytes], P]) -> P:
    in_memory = isinstance(source, bytes | bytearray | memoryview)
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else read_model(source)
    if not data:
        raise ModelFormatError("the model is empty (0 bytes); give a file written by spacy-dtparse")
    if in_memory:
        return read(data)
    try:
        return read(data)
    except ModelFormatError as error:
        raise ModelFormatError(f"{Path(str(source))}: {error}") from error


def _constituent_parser(data: bytes) -> ConstituentParser:
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
    if kind == "dependency":
        raise ModelFormatError(
            "a model of kind 'dependency' has no constituents; use it with nlp.add_pipe('bpm_parser', "
            "config={'model': …}) or parsers.load_dependency_parser"
        )
    _refuse_tagger(kind)
    raise ModelFormatError(
        f"this release has no parser for model files of kind {kind!r}, only 'dtree', 'pcfg', 'span' and 'dependency', "
        "and a 'tagger'; install a newer spacy-dtparse"
    )


def _dependency_parser(data: bytes) -> DependencyParser:
    from ..model.container import container_kind
    from .dependency import DependencyParser

    kind = container_kind(data)
    if kind in ("dtree", "pcfg", "span"):
        factory = "pcfgla" if kind == "pcfg" else "dtparse"
        raise ModelFormatError(
            f"a model of kind {kind!r} builds constituents, not dependencies; use it with nlp.add_pipe({factory!r}, "
            "config={'model': …}) or parsers.load_parser"
        )
    _refuse_tagger(kind)
    return DependencyParser.from_bytes(data)


def _refuse_tagger(kind: str) -> None:
    if kind == "tagger":
        raise ModelFormatError(
            "a model of kind 'tagger' labels words and builds no tree; use it with nlp.add_pipe('spine_tagger', "
            "config={'model': …}) or parsers.load_tagger"
        )


def _tagger(data: bytes) -> SequenceTagger:
    from ..model.container import container_kind
    from .tagging import SequenceTagger

    kind = container_kind(data)
    factory = {"dtree": "dtparse", "span": "dtparse", "pcfg": "pcfgla", "dependency": "bpm_parser"}.get(kind)
    if factory is not None:
        raise ModelFormatError(
            f"a model of kind {kind!r} builds trees and is no tagger; use it with nlp.add_pipe({factory!r}, "
            "config={'model': …}), or train a tagger (python -m training tagger-fit)"
        )
    return SequenceTagger.from_bytes(data)


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
