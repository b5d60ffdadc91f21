"""Parsers with a common base class, and the functions that load them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ModelFormatError
from .parser import STATUSES, UNKNOWN_TAG, Capability, Parser, ParseResult
from .registry import BOOSTED_TREES, CONSTITUENTS, DEPENDENCIES, SPAN_MODEL_ARRAY, TAGS, parser_from_bytes

if TYPE_CHECKING:
    from ..bpm_parser.parser import DependencyParser
    from ..spine_tagger.tagger import SequenceTagger

__all__ = [
    "STATUSES",
    "UNKNOWN_TAG",
    "Capability",
    "ParseResult",
    "Parser",
    "load_dependency_parser",
    "load_parser",
    "load_span_parser",
    "load_tagger",
    "read_model",
]


def load_parser(source: str | os.PathLike | bytes) -> Parser:
    """Load the constituent parser in a model file, or in the bytes of one.

    Raises ModelFormatError when the file is missing, damaged, truncated, of another format or version, or holds a
    dependency parser or a tagger.
    """
    return _load(source, CONSTITUENTS)


def load_span_parser(source: str | os.PathLike | bytes) -> Parser:
    """Load the span parser in a model file, or in the bytes of one: the model itself, or the span model inside boosted
    trees. Other models are loaded as by `load_parser`, with its errors."""
    from ..model_io.container import container_from_bytes, container_kind

    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else read_model(source)
    try:
        arrays = container_from_bytes(data, BOOSTED_TREES)[1] if container_kind(data) == BOOSTED_TREES else {}
    except ModelFormatError:  # reported by `load_parser`
        arrays = {}
    return load_parser(arrays[SPAN_MODEL_ARRAY].tobytes() if SPAN_MODEL_ARRAY in arrays else source)


def load_dependency_parser(source: str | os.PathLike | bytes) -> DependencyParser:
    """Load the dependency parser in a model file, or in the bytes of one. Raises ModelFormatError as `load_parser`."""
    return _load(source, DEPENDENCIES)


def load_tagger(source: str | os.PathLike | bytes) -> SequenceTagger:
    """Load the tagger in a model file, or in the bytes of one. Raises ModelFormatError as `load_parser` does."""
    return _load(source, TAGS)


def _load(source: str | os.PathLike | bytes, builds: str) -> Any:
    if isinstance(source, bytes | bytearray | memoryview):
        return _parser_from_bytes(bytes(source), builds)
    data = read_model(source)
    try:
        return _parser_from_bytes(data, builds)
    except ModelFormatError as error:
        raise ModelFormatError(f"{Path(str(source))}: {error}") from error


def _parser_from_bytes(data: bytes, builds: str) -> Any:
    if not data:
        raise ModelFormatError("the model is empty (0 bytes); give a file written by spacy-dtparse")
    return parser_from_bytes(data, builds)


def read_model(path: str | os.PathLike) -> bytes:
    """Return the bytes of a model file. Raises ModelFormatError with the path when there is no readable file."""
    path = Path(path)
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise ModelFormatError(f"{path} is a folder; give the model file inside it") from None
    except FileNotFoundError:
        raise ModelFormatError(f"there is no model file {path}; give the path of a file that exists") from None
    except OSError as error:
        raise ModelFormatError(f"cannot read the model file {path}: {error.strerror or error}") from error
