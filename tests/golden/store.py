"""Digests: their computation, their files, and the selection of those compared on this machine."""

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
    """An entry of text for people."""
    return Entry(name, TEXT, digest_of(value))


def digest_of(value: Any) -> str:
    """Return a hash of 16 hexadecimal digits of a value: plain data, floats by their bits, bytes, arrays."""
    found = hashlib.sha256()
    for piece in _pieces(value):
        found.update(piece)
    return found.hexdigest()[:16]


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield the value as bytes; its type and length precede each part."""
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
    """The conditions on which floating-point bits depend: processor, vector instructions, releases of numba and
    numpy."""
    features = binding.get_host_cpu_features()
    vectors = "+".join(name for name in _VECTORS if features.get(name))
    versions = f"numba {numba.__version__}, numpy {np.__version__}"
    return f"{platform.machine()} {binding.get_host_cpu_name()} {vectors}, {versions}"


class Stored(NamedTuple):
    """The content of the files: digests by name of the kinds `same` and `text`, and of `bits` by kernel target."""

    same: dict[str, str]
    bits: dict[str, dict[str, str]]
    text: dict[str, str]

    @classmethod
    def read(cls) -> Stored:
        """Read the digests from the files; no digests if there are no files."""
        found = _read(DIGESTS)
        return cls(found.get(SAME, {}), found.get(BITS, {}), _read(TEXT_DIGESTS))

    def write(self) -> None:
        """Write the files."""
        by_target = {target: dict(sorted(digests.items())) for target, digests in sorted(self.bits.items())}
        _write(DIGESTS, {SAME: dict(sorted(self.same.items())), BITS: by_target})
        _write(TEXT_DIGESTS, dict(sorted(self.text.items())))

    def here(self, kind: str) -> dict[str, str] | None:
        """The digests of a kind that are valid on this machine, for reading or changing; None if there are none."""
        return {SAME: self.same, TEXT: self.text, BITS: self.bits.get(kernel_target())}[kind]

    def take(self, entries: Iterable[Entry]) -> None:
        """Replace the stored entries of the same names."""
        here = self.bits.setdefault(kernel_target(), {})
        for entry in entries:
            for kind in (SAME, TEXT, BITS):
                digests = self.here(kind)
                assert digests is not None
                digests.pop(entry.name, None)
                if kind == entry.kind:
                    digests[entry.name] = entry.digest
        if not here:
            del self.bits[kernel_target()]

    def differing(self, entries: Iterable[Entry]) -> list[str]:
        """A line for each entry that differs from the stored one; `bits` of another target are skipped."""
        lines = []
        for entry in entries:
            digests = self.here(entry.kind)
            if digests is not None and digests.get(entry.name) != entry.digest:
                stored = digests.get(entry.name, "not stored")
                lines.append(f"{entry.name} ({entry.kind}): {stored}, now {entry.digest}")
        return lines

    def missing(self, entries: Iterable[Entry], wanted: Iterable[str]) -> list[str]:
        """A line for each stored entry of the groups `wanted` that was not computed."""
        names = {entry.name for entry in entries}
        known = {*self.same, *self.text, *(self.here(BITS) or {})}
        groups = tuple(f"{group}/" for group in wanted)
        return [f"{name}: stored, not made now" for name in sorted(known - names) if name.startswith(groups)]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf8")) if path.is_file() else {}


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf8")
