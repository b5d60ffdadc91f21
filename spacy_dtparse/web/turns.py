"""Turns of the page's requests: the pipeline answers one at a time, the shortest of those that wait first."""

import heapq
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Condition

from ..errors import OverloadedError

MAX_WAITING = 16
"""Maximum number of requests that wait; others are refused."""
MAX_SECONDS = 60.0
"""Maximum time of a request, waiting included."""
_CHECK_SECONDS = 0.2
"""Time between two checks of a request that waits."""


class Turns:
    """A queue with a limit. The request with the smallest cost is next; of equal ones the first."""

    def __init__(self, max_waiting: int = MAX_WAITING, max_seconds: float = MAX_SECONDS):
        self.max_waiting, self.max_seconds = max_waiting, max_seconds
        self._condition = Condition()
        self._waiting: list[tuple[float, int]] = []
        self._numbers = count()
        self._busy = False
        self._mean_seconds = 1.0

    @contextmanager
    def take(self, cost: float, check: Callable[[], None] = lambda: None) -> Iterator[Callable[[], None]]:
        """Wait for a turn, and give it back at the end of the block. Yields a function that the block calls now and
        then, which raises if the request should end.

        `check`: raises if the client has left; called while the request waits, too. Raises OverloadedError if too many
        requests wait, or the time is over.
        """
        end = time.monotonic() + self.max_seconds

        def check_all() -> None:
            check()
            if time.monotonic() > end:
                raise self._make_error(
                    f"the request took longer than {self.max_seconds:g} seconds; send a shorter text"
                )

        self._wait(cost, check_all)
        started = time.monotonic()
        try:
            yield check_all
        finally:
            with self._condition:
                self._busy = False
                self._mean_seconds += (time.monotonic() - started - self._mean_seconds) / 4
                self._condition.notify_all()

    def _wait(self, cost: float, check: Callable[[], None]) -> None:
        with self._condition:
            if self._busy and len(self._waiting) >= self.max_waiting:
                raise self._make_error(f"{len(self._waiting)} requests are waiting already; send this one again later")
            ticket = (cost, next(self._numbers))
            heapq.heappush(self._waiting, ticket)
            try:
                while self._busy or self._waiting[0] != ticket:
                    self._condition.wait(_CHECK_SECONDS)
                    check()
                check()
                self._busy = True
            finally:
                self._waiting.remove(ticket)
                heapq.heapify(self._waiting)
                self._condition.notify_all()

    def _make_error(self, message: str) -> OverloadedError:
        return OverloadedError(message, max(1, round(self._mean_seconds * (len(self._waiting) + 1))))
