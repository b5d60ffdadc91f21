"""Warm-up: compile kernels in background processes for the first parses on a machine. Until they are ready, short
texts are parsed by interpreted kernels, and longer texts wait.

The compiled kernels are shared through numba's cache. Without this module each kernel is compiled at its first call,
one after the other.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .cache_state import PartStamp, cache_folder, is_jit_disabled
from .decorator import compile_for, interpret_kernels

logger = logging.getLogger("spacy_dtparse")

PARTS = {
    "search": ("dtparse",),
    "network": ("span_parser",),
    "span_model": ("dtparse", "span_parser"),
    "chart": ("span_parser",),
    "encoder": ("span_parser",),
    "tagger": ("recurrent_tagger",),
}
"""Parts of the warm-up, groups of kernels that are compiled separately: the subpackages with kernels of the part. Each
has a module `warmup`, whose `kernel_arguments()` returns the kernels of its parts, with arguments for them."""

NEEDS = {
    "dtree": ("search", "network", "span_model"),
    "span": ("network", "chart"),
    "pretrained": ("encoder", "chart"),
    "recurrent": ("tagger",),
}
"""Kind of parser -> the parts it needs. The kernels of other kinds are compiled at their first call."""

WAIT = "SPACY_DTPARSE_WAIT"
"""Environment variable; the value 1 disables interpreted kernels and background processes."""

SHORT, MAX_INTERPRETED = 200, 1000
"""Maximum number of tokens parsed by interpreted kernels in one call, and in total, at about 5 ms each."""

_MAX_START, _MAX_WAIT = 15.0, 60.0
"""Seconds within which a started process must report that it compiles, and maximum seconds to wait for it."""


def kernels_of(part: str) -> dict[Any, tuple[Any, ...]]:
    """Return the kernels of a part, with arguments of the types that every model has."""
    kernels: dict[Any, tuple[Any, ...]] = {}
    for folder in PARTS[part]:
        kernels |= import_module(f"..{folder}.warmup", __package__).kernel_arguments()[part]
    return kernels


def compile_parts(parts: Iterable[str]) -> None:
    """Compile the kernels of some parts unless they are cached, and leave stamp files for other processes."""
    stamps = {part: PartStamp(part) for part in parts}
    stop = threading.Event()

    def beat() -> None:
        while not stop.is_set():
            for stamp in list(stamps.values()):
                stamp.beat()
            stop.wait(2)

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    try:
        for part in list(stamps):
            for kernel, arguments in kernels_of(part).items():
                compile_for(kernel, *arguments)
            stamps.pop(part).release()
    finally:
        stop.set()
        beating.join()
        for stamp in stamps.values():
            stamp.release(compiled=False)


class _WarmupState:
    """State of the parts in this process: the compiled ones, since when it waits for others, the workers it started."""

    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.interpreted = 0
        """Tokens parsed by interpreted kernels so far."""
        self._waiting_since: dict[str, float] = {}
        self._workers: list[subprocess.Popen] = []
        self._next_look = 0.0

    def missing(self, parts: Iterable[str]) -> list[str]:
        """Return the parts that are not compiled yet. Starts compiling them unless another process already does."""
        missing = [part for part in parts if part not in self.ready]
        if not missing:
            return missing
        if is_jit_disabled() or os.environ.get(WAIT) == "1" or not self._has_cache():
            self.ready.update(missing)
            return []
        now = time.monotonic()
        if now >= self._next_look or not self._waiting_since.keys() >= set(missing):
            self._next_look = now + 0.1
            self._workers = [worker for worker in self._workers if worker.poll() is None]
            stamps = {part: PartStamp(part) for part in missing}
            self.ready.update(part for part, stamp in stamps.items() if stamp.is_compiled())
            self._start(
                [part for part in missing if part not in self.ready and part not in self._waiting_since], stamps
            )
            for part in missing:
                late = now - self._waiting_since.get(part, now) > _MAX_START
                if late and not stamps[part].is_compiling():
                    self.ready.add(part)  # no process compiles it: compile it here, at the first call
        return [part for part in missing if part not in self.ready]

    def _has_cache(self) -> bool:
        if cache_folder() is None:
            logger.warning(
                "no writable folder for compiled kernels, so every process compiles them again (about 20 seconds); set "
                "the environment variable NUMBA_CACHE_DIR to a writable folder"
            )
        return cache_folder() is not None

    def _start(self, parts: list[str], stamps: dict[str, PartStamp]) -> None:
        """Start processes for parts that no process compiles; if there are two processors, a separate one for the
        search, which takes longest."""
        self._waiting_since |= dict.fromkeys(parts, time.monotonic())
        parts = [part for part in parts if not stamps[part].is_compiling()]
        separate = [part for part in parts if part == "search" and _processors() > 1]
        for group in (separate, [part for part in parts if part not in separate]):
            if group:
                self._start_worker(group)

    def _start_worker(self, group: list[str]) -> None:
        root = str(Path(__file__).resolve().parents[2])
        program = (
            "import os, sys; hasattr(os, 'nice') and os.nice(10); "  # first: run at low priority
            f"sys.path.insert(0, {root!r}); from {__name__} import compile_parts; compile_parts({group!r})"
        )
        with suppress(OSError):  # noticed later: no process reports that it compiles
            quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            self._workers.append(subprocess.Popen([sys.executable, "-c", program], start_new_session=True, **quiet))

    def may_interpret(self, tokens: int) -> bool:
        """Whether so many tokens may be parsed by interpreted kernels now; logs a warning the first time."""
        if tokens > SHORT or self.interpreted + tokens > MAX_INTERPRETED:
            return False
        if not self.interpreted:
            logger.warning(
                "spacy_dtparse compiles its kernels in the background (once, about 20 seconds); until then it "
                "interprets them, and texts of more than %d tokens wait",
                SHORT,
            )
        self.interpreted += max(tokens, 1)
        return True

    @property
    def requested_parts(self) -> list[str]:
        """Parts that were requested before they were compiled."""
        return [*self._waiting_since]

    def wait(self, parts: Iterable[str]) -> None:
        """Wait until the parts are compiled, for at most a minute: if other processes occupy the processors, compiling
        here is faster."""
        parts, end = list(parts), time.monotonic() + _MAX_WAIT
        while self.missing(parts):
            time.sleep(0.05)
            if time.monotonic() > end:
                self.ready.update(parts)


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_kernels = _WarmupState()


def start_compiling(*kinds: str) -> None:
    """Start compiling the kernels that parsers of these kinds need, unless they are compiled. Returns at once."""
    _kernels.missing([part for kind in kinds for part in NEEDS.get(kind, ())])


def wait_until_compiled() -> None:
    """Wait until all kernels that `start_compiling` was called for are compiled."""
    _kernels.wait(_kernels.requested_parts)


@contextmanager
def kernels_for(kind: str, tokens: int) -> Iterator[None]:
    """Context in which the kernels of this kind of parser can run: if they are not compiled, they are interpreted for
    few `tokens`; else this waits for them first."""
    needs = NEEDS.get(kind, ())
    if not _kernels.missing(needs):
        yield
    elif _kernels.may_interpret(tokens):
        with interpret_kernels():
            yield
    else:
        _kernels.wait(needs)
        yield
