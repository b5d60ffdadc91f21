"""The one decorator of all numba kernels, with a cache that notices a change in any kernel source.

numba's own cache looks only at the file that defines a function, so a change in a callee of another file would go
unseen. Here the cache's stamp is a digest of every kernel source, and where no folder is writable the kernels are
compiled without a cache instead of failing at import.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial, update_wrapper
from itertools import count
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import binding
from numba.core import caching, codegen, compiler, config, types
from numba.core.runtime import _nrt_python

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


def others_write(folder: Path) -> bool:
    """Whether other users than this one and root can put files into a folder; numba unpickles what it finds there.
    Members of this user's own group may, as they usually are this user alone."""
    if not hasattr(os, "geteuid"):
        return False
    found = folder.stat()
    group = found.st_mode & stat.S_IWGRP and found.st_gid not in (os.getegid(), 0)
    return bool(found.st_uid not in (os.geteuid(), 0) or group or found.st_mode & stat.S_IWOTH)


@cache
def _cache_folder(folder: Path) -> Path | None:
    """The first place for compiled kernels of `folder` that is writable, for nobody else: numba's setting, beside the
    source, the user's. Warns of a numba's setting that is not."""
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
                pass
            if not others_write(candidate):
                return candidate
            reason = (
                "other users can write there, and numba unpickles what it finds: chmod go-w it, or give a new folder"
            )
        except OSError as error:
            reason = f"nothing can be written there ({error.strerror}): give another folder"
        if config.CACHE_DIR and candidate == candidates[0]:
            _warn(f"NUMBA_CACHE_DIR={candidate} is not used for compiled kernels; {reason}")
    return None


def _warn(message: str) -> None:
    warnings.warn(f"spacy_dtparse: {message}", UserWarning, stacklevel=2)


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


@cache
def _name_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are that machine code calls by name. (numba's start of its
    runtime does so too, and compiles what cached code has with it.)"""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Cache(caching.FunctionCache):
    _impl_class = _Impl

    def __init__(self, py_func: Callable):
        super().__init__(py_func)
        # Compared before the rest of an index is unpickled, which fails where a class of older sources has moved.
        self._cache_file._version += " " + self._impl.locator.get_source_stamp()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled, without numba's declarations for type inference and the making of code, which finished
        machine code does not need: they take some 30 MB and 0.15 s. numba declares them itself before it compiles."""
        _name_runtime()
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception as error:  # what is there was cut short, say; numba would go on to unpickle it
            told = f"{type(error).__name__}: {error}"
            _warn(f"a compiled kernel in {self.cache_path} cannot be read ({told}) and is made anew")
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, and leave word of which sources it was; see `warmup`."""
        locator = self._impl.locator
        try:
            super().save_overload(sig, data)
            stamp_path(Path(self.cache_path), locator.source_folder).write_text(locator.get_source_stamp())
        except OSError as error:
            _warn(
                f"a compiled kernel cannot be kept in {self.cache_path} ({error.strerror}); it is compiled in every "
                "process. Make room, or set NUMBA_CACHE_DIR to a folder that can be written to"
            )


def stamp_path(cache: Path, folder: Path) -> Path:
    """The file in a cache that holds the digest of the sources of `folder` whose kernels were compiled last."""
    return cache / f"{folder.name}.stamp"


class _Nowhere:
    """Takes the environment of a function that has no machine code."""

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: what links the function has an environment of its own."""


class _LinkedLibrary(codegen.JITCodeLibrary):
    """The code of a kernel that only kernels call, as LLVM's intermediate code: each kernel that calls it takes a copy
    and optimises it with its own. Machine code of the kernel itself, which nothing would run, is not made, nor is the
    kernel optimised by itself."""

    codegen = property(lambda self: _Nowhere())

    def _optimize_final_module(self) -> None:
        """Left to the kernels that call it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: there is no machine code."""
        self._ensure_finalized()
        return 0


class _FinishedLibrary(codegen.JITCodeLibrary):
    """The code of a kernel that Python calls. No kernel takes a copy of it, so the cache keeps its machine code, and of
    the intermediate code, which takes longer to read, the names alone."""

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """What numba's cache keeps."""
        name, kind, (code, _) = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        lines = [f'define void @"{one.name}"() {{ unreachable }}' for one in module.functions if not one.is_declaration]
        names = binding.parse_assembly("\n".join([f'target triple = "{module.triple}"', *lines]))
        return name, kind, (code, names.as_bitcode())


_numbers = count()


class _FinishedCompiler(compiler.Compiler):
    """numba's compiler, with a `_FinishedLibrary` for the code."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any):
        own = _FinishedLibrary(target_context.codegen(), f"kernel-{next(_numbers)}")
        own.enable_object_caching()
        super().__init__(typing_context, target_context, own, *rest)


class _InnerCompiler(compiler.Compiler):
    """numba's compiler, with a `_LinkedLibrary` for the code."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any):
        own = _LinkedLibrary(target_context.codegen(), f"inner-{next(_numbers)}")
        super().__init__(typing_context, target_context, own, *rest)


