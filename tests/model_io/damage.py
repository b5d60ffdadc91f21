"""Damage to model files of every kind: changed parts with a matching digest, and broken bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.model_io.container import container_from_bytes, container_kind, container_to_bytes

GONE = object()
"""Stands for a part that is left out."""


def rewritten(data: bytes, changes: Mapping[str, Any]) -> bytes:
    """The model file with other arrays or, for names that no array has, other metadata."""
    kind = container_kind(data)
    meta, arrays = container_from_bytes(data, kind)
    for name, value in changes.items():
        part = arrays if name in arrays else meta
        part[name] = value
        if value is GONE:
            del part[name]
    return container_to_bytes(kind, meta, arrays)


def refuses(read: Callable[[bytes], Any], data: bytes, changes: Mapping[str, Any], message: str) -> None:
    """Check that `read` reports the fault of the changed model file, but reads it if rewritten unchanged."""
    read(rewritten(data, {}))
    with pytest.raises(ModelFormatError, match=message):
        read(rewritten(data, changes))


def refuses_broken_bytes(read: Callable[[bytes], Any], data: bytes) -> None:
    """Check that `read` reports bytes that are cut, flipped, foreign, or of another kind of model."""
    kind = container_kind(data)
    for broken, message in (
        (b"", "is empty"),
        (data[:5], "truncated"),
        (data[:-5], "truncated"),
        (data[: len(data) // 2], "truncated"),
        (data[:-1] + bytes([data[-1] ^ 1]), "damaged"),
        (data + b"\0", "model file"),
        (container_to_bytes("other", {}, {}), f"of kind 'other'; a file of kind '{kind}' is needed"),
        (b"nothing of the kind", "not a spacy-dtparse model file"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            read(broken)
