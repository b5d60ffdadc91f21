"""The worker processes of training runs."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .progress import is_shown, show_progress


def worker_pool(n_workers: int, method: str = "forkserver") -> ProcessPoolExecutor:
    """A pool of worker processes that end when this process ends, even if it is killed, and print progress messages if
    it does."""
    return ProcessPoolExecutor(n_workers, get_context(method), initializer=_start, initargs=(is_shown(),))


def _start(shown: bool) -> None:
    if shown:
        show_progress()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        parent.join()  # type: ignore[union-attr]
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, daemon=True).start()
