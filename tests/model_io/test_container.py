"""The container: round trips, determinism, and one clear error for every kind of bad file."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib

import numpy as np
import pytest
from srsly import msgpack

from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.model_io import container
from spacy_dtparse.model_io.container import (
    COMPRESSIONS,
    MAGIC,
    container_from_bytes,
    container_kind,
    container_to_bytes,
)

KIND = "test-kind"
META = {"name": "en", "scores": [0.5, None, True, -(2**40)], "deep": {"b": 1, "a": {"x": b"\x00\xff"}}, "é": "ß"}
ARRAYS = {
    "empty": np.zeros((0, 3), dtype=np.float32),
    "flags": np.array([True, False, True]),
    "floats": np.array([[0.1, -np.inf], [np.pi, -0.0]]),
    "large": np.array([2**63, 0, 2**64 - 1], dtype=np.uint64),
    "one": np.array(7, dtype=np.int32),
    "steps": np.arange(-200, 200, dtype=np.int64).reshape(4, 10, 10),
    "wide": np.array([-(2**31), 2**31 - 1], dtype=np.int32),
}


def signed(payload: bytes, *, kind: bytes = KIND.encode(), length: int | None = None, code: int = 0) -> bytes:
    """A container with any payload and a true digest, as a hostile author could make it."""
    length = len(payload) if length is None else length
    fields = struct.pack("<HH24sQQ", 1, code, kind, len(payload), length)
    digest = hashlib.sha256(fields + payload).digest()
    return struct.pack("<8sHH24s32sQQ", MAGIC, 1, code, kind, digest, len(payload), length) + payload


def with_directory(head: object, blob: bytes = b"") -> bytes:
    packed = msgpack.packb(head, use_bin_type=True)
    return signed(struct.pack("<I", len(packed)) + packed + blob)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_round_trip(compression):
    data = container_to_bytes(KIND, META, ARRAYS, compression=compression)
    meta, arrays = container_from_bytes(data, KIND)
    assert meta == META
    assert list(arrays) == sorted(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype and array.shape == ARRAYS[name].shape
        assert array.tobytes() == ARRAYS[name].tobytes()  # -0.0 and infinities too
        assert array.flags.writeable and array.flags.c_contiguous and array.dtype.isnative
    assert container_kind(data) == KIND


@pytest.mark.parametrize("dtype", sorted(container._KINDS))
def test_every_dtype_keeps_its_extremes(dtype):
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        array = np.array([info.min, info.max, info.tiny, 0], dtype=dtype)
    elif dtype == "bool":
        array = np.array([False, True])
    else:
        array = np.array([np.iinfo(dtype).min, 0, np.iinfo(dtype).max], dtype=dtype)
    for part in (array, array[:1], array[1:2], array[-1:], array[:0]):
        got = container_from_bytes(container_to_bytes(KIND, {}, {"a": part}), KIND)[1]["a"]
        assert got.dtype == part.dtype and np.array_equal(got, part)


def test_layout_of_the_given_arrays_does_not_matter():
    plain = np.arange(12, dtype=np.int32).reshape(3, 4)
    want = container_to_bytes(KIND, {}, {"a": plain})
    for same in (np.asfortranarray(plain), plain.astype(">i4"), np.repeat(plain, 2, axis=1)[:, ::2]):
        assert container_to_bytes(KIND, {}, {"a": same}) == want


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_equal_content_gives_equal_bytes(compression):
    def turned(value):
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return tuple(value) if isinstance(value, list) else value

    first = container_to_bytes(KIND, META, ARRAYS, compression=compression)
    assert container_to_bytes(KIND, turned(META), dict(reversed(ARRAYS.items())), compression=compression) == first
    scalars = {**META, "scores": [np.float64(0.5), None, np.bool_(True), np.int64(-(2**40))]}
    assert container_to_bytes(KIND, scalars, ARRAYS, compression=compression) == first


def test_small_numbers_take_little_space():
    data = {"a": np.full(10_000, 3, dtype=np.int64)}
    assert len(container_to_bytes(KIND, {}, data, compression="none")) < 10_200


def test_messages_distinguish_the_defects(monkeypatch):
    data = container_to_bytes(KIND, META, ARRAYS)
    newer = bytearray(data)
    newer[8] = 2
    flipped = bytearray(data)
    flipped[-1] ^= 1
    cases = [
        (b"", "it is empty"),
        (b"PK\x03\x04 something", "not a spacy-dtparse model file: it starts with b'PK"),
        (data.replace(b"\r\n", b"\n", 1), "not a spacy-dtparse model file"),  # sent in text mode
        (data[:5], "truncated"),
        (data[:40], "truncated"),
        (data[:-1], r"truncated model file: \d+ of \d+ bytes"),
        (data + b"\n", "1 bytes follow the end"),
        (bytes(newer), "format version 2; this release reads up to 1: update"),
        (bytes(flipped), "damaged model file: its content does not have the digest"),
    ]
    for bad, message in cases:
        with pytest.raises(ModelFormatError, match=message):
            container_from_bytes(bad, KIND)
    with pytest.raises(ModelFormatError, match="of kind 'test-kind'; a file of kind 'other' is needed"):
        container_from_bytes(data, "other")
    with monkeypatch.context() as patched:
        patched.setattr(container, "MAX_EXPANDED", 100)
        with pytest.raises(ModelFormatError, match=r"expands to \d+ bytes; at most 100 are read"):
            container_from_bytes(data, KIND)
    with pytest.raises(ModelFormatError, match="not a spacy-dtparse model file: it is empty"):
        container_kind(b"")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_damaged_byte_is_noticed(compression):
    data = container_to_bytes(KIND, META, ARRAYS, compression=compression)
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            bad = bytearray(data)
            bad[at] ^= flip
            with pytest.raises(ModelFormatError):
                container_from_bytes(bad, KIND)


def test_every_truncation_is_noticed():
    data = container_to_bytes(KIND, META, ARRAYS)
    for length in range(len(data)):
        with pytest.raises(ModelFormatError):
            container_from_bytes(data[:length], KIND)


HOSTILE = [
    ({"meta": {}}, b"", "lacks meta or arrays"),
    ([1, 2], b"", "lacks meta or arrays"),
    ({"meta": [], "arrays": []}, b"", "lacks meta or arrays"),
    ({"meta": {}, "arrays": {}}, b"", "no list"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8"]]}, b"", "is not of the form"),
    ({"meta": {}, "arrays": [[1, "uint8", "uint8", [0]]]}, b"", "is not a string"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [0]]] * 2}, b"", "occurs twice"),
    ({"meta": {}, "arrays": [["a", "object", "object", [1]]]}, b"12345678", "has dtype 'object'"),
    ({"meta": {}, "arrays": [["a", "complex64", "complex64", [1]]]}, b"12345678", "has dtype 'complex64'"),
    ({"meta": {}, "arrays": [["a", ["uint8"], "uint8", [1]]]}, b"1", "has dtype"),
    ({"meta": {}, "arrays": [["a", "float64", "uint8", [1]]]}, b"1", "only integers are stored narrower"),
    ({"meta": {}, "arrays": [["a", "uint8", "int16", [1]]]}, b"\xff\xff", "do not fit uint8"),
    ({"meta": {}, "arrays": [["a", "bool", "bool", [2]]]}, b"\x01\x02", "truth values"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [-1]]]}, b"", "has the shape"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [True]]]}, b"1", "has the shape"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", 3]]}, b"123", "has the shape"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [0] * 9]]}, b"", "has the shape"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [2**62, 2**62]]]}, b"", "has the shape"),
    ({"meta": {}, "arrays": [["a", "int64", "int64", [2**29, 2**29, 2**29]]]}, b"", "reaches past the end"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [4]]]}, b"123", "reaches past the end"),
    ({"meta": {}, "arrays": [["a", "uint8", "uint8", [2]]]}, b"123", "1 bytes belong to no array"),
]


@pytest.mark.parametrize(("head", "blob", "message"), HOSTILE)
def test_false_directories_are_refused(head, blob, message):
    with pytest.raises(ModelFormatError, match=message):
        container_from_bytes(with_directory(head, blob), KIND)


def test_payloads_that_are_no_directory():
    for payload, message in (
        (b"\x01", "no directory"),
        (struct.pack("<I", 100), "longer than the file"),
        (struct.pack("<I", 1) + b"\xc1", "no msgpack"),
        (struct.pack("<I", 0), "no msgpack"),
        (struct.pack("<I", 3) + b"\xd4\x01\x00", "extension type 1"),
        (struct.pack("<I", 5000) + b"\x91" * 5000, "no msgpack"),  # nested without end
        (struct.pack("<I", 5) + b"\xdd\xff\xff\xff\xff", "no msgpack"),  # a list of 2**32 entries
    ):
        with pytest.raises(ModelFormatError, match=message):
            container_from_bytes(signed(payload), KIND)


def test_a_pickle_in_the_directory_is_not_opened():
    """msgpack-numpy's form of an object array, which some decoders unpickle."""
    array = {"nd": True, "kind": b"O", "data": b"cos\nsystem\n(S'true'\ntR."}
    head = {"meta": {"x": array}, "arrays": []}
    assert container_from_bytes(with_directory(head), KIND)[0] == head["meta"]
    head = {"meta": {"x": {name.encode(): value for name, value in array.items()}}, "arrays": []}
    with pytest.raises(ModelFormatError, match="the key b'nd' is not a string"):
        container_from_bytes(with_directory(head), KIND)


