"""The decorator of all numba kernels, with a cache that notices a change in any source that a kernel depends on.

numba's own cache only checks the file that defines a function, so it would miss a change in a callee of another file.
Here the stamp of a kernel's code is a digest of its file and of the kernel files that it imports, directly or not. If
no folder is writable, kernels are compiled without a cache instead of failing at import.
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

from .sources import KERNEL_ROOT, kernel_digest, source_root, sources_digest


def is_writable_by_others(folder: Path) -> bool:
    """Whether users other than this one and root can write to a folder; numba unpickles the files that it finds there.
    Write permission for this user's group is accepted, since usually only this user is in it."""
    if not hasattr(os, "geteuid"):
        return False
    status = folder.stat()
    group = status.st_mode & stat.S_IWGRP and status.st_gid not in (os.getegid(), 0)
    return bool(status.st_uid not in (os.geteuid(), 0) or group or status.st_mode & stat.S_IWOTH)


@cache
def find_cache_folder(folder: Path) -> Path | None:
    """The first cache folder for the kernels of `folder` that this user, and nobody else, can write to: the one set for
    numba, the one next to the sources, the one in the user's cache. Warns if the one set for numba is not usable."""
    candidates = []
    if config.CACHE_DIR:
        candidates.append(Path(config.CACHE_DIR))
    candidates.append((folder / "jit" if folder == KERNEL_ROOT else folder) / "__pycache__")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    candidates.append(Path(user) / "spacy_dtparse" / "kernels")
    for candidate in candidates:
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=candidate):
                pass
            if not is_writable_by_others(candidate):
                return candidate
            reason = (
                "other users can write there, and numba unpickles the files in it: chmod go-w it, or give a new folder"
            )
        except OSError as error:
            reason = f"it is not writable ({error.strerror}): give another folder"
        if config.CACHE_DIR and candidate == candidates[0]:
            _warn(f"NUMBA_CACHE_DIR={candidate} is not used for compiled kernels; {reason}")
    return None


def _warn(message: str) -> None:
    warnings.warn(f"spacy_dtparse: {message}", UserWarning, stacklevel=2)


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    def __init__(self, py_func: Callable, py_file: str, path: Path):
        self._file, self._path = Path(py_file).resolve(), path
        self._line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self._path)

    @property
    def source_folder(self) -> Path:
        return source_root(self._file)

    def get_source_stamp(self) -> str:
        return kernel_digest(self._file)

    def get_disambiguator(self) -> str:
        return "-".join([*self._file.with_suffix("").parts[-3:], str(self._line)])

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> _Locator | None:
        path = find_cache_folder(source_root(Path(py_file).resolve()))
        return None if path is None else cls(py_func, py_file, path)


