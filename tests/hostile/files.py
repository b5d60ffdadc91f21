"""Containers written by a hostile author: any plain data, any arrays, and a digest that fits."""

from __future__ import annotations

import hashlib
import lzma
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from srsly.msgpack._packer import Packer

from spacy_dtparse.model_io.container import COMPRESSIONS, HEADER_SIZE, MAGIC, narrow
from spacy_dtparse.model_io.expanding import LZMA_FILTERS

_FIELDS = struct.Struct("<HH24sQQ")


def container(
    kind: str, meta: Any, arrays: Mapping[str, np.ndarray], more: Sequence[Any] = (), compression: str = "zlib"
) -> bytes:
    """A container; `more`: entries of its directory for arrays without bytes."""
    entries, blobs = [], []
    for name, array in arrays.items():
        small = narrow(array)
        entries.append([name, array.dtype.name, small.dtype.name, list(array.shape)])
        blobs.append(np.ascontiguousarray(small).view(np.uint8).reshape(-1, small.dtype.itemsize).T.tobytes())
    packer = Packer(use_bin_type=True, unicode_errors="surrogatepass")
    head = packer.pack({"arrays": [*entries, *more], "meta": meta})
    return signed(kind, struct.pack("<I", len(head)) + head + b"".join(blobs), compression)


def signed(kind: str, payload: bytes, compression: str = "zlib", length: int | None = None) -> bytes:
    """A container with any payload and a header that states some `length`."""
    stored, code = payload, COMPRESSIONS.index(compression)
    if compression == "zlib":
        stored = zlib.compress(payload, 1)
    elif compression == "lzma":
        stored = lzma.compress(payload, format=lzma.FORMAT_RAW, filters=LZMA_FILTERS)
    length = len(payload) if length is None else length
    fields = _FIELDS.pack(1, code, kind.encode(), len(stored), length)
    digest = hashlib.sha256(fields + stored).digest()
    head = struct.pack("<8sHH24s32sQQ", MAGIC, 1, code, kind.encode(), digest, len(stored), length)
    assert len(head) == HEADER_SIZE
    return head + stored
