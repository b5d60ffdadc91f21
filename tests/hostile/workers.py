"""Processes that try hostile files, each with limits of time and memory; a process that hangs is replaced."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from .trying import FAULT, Outcome, Trier

SECONDS, MEGABYTES = 20.0, 400.0
"""Limits for one file."""
_MOST_FILES = 2000
"""Files of a worker."""
_ROOM = 2**31
"""Bytes of address space beyond those that a worker has when it begins."""
Job = tuple[str, int]
T = TypeVar("T")


def _status(name: str) -> float:
    """A line of /proc/self/status in MB; 0 if there is none."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def measured(call: Callable[[], T]) -> tuple[T, float]:
    """The result of a call, and its peak memory in MB; 0 where this system does not report it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = _status("VmRSS")
    found = call()
    return found, max(_status("VmHWM") - before, 0.0)


def _work(bases: dict[str, bytes], seed: int, connection: Connection) -> None:
    """Try the files whose names and numbers are received, and send their outcomes."""
    trier = Trier(bases, seed)
    limit = int(_status("VmSize") * 2**20) + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    connection.send(None)
    while True:
        job = connection.recv()
        if job is None:
            return
        outcome, megabytes = measured(partial(trier.try_one, *job))
        connection.send(outcome._replace(megabytes=megabytes))


class _Worker:
    def __init__(self, bases: dict[str, bytes], seed: int):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(bases, seed, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.connection.recv()
        self.tried, self.job, self.since = 0, None, 0.0
        self.job: Job | None
        self.since: float

    def give(self, job: Job) -> None:
        self.connection.send(job)
        self.job, self.since, self.tried = job, time.monotonic(), self.tried + 1

    def end(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


def run(
    bases: dict[str, bytes],
    seed: int,
    jobs: Iterable[Job],
    n_workers: int = 1,
    seconds: float = SECONDS,
    megabytes: float = MEGABYTES,
) -> Iterator[tuple[Job, Outcome]]:
    """The outcome of each file, in the order in which they finish."""
    waiting, workers = iter(jobs), [_Worker(bases, seed) for _ in range(n_workers)]
    left: Any = object()
    try:
        for worker in workers:
            job = next(waiting, left)
            if job is not left:
                worker.give(job)
        while any(worker.job for worker in workers):
            busy = [worker for worker in workers if worker.job]
            wait([worker.connection for worker in busy], timeout=0.5)
            for worker in busy:
                outcome = _outcome(worker, seconds)
                if outcome is None:
                    continue
                if outcome.megabytes > megabytes:
                    outcome = outcome._replace(what=FAULT, said=f"{outcome.megabytes:.0f} MB {outcome.said}")
                yield worker.job, outcome  # type: ignore[misc]
                worker.job = None
                job = next(waiting, left)
                if not worker.process.is_alive() or worker.tried >= _MOST_FILES:
                    worker.end()
                    if job is not left:
                        workers[workers.index(worker)] = worker = _Worker(bases, seed)
                if job is not left:
                    worker.give(job)
    finally:
        for worker in workers:
            worker.end()


def _outcome(worker: _Worker, seconds: float) -> Outcome | None:
    """The outcome that a worker reports; None while it is still running within its limits."""
    passed = time.monotonic() - worker.since
    if worker.connection.poll():
        with suppress(EOFError, ConnectionError):
            return worker.connection.recv()
        worker.process.join()
        return Outcome(FAULT, "?", f"the process ended with {worker.process.exitcode}", passed)
    if not worker.process.is_alive():
        return Outcome(FAULT, "?", f"the process ended with {worker.process.exitcode}", passed)
    if passed > seconds:
        worker.process.kill()
        worker.process.join()
        return Outcome(FAULT, "?", f"not done after {seconds} s", passed)
    return None
