"""The first parses on a machine, where no kernel is compiled yet: other processes compile them, and what is parsed
meanwhile is interpreted if it is short, and else waits.

What the others compile is found in numba's cache. Without any of this the same kernels are compiled at their first
call, one after the other.
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

from ..kernels.jit import compile_for, interpreted
from ..kernels.warmup import PartStamp, cache_folder, disabled

logger = logging.getLogger("spacy_dtparse")

PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "search": (("trees", "SEARCH"),),
    "reader": (("trees", "BELIEFS"), ("span", "READER")),
    "chart": (("span", "CHART"),),
    "tagger": (("recurrent", "TAGGER"),),
}
"""What is compiled by itself: folders beside this file, and tuples of kernels in their modules `ahead`, whose
`arguments()` has arguments for them."""

NEEDS = {"dtree": ("search", "reader"), "span": ("chart",), "recurrent": ("tagger",)}
"""The parts that the parsers of a kind need. Those of other kinds compile at the first call."""

WAIT = "SPACY_DTPARSE_WAIT"
"""The variable of the environment that, where it is 1, forbids to interpret kernels and to start processes."""

SHORT, MOST = 200, 1000
"""Tokens that are interpreted in one call, and in all, at some 5 ms each, rather than wait."""

_STARTS, _LONGEST = 15.0, 60.0
"""Seconds that a process may take before it says that it compiles, and that another waits for it."""


def kernels_of(part: str) -> dict[Any, tuple[Any, ...]]:
    """The kernels of a part, and arguments of the types that every model has."""
    found: dict[Any, tuple[Any, ...]] = {}
    for folder, names in PARTS[part]:
        module = import_module(f".{folder}.ahead", __package__)
        arguments = module.arguments()
        found |= {kernel: arguments[kernel] for kernel in getattr(module, names)}
    return found


def compile_parts(parts: Iterable[str]) -> None:
    """Compile the kernels of some parts, unless they are in the cache, and leave word of it for other processes."""
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
            stamps.pop(part).leave()
    finally:
        stop.set()
        beating.join()
        for stamp in stamps.values():
            stamp.leave(compiled=False)


class _Kernels:
    """What this process knows of the parts: which are compiled, since when it waits for others, whom it has started."""

    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.interpreted = 0
        """Tokens so far."""
        self._since: dict[str, float] = {}
        self._workers: list[subprocess.Popen] = []
        self._next_look = 0.0

    def missing(self, parts: Iterable[str]) -> list[str]:
        """Those of the parts that are still being compiled: from now on, where nobody is at it."""
        missing = [part for part in parts if part not in self.ready]
        if not missing:
            return missing
        if disabled() or os.environ.get(WAIT) == "1" or not self._has_cache():
            self.ready.update(missing)
            return []
        now = time.monotonic()
        if now >= self._next_look or not self._since.keys() >= set(missing):
            self._next_look = now + 0.1
            self._workers = [worker for worker in self._workers if worker.poll() is None]
            stamps = {part: PartStamp(part) for part in missing}
            self.ready.update(part for part, stamp in stamps.items() if stamp.is_compiled())
            self._start([part for part in missing if part not in self.ready and part not in self._since], stamps)
            for part in missing:
                late = now - self._since.get(part, now) > _STARTS
                if late and not stamps[part].is_coming():
                    self.ready.add(part)  # nobody compiles it, so it is compiled here, at the first call
        return [part for part in missing if part not in self.ready]

    def _has_cache(self) -> bool:
        if cache_folder() is None:
            logger.warning(
                "no folder can be written to for compiled kernels, so every process compiles them anew (some 20 "
                "seconds); set the variable NUMBA_CACHE_DIR to one that can"
            )
        return cache_folder() is not None

    def _start(self, parts: list[str], stamps: dict[str, PartStamp]) -> None:
        """Start processes for parts that nobody compiles: one for the search, which takes longest, where there is a
        second processor."""
        self._since |= dict.fromkeys(parts, time.monotonic())
        parts = [part for part in parts if not stamps[part].is_coming()]
        alone = [part for part in parts if part == "search" and _processors() > 1]
        for share in (alone, [part for part in parts if part not in alone]):
            if share:
                self._start_worker(share)

    def _start_worker(self, share: list[str]) -> None:
        root = str(Path(__file__).resolve().parents[2])
        program = (
            "import os, sys; hasattr(os, 'nice') and os.nice(10); "  # first of all: behind whatever else runs
            f"sys.path.insert(0, {root!r}); from {__name__} import compile_parts; compile_parts({share!r})"
        )
        with suppress(OSError):  # found out later: nobody says that it compiles
            quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            self._workers.append(subprocess.Popen([sys.executable, "-c", program], start_new_session=True, **quiet))

    def may_interpret(self, tokens: int) -> bool:
        """Whether so many tokens may be interpreted now; says once that this happens."""
        if tokens > SHORT or self.interpreted + tokens > MOST:
            return False
        if not self.interpreted:
            logger.warning(
                "spacy_dtparse compiles its kernels in the background (once, some 20 seconds); until then it "
                "interprets them, and texts of more than %d tokens wait",
                SHORT,
            )
        self.interpreted += max(tokens, 1)
        return True

    @property
    def begun(self) -> list[str]:
        """The parts that were missing at some time."""
        return [*self._since]

    def wait(self, parts: Iterable[str]) -> None:
        """Wait until no part is being compiled, but no longer than a minute: where others keep the processors busy, it
        is faster to compile here, and not behind them."""
        parts, end = list(parts), time.monotonic() + _LONGEST
        while self.missing(parts):
            time.sleep(0.05)
            if time.monotonic() > end:
                self.ready.update(parts)


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_kernels = _Kernels()


def begin(*kinds: str) -> None:
    """Have compiled what parsers of these kinds need, unless it is. Returns at once."""
    _kernels.missing([part for kind in kinds for part in NEEDS.get(kind, ())])


def finish() -> None:
    """Wait until all that `begin` was called for is compiled."""
    _kernels.wait(_kernels.begun)


@contextmanager
def kernels_for(kind: str, tokens: int) -> Iterator[None]:
    """Within, the kernels that a parser of this kind calls can run: those that are not compiled are interpreted if
    there are few `tokens`, or were waited for."""
    needs = NEEDS.get(kind, ())
    if not _kernels.missing(needs):
        yield
    elif _kernels.may_interpret(tokens):
        with interpreted():
            yield
    else:
        _kernels.wait(needs)
        yield