class _Impl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (numba's own class attribute)


@cache
def _name_runtime() -> None:
    """Register with LLVM the addresses of the functions of numba's runtime that machine code calls by name. (numba does
    this too when it starts its runtime, but then also compiles code that cached kernels already contain.)"""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _CacheFile(caching.IndexDataCacheFile):
    """numba's files of one kernel, for several processes. numba numbers the files of code and writes the index first,
    so an index may name a file that another process wrote, for other sources or other types of arguments; here each
    file of code also has its version and its key."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: str):
        super().__init__(cache_path, filename_base, source_stamp)
        # numba compares it before it unpickles the rest of an index, which fails if a class of older sources has moved.
        self._version += " " + source_stamp

    def _label(self, key: Any) -> str:
        return hashlib.sha256(f"{self._version} {key}".encode()).hexdigest()

    def save(self, key: Any, data: Any) -> None:
        """Store compiled code."""
        super().save(key, (self._label(key), data))

    def load(self, key: Any) -> Any:
        """Compiled code; None if there is none, or another process has written something else in its place."""
        label, *data = super().load(key) or ("", None)
        return data[0] if label == self._label(key) else None


def _fields(given: Any) -> tuple[Any, ...]:
    """The names of the fields of all named tuples in a type, or in a tuple of types, of arguments."""
    inner: Any = given if isinstance(given, (tuple, types.BaseTuple)) else ()
    return (*getattr(given, "fields", ()), *map(_fields, inner))


class _Cache(caching.FunctionCache):
    _impl_class = _Impl

    def __init__(self, py_func: Callable):
        super().__init__(py_func)
        locator = self._impl.locator
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def _index_key(self, sig: Any, target_codegen: Any) -> tuple[Any, ...]:
        """Return numba's key without its hash of the bytecode, which differs under `python -OO`, as docstrings
        are no constants there: the stamp covers the sources. The key also has the names of the fields of all named
        tuples among the arguments, whose classes the kernel's file need not import."""
        *key, (_, cells) = super()._index_key(sig, target_codegen)
        return (*key, cells, _fields(sig))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code without numba's declarations for type inference and code generation, which finished
        machine code does not need: they take some 30 MB and 0.15 s. numba declares them itself before it compiles."""
        _name_runtime()
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception as error:  # for example, the file was truncated; numba would unpickle it nevertheless
            reason = f"{type(error).__name__}: {error}"
            _warn(f"a compiled kernel in {self.cache_path} cannot be read ({reason}); it is compiled again")
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, and a stamp with the digest of its sources; see `jit.cache_state`."""
        locator = self._impl.locator
        try:
            super().save_overload(sig, data)
            folder = locator.source_folder
            stamp_path(Path(self.cache_path), folder).write_text(sources_digest(folder), encoding="utf8")
        except OSError as error:
            _warn(
                f"a compiled kernel cannot be stored in {self.cache_path} ({error.strerror}); every process compiles "
                "it again. Free some disk space, or set NUMBA_CACHE_DIR to a writable folder"
            )


def stamp_path(cache: Path, folder: Path) -> Path:
    """The file in a cache with the digest of the sources of `folder` when its kernels were last compiled."""
    return cache / f"{folder.name}.stamp"


class _NoCodegen:
    """Stand-in for the code generator of a function without machine code; ignores its environment."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the code that links the function has an environment of its own."""


class _InnerLibrary(codegen.JITCodeLibrary):
    """LLVM intermediate code of a kernel that only kernels call. Each calling kernel copies it and optimises it
    together with its own code. No machine code of the kernel itself is generated, since nothing would run it, and the
    kernel is not optimised by itself."""

    codegen = property(lambda self: _NoCodegen())

    def _optimize_final_module(self) -> None:
        """Do nothing: the calling kernels optimise it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0


class _EntryLibrary(codegen.JITCodeLibrary):
    """Code of a kernel that Python calls. No kernel copies it, so the cache stores its machine code and only the names
    of the intermediate code, which takes longer to load."""

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """The data that numba's cache stores."""
        name, kind, (code, _) = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        lines = [f'define void @"{one.name}"() {{ unreachable }}' for one in module.functions if not one.is_declaration]
        names = binding.parse_assembly("\n".join([f'target triple = "{module.triple}"', *lines]))
        return name, kind, (code, names.as_bitcode())


_library_ids = count()


class _EntryCompiler(compiler.Compiler):
    """numba's compiler, generating code into a `_EntryLibrary`."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *arguments: Any):
        entry_library = _EntryLibrary(target_context.codegen(), f"kernel-{next(_library_ids)}")
        entry_library.enable_object_caching()
        super().__init__(typing_context, target_context, entry_library, *arguments)


class _InnerCompiler(compiler.Compiler):
    """numba's compiler, generating code into a `_InnerLibrary`."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *arguments: Any):
        inner_library = _InnerLibrary(target_context.codegen(), f"inner-{next(_library_ids)}")
        super().__init__(typing_context, target_context, inner_library, *arguments)


class _Thread(threading.local):
    interpreting = False


_thread = _Thread()


class Kernel:
    """Function that runs as machine code, compiled at the first call with arguments of certain types, or, inside
    `interpret_kernels`, as the Python function that it was written as."""

    def __init__(self, function: Callable, plain: Callable | None, options: dict[str, Any]):
        update_wrapper(self, function)
        self._function, self._plain, self._options = function, plain or function, options

    @cached_property
    def compiled(self) -> Any:
        """numba's dispatcher, created at the first call; None if only kernels may call the function."""
        if self._options.get("no_cpython_wrapper"):
            return None
        dispatcher: Any = numba.njit(self._function, **{**self._options, "pipeline_class": _EntryCompiler})
        with suppress(RuntimeError):  # no writable folder: compiled in memory only
            dispatcher._cache = _Cache(self._function)
        return dispatcher

    @cached_property
    def _numba_type_(self) -> Any:
        """The numba type of the function when a kernel calls it."""
        inner_options = {"no_cpython_wrapper": True, "pipeline_class": _InnerCompiler}
        self._inner = numba.njit(
            self._function, **{**self._options, **inner_options}
        )  # the type holds it by a weak reference
        return types.Dispatcher(self._inner)

    def __call__(self, *arguments: Any) -> Any:
        if _thread.interpreting:
            return self._plain(*arguments)
        return self.compiled(*arguments)

    def compile_for(self, *arguments: Any) -> None:
        """Compile for the types of these arguments and store the code in the cache, without a call."""
        self.compiled.compile(tuple(numba.typeof(argument) for argument in arguments))


_OPTIONS = {"nogil": True, "no_cfunc_wrapper": True, "fastmath": False, "error_model": "python"}
"""Options of kernels that do not give another value. If one gave no `fastmath` or `error_model`, numba would compile it
with those of the caller that it is first compiled for, and use that code for all callers."""


def kernel(function: Callable | None = None, *, plain: Callable | None = None, **options: Any) -> Any:
    """Compile `function` in nopython mode with the package's cache; `options` are passed to `numba.njit`.

    `plain`: an equivalent Python function to run inside `interpret_kernels`, because it is faster or because Python
    cannot run `function`. With NUMBA_DISABLE_JIT=1 the result is `plain`, or else `function` itself.

    A kernel releases the GIL. One that takes less than a tenth of a millisecond for a typical sentence should not
    (`nogil=False`): a thread that releases the GIL may wait 5 ms to get it back.
    """
    if function is None:
        return lambda decorated: kernel(decorated, plain=plain, **options)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return plain or function
    return Kernel(function, plain, {**_OPTIONS, **options})


@contextmanager
def interpret_kernels() -> Iterator[None]:
    """Context manager: kernels that this thread calls run as plain Python and nothing is compiled. Results are the same
    except for the last bits of float sums; it is some thousand times slower."""
    before, _thread.interpreting = _thread.interpreting, True
    try:
        with np.errstate(over="ignore"):  # hashes
            yield
    finally:
        _thread.interpreting = before


noalloc_kernel = partial(kernel, _nrt=False)
"""`kernel` for functions that allocate nothing: without reference counting, which makes the call of a small kernel with
many arrays some ten times cheaper. (It is a private option of numba, set only here.)"""

inner_kernel = partial(noalloc_kernel, no_cpython_wrapper=True)
"""`noalloc_kernel` for functions that only kernels call: without the wrapper that unpacks arguments from Python, which
for dozens of arrays takes longer to compile than the function, and without machine code of their own (see
`_InnerLibrary`; this uses classes of numba that are not a stable interface, only here)."""


def _do_nothing() -> None:
    """Do nothing."""


if hasattr(os, "sched_yield"):
    _sched_yield = types.ExternalFunction("sched_yield", types.int32())

    @inner_kernel(plain=_do_nothing)
    def yield_cpu():
        """Yield the CPU to a waiting thread, if there is one. Kernels call it between pieces of work of some tenths of
        a millisecond: with more threads than CPUs, the thread that holds the GIL would otherwise wait for a CPU, and
        all others for the GIL. It takes less than a microsecond."""
        _sched_yield()
else:
    yield_cpu = inner_kernel(_do_nothing)


REORDERED_SUMS = {"reassoc", "contract", "arcp", "nsz"}
"""`fastmath` flags for kernels whose values may be infinite or nan: sums may be reordered, so loops become vector code,
but comparisons that detect such values are kept."""


def callable_from_python(inner: Any) -> Any:
    """Make an inner kernel callable from Python, for tests and benchmarks."""
    if not isinstance(inner, Kernel):  # NUMBA_DISABLE_JIT
        return inner

    options = {name: value for name, value in inner._options.items() if name != "no_cpython_wrapper"}
    return Kernel(inner._function, inner._plain, options)


def compile_for(compiled: Any, *arguments: Any) -> None:
    """Call `Kernel.compile_for`; do nothing with NUMBA_DISABLE_JIT=1."""
    if isinstance(compiled, Kernel):
        compiled.compile_for(*arguments)
