"""A file of named arrays and plain metadata: compact, deterministic, checked, and without pickle.

Layout, little-endian: magic (8 bytes), format version u16, compression u16, kind (24 bytes of ASCII, zero-padded),
SHA-256 digest (32 bytes, of everything else), lengths of the stored and of the expanded payload (u64 each), stored
payload. The expanded payload is a u32 length, a msgpack directory {"meta", "arrays"} and the bytes of the arrays one
after the other. An integer array is stored in the narrowest type that holds its values, and all arrays by byte planes
(first the lowest bytes of all entries, then the next), which compresses far better. Equal content gives equal bytes.
"""

import hashlib
import lzma
import math
import os
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from srsly import msgpack

from ..errors import ModelFormatError

MAGIC = b"\x8bDTP\r\n\x1a\n"
VERSION = 1
COMPRESSIONS = ("none", "zlib", "lzma")
MAX_EXPANDED = 2**30
"""Largest expanded payload in bytes that is read; checked before anything of that size is allocated."""

_HEADER = struct.Struct("<8sHH24s32sQQ")
_KINDS = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split())
_MAX_DIMENSIONS = 8
_ADVICE = "fetch or write the file again"

Source = str | os.PathLike | bytes | bytearray | memoryview | IO[bytes]


def container_to_bytes(
    kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], *, compression: str = "lzma"
) -> bytes:
    """One container as bytes.

    `kind`: 1 to 24 ASCII characters that name what the file holds. `meta`: None, bool, int, float, str,
    bytes, and lists and str-keyed dicts of them (tuples come back as lists, keys in sorted order). `arrays`:
    of bool, integers, float32 or float64. Raises `TypeError` on other types and `ValueError` on a bad kind or
    compression, or on more than `MAX_EXPANDED` bytes.
    """
    name = kind.encode("ascii", "replace")
    if not 1 <= len(name) <= 24 or not name.replace(b"-", b"").replace(b".", b"").replace(b"_", b"").isalnum():
        raise ValueError(f"container kind {kind!r}; give 1 to 24 letters, digits, '-', '_' or '.'")
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression {compression!r}; choose one of {', '.join(COMPRESSIONS)}")
    directory, blobs = [], []
    for key in sorted(arrays):
        array = np.asarray(arrays[key])
        if array.dtype.name not in _KINDS or array.ndim > _MAX_DIMENSIONS:
            raise TypeError(
                f"array {key!r} has dtype {array.dtype} and {array.ndim} dimensions; "
                f"a container takes {', '.join(sorted(_KINDS))} of at most {_MAX_DIMENSIONS} dimensions"
            )
        narrow = _narrow(array)
        directory.append([str(key), array.dtype.name, narrow.dtype.name, list(array.shape)])
        planes = np.ascontiguousarray(narrow.astype(narrow.dtype.newbyteorder("<"))).view(np.uint8)
        blobs.append(planes.reshape(-1, narrow.dtype.itemsize).T.tobytes())
    head = msgpack.packb({"arrays": directory, "meta": _plain(meta, "meta")}, use_bin_type=True)
    payload = b"".join([struct.pack("<I", len(head)), head, *blobs])
    if len(payload) > MAX_EXPANDED:
        raise ValueError(f"content of {len(payload)} bytes; a container holds at most {MAX_EXPANDED}")
    stored = _compress(payload, compression)
    code = COMPRESSIONS.index(compression)
    digest = _digest(VERSION, code, name, len(payload), stored)
    return _HEADER.pack(MAGIC, VERSION, code, name, digest, len(stored), len(payload)) + stored


