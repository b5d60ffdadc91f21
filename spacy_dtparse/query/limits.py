"""Limits of a search: the number of matches in a tree, and the time for it."""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..checks import integer, real, short_repr
from ..errors import ConfigError, SearchLimitError
from .lexer import compile_regex

STEPS = 256
"""Number of steps after which the clock is read."""

_cached_regex = lru_cache(maxsize=1024)(compile_regex)


class SearchLimits:
    """Limits of the search in each tree: `max_matches`, and `timeout` in seconds; None is no limit.

    Raises ConfigError for other values, and for a `timeout` without the package regex: only its regular expressions
    can be stopped.
    """

    def __init__(self, max_matches: int | None = None, timeout: float | None = None):
        if max_matches is not None and not integer(1).fits(max_matches):
            raise ConfigError(
                f"max_matches={short_repr(max_matches)}; give a whole number from 1, or None for no limit"
            )
        if timeout is not None and not real(0, above=True).fits(timeout):
            raise ConfigError(f"timeout={short_repr(timeout)}; give a number of seconds above 0, or None for no limit")
        if timeout is not None:
            _import_regex()
        self.max_matches, self.timeout = max_matches, timeout

    def __bool__(self) -> bool:
        """Whether anything is limited."""
        return self.max_matches is not None or self.timeout is not None


NO_LIMITS = SearchLimits()


class SearchClock:
    """The time and the number of matches that one search has taken so far."""

    def __init__(self, limits: SearchLimits = NO_LIMITS):
        self.limits = limits
        self._end = None if limits.timeout is None else time.monotonic() + limits.timeout
        self._steps = self._matches = 0

    def check(self) -> None:
        """Raise SearchLimitError if the time is over."""
        if self._end is not None and time.monotonic() > self._end:
            self._raise_timeout()

    def step(self) -> None:
        """Count a step of the search; raises as `check`."""
        self._steps += 1
        if self._steps % STEPS == 0:
            self.check()

    def count(self, matches: int = 1) -> None:
        """Count matches. Raises SearchLimitError if they are too many."""
        self._matches += matches
        maximum = self.limits.max_matches
        if maximum is not None and self._matches > maximum:
            raise SearchLimitError(
                f"a pattern has more than {maximum:,} matches in one tree (max_matches={maximum}); give a pattern with "
                "fewer names or stricter conditions, or allow more"
            )

    def regex_search(self, source: str, flags: int) -> Callable[[str], Any]:
        """The function that searches a text for a regex, in the time that is left."""
        if self._end is None:
            return _cached_regex(source, flags).search
        search, end = _import_regex()(source, flags).search, self._end

        def timed_search(text: str) -> Any:
            try:
                return search(text, timeout=max(end - time.monotonic(), 1e-6))
            except TimeoutError:
                self._raise_timeout()

        return timed_search

    def _raise_timeout(self) -> None:
        raise SearchLimitError(
            f"the search for a pattern in one tree took longer than {self.limits.timeout:g} seconds (timeout); give a "
            "simpler pattern, without repetition inside repetition in a regular expression, or allow more time"
        )


@lru_cache(maxsize=1)
def _import_regex() -> Callable[[str, int], Any]:
    """The compiler of the package regex, whose search has a timeout."""
    try:
        import regex
    except ImportError:
        raise ConfigError(
            "timeout needs the package regex, because Python's own regular expressions cannot be stopped: pip install "
            "spacy-dtparse[limits]"
        ) from None

    @lru_cache(maxsize=1024)
    def compile_with_timeout(source: str, flags: int) -> Any:
        try:
            return regex.compile(source, flags | regex.VERSION0)
        except regex.error as error:
            raise ConfigError(f"the package regex, which timeout needs, cannot read a regex: {error}") from None

    return compile_with_timeout
