"""Batches of Docs of bounded size, and work on them in threads, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from spacy.tokens import Doc

MAX_TOKENS = 2000
"""Number of tokens at which a batch is full: enough to make the overhead of kernel calls small, with little memory."""
Task = TypeVar("Task")
Result = TypeVar("Result")


def batches(stream: Iterable[Doc], max_docs: int, max_tokens: int = MAX_TOKENS) -> Iterator[list[Doc]]:
    """Yield the Docs in order, in lists of at most `max_docs` Docs; a list ends with the Doc that reaches
    `max_tokens`."""
    batch: list[Doc] = []
    tokens = 0
    for doc in stream:
        batch.append(doc)
        tokens += len(doc)
        if len(batch) >= max_docs or tokens >= max_tokens:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


def map_in_threads(tasks: Iterable[Task], work: Callable[[Task], Result], threads: int) -> Iterator[Result]:
    """Iterate over `work` of each task, in order; with 2 or more threads, while this thread fetches the next tasks."""
    return map(work, tasks) if threads == 1 else _in_pool(tasks, work, threads)


def _in_pool(tasks: Iterable[Task], work: Callable[[Task], Result], threads: int) -> Iterator[Result]:
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