def test_stated_and_true_lengths_must_agree():
    payload = container_to_bytes(KIND, {}, {"a": np.zeros(10**6, dtype=np.int8)}, compression="none")[84:]
    squeezed = zlib.compress(payload)
    assert container_from_bytes(signed(squeezed, code=1, length=len(payload)), KIND)[1]["a"].shape == (10**6,)
    for stated in (0, 100, len(payload) - 1, len(payload) + 1):
        with pytest.raises(ModelFormatError, match="does not expand to"):
            container_from_bytes(signed(squeezed, code=1, length=stated), KIND)
    for bad, code in ((squeezed[:-5], 1), (squeezed + b"x", 1), (b"nonsense", 1), (b"nonsense", 2), (b"", 1), (b"", 2)):
        with pytest.raises(ModelFormatError, match="expand"):
            container_from_bytes(signed(bad, code=code, length=len(payload)), KIND)
    with pytest.raises(ModelFormatError, match="unknown format"):
        container_from_bytes(signed(squeezed, code=3, length=len(payload)), KIND)
    with pytest.raises(ModelFormatError, match="expands to 1099511627776 bytes"):
        container_from_bytes(signed(squeezed, code=1, length=2**40), KIND)


def test_random_payloads_with_a_true_digest():
    """Any bytes with a valid digest give a container or ModelFormatError, and nothing else."""
    rng, seen = random.Random(0), [0, 0]
    payload = container_to_bytes(KIND, META, ARRAYS, compression="none")[84:]
    for _ in range(4000):
        bad = bytearray(payload)
        for _ in range(rng.randint(1, 3)):
            bad[rng.randrange(min(len(bad), 450))] = rng.randrange(256)
        try:
            _, arrays = container_from_bytes(signed(bytes(bad)), KIND)
        except ModelFormatError:
            seen[0] += 1
        else:
            seen[1] += 1
            assert all(array.dtype.name in container._KINDS for array in arrays.values())
    assert min(seen) > 100


def test_unsuitable_content_is_refused():
    for kind in ("", "x" * 25, "a b", "é", "-"):
        with pytest.raises(ValueError, match="container kind"):
            container_to_bytes(kind, {}, {})
    with pytest.raises(ValueError, match="choose one of none, zlib, lzma"):
        container_to_bytes(KIND, {}, {}, compression="bz2")
    with pytest.raises(TypeError, match="array 'a' has dtype object"):
        container_to_bytes(KIND, {}, {"a": np.array([None])})
    with pytest.raises(TypeError, match=r"meta\['a'\]\[1\] is a set"):
        container_to_bytes(KIND, {"a": [1, set()]}, {})
    with pytest.raises(TypeError, match="only str keys"):
        container_to_bytes(KIND, {"a": {1: 2}}, {})
    with pytest.raises(TypeError, match="is a ndarray; store arrays"):
        container_to_bytes(KIND, {"a": np.zeros(2)}, {})
