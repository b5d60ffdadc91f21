"""A time limit per sentence for dependency parsing; see `core.deadline`."""

import random
import threading
from dataclasses import replace

from ..core.deadline import SLACK, SpeedEstimate, Timer, fastest, random_sentence
from ..core.pieces import PieceSpan, iter_pieces
from .features import TokenColumns
from .parser import DependencyParser, DependencyResult, slice_tokens

_MIN_FRACTION = 0.25
"""Minimum fraction of the deadline that is reserved for parsing, however long preprocessing took."""


class DependencyDeadline:
    """A dependency parser that takes at most `deadline` seconds for a sentence.

    A sentence that could take longer is parsed in pieces, as long as possible such that there is time for all; tokens
    that cannot be parsed in time are attached to the root of the last piece. `deadline_exceeded` of the result reports
    both. The speed of the machine is measured at the first parse, which takes a few seconds. Safe to use from several
    threads.
    """

    def __init__(self, parser: DependencyParser, deadline: float):
        self.parser, self.deadline = parser, deadline
        self._lock = threading.Lock()
        self._speed: SpeedEstimate | None = None

    def speed(self) -> SpeedEstimate:
        """Return the speed of this machine; the first call measures it."""
        with self._lock:
            if self._speed is None:
                self._speed = self._measure_speed()
        return self._speed

    def parse(self, sentence: TokenColumns, spent: float = 0.0) -> DependencyResult:
        """Return the result of the parser's `parse`, or as much of it as fits into the time. `spent`: seconds that
        preprocessing took. A sentence that is split has this much less time, but at least a quarter of the deadline,
        because other work on the machine may have caused the delay."""
        speed, n = self.speed(), len(sentence.words)
        if speed.seconds(n) <= SLACK * self.deadline:
            return self.parser.parse(sentence)
        left = self.deadline - min(spent, (1 - _MIN_FRACTION) * self.deadline)
        timer = Timer(speed, left)
        done: list[PieceSpan] = []
        found = []
        for batch in timer.batches(iter_pieces(sentence.tags or sentence.pos, speed.max_piece(n, left))):
            done += batch
            found += [self.parser.parse(slice_tokens(sentence, *one)) for one in batch]
        return replace(self.parser.join_pieces(n, done, found), deadline_exceeded=True)

    def _measure_speed(self) -> SpeedEstimate:
        words, tags = self.parser.vocabulary
        rng = random.Random(1)

        def measure(n: int) -> float:
            sentence = self.parser.columns_of(*random_sentence(words, tags, n, rng))
            return fastest(lambda: self.parser.parse(sentence))[0]

        return SpeedEstimate(measure, self.deadline)
