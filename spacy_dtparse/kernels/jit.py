"""The one decorator of all numba kernels, with a cache that notices a change in any kernel source.

numba's own cache looks only at the file that defines a function, so a change in a callee of another file would go
unseen. Here the cache's stamp is a digest of every kernel source, and where no folder is writable the kernels are
compiled without a cache instead of failing at import.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config

KERNEL_ROOT = Path(__file__).resolve().parent


def _home(file: Path) -> Path:
    """The folder whose sources and cache a kernel's file shares: all of the package's kernels have one."""
    return KERNEL_ROOT if file.is_relative_to(KERNEL_ROOT) else file.parent


@cache
def sources_digest(folder: Path) -> str:
    """Digest of all Python sources in and below `folder`, of the package's kernels and of its dtypes, numba's version
    and its bounds-check flag.
    """
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK}".encode())
    paths = [KERNEL_ROOT.parent / "dtypes.py"]
    for root in dict.fromkeys((KERNEL_ROOT, folder)):
        paths += sorted(root.rglob("*.py"))
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def _cache_folder(folder: Path) -> Path | None:
    """The first writable place for compiled kernels of `folder`: numba's setting, beside the source, the user's."""
    candidates = []
    if config.CACHE_DIR:
        candidates.append(Path(config.CACHE_DIR))
    candidates.append(folder / "__pycache__")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    candidates.append(Path(user) / "spacy_dtparse" / "kernels")
    for candidate in candidates:
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=candidate):
                return candidate
        except OSError:
            continue
    return None


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    def __init__(self, py_func: Callable, py_file: str, path: Path):
        self._file, self._path = Path(py_file), path
        self._line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self._path)

    @property
    def source_folder(self) -> Path:
        return _home(self._file)

    def get_source_stamp(self) -> str:
        return sources_digest(self.source_folder)

    def get_disambiguator(self) -> str:
        return f"{self._file.parent.name}-{self._file.stem}-{self._line}"

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> _Locator | None:
        path = _cache_folder(_home(Path(py_file).resolve()))
        return None if path is None else cls(py_func, py_file, path)


class _Impl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (numba's own class attribute)


class _Cache(caching.FunctionCache):
    _impl_class = _Impl

    def __init__(self, py_func: Callable):
        super().__init__(py_func)
        # Compared before the rest of an index is unpickled, which fails where a class of older sources has moved.
        self._cache_file._version += " " + self._impl.locator.get_source_stamp()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, and leave word of which sources it was; see `warmup`."""
        super().save_overload(sig, data)
        locator = self._impl.locator
        with suppress(OSError):
            stamp_path(Path(self.cache_path), locator.source_folder).write_text(locator.get_source_stamp())


def stamp_path(cache: Path, folder: Path) -> Path:
    """The file in a cache that holds the digest of the sources of `folder` whose kernels were compiled last."""
    return cache / f"{folder.name}.stamp"


def kernel(function: Callable | None = None, **options: Any) -> Any:
    """Compile `function` in nopython mode with the package's cache; `options` go to `numba.njit`.

    With NUMBA_DISABLE_JIT=1 the plain Python function is returned.
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    compiled = numba.njit(function, **{"nogil": True, "no_cfunc_wrapper": True, **options})
    if not hasattr(compiled, "py_func"):  # NUMBA_DISABLE_JIT
        return compiled
    try:
        compiled._cache = _Cache(compiled.py_func)
    except RuntimeError:  # no writable folder at all: compile in memory
        pass
    return compiled


bare_kernel = partial(kernel, _nrt=False)
"""`kernel` for functions that allocate nothing: no reference counts are kept, which makes the call of a small kernel
with many arrays some ten times cheaper. (A private option of numba, set in this one place.)"""

inner_kernel = partial(bare_kernel, no_cpython_wrapper=True)
"""`bare_kernel` for functions that only kernels call: without the code that would take their arguments from Python,
which for dozens of arrays takes longer to compile than the function."""


LOOSE_SUMS = {"reassoc", "contract", "arcp", "nsz"}
"""`fastmath` for kernels whose numbers may be infinite or nan: sums in any order, so that loops become vector code, but
comparisons that find such numbers stay."""


def from_python(inner: Any) -> Any:
    """An inner kernel that Python can call, for tests and benchmarks."""
    if not hasattr(inner, "py_func"):  # NUMBA_DISABLE_JIT
        return inner

    def call(*arguments):
        return inner(*arguments)

    options: dict[str, Any] = {"_nrt": False}
    return numba.njit(**options)(call)


def compile_for(compiled: Any, *arguments: Any) -> None:
    """Compile a kernel for arguments of the given ones' types, and put it in the cache, without calling it."""
    if hasattr(compiled, "py_func"):
        compiled.compile(tuple(numba.typeof(argument) for argument in arguments))
