"""A limit to the time that a sentence may take: less search where the search would take longer, pieces where the whole
sentence would, and bare tokens where even these would.

What a parser takes is measured on this machine, on sentences that are harder than those people write: words and tags
that it knows, in any order. The clock is looked at again between pieces.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ..model.ahead import SHORT, kernels_for
from ..trees.tree import TOP, Tree
from .base import BatchParser, ParseResult, TaggedWords
from .pieces import Cut, cuts
from .proofs import SENTENCES

LENGTHS = (5, 10, 20, 40, 80, 160)
"""Tokens of the sentences that are measured."""
_TRIES = 3
"""Sentences of each length; of two parses of one the faster counts, as other work only slows them down."""
_BEYOND = 4.0
"""A longer sentence takes at most so many times what its length times the time per token of the longest measured one
says."""
SLACK = 1.5
"""A sentence is not cut that would take so many deadlines if it were as hard as those that are measured."""
_LEAST_BUDGET = 64
"""A search of fewer inferences is none."""
_PIECES = -1
R = TypeVar("R")


class Pace:
    """How many seconds a parser takes for a sentence at most. `took`: parses one of so many tokens, returns seconds;
    lengths that take more than `enough` seconds end the measuring."""

    def __init__(self, took: Callable[[int], float], enough: float):
        took(LENGTHS[1])  # kernels come from the cache, rooms are made
        self._measured: list[tuple[int, float]] = []
        for length in LENGTHS:
            seconds = max(map(took, [length] * _TRIES))
            self._measured.append((length, max(seconds, self._measured[-1][1] if self._measured else 0.0)))
            if seconds > enough:
                break
        self._whole = length == LENGTHS[-1]

    def seconds(self, n: int) -> float:
        """For a sentence of n tokens; infinity where shorter ones took more than enough."""
        for length, seconds in self._measured:
            if n <= length:
                return seconds * max(n / length, 0.5)
        length, seconds = self._measured[-1]
        return _BEYOND * seconds * n / length if self._whole else float("inf")

    def piece(self, n: int, deadline: float) -> int:
        """The most tokens of pieces of a sentence of n that take no longer than the deadline together, and a quarter
        of it each; the least length where there is none."""
        fitting = [one for one, took in self._measured if took * n / one <= deadline and took <= deadline / 4]
        return max(fitting, default=LENGTHS[0])


class Clock:
    """A deadline that runs from now on."""

    def __init__(self, pace: Pace, deadline: float):
        self.pace, self.end = pace, time.perf_counter() + deadline

    def parts(self, cuts: Iterable[Cut]) -> Iterator[list[Cut]]:
        """The cuts in order, as many at once as take a quarter of the time that is left, until none can be done. None
        is asked for before there is time for those before it."""
        waiting = iter(cuts)
        following = next(waiting, None)
        while following is not None:
            left = self.end - time.perf_counter()
            part: list[Cut] = []
            planned = 0.0
            while following is not None:
                more = self.pace.seconds(following[1] - following[0])
                if planned + more > (left / 4 if planned else left):
                    break
                part.append(following)
                planned, following = planned + more, next(waiting, None)
            if not part:
                return
            yield part


def any_order(words: Sequence[str], tags: Sequence[str], n: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """A sentence of n of the words and tags; where a parser does not tell what it knows, of those of proofs."""
    pairs = [token.rpartition("/") for line in SENTENCES for token in line.split()]
    words = words or [word for word, _, _ in pairs]
    tags = tags or [tag for _, _, tag in pairs]
    return [words[rng.randrange(len(words))] for _ in range(n)], [tags[rng.randrange(len(tags))] for _ in range(n)]


def fastest(parse: Callable[[], R]) -> tuple[float, R]:
    """The seconds that the faster of two parses takes, and what it finds."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        result = parse()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


class _Measured(NamedTuple):
    """`pace` of `quick`, the parser without a search where it has one; `inference`: seconds that the search takes for
    one, 0 where there is none; `searches`: of a sentence with spines, at most."""

    pace: Pace
    quick: Any
    inference: float
    searches: int


