"""The worker processes of training runs."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def worker_pool(n_workers: int, method: str = "forkserver") -> ProcessPoolExecutor:
    """A pool of worker processes that end when this process ends, even if it is killed."""
    return ProcessPoolExecutor(n_workers, mp_context=get_context(method), initializer=_end_with_parent)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()

    def wait() -> None:
        parent.join()  # type: ignore[union-attr]
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, daemon=True).start()
