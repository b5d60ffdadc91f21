"""A limit of time that long work asks for between its steps."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimit:
    """A time at which work ends, `seconds` after the object is created; without an argument there is no limit.

    `reached`: whether `is_over` has returned True, so that work was left out.
    """

    def __init__(self, seconds: float = math.inf):
        self._end = self.clock() + seconds
        self.reached = False

    @staticmethod
    def clock() -> float:
        """Return the time in seconds."""
        return time.perf_counter()

    def is_over(self) -> bool:
        """Return whether the time is over."""
        self.reached = self.reached or self.clock() >= self._end
        return self.reached

    def part(self, share: float) -> TimeLimit:
        """Return a limit that ends when this share of the remaining time is over."""
        return type(self)(share * (self._end - self.clock()))

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do work that does not count, such as building the tables of a model once."""
        began = self.clock()
        try:
            yield
        finally:
            self._end += self.clock() - began
