"""What numba's cache of compiled kernels holds: of all kernels, and of parts of them that are compiled together."""

import os
import time
from contextlib import suppress
from pathlib import Path

from llvmlite import binding
from numba.core import config

from .jit import KERNEL_ROOT, _cache_folder, sources_digest, stamp_path

_BEAT = 15.0
"""Seconds for which the word holds that a part is being compiled."""


def disabled() -> bool:
    """Whether nothing is compiled at all (NUMBA_DISABLE_JIT=1)."""
    return bool(config.DISABLE_JIT)  # type: ignore[attr-defined]


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None where no folder can be written to."""
    return _cache_folder(KERNEL_ROOT)


def kernels_compiled() -> bool:
    """Whether the cache has kernels of these very sources; True where nothing is compiled (NUMBA_DISABLE_JIT=1).

    Goes by the note that is left when a kernel is put in the cache, so a cache that was filled in part counts as full.
    """
    folder = cache_folder()
    return disabled() or (folder is not None and _says(stamp_path(folder, KERNEL_ROOT), sources_digest(KERNEL_ROOT)))


def _says(file: Path, text: str) -> bool:
    """Whether a file beside compiled kernels says so."""
    try:
        return file.read_text(encoding="utf8") == text and any(file.parent.glob("*.nbi"))
    except (OSError, UnicodeDecodeError):
        return False


class PartStamp:
    """Word for other processes about a part of the kernels: that some process is compiling it, that it is compiled."""

    def __init__(self, part: str):
        folder = cache_folder()
        self._done = None if folder is None else folder / f"{part}.part"
        self._busy = None if folder is None else folder / f"{part}.busy"
        processor = config.CPU_NAME or binding.get_host_cpu_name()  # type: ignore[attr-defined]
        self._text = f"{sources_digest(KERNEL_ROOT)} {processor}"

    def is_compiled(self) -> bool:
        """Whether the part of these very sources is in the cache, for this kind of processor."""
        return self._done is not None and _says(self._done, self._text)

    def is_coming(self) -> bool:
        """Whether a process is compiling it: it has said so lately."""
        try:
            return self._busy is not None and abs(time.time() - os.stat(self._busy).st_mtime) < _BEAT
        except OSError:
            return False

    def beat(self) -> None:
        """Say that this process is about to compile it, or still does."""
        if self._busy is not None:
            with suppress(OSError):
                self._busy.touch()

    def leave(self, compiled: bool = True) -> None:
        """Say that it is compiled, or is not being compiled any more."""
        if self._done is None or self._busy is None:
            return
        with suppress(OSError):
            if compiled:
                self._done.write_text(self._text, encoding="utf8")
            self._busy.unlink(missing_ok=True)