class Deadline:
    """A constituent parser that takes `deadline` seconds at most for a sentence.

    A sentence that could take longer is parsed with a smaller budget. Where it could without any search, and by half,
    it is parsed in pieces under TOP (status "fallback"), as long ones as there is time for if all are to be parsed;
    what there is no time for stays bare. `deadline_struck` of its result says so. Other sentences have the parse that
    they have without a deadline.

    The machine is measured at the first parse, which takes up to some seconds. Where other work slows it down later,
    the clock is seen between pieces, but a sentence that is parsed as a whole can take longer. Safe to use from several
    threads.
    """

    def __init__(self, parser: Any, deadline: float):
        self.parser, self.deadline = parser, deadline
        self._lock = threading.Lock()
        self._known: _Measured | None = None
        self._others: dict[int, Any] = {}

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """What `parse` finds for each of the sentences, in order."""
        found: dict[int, ParseResult] = {}
        together: dict[int | None, list[int]] = {}
        for number, (words, tags) in enumerate(sentences):
            budget = self._budget(len(words))
            if budget == _PIECES:
                found[number] = self._in_pieces(words, tags, ())
            else:
                together.setdefault(budget, []).append(number)
        for budget, numbers in together.items():
            parser, own = self._with(budget), [sentences[number] for number in numbers]
            batch = isinstance(parser, BatchParser)
            results = parser.parse_batch(own) if batch else [parser.parse(*sentence) for sentence in own]
            found.update(zip(numbers, [_told(result, budget) for result in results], strict=True))
        return [found[number] for number in range(len(sentences))]

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = ()) -> ParseResult:
        """What the parser's `parse` finds, or as much of it as there is time for."""
        budget = self._budget(len(words), bool(spines))
        if budget == _PIECES:
            return self._in_pieces(words, tags, spines)
        given = (spines,) if spines else ()
        return _told(self._with(budget).parse(words, tags, *given), budget)

    def measured(self) -> _Measured:
        """What this machine takes, measured now if it was not."""
        with self._lock:
            if self._known is None:
                with kernels_for(self.parser.name, SHORT + 1):  # none is interpreted
                    self._known = self._measure()
        return self._known

    def _measure(self) -> _Measured:
        settings = getattr(self.parser, "settings", None)
        searches = hasattr(settings, "budget_for")
        quick = self.parser.with_settings(budget=0) if searches else self.parser
        words, tags = self.parser._known() if hasattr(self.parser, "_known") else ((), ())
        rng = random.Random(1)

        def took(parser: Any, n: int) -> tuple[float, ParseResult]:
            sentence = any_order(words, tags, n, rng)
            return fastest(lambda: parser.parse(*sentence))

        pace = Pace(lambda n: took(quick, n)[0], self.deadline)
        inference, betas = 0.0, len(getattr(settings, "betas", ()))
        if searches:
            tried = [took(self.parser, LENGTHS[2]) for _ in range(_TRIES)]
            inference = max(seconds / max(result.n_scored, 1) for seconds, result in tried)
        return _Measured(pace, quick, inference, betas + 1)

    def _budget(self, n: int, with_spines: bool = False) -> int | None:
        """The budget for a sentence of n tokens: None, the parser's own; a smaller one; or _PIECES, where there is no
        time for one."""
        pace, _, inference, searches = self.measured()
        left = self.deadline - pace.seconds(n)
        if -left > (SLACK - 1) * self.deadline:
            return _PIECES
        inference *= searches if with_spines else 1
        if not inference or self.parser.settings.budget_for(n) * inference <= left:
            return None
        most = int(left / inference)
        return 0 if most < _LEAST_BUDGET else 1 << (most.bit_length() - 1)

    def _with(self, budget: int | None) -> Any:
        if budget is None:
            return self.parser
        if budget == 0:
            return self.measured().quick
        if budget not in self._others:
            self._others[budget] = self.parser.with_settings(budget=budget)
        return self._others[budget]

    def _in_pieces(self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any]) -> ParseResult:
        pace, quick, _, _ = self.measured()
        clock = Clock(pace, self.deadline)
        spans, scores, found = [(0, len(words), TOP)], [0.0], []
        for part in clock.parts(cuts(tags, pace.piece(len(words), self.deadline))):
            for start, end in part:
                given = (spines[start:end],) if spines else ()
                result = quick.parse(words[start:end], tags[start:end], *given)
                spans += [(first + start, last + start, label) for first, last, label in result.tree.spans()[1:]]
                scores += result.scores[1:]
                found.append(result)
        starts, ends, labels = zip(*spans, strict=True)
        return ParseResult(
            Tree.trusted(words, tags, labels, starts, ends), tuple(scores),
            sum((one.cost for one in found), 0.0), "fallback",
            sum(one.n_states for one in found), sum(one.n_scored for one in found),
            n_searches=max((one.n_searches for one in found), default=1), deadline_struck=True,
        )  # fmt: skip


def _told(result: ParseResult, budget: int | None) -> ParseResult:
    """The result, struck where a smaller budget was spent."""
    struck = budget is not None and result.status in ("complete", "greedy")
    return replace(result, deadline_struck=True) if struck else result
