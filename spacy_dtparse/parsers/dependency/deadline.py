"""A limit to the time that the tree of a sentence may take; see `parsers.deadline`."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

from ...features.linear.linkparts import TokenColumns
from ..deadline import SLACK, Clock, Pace, any_order, fastest
from ..pieces import Cut, cuts
from .parser import DependencyParser, DependencyResult, piece

_LEAST_LEFT = 0.25
"""Share of the deadline that is left to parsing, however long reading took."""


class DependencyDeadline:
    """A dependency parser that takes `deadline` seconds at most for a sentence.

    A sentence that could take longer is parsed in pieces, as long as these may take if all of them are to be done; the
    tokens that there is no time for hang on the last piece's root. `deadline_struck` of its result says so. The machine
    is measured at the first parse, which takes a second or some. Safe to use from several threads.
    """

    def __init__(self, parser: DependencyParser, deadline: float):
        self.parser, self.deadline = parser, deadline
        self._lock = threading.Lock()
        self._pace: Pace | None = None

    def pace(self) -> Pace:
        """What this machine takes, measured now if it was not."""
        with self._lock:
            if self._pace is None:
                self._pace = self._measured()
        return self._pace

    def parse(self, sentence: TokenColumns, spent: float = 0.0) -> DependencyResult:
        """What the parser's `parse` finds, or as much of it as there is time for. `spent`: seconds that it took to read
        the sentence. One that is cut has so much less time, but a quarter of the deadline at least: it may have been
        other work that took them."""
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
