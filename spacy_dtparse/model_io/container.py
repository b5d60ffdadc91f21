"""Container file of named arrays and plain metadata: compact, deterministic, validated, and without pickle.

Layout, little-endian: magic (8 bytes), format version u16, compression u16, kind (24 bytes of ASCII, zero-padded),
SHA-256 digest (32 bytes, of everything else), lengths of the stored and of the expanded payload (u64 each), stored
payload. The expanded payload is a u32 length, a msgpack directory {"meta", "arrays"} and the concatenated bytes of the
arrays. An integer array is stored in the narrowest type that fits its values, and all arrays by byte planes (first the
lowest bytes of all entries, then the next), which compresses far better. Equal content gives equal bytes.
"""

import hashlib
import lzma
import math
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from srsly import msgpack

from ..checks import short_repr
from ..errors import ModelFormatError
from .expanding import ADVICE, LZMA_FILTERS, ContainerContent

MAGIC = b"\x8bDTP\r\n\x1a\n"
VERSION = 1
COMPRESSIONS = ("none", "zlib", "lzma")
MAX_EXPANDED = 2**30
"""Maximum size of an expanded payload in bytes; checked before memory of that size is allocated."""
_FREE, _TIMES = 2**22, 32
"""Bytes to which any file may expand, and additional bytes for each byte of the file. The limit also holds for arrays.
"""
_MAX_DIRECTORY, _FREE_DIRECTORY, _TIMES_DIRECTORY = 2**25, 2**20, 16
"""Absolute maximum of the directory in bytes, and the same two limits for it: its values need more memory than bytes.
"""
_MAX_ARRAYS, _MAX_CONTAINERS, _MAX_ITEMS = 1024, 2**16, 2**20
"""Maximum numbers of arrays in a file, of lists and dicts in its directory, and of items in one of these."""

_HEADER = struct.Struct("<8sHH24s32sQQ")
HEADER_SIZE = _HEADER.size
"""Size of the header in bytes. It includes a digest, so containers with equal headers have equal content."""
_KINDS = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split())
_MAX_DIMENSIONS = 8
_MAX_NAME_LENGTH = 200


def container_to_bytes(
    kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], *, compression: str = "lzma"
) -> bytes:
    """Serialize one container.

    `kind`: 1 to 24 ASCII characters that name the type of content. `meta`: None, bool, int, float, str, bytes, and
    lists and str-keyed dicts of them (tuples are loaded as lists, keys in sorted order). `arrays`: of bool, integers,
    float32 or float64. Content that compresses beyond the limits of `container_from_bytes` is stored uncompressed.
    Raises `TypeError` for other types and `ValueError` for an invalid kind or compression, or for more than
    `MAX_EXPANDED` bytes.
    """
    name = kind.encode("ascii", "replace")
    if len(name) > 24 or not name.translate(None, b"-._").isalnum():
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
        small = narrow(array)
        directory.append([str(key), array.dtype.name, small.dtype.name, list(array.shape)])
        planes = np.ascontiguousarray(small.astype(small.dtype.newbyteorder("<"))).view(np.uint8)
        blobs.append(planes.reshape(-1, small.dtype.itemsize).T.tobytes())
    head = msgpack.packb({"arrays": directory, "meta": plain(meta, "meta")}, use_bin_type=True)
    payload = b"".join([struct.pack("<I", len(head)), head, *blobs])
    if len(payload) > MAX_EXPANDED:
        raise ValueError(f"content of {len(payload)} bytes; a container holds at most {MAX_EXPANDED}")
    stored, array_bytes = payload, sum(np.asarray(array).nbytes for array in arrays.values())
    if compression == "zlib":
        stored = zlib.compress(payload, 9)
    elif compression == "lzma":
        stored = lzma.compress(payload, format=lzma.FORMAT_RAW, filters=LZMA_FILTERS)
    if max(len(payload), array_bytes) > _max_bytes(len(stored)) or len(head) > _max_directory(len(stored)):
        stored, compression = payload, "none"
    code = COMPRESSIONS.index(compression)
    digest = _digest(VERSION, code, name, len(payload), stored)
    return _HEADER.pack(MAGIC, VERSION, code, name, digest, len(stored), len(payload)) + stored


