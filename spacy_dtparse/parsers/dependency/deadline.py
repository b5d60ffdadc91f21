"""A time limit per sentence for dependency parsing; see `parsers.deadline`."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

from ...features.linear.linkparts import TokenColumns
from ..deadline import SLACK, Clock, Pace, any_order, fastest
from ..pieces import Cut, cuts
from .parser import DependencyParser, DependencyResult, piece

_LEAST_LEFT = 0.25
"""Minimum fraction of the deadline that is reserved for parsing, however long preprocessing took."""


class DependencyDeadline:
    """A dependency parser that takes at most `deadline` seconds for a sentence.

    A sentence that could take longer is parsed in pieces, as long as possible such that there is time for all; tokens
    that cannot be parsed in time are attached to the root of the last piece. `deadline_struck` of the result reports
    both. The speed of the machine is measured at the first parse, which takes a few seconds. Safe to use from several
    threads.
    """

    def __init__(self, parser: DependencyParser, deadline: float):
        self.parser, self.deadline = parser, deadline
        self._lock = threading.Lock()
        self._pace: Pace | None = None

    def pace(self) -> Pace:
        """Return the speed of this machine; the first call measures it."""
        with self._lock:
            if self._pace is None:
                self._pace = self._measured()
        return self._pace

    def parse(self, sentence: TokenColumns, spent: float = 0.0) -> DependencyResult:
        """Return the result of the parser's `parse`, or as much of it as fits into the time. `spent`: seconds that
        preprocessing took. A sentence that is split has this much less time, but at least a quarter of the deadline,
        because other work on the machine may have caused the delay."""
        pace, n = self.pace(), len(sentence.words)
        if pace.seconds(n) <= SLACK * self.deadline:
            return self.parser.parse(sentence)
        left = self.deadline - min(spent, (1 - _LEAST_LEFT) * self.deadline)
        clock = Clock(pace, left)
        done: list[Cut] = []
        found = []
        for part in clock.parts(cuts(sentence.tags or sentence.pos, pace.piece(n, left))):
            done += part
            found += [self.parser.parse(piece(sentence, *one)) for one in part]
        return replace(self.parser.joined(n, done, found), deadline_struck=True)

    def _measured(self) -> Pace:
        words, tags = self.parser._known()
        rng = random.Random(1)

        def took(n: int) -> float:
            sentence = self.parser.columns_of(*any_order(words, tags, n, rng))
            return fastest(lambda: self.parser.parse(sentence))[0]

        return Pace(took, self.deadline)
