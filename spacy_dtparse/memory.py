"""Memory of the process."""

import ctypes
from contextlib import suppress


def return_memory() -> None:
    """Give memory that was freed back to the system, where the C library offers that (glibc does): loading a model
    leaves some ten megabytes."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