class _Thread(threading.local):
    interprets = False


_thread = _Thread()


class Kernel:
    """A function that runs as machine code, compiled for the types of its arguments at the first call with them, or,
    inside `interpreted`, as the Python function that it was written as."""

    def __init__(self, function: Callable, plain: Callable | None, options: dict[str, Any]):
        update_wrapper(self, function)
        self._function, self._plain, self._options = function, plain or function, options

    @cached_property
    def compiled(self) -> Any:
        """numba's function, made when it is first called; None where only kernels may call it."""
        if self._options.get("no_cpython_wrapper"):
            return None
        made: Any = numba.njit(self._function, **{**self._options, "pipeline_class": _FinishedCompiler})
        with suppress(RuntimeError):  # no writable folder at all: compiled in memory
            made._cache = _Cache(self._function)
        return made

    @cached_property
    def _numba_type_(self) -> Any:
        """What numba takes it for where a kernel calls it."""
        own = {"no_cpython_wrapper": True, "pipeline_class": _InnerCompiler}
        self._inner = numba.njit(self._function, **{**self._options, **own})  # the type holds it by a weak reference
        return types.Dispatcher(self._inner)

    def __call__(self, *arguments: Any) -> Any:
        if _thread.interprets:
            return self._plain(*arguments)
        return self.compiled(*arguments)

    def compile_for(self, *arguments: Any) -> None:
        """Compile for arguments of the given ones' types, and put it in the cache, without a call."""
        self.compiled.compile(tuple(numba.typeof(argument) for argument in arguments))


def kernel(function: Callable | None = None, *, plain: Callable | None = None, **options: Any) -> Any:
    """Compile `function` in nopython mode with the package's cache; `options` go to `numba.njit`.

    `plain`: a function that does the same where it is `interpreted`, faster, or because `function` is none that Python
    could run. With NUMBA_DISABLE_JIT=1 that is what is returned, or `function` itself.

    A kernel lets other threads run Python meanwhile. One that takes less than a tenth of a millisecond for a usual
    sentence should not (`nogil=False`): a thread that lets go may wait for 5 ms until it gets the interpreter back.
    """
    if function is None:
        return lambda decorated: kernel(decorated, plain=plain, **options)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return plain or function
    return Kernel(function, plain, {"nogil": True, "no_cfunc_wrapper": True, **options})


@contextmanager
def interpreted() -> Iterator[None]:
    """Kernels that this thread calls run as plain Python: the same numbers but for the last bits of float sums, some
    thousand times slower, and nothing is compiled."""
    before, _thread.interprets = _thread.interprets, True
    try:
        with np.errstate(over="ignore"):  # hashes
            yield
    finally:
        _thread.interprets = before


bare_kernel = partial(kernel, _nrt=False)
"""`kernel` for functions that allocate nothing: no reference counts are kept, which makes the call of a small kernel
with many arrays some ten times cheaper. (A private option of numba, set in this one place.)"""

inner_kernel = partial(bare_kernel, no_cpython_wrapper=True)
"""`bare_kernel` for functions that only kernels call: without the code that would take their arguments from Python,
which for dozens of arrays takes longer to compile than the function, and without machine code of their own (see
`_LinkedLibrary`; numba's compiler is told so by classes that its interface does not promise to keep, in this one
place)."""


def _go_on() -> None:
    """Nothing."""


if hasattr(os, "sched_yield"):
    _sched_yield = types.ExternalFunction("sched_yield", types.int32())

    @inner_kernel(plain=_go_on)
    def give_way():
        """Let another thread have the processor, if one waits for it. Kernels call it between pieces of work of some
        tenths of a millisecond: where there are more threads than processors, the one that holds the interpreter would
        wait for a processor else, and all others for the interpreter. It takes less than a microsecond."""
        _sched_yield()
else:
    give_way = inner_kernel(_go_on)


LOOSE_SUMS = {"reassoc", "contract", "arcp", "nsz"}
"""`fastmath` for kernels whose numbers may be infinite or nan: sums in any order, so that loops become vector code, but
comparisons that find such numbers stay."""


def from_python(inner: Any) -> Any:
    """An inner kernel that Python can call, for tests and benchmarks."""
    if not isinstance(inner, Kernel):  # NUMBA_DISABLE_JIT
        return inner

    def call(*arguments):
        return inner(*arguments)

    options: dict[str, Any] = {"_nrt": False}
    return numba.njit(**options)(call)


def compile_for(compiled: Any, *arguments: Any) -> None:
    """`Kernel.compile_for`; nothing with NUMBA_DISABLE_JIT=1."""
    if isinstance(compiled, Kernel):
        compiled.compile_for(*arguments)
