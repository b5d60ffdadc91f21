"""The source files that compiled kernels depend on, and their digests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numba
from numba.core import config

KERNEL_ROOT = Path(__file__).resolve().parents[1]
"""The package. Its kernels are in files `kernels.py` and in folders `kernels/`."""
_IMPORT = re.compile(r"^from (\.+)([\w.]*) import (.*)", re.MULTILINE)
"""Dots, module and names of a relative import; names that stand on further lines are never modules."""
_NAME = re.compile(r"\w+")


def source_root(file: Path) -> Path:
    """The folder whose source digest and cache a kernel's file uses: one for all kernels of the package."""
    return KERNEL_ROOT if file.is_relative_to(KERNEL_ROOT) else file.parent


@cache
def kernel_sources() -> tuple[Path, ...]:
    """The files of the package that compiled kernels depend on: the kernels, the decorator, the types of arrays."""
    kernels = sorted([*KERNEL_ROOT.glob("*/kernels.py"), *KERNEL_ROOT.glob("*/kernels/*.py")])
    return (*kernels, KERNEL_ROOT / "dtypes.py", KERNEL_ROOT / "jit" / "decorator.py")


@cache
def _file_digest(path: Path) -> bytes:
    """Digest of the name and the bytes of a source."""
    return hashlib.sha256(path.name.encode() + b"\0" + path.read_bytes()).digest()


def _digest(files: Iterable[Path]) -> str:
    """Digest of numba's version, its bounds-check flag and the sources in `files`."""
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK}".encode())
    digest.update(b"".join(map(_file_digest, files)))
    return digest.hexdigest()[:16]


@cache
def sources_digest(folder: Path) -> str:
    """Digest of the package's kernels, and of all Python sources in and below `folder` if that is another one, of
    numba's version and its bounds-check flag.
    """
    return _digest([*kernel_sources(), *([] if folder == KERNEL_ROOT else sorted(folder.rglob("*.py")))])


@cache
def _names_of_sources() -> dict[str, Path]:
    """The kernel sources of the package by their names as modules below it, with dots."""
    return {".".join(path.relative_to(KERNEL_ROOT).with_suffix("").parts): path for path in kernel_sources()}


@cache
def _imported_sources(file: Path) -> frozenset[Path]:
    """The kernel sources of the package that a kernel source imports directly."""
    sources, parts = _names_of_sources(), file.relative_to(KERNEL_ROOT).parts
    found = set()
    for dots, module, names in _IMPORT.findall(file.read_text(encoding="utf8")):
        base = [*parts[: len(parts) - len(dots)], *filter(None, [module])]
        found |= {".".join(base), *(".".join([*base, name]) for name in _NAME.findall(names))}
    return frozenset(sources[name] for name in found & sources.keys())


@cache
def dependencies(file: Path) -> tuple[Path, ...]:
    """The sources that compiled code of a kernel source of the package depends on: the file, those kernel sources that
    it imports, directly or not, and the decorator."""
    found, waiting = {KERNEL_ROOT / "jit" / "decorator.py"}, {file}
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting |= _imported_sources(one) - found
    return tuple(sorted(found))


@cache
def kernel_digest(file: Path) -> str:
    """Digest of all that compiled code of a file depends on: see `dependencies`, and for a file that is not in the
    package `sources_digest`."""
    folder = source_root(file)
    return _digest(dependencies(file)) if folder == KERNEL_ROOT else sources_digest(folder)