def container_from_bytes(
    data: bytes | bytearray | memoryview, kind: str, *, max_expanded: int = MAX_EXPANDED
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(meta, arrays) of a container; arrays are new, C-contiguous, writable, of their original dtypes.

    Raises `ModelFormatError` if `data` is no container, of another kind or a newer version, truncated,
    damaged, followed by further bytes, larger than `max_expanded` when expanded, or has a directory that does
    not describe its content.
    """
    data = memoryview(data).cast("B")
    _check_header(data)
    _, version, code, name, digest, stored_length, length = _HEADER.unpack(data[: _HEADER.size])
    if version > VERSION:
        raise ModelFormatError(
            f"model file of format version {version}; this release reads up to {VERSION}: update spacy-dtparse"
        )
    stored = data[_HEADER.size :]
    seen_kind = name.rstrip(b"\0").decode("ascii", "backslashreplace")
    if seen_kind != kind:
        raise ModelFormatError(f"model file of kind {seen_kind!r}; a file of kind {kind!r} is needed here")
    if len(stored) < stored_length:
        raise ModelFormatError(
            f"truncated model file: {len(stored)} of {stored_length} bytes of content are there; {_ADVICE}"
        )
    if len(stored) > stored_length:
        raise ModelFormatError(
            f"{len(stored) - stored_length} bytes follow the end of the model file; {_ADVICE}, with nothing appended"
        )
    if _digest(version, code, name, length, stored) != digest:
        raise ModelFormatError(f"damaged model file: its content does not have the digest in its header; {_ADVICE}")
    if version < 1 or code >= len(COMPRESSIONS):
        raise ModelFormatError(f"model file of unknown format (version {version}, compression {code}); {_ADVICE}")
    if length > max_expanded:
        raise ModelFormatError(f"model file expands to {length} bytes; at most {max_expanded} are read")
    return _parse(_expand(stored, COMPRESSIONS[code], length))


def write_container(
    target: str | os.PathLike | IO[bytes],
    kind: str,
    meta: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    compression: str = "lzma",
) -> None:
    """Write a container to a path (over an existing file in one step) or a binary file; see `container_to_bytes`."""
    data = container_to_bytes(kind, meta, arrays, compression=compression)
    if hasattr(target, "write"):
        target.write(data)
        return
    path = Path(target)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def read_container(
    source: Source, kind: str, *, max_expanded: int = MAX_EXPANDED
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(meta, arrays) from a path, a binary file or bytes; see `container_from_bytes`.

    For a path that cannot be read or holds no such container the `ModelFormatError` names the path.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return container_from_bytes(source, kind, max_expanded=max_expanded)
    if not isinstance(source, str | os.PathLike):
        return container_from_bytes(source.read(), kind, max_expanded=max_expanded)
    try:
        return container_from_bytes(Path(source).read_bytes(), kind, max_expanded=max_expanded)
    except OSError as error:
        raise ModelFormatError(f"{source}: cannot read the model file: {error.strerror or error}") from error
    except ModelFormatError as error:
        raise ModelFormatError(f"{source}: {error}") from error


def container_kind(data: bytes | bytearray | memoryview) -> str:
    """The kind named in a container's header, nothing else checked; raises `ModelFormatError` if there is none."""
    _check_header(memoryview(data).cast("B"))
    return _HEADER.unpack(bytes(data[: _HEADER.size]))[3].rstrip(b"\0").decode("ascii", "backslashreplace")


def _check_header(data: memoryview) -> None:
    start = bytes(data[: len(MAGIC)])
    if not len(data) or not MAGIC.startswith(start):
        seen = f"it starts with {bytes(data[:8])!r}" if len(data) else "it is empty"
        raise ModelFormatError(f"not a spacy-dtparse model file: {seen}, not with {MAGIC!r}")
    if len(data) < _HEADER.size:
        raise ModelFormatError(
            f"truncated model file: only {len(data)} bytes, the header has {_HEADER.size}; {_ADVICE}"
        )


def _digest(version: int, code: int, name: bytes, length: int, stored: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(struct.pack("<HH24sQQ", version, code, name, len(stored), length))
    digest.update(stored)
    return digest.digest()


def _narrow(array: np.ndarray) -> np.ndarray:
    """Integers in the narrowest type that holds all values; other arrays as they are."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32"):
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return array.astype(name) if np.dtype(name).itemsize < array.dtype.itemsize else array
    return array


def _plain(value: Any, where: str) -> Any:
    """`value` as msgpack's own types with sorted keys; numpy scalars become Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}; only str keys can be stored")
        return {key: _plain(value[key], f"{where}[{key!r}]") for key in sorted(value)}
    raise TypeError(
        f"{where} is a {type(value).__name__}; store arrays under `arrays`, the rest as plain Python values"
    )


# The encoder's settings are spelled out, so that a later Python with other presets writes the same bytes.
_LZMA: list[dict[str, Any]] = [
    {
        "id": lzma.FILTER_LZMA2,
        "dict_size": 2**23,
        "lc": 3,
        "lp": 0,
        "pb": 0,
        "mode": lzma.MODE_NORMAL,
        "nice_len": 64,
        "mf": lzma.MF_BT4,
        "depth": 0,
    }
]


def _compress(payload: bytes, compression: str) -> bytes:
    if compression == "zlib":
        return zlib.compress(payload, 9)
    if compression == "lzma":
        return lzma.compress(payload, format=lzma.FORMAT_RAW, filters=_LZMA)
    return payload


def _expand(stored: memoryview, compression: str, length: int) -> bytes:
    """The payload, of exactly `length` bytes; never more than one byte above is produced."""
    if compression == "none":
        payload, ended = bytes(stored), True
    else:
        expander: Any
        make: Callable[[], Any] = (
            zlib.decompressobj
            if compression == "zlib"
            else lambda: lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_LZMA)
        )
        expander = make()
        try:
            payload = expander.decompress(stored, length + 1)
        except (zlib.error, lzma.LZMAError, EOFError) as error:
            raise ModelFormatError(f"damaged model file: it cannot be expanded ({error}); {_ADVICE}") from error
        ended = expander.eof and not expander.unused_data
    if len(payload) != length or not ended:
        raise ModelFormatError(f"damaged model file: it does not expand to the {length} bytes it states; {_ADVICE}")
    return payload


def _damaged(what: str) -> ModelFormatError:
    return ModelFormatError(f"malformed model file: {what}; {_ADVICE}")


def _parse(payload: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    head, at = _directory(payload)
    arrays: dict[str, np.ndarray] = {}
    for entry in head["arrays"]:
        name, dtype, stored, shape = _checked_entry(entry, arrays)
        width, count = np.dtype(stored).itemsize, math.prod(shape)
        if count * width > len(payload) - at:
            raise _damaged(f"array {name!r} of shape {shape} reaches past the end")
        planes = np.frombuffer(payload, dtype=np.uint8, count=count * width, offset=at).reshape(width, count)
        at += count * width
        narrow = np.ascontiguousarray(planes.T).view(np.dtype(stored).newbyteorder("<"))
        array = narrow.reshape(shape).astype(dtype, order="C")
        if dtype != stored and not np.array_equal(array, narrow.reshape(shape)):
            raise _damaged(f"array {name!r} has numbers that do not fit {dtype}")
        if dtype == "bool" and (planes > 1).any():
            raise _damaged(f"array {name!r} has truth values other than 0 and 1")
        arrays[name] = array
    if at != len(payload):
        raise _damaged(f"{len(payload) - at} bytes belong to no array")
    return head["meta"], arrays


def _directory(payload: bytes) -> tuple[dict[str, Any], int]:
    """The directory of a payload, and where it ends."""

    def no_extensions(code: int, _: bytes) -> None:
        raise ValueError(f"extension type {code}")

    if len(payload) < 4:
        raise _damaged("no directory")
    (size,) = struct.unpack_from("<I", payload)
    if size > len(payload) - 4:
        raise _damaged("its directory is longer than the file")
    try:
        # With a hook of our own srsly does not add its decoders, of which one can unpickle.
        head = msgpack.unpackb(payload[4 : 4 + size], raw=False, object_pairs_hook=dict, ext_hook=no_extensions)
    except Exception as error:  # the decoder raises many types; all mean the same here
        raise _damaged(f"its directory is no msgpack of plain values ({error})") from error
    if not isinstance(head, dict) or set(head) != {"arrays", "meta"} or not isinstance(head["meta"], dict):
        raise _damaged("its directory lacks meta or arrays")
    if not isinstance(head["arrays"], list):
        raise _damaged("its list of arrays is no list")
    return head, 4 + size


def _checked_entry(entry: Any, before: Mapping[str, Any]) -> tuple[str, str, str, list[int]]:
    """An array's entry in the directory: its name, which none `before` has, its dtype, the stored one, its shape."""
    if not isinstance(entry, list) or len(entry) != 4:
        raise _damaged(f"array entry {entry!r} has not the form name, dtype, stored dtype, shape")
    name, dtype, stored, shape = entry
    if not isinstance(name, str) or name in before:
        raise _damaged(f"array name {name!r} is no text or occurs twice")
    if not isinstance(dtype, str) or not isinstance(stored, str) or not {dtype, stored} <= _KINDS:
        raise _damaged(f"array {name!r} has dtype {dtype!r} stored as {stored!r}; allowed are {sorted(_KINDS)}")
    if dtype != stored and (np.dtype(dtype).kind not in "iu" or np.dtype(stored).kind not in "iu"):
        raise _damaged(f"array {name!r} of {dtype} is stored as {stored}; only integers are stored narrower")
    if (
        not isinstance(shape, list)
        or len(shape) > _MAX_DIMENSIONS
        or not all(type(n) is int and 0 <= n <= MAX_EXPANDED for n in shape)
    ):
        raise _damaged(f"array {name!r} has the shape {shape!r}")
    return name, dtype, stored, shape
