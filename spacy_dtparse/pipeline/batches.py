"""Batches of Docs of bounded size, and work on them in threads, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from spacy.tokens import Doc

TOKENS = 2000
"""Number of tokens at which a batch is full: enough to make the overhead of kernel calls small, with little memory."""
A = TypeVar("A")
B = TypeVar("B")


def batches(stream: Iterable[Doc], most_docs: int, most_tokens: int = TOKENS) -> Iterator[list[Doc]]:
    """Yield the Docs in order, in lists of at most `most_docs` Docs; a list ends with the Doc that reaches
    `most_tokens`."""
    batch: list[Doc] = []
    tokens = 0
    for doc in stream:
        batch.append(doc)
        tokens += len(doc)
        if len(batch) >= most_docs or tokens >= most_tokens:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


def in_threads(tasks: Iterable[A], work: Callable[[A], B], threads: int) -> Iterator[B]:
    """Yield `work` of each task, in order; with 2 or more threads, while this thread fetches the next tasks."""
    if threads == 1:
        yield from map(work, tasks)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[B]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