def container_from_bytes(
    data: bytes | bytearray | memoryview, kind: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Load (meta, arrays) from a container; arrays are new, C-contiguous, writable, of their original dtypes.

    Raises `ModelFormatError` if `data` is not a container, is of another kind or a newer version, truncated, damaged,
    followed by further bytes, larger than `MAX_EXPANDED` when expanded, or if its directory does not match its content.
    """
    data = memoryview(data).cast("B")
    seen_kind, (_, version, code, name, digest, stored_length, length) = _header(data)
    if version > VERSION:
        raise ModelFormatError(
            f"model file of format version {version}; this release reads up to {VERSION}: update spacy-dtparse"
        )
    stored = data[_HEADER.size :]
    if seen_kind != kind:
        raise ModelFormatError(f"model file of kind {seen_kind!r}; a file of kind {kind!r} is needed here")
    if len(stored) < stored_length:
        raise ModelFormatError(
            f"truncated model file: {len(stored)} of {stored_length} bytes of content are there; {ADVICE}"
        )
    if len(stored) > stored_length:
        more = len(stored) - stored_length
        raise ModelFormatError(f"{more} bytes follow the end of the model file; {ADVICE}, with nothing appended")
    if _digest(version, code, name, length, stored) != digest:
        raise ModelFormatError(f"damaged model file: its content does not have the digest in its header; {ADVICE}")
    if version < 1 or code >= len(COMPRESSIONS):
        raise ModelFormatError(f"model file of unknown format (version {version}, compression {code}); {ADVICE}")
    if length > _max_bytes(stored_length):
        raise ModelFormatError(
            f"model file expands to {length} bytes; at most {_max_bytes(stored_length)} are read from a file of this "
            "size"
        )
    content = ContainerContent(stored, COMPRESSIONS[code], length)
    try:
        found = _parse(content)
    except ModelFormatError:
        content.end()  # a wrong length is reported first
        raise
    content.end()
    return found


def container_kind(data: bytes | bytearray | memoryview) -> str:
    """Return the kind in a container's header without further checks; raises `ModelFormatError` if there is none."""
    return _header(memoryview(data).cast("B"))[0]


def container_meta(data: bytes | bytearray | memoryview) -> dict[str, Any]:
    """Return the metadata of a container, without checking its digest and its arrays: only for information. Raises
    `ModelFormatError` if it has none that can be read."""
    data = memoryview(data).cast("B")
    _, (_, version, code, _, _, stored_length, length) = _header(data)
    if version != VERSION or code >= len(COMPRESSIONS) or length > _max_bytes(stored_length):
        raise ModelFormatError(f"model file of unknown format (version {version}, compression {code}); {ADVICE}")
    meta: dict[str, Any] = _directory(ContainerContent(data[_HEADER.size :], COMPRESSIONS[code], length))["meta"]
    return meta


def container_digest(data: bytes | bytearray | memoryview) -> str:
    """Return the digest in a container's header, 64 hex digits, without further checks; raises `ModelFormatError` if
    there is none."""
    return _header(memoryview(data).cast("B"))[1][4].hex()


def _max_bytes(stored: int) -> int:
    """Return the maximum number of bytes to which so many stored bytes may expand."""
    return min(MAX_EXPANDED, _FREE + _TIMES * stored)


def _max_directory(stored: int) -> int:
    """Return the maximum size of the directory for so many stored bytes."""
    return min(_MAX_DIRECTORY, _FREE_DIRECTORY + _TIMES_DIRECTORY * stored)


def _header(data: memoryview) -> tuple[str, tuple[Any, ...]]:
    """Return the kind, and all fields of the header."""
    start = bytes(data[: len(MAGIC)])
    if not len(data) or not MAGIC.startswith(start):
        seen = f"it starts with {bytes(data[:8])!r}" if len(data) else "it is empty"
        raise ModelFormatError(f"not a spacy-dtparse model file: {seen}, not with {MAGIC!r}")
    if len(data) < _HEADER.size:
        size = _HEADER.size
        raise ModelFormatError(f"truncated model file: only {len(data)} bytes, the header has {size}; {ADVICE}")
    fields = _HEADER.unpack(data[: _HEADER.size])
    return fields[3].rstrip(b"\0").decode("ascii", "backslashreplace"), fields


def _digest(version: int, code: int, name: bytes, length: int, stored: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(struct.pack("<HH24sQQ", version, code, name, len(stored), length))
    digest.update(stored)
    return digest.digest()


def narrow(array: np.ndarray) -> np.ndarray:
    """Convert integers to the narrowest type that fits all values; return other arrays unchanged."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32"):
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return array.astype(name) if np.dtype(name).itemsize < array.dtype.itemsize else array
    return array


def plain(value: Any, where: str) -> Any:
    """Convert `value`, found at `where`, to msgpack types with sorted keys; numpy scalars become Python's. Raises
    `TypeError` for types that a container cannot store."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}; only str keys can be stored")
        return {key: plain(value[key], f"{where}[{key!r}]") for key in sorted(value)}
    kind = type(value).__name__
    raise TypeError(f"{where} is a {kind}; store arrays under `arrays`, the rest as plain Python values")


def _format_error(problem: str) -> ModelFormatError:
    return ModelFormatError(f"malformed model file: {problem}; {ADVICE}")


def _parse(content: ContainerContent) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    head = _directory(content)
    arrays: dict[str, np.ndarray] = {}
    bytes_left = _max_bytes(content.n_stored)
    for entry in head["arrays"]:
        name, dtype, stored, shape = _parse_entry(entry, arrays)
        width, count = np.dtype(stored).itemsize, math.prod(shape)
        if count * width > content.n_left:
            raise _format_error(f"array {name!r} of shape {shape} reaches past the end")
        bytes_left -= count * np.dtype(dtype).itemsize
        if bytes_left < 0:
            raise _format_error(
                f"up to array {name!r} there are more than {_max_bytes(content.n_stored)} bytes of numbers"
            )
        planes = content.take(count * width).reshape(width, count)
        narrow = np.ascontiguousarray(planes.T).view(np.dtype(stored).newbyteorder("<")).reshape(shape)
        array = narrow.astype(dtype, order="C", copy=False)
        if dtype != stored and not np.array_equal(array, narrow):
            raise _format_error(f"array {name!r} has numbers that do not fit {dtype}")
        if dtype == "bool" and (planes > 1).any():
            raise _format_error(f"array {name!r} has truth values other than 0 and 1")
        arrays[name] = array
    if content.n_left:
        raise _format_error(f"{content.n_left} bytes belong to no array")
    return head["meta"], arrays


def _directory(content: ContainerContent) -> dict[str, Any]:
    """Read the directory at the beginning of a payload."""

    def no_extensions(code: int, _: bytes) -> None:
        raise ValueError(f"extension type {code}")

    if content.n_left < 4:
        raise _format_error("no directory")
    (size,) = struct.unpack("<I", content.take(4).data)
    if size > content.n_left:
        raise _format_error("its directory is longer than the file")
    if size > _max_directory(content.n_stored):
        raise _format_error(f"its directory has {size} bytes; at most {_max_directory(content.n_stored)} are read")
    count = _Count()
    try:
        # With custom hooks srsly does not add its own decoders, one of which can unpickle.
        head = msgpack.unpackb(
            content.take(size), raw=False, object_pairs_hook=count.pairs, list_hook=count.list, ext_hook=no_extensions,
            max_array_len=min(size, _MAX_ITEMS), max_map_len=min(size, _MAX_ITEMS),
        )  # fmt: skip
    except MemoryError:  # says nothing about the file
        raise
    except Exception as error:  # the decoder raises many types; all mean the same here
        raise _format_error(f"its directory is no msgpack of plain values ({error})") from error
    if not isinstance(head, dict) or set(head) != {"arrays", "meta"} or not isinstance(head["meta"], dict):
        raise _format_error("its directory lacks meta or arrays")
    if not isinstance(head["arrays"], list):
        raise _format_error("its list of arrays is no list")
    if len(head["arrays"]) > _MAX_ARRAYS:
        raise _format_error(f"it has {len(head['arrays'])} arrays; at most {_MAX_ARRAYS} are read")
    return head


class _Count:
    """Decoder hooks that limit the number of lists and dicts in a directory, as an empty one of one byte needs many
    bytes in memory."""

    def __init__(self) -> None:
        self._n_seen = 0

    def list(self, items: list[Any]) -> list[Any]:
        self._n_seen += 1
        if self._n_seen > _MAX_CONTAINERS:
            raise ValueError(f"more than {_MAX_CONTAINERS} lists and dicts")
        return items

    def pairs(self, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        self.list([])
        found: dict[str, Any] = {}
        for key, value in pairs:
            if not isinstance(key, str) or key in found:
                raise ValueError(f"the key {short_repr(key)} is not a string or occurs twice")
            found[key] = value
        return found


def _parse_entry(entry: Any, before: Mapping[str, Any]) -> tuple[str, str, str, list[int]]:
    """Validate an array's entry in the directory: return its name, which must not be in `before`, its dtype, its stored
    dtype, and its shape."""
    if not isinstance(entry, list) or len(entry) != 4:
        raise _format_error(f"array entry {short_repr(entry)} is not of the form name, dtype, stored dtype, shape")
    name, dtype, stored, shape = entry
    if not isinstance(name, str) or name in before or not (name.isprintable() and 1 <= len(name) <= _MAX_NAME_LENGTH):
        raise _format_error(
            f"array name {short_repr(name)} is not a string of 1 to {_MAX_NAME_LENGTH} letters or occurs twice"
        )
    if not isinstance(dtype, str) or not isinstance(stored, str) or not {dtype, stored} <= _KINDS:
        raise _format_error(
            f"array {name!r} has dtype {short_repr(dtype)} stored as {short_repr(stored)}; allowed are {sorted(_KINDS)}"
        )
    if dtype != stored and (np.dtype(dtype).kind not in "iu" or np.dtype(stored).kind not in "iu"):
        raise _format_error(f"array {name!r} of {dtype} is stored as {stored}; only integers are stored narrower")
    sound = isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS
    if not sound or not all(type(n) is int and 0 <= n <= MAX_EXPANDED for n in shape):
        raise _format_error(f"array {name!r} has the shape {short_repr(shape)}")
    if 0 in shape and math.prod(filter(None, shape)) > _MAX_ITEMS:  # no bytes in the file limit such a shape
        raise _format_error(f"array {name!r} has the shape {shape}, and nothing in it")
    return name, dtype, stored, shape
