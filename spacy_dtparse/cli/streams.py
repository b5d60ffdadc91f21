"""Standard input in batches, which end when no more input is waiting."""

import io
import os
import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, TypeVar

from ..errors import DtparseError

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int, live: bool = False) -> Iterator[list[Item]]:
    """Yield lists of at most `size` items. With `live` a list is complete as soon as no other item is waiting, so that
    one that arrives slowly is processed at once; a thread reads the items ahead.

    Raises the errors of `items` after the items before them.
    """
    rest = iter(items)
    if not live:
        while chunk := list(islice(rest, size)):
            yield chunk
        return
    waiting: queue.Queue[tuple[bool, Item | BaseException | None]] = queue.Queue(maxsize=8 * size)
    stopped = threading.Event()

    def read() -> None:
        end: BaseException | None = None
        try:
            for item in rest:
                waiting.put((True, item))
                if stopped.is_set():
                    return
        except BaseException as error:
            end = error
        waiting.put((False, end))

    threading.Thread(target=read, daemon=True).start()  # it may wait for input when the program ends
    try:
        while True:
            is_item, item = waiting.get()
            batch: list[Item] = []
            while is_item:
                batch.append(item)  # type: ignore[arg-type]
                if len(batch) == size or waiting.empty():
                    break
                is_item, item = waiting.get_nowait()
            if batch:
                yield batch
            if not is_item:
                if isinstance(item, BaseException):
                    raise item
                return
    finally:
        stopped.set()
        while not waiting.empty():  # lets the thread end
            waiting.get_nowait()


def standard_input() -> IO[bytes]:
    """Standard input as bytes, as a file object of its own: a thread may still wait in it when the program ends, and
    Python, which then closes `sys.stdin`, would abort if the thread waited in that. Raises DtparseError if it is
    closed."""
    if sys.stdin is None:
        raise DtparseError("standard input is closed; name a file to read, or give the text: dtparse --help")
    try:
        raw = io.FileIO(os.dup(sys.stdin.fileno()), "rb")
    except (OSError, ValueError):  # replaced by an object that is no file
        return sys.stdin.buffer
    raw.name = "<stdin>"  # for messages
    return io.BufferedReader(raw)


def flush_if_live(live: bool) -> None:
    """Write out the printed text, so that the receiver gets it before more input comes."""
    if live:
        sys.stdout.flush()
