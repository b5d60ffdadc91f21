"""Progress of a long run, and a clean end if it is interrupted."""

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

from .terminal import send


class Progress:
    """A progress line on standard error: for files, if it is a terminal and the output goes elsewhere.

    `total`: the number of texts, None if it is not known; `size`: the number of bytes of the input, 0 if it is not
    known. Either gives the share that is done and an estimate of the time left. `output_follows`: the output, which may
    go to the same terminal, comes after the end.
    """

    def __init__(self, total: int | None, files: bool, size: int = 0, *, output_follows: bool = False):
        self.total, self.size, self.texts, self.tokens, self.bytes = total, size, 0, 0, 0
        self.shown = files and sys.stderr.isatty() and (output_follows or not sys.stdout.isatty())
        self.start_time = self.last_printed = time.monotonic()

    def step(self, tokens: int, bytes_done: int = 0) -> None:
        """Count one more text; print the progress twice a second. `bytes_done`: of the input up to its end."""
        self.texts += 1
        self.tokens += tokens
        self.bytes = bytes_done
        if self.shown and time.monotonic() - self.last_printed > 0.5:
            self._print()

    def end(self) -> None:
        """Print the final progress, if any was printed."""
        if self.shown and self.last_printed > self.start_time:
            self._print("\n")

    def _print(self, end: str = "") -> None:
        self.last_printed = time.monotonic()
        seconds = max(self.last_printed - self.start_time, 1e-3)
        total = "" if self.total is None else f" of {self.total:,}"
        status = f"{self.texts:,}{total} texts, {self.tokens:,} tokens, {self.tokens / seconds:,.0f} tokens/s"
        share = self.bytes / self.size if self.size else self.texts / self.total if self.total else 0.0
        if self.size:
            status += f", {share:.0%} of {self.size / 1e6:,.1f} MB"
        if (self.texts >= 100 or share >= 0.01) and 0 < share < 1 and not end:  # the first texts are slow
            status += f", {format_duration(seconds * (1 - share) / share)} left"
        send(f"\rdtparse: {status}\033[K{end}")


def format_duration(seconds: float) -> str:
    """Format a time as 0:07, 12:30 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def stop_workers_on_error() -> Iterator[None]:
    """End the worker processes if this process is interrupted, such as by Ctrl-C or a closed output.

    Ctrl-C goes to all processes of a terminal, and each worker would show a traceback; only this process handles it.
    spaCy waits for its workers to end by themselves, and a worker that is about to send waits for its receiver: neither
    would end.
    """
    main_pid, in_main_thread = os.getpid(), threading.current_thread() is threading.main_thread()
    previous_handler = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: Any) -> None:
        if os.getpid() == main_pid:
            _stop_workers()
            raise KeyboardInterrupt

    if in_main_thread and previous_handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except BaseException:
        _stop_workers()
        raise
    finally:
        if in_main_thread and previous_handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, previous_handler)


def _stop_workers() -> None:
    for worker in multiprocessing.active_children():
        worker.terminate()
    warnings.filterwarnings("ignore", r"\[W127\]")  # not all of spaCy's processes ended normally
