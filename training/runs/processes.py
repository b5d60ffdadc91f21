"""The worker processes of training runs."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def worker_pool(n_workers: int, method: str = "forkserver") -> ProcessPoolExecutor:
    """A pool whose workers end when this process does, even if it is killed."""
    return ProcessPoolExecutor(n_workers, mp_context=get_context(method), initializer=_end_with_parent)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_for, args=(parent,), daemon=True).start()


def _wait_for(parent: object) -> None:
    parent.join()  # type: ignore[attr-defined]
    os._exit(1)
