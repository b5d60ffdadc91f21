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


class Progress:
    """A progress line on standard error: for files, if it is a terminal and the output goes elsewhere."""

    def __init__(self, total: int, files: bool):
        self.total, self.texts, self.tokens = total, 0, 0
        self.shown = files and sys.stderr.isatty() and not sys.stdout.isatty()
        self.start_time = self.last_printed = time.monotonic()

    def step(self, tokens: int) -> None:
        """Count one more text; print the progress twice a second."""
        self.texts += 1
        self.tokens += tokens
        if self.shown and time.monotonic() - self.last_printed > 0.5:
            self._print()

    def end(self) -> None:
        """Print the final progress, if any was printed."""
        if self.shown and self.last_printed > self.start_time:
            self._print("\n")

    def _print(self, end: str = "") -> None:
        self.last_printed = time.monotonic()
        speed = self.tokens / max(self.last_printed - self.start_time, 1e-3)
        status = f"{self.texts:,} of {self.total:,} texts, {self.tokens:,} tokens, {speed:,.0f} tokens/s"
        print(f"\rdtparse: {status}\033[K", end=end, file=sys.stderr, flush=True)


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
