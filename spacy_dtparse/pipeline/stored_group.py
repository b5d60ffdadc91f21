"""The bytes in which spaCy stores a span group, and the checksum of its spans."""

import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from spacy.tokens import Span, SpanGroup
from srsly import msgpack

CHECKSUM = "checksum"
"""The attribute of a stored group from which a reader sees whether the spans are still those of the values."""
SPAN_LAYOUT = np.dtype(
    [("head", ">u2"), ("id", ">u8"), ("kb_id", ">u8"), ("label", ">u8"), ("extent", ">i4", 2), ("chars", ">i4", 2)]
)
"""Layout of a span in the bytes of a group, as in stored Docs; `head` is msgpack's header for 40 bytes."""
_SPAN_HEADER = 0xC428

_pack = struct.Struct(">HQQQllll").pack
"""Packs a span as SPAN_LAYOUT."""
_MAX_PACKED_SPANS = 300
"""Number of spans up to which packing them is faster than to store the group, for which srsly looks up its encoders."""
_THREAD = threading.local()

Key = tuple[int, int, int]
"""Start, end and hash of the label of a span."""

ATTRS: Any = SpanGroup.__dict__["attrs"]
"""The attribute of the base class, without the property of `ConstituentGroup`."""


def bytes_of(group: SpanGroup) -> bytes:
    """A stored group, which ends with its spans. The group is not changed meanwhile, since another thread may read it,
    unless its attributes cannot be stored."""
    try:
        return SpanGroup.to_bytes(group)
    except (TypeError, ValueError, OverflowError):
        attrs = ATTRS.__get__(group)
        ATTRS.__set__(group, {})
        try:
            return SpanGroup.to_bytes(group)
        finally:
            ATTRS.__set__(group, attrs)


def span_objects(group: SpanGroup) -> list[Span] | None:
    """The Span objects of a group, for `stored_spans`; None if that needs none, or if one lies beyond the end of its
    Doc."""
    if len(group) > _MAX_PACKED_SPANS:
        return None
    try:
        return list(SpanGroup.__iter__(group))
    except IndexError:  # spaCy's E035
        return None


def stored_spans(group: SpanGroup, objects: list[Span] | None = None) -> np.ndarray | None:
    """The spans of a group as an array of records with `id`, `label`, `extent` (tokens) and `chars`, also of spans that
    lie beyond the end of their Doc; then None if spaCy stores them in another layout. `objects`: its `span_objects`, if
    the caller has them."""
    ways: list[Callable[[], np.ndarray | None]] = [
        lambda: _spans_of_objects(group, objects),
        lambda: _spans_of_bytes(group),
    ]
    for read in ways if len(group) <= _MAX_PACKED_SPANS else ways[::-1]:
        spans = read()
        if spans is not None:
            return spans
    return None


def _spans_of_objects(group: SpanGroup, objects: list[Span] | None) -> np.ndarray | None:
    """`stored_spans` from Span objects; None if one lies beyond the end of its Doc."""
    try:
        rows = [
            _pack(_SPAN_HEADER, s.id, s.kb_id, s.label, s.start, s.end, s.start_char, s.end_char)
            for s in (SpanGroup.__iter__(group) if objects is None else objects)
        ]
    except IndexError:  # spaCy's E035
        return None
    return np.frombuffer(b"".join(rows), SPAN_LAYOUT)


def _spans_of_bytes(group: SpanGroup) -> np.ndarray | None:
    """`stored_spans` from the bytes of the group; None if these have another layout."""
    stored = bytes_of(group)
    offset = len(stored) - len(group) * SPAN_LAYOUT.itemsize
    if offset < 0:
        return None
    spans = np.frombuffer(stored, SPAN_LAYOUT, offset=offset)
    return None if (spans["head"] != _SPAN_HEADER).any() else spans


def span_keys(group: SpanGroup) -> list[Key]:
    """Start, end and label of each span."""
    spans = stored_spans(group)
    if spans is None:
        return [(span.start, span.end, span.label) for span in SpanGroup.__iter__(group)]
    return list(zip(*spans["extent"].T.tolist(), spans["label"].tolist(), strict=True))


def packed_group(name: str, attrs: dict[str, Any], spans: np.ndarray) -> bytes | None:
    """The bytes in which spaCy stores a group with these attributes and `stored_spans`; None if an attribute needs an
    encoder that was registered with srsly after the first call.

    spaCy looks up srsly's encoders for each group, which takes longer than to pack a group of 300 spans.
    """
    if not hasattr(_THREAD, "packer"):
        _THREAD.packer = msgpack.Packer(use_bin_type=True)
    pack = _THREAD.packer.pack
    try:
        without_spans: bytes = pack({"name": name, "attrs": attrs, "spans": []})
    except TypeError:
        return None
    n_spans: bytes = _THREAD.packer.pack_array_header(len(spans))
    return without_spans[:-1] + n_spans + spans.tobytes()  # the last byte is the header of the empty list


def checksum(group: SpanGroup, stored: np.ndarray | None = None) -> int:
    """A checksum of the spans, as they are stored, that is the same in all processes and on all machines. `stored`:
    their `stored_spans`, if the caller has them."""
    spans = stored_spans(group) if stored is None else stored
    return zlib.crc32(_spans_in(bytes_of(group), group) if spans is None else spans.tobytes())


def _spans_in(stored: bytes, group: SpanGroup) -> bytes:
    """The spans in the bytes of a group."""
    return stored[max(len(stored) - len(group) * SPAN_LAYOUT.itemsize, 0) :]
