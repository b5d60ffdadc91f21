"""The worker processes of training runs."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from .progress import is_shown, show_progress

R = TypeVar("R")


def worker_pool(n_workers: int, method: str = "forkserver") -> ProcessPoolExecutor:
    """A pool of worker processes that end when this process ends, even if it is killed, and print progress messages if
    it does."""
    return ProcessPoolExecutor(n_workers, get_context(method), initializer=_start, initargs=(is_shown(),))


@contextmanager
def optional_pool(n_workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Context manager: a `worker_pool` of more than one process; None for one, which is this process."""
    if n_workers > 1:
        with worker_pool(n_workers) as pool:
            yield pool
    else:
        yield None


def map_tasks(executor: Executor | None, function: Callable[..., R], *arguments: Iterable[Any]) -> Iterator[R]:
    """`map` by an executor, or in this process if it is None."""
    return map(function, *arguments) if executor is None else executor.map(function, *arguments)


def _start(shown: bool) -> None:
    if shown:
        show_progress()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        parent.join()  # type: ignore[union-attr]
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, daemon=True).start()
