"""State of numba's cache of compiled kernels: of all kernels, and of the parts that are compiled together."""

import os
import time
from contextlib import suppress
from pathlib import Path

from llvmlite import binding
from numba.core import config

from .decorator import find_cache_folder, stamp_path
from .sources import KERNEL_ROOT, sources_digest

_BUSY_SECONDS = 15.0
"""Seconds after the last `beat` for which a part counts as being compiled."""


def is_jit_disabled() -> bool:
    """Whether compilation is disabled (NUMBA_DISABLE_JIT=1)."""
    return bool(config.DISABLE_JIT)  # type: ignore[attr-defined]


def cache_folder() -> Path | None:
    """The folder of compiled kernels; None if no folder is writable."""
    return find_cache_folder(KERNEL_ROOT)


def are_kernels_compiled() -> bool:
    """Whether the cache has kernels compiled from the current sources; True if compilation is disabled
    (NUMBA_DISABLE_JIT=1).

    It checks the stamp that is written whenever a kernel is stored, so a partly filled cache counts as full.
    """
    folder = cache_folder()
    return is_jit_disabled() or (
        folder is not None and _has_stamp(stamp_path(folder, KERNEL_ROOT), sources_digest(KERNEL_ROOT))
    )


def _has_stamp(file: Path, text: str) -> bool:
    """Whether a stamp file has this text and its folder has compiled kernels."""
    try:
        return file.read_text(encoding="utf8") == text and any(file.parent.glob("*.nbi"))
    except (OSError, UnicodeDecodeError):
        return False


class PartStamp:
    """Files by which processes share the state of a part of the kernels: being compiled, or compiled."""

    def __init__(self, part: str):
        folder = cache_folder()
        self._done = None if folder is None else folder / f"{part}.part"
        self._busy = None if folder is None else folder / f"{part}.busy"
        processor = config.CPU_NAME or binding.get_host_cpu_name()  # type: ignore[attr-defined]
        self._text = f"{sources_digest(KERNEL_ROOT)} {processor}"

    def is_compiled(self) -> bool:
        """Whether the cache has this part, compiled from the current sources for this type of processor."""
        return self._done is not None and _has_stamp(self._done, self._text)

    def is_compiling(self) -> bool:
        """Whether a process is compiling this part: its last `beat` is recent."""
        try:
            return self._busy is not None and abs(time.time() - os.stat(self._busy).st_mtime) < _BUSY_SECONDS
        except OSError:
            return False

    def beat(self) -> None:
        """Record that this process starts, or continues, to compile the part."""
        if self._busy is not None:
            with suppress(OSError):
                self._busy.touch()

    def release(self, compiled: bool = True) -> None:
        """Record that the part is `compiled`, or that this process has stopped compiling it."""
        if self._done is None or self._busy is None:
            return
        with suppress(OSError):
            if compiled:
                self._done.write_text(self._text, encoding="utf8")
                stamp_path(self._done.parent, KERNEL_ROOT).write_text(sources_digest(KERNEL_ROOT), encoding="utf8")
            self._busy.unlink(missing_ok=True)
