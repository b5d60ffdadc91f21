"""Compile the kernels in two processes: what a parse calls is compiled by halves, before the parse itself is.

Both write numba's cache; what the one has finished the other reads. It only saves time: without it the same kernels are
compiled in turn.
"""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from ..kernels.jit import compile_for

SHARES: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    "dtree": {"HERE": {"span.ahead": ("READER",), "trees.ahead": ("BELIEFS",)}, "THERE": {"trees.ahead": ("SEARCH",)}},
    "span": {"HERE": {"span.ahead": ("GAPS",)}, "THERE": {"span.ahead": ("CHART",)}},
}
"""By kind of model and share, modules below this folder and what of each is compiled: names of tuples of kernels, for
the arguments that the module's `arguments()` has."""

_LONGEST = 120.0
"""Seconds to wait for the other process; then its share is compiled here."""

_other: subprocess.Popen | None = None


def kernels_of(kind: str, share: str) -> dict[Any, tuple[Any, ...]]:
    """The kernels of a share, "HERE" or "THERE", and arguments of the types that every model has."""
    found: dict[Any, tuple[Any, ...]] = {}
    for name, parts in SHARES[kind][share].items():
        module = import_module(f".{name}", __package__)
        arguments = module.arguments()
        found |= {kernel: arguments[kernel] for part in parts for kernel in getattr(module, part)}
    return found


def compile_share(kind: str, share: str) -> None:
    """Compile the kernels of a share."""
    for kernel, arguments in kernels_of(kind, share).items():
        compile_for(kernel, *arguments)


def start_compiling(kind: str) -> bool:
    """Start a process that compiles the share THERE, and say so; not on a machine of one processor, or where no process
    can be started."""
    global _other
    if (os.cpu_count() or 1) < 2:
        return False
    root = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {root!r}); from {__name__} import *; compile_share({kind!r}, 'THERE')"
    try:
        _other = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return False
    return True


def finish_compiling() -> None:
    """Wait for the process that `start_compiling` started, if there is one."""
    global _other
    other, _other = _other, None
    if other is not None:
        try:
            other.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            other.kill()
            other.wait()
