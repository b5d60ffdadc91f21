"""Processes that try hostile files, each with a limit of time and of memory, and are replaced where one does not come
back."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .trying import FAULT, Outcome, Trier

SECONDS, MEGABYTES = 20.0, 400.0
"""Limits for one file."""
_MOST_FILES = 2000
"""Files of a worker."""
_ROOM = 2**31
"""Bytes of address space beyond those that a worker has when it begins."""
Job = tuple[str, int]


def _status(name: str) -> float:
    """A line of /proc/self/status in MB; 0 where there is none."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def _work(bases: dict[str, bytes], seed: int, connection: Connection) -> None:
    """Try the files whose names and numbers come, and send what came of them."""
    trier = Trier(bases, seed)
    limit = int(_status("VmSize") * 2**20) + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    connection.send(None)
    while True:
        job = connection.recv()
        if job is None:
            return
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = _status("VmRSS")
        try:
            outcome = trier.try_one(*job)
        except MemoryError:
            outcome = Outcome(FAULT, "", "MemoryError")
        connection.send(outcome._replace(megabytes=max(_status("VmHWM") - before, 0.0)))


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
    bases: dict[str, bytes], seed: int, jobs: Iterable[Job], n_workers: int = 1, seconds: float = SECONDS,
    megabytes: float = MEGABYTES,
) -> Iterator[tuple[Job, Outcome]]:  # fmt: skip
    """What comes of each of the files, in the order in which they are done."""
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
    """What a worker says; None where it still works and may."""
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
