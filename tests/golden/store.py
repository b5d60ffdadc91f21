"""Digests: how they are made, where they are kept, and which are compared here."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import binding

HERE = Path(__file__).resolve().parent
DIGESTS, TEXT_DIGESTS = HERE / "digests.json", HERE / "digests_text.json"
SAME, BITS, TEXT = "same", "bits", "text"
"""Kinds of entries; see the package."""
_VECTORS = ("avx", "avx2", "avx512f", "avx512vl", "avx512bf16", "avx10.1-512", "fma", "neon", "sve")


class Entry(NamedTuple):
    """A digest of something, by name."""

    name: str
    kind: str
    digest: str


def same(name: str, value: Any) -> Entry:
    """An entry that is compared on every machine."""
    return Entry(name, SAME, digest_of(value))


def bits(name: str, value: Any) -> Entry:
    """An entry that is compared on machines of the same kind."""
    return Entry(name, BITS, digest_of(value))


def text(name: str, value: Any) -> Entry:
    """An entry of what people read."""
    return Entry(name, TEXT, digest_of(value))


def digest_of(value: Any) -> str:
    """16 digits that tell a value from others: plain data, floats by their bits, bytes, arrays."""
    found = hashlib.sha256()
    for piece in _pieces(value):
        found.update(piece)
    return found.hexdigest()[:16]


def _pieces(value: Any) -> Iterator[bytes]:
    """The value as bytes, each part with its type and length before it."""
    if value is None or isinstance(value, bool | np.bool_):
        yield f"{'none' if value is None else bool(value)};".encode()
    elif isinstance(value, int | np.integer):
        yield f"i{int(value)};".encode()
    elif isinstance(value, float | np.floating):
        yield f"f{'nan' if value != value else float(value).hex()};".encode()
    elif isinstance(value, str):
        encoded = value.encode("utf8", "surrogatepass")
        yield b"s%d:" % len(encoded) + encoded
    elif isinstance(value, bytes | bytearray | memoryview):
        yield b"b%d:" % len(value) + bytes(value)
    elif isinstance(value, np.ndarray):
        yield f"a{value.dtype.str}{value.shape}:".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield b"d%d:" % len(value)
        for key, inner in value.items():
            yield from _pieces(key)
            yield from _pieces(inner)
    elif isinstance(value, Iterable):
        items = list(value)
        yield b"l%d:" % len(items)
        for inner in items:
            yield from _pieces(inner)
    else:
        raise TypeError(f"no digest of a {type(value).__name__}")


def kernel_target() -> str:
    """What floating-point bits depend on: processor, vector instructions, releases of numba and numpy."""
    features = binding.get_host_cpu_features()
    vectors = "+".join(name for name in _VECTORS if features.get(name))
    versions = f"numba {numba.__version__}, numpy {np.__version__}"
    return f"{platform.machine()} {binding.get_host_cpu_name()} {vectors}, {versions}"


class Stored(NamedTuple):
    """What the files hold: digests by name of the kinds `same` and `text`, and of `bits` by kernel target."""

    same: dict[str, str]
    bits: dict[str, dict[str, str]]
    text: dict[str, str]

    @classmethod
    def read(cls) -> Stored:
        """The files' digests, none where there are no files."""
        found = _read(DIGESTS)
        return cls(found.get(SAME, {}), found.get(BITS, {}), _read(TEXT_DIGESTS))

    def write(self) -> None:
        """Write the files."""
        by_target = {target: dict(sorted(own.items())) for target, own in sorted(self.bits.items())}
        _write(DIGESTS, {SAME: dict(sorted(self.same.items())), BITS: by_target})
        _write(TEXT_DIGESTS, dict(sorted(self.text.items())))

    def here(self, kind: str) -> dict[str, str] | None:
        """The digests of a kind that count on this machine, to be read or changed; None where there are none."""
        return {SAME: self.same, TEXT: self.text, BITS: self.bits.get(kernel_target())}[kind]

    def take(self, entries: Iterable[Entry]) -> None:
        """Put entries in the place of those of the same names."""
        self.bits.setdefault(kernel_target(), {})
        for entry in entries:
            for kind in (SAME, TEXT, BITS):
                own = self.here(kind)
                assert own is not None
                own.pop(entry.name, None)
                if kind == entry.kind:
                    own[entry.name] = entry.digest

    def differing(self, entries: Iterable[Entry]) -> list[str]:
        """The entries that are not as stored, a line each; `bits` of another target are passed over."""
        told = []
        for entry in entries:
            own = self.here(entry.kind)
            if own is not None and own.get(entry.name) != entry.digest:
                told.append(f"{entry.name} ({entry.kind}): {own.get(entry.name, 'not stored')}, now {entry.digest}")
        return told

    def missing(self, entries: Iterable[Entry], wanted: Iterable[str]) -> list[str]:
        """Stored entries of the groups `wanted` that were not made, a line each."""
        made = {entry.name for entry in entries}
        known = {*self.same, *self.text, *(self.here(BITS) or {})}
        groups = tuple(f"{group}/" for group in wanted)
        return [f"{name}: stored, not made now" for name in sorted(known - made) if name.startswith(groups)]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf8")) if path.is_file() else {}


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf8")
