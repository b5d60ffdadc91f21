"""What a long run shows, and how it is broken off."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """A line on standard error that says how much is done: for files, on a terminal, if the output goes elsewhere."""

    def __init__(self, total: int, files: bool):
        self.total, self.texts, self.tokens = total, 0, 0
        self.shown = files and sys.stderr.isatty() and not sys.stdout.isatty()
        self.began = self.said = time.monotonic()

    def step(self, tokens: int) -> None:
        """One more text is done; twice a second this is said."""
        self.texts += 1
        self.tokens += tokens
        if self.shown and time.monotonic() - self.said > 0.5:
            self._say()

    def end(self) -> None:
        """Say it for the last time, if it was said at all."""
        if self.shown and self.said > self.began:
            self._say("\n")

    def _say(self, end: str = "") -> None:
        self.said = time.monotonic()
        speed = self.tokens / max(self.said - self.began, 1e-3)
        told = f"{self.texts:,} of {self.total:,} texts, {self.tokens:,} tokens, {speed:,.0f} tokens/s"
        print(f"\rdtparse: {told}\033[K", end=end, file=sys.stderr, flush=True)


@contextmanager
def ended_together() -> Iterator[None]:
    """What breaks off this process, such as Ctrl-C or an output that is closed, ends the workers that it started.

    Ctrl-C goes to all processes of a terminal, and each worker would show a traceback; only this one takes it. spaCy
    waits for its workers to end by themselves, and one that is about to send waits for its reader: neither would end.
    """
    own, main = os.getpid(), threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: Any) -> None:
        if os.getpid() == own:
            _end_workers()
            raise KeyboardInterrupt

    if main and before is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except BaseException:
        _end_workers()
        raise
    finally:
        if main and before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def _end_workers() -> None:
    for worker in multiprocessing.active_children():
        worker.terminate()
    warnings.filterwarnings("ignore", r"\[W127\]")  # not all of spaCy's processes ended normally
