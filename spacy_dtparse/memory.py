"""Memory use of the process."""

import ctypes
from contextlib import suppress


def return_memory() -> None:
    """Return freed memory to the operating system if the C library supports it (glibc does). Loading a model leaves
    some ten megabytes of it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
