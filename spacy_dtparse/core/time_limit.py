"""A limit of time that long work asks for between its steps."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimit:
    """A time at which work ends, `seconds` after the object is created; without an argument there is no limit.

    `reached`: whether `is_over` has returned True, so that work was left out.
    """

    def __init__(self, seconds: float = math.inf):
        self._end = time.perf_counter() + seconds
        self.reached = False

    def is_over(self) -> bool:
        """Return whether the time is over."""
        self.reached = self.reached or time.perf_counter() >= self._end
        return self.reached

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do work that does not count, such as building the tables of a model once."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._end += time.perf_counter() - began
