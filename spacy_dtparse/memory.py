"""Memory use of the process."""

import ctypes
import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .errors import DtparseError

_NEEDED_MEGABYTES = 2000
"""Address space for numba, spaCy and a pipeline, most of it never used: a parse takes some 300 MB of memory."""
_MINIMUM_MEGABYTES = 800
"""With less than this, a parse can end in libraries that abort the process: seen from 480 to 600 MB."""


def return_memory() -> None:
    """Return freed memory to the operating system if the C library supports it (glibc does). Loading a model leaves
    some ten megabytes of it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def address_space_limit() -> float | None:
    """Return the limit of the address space of this process in MB; None if there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit / 2**20


@contextmanager
def report_memory_limit() -> Iterator[None]:
    """Context in which libraries may be imported: if the address space of the process is too small, raise a
    DtparseError that says so, at once where no parse is possible; the libraries' own errors say that a file cannot be
    found, and later they abort."""
    megabytes = address_space_limit()
    if megabytes is not None and megabytes < _MINIMUM_MEGABYTES:
        raise _too_small(megabytes)
    try:
        yield
    except (ImportError, OSError, MemoryError) as error:
        is_other = isinstance(error, ModuleNotFoundError) or getattr(error, "errno", None) not in (None, errno.ENOMEM)
        if is_other or megabytes is None or megabytes >= _NEEDED_MEGABYTES:
            raise
        raise _too_small(megabytes, f" ({type(error).__name__}: {str(error)[:200]})") from error


def _too_small(megabytes: float, reason: str = "") -> DtparseError:
    return DtparseError(
        f"the address space of this process is limited to {megabytes:.0f} MB, which is too little: raise the limit to "
        f"{_NEEDED_MEGABYTES} MB, for example with `ulimit -v {_NEEDED_MEGABYTES * 1024}`, or remove it{reason}"
    )
