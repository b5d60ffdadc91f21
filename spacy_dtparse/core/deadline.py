"""A time limit per sentence: a smaller search budget if the search would take too long, pieces if the whole sentence
would, and tokens without constituents if even the pieces would.

The parser's speed is measured on this machine, on sentences that are harder than real ones: words and tags of its
vocabulary in random order. Between pieces the remaining time is checked again.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ..errors import DtparseError
from ..jit.warmup import SHORT, kernels_for
from ..trees.tree import TOP, Tree
from .kbest import DEADLINE, check_k
from .parser import Capability, Decisions, ParseList, Parser, ParseResult, Posteriors, Strings, TaggedWords
from .pieces import PieceSpan, iter_pieces
from .self_test import SELF_TEST_SENTENCES
from .time_limit import TimeLimit
from .wrapped import WrappedParser

LENGTHS = (5, 10, 20, 40, 80, 160)
"""Lengths, in tokens, of the sentences that are timed."""
_N_SENTENCES = 3
"""Sentences of each length; the faster of two parses counts, because other work only slows them down."""
_LONG_FACTOR = 4.0
"""Upper bound on how much longer a sentence above the longest timed length takes than linear extrapolation predicts."""
SLACK = 1.5
"""A sentence is split only if it may take this many deadlines: timed sentences are harder than real ones."""
_MIN_BUDGET = 64
"""Smallest useful search budget."""
_LIST_SHARE = 0.75
"""The share of the time for a list that its trees may use; the rest is for their probabilities."""
_PIECES = -1
R = TypeVar("R")


class SpeedEstimate:
    """An upper estimate of the seconds that a parser takes for a sentence. `measure`: parses a sentence of a given
    length and returns the seconds; the measurement stops at the first length that takes more than `max_seconds`
    seconds."""

    def __init__(self, measure: Callable[[int], float], max_seconds: float):
        measure(LENGTHS[1])  # load kernels from the cache, allocate workspaces
        self._seconds_by_length: list[tuple[int, float]] = []
        for length in LENGTHS:
            seconds = max(map(measure, [length] * _N_SENTENCES))
            self._seconds_by_length.append(
                (length, max(seconds, self._seconds_by_length[-1][1] if self._seconds_by_length else 0.0))
            )
            if seconds > max_seconds:
                break
        self._is_complete = length == LENGTHS[-1]

    def seconds(self, n: int) -> float:
        """Return the estimate for a sentence of n tokens; infinity if shorter ones already took too long."""
        for length, seconds in self._seconds_by_length:
            if n <= length:
                return seconds * max(n / length, 0.5)
        length, seconds = self._seconds_by_length[-1]
        return _LONG_FACTOR * seconds * n / length if self._is_complete else float("inf")

    def max_piece(self, n: int, deadline: float) -> int:
        """Return the maximum length of the pieces of a sentence of n tokens such that all pieces together take at most
        the deadline, and each at most a quarter of it; the smallest length if none fits."""
        fitting_lengths = [
            one for one, seconds in self._seconds_by_length if seconds * n / one <= deadline and seconds <= deadline / 4
        ]
        return max(fitting_lengths, default=LENGTHS[0])


class Timer:
    """A deadline that starts when the object is created."""

    def __init__(self, speed: SpeedEstimate, deadline: float):
        self.speed, self.end = speed, time.perf_counter() + deadline

    def batches(self, pieces: Iterable[PieceSpan]) -> Iterator[list[PieceSpan]]:
        """Yield the pieces in order, as many at once as take a quarter of the remaining time, until none fits. A piece
        is requested only when there is time for those before it."""
        waiting = iter(pieces)
        following = next(waiting, None)
        while following is not None:
            left = self.end - time.perf_counter()
            batch: list[PieceSpan] = []
            planned = 0.0
            while following is not None:
                more = self.speed.seconds(following[1] - following[0])
                if planned + more > (left / 4 if planned else left):
                    break
                batch.append(following)
                planned, following = planned + more, next(waiting, None)
            if not batch:
                return
            yield batch


def random_sentence(words: Strings, tags: Strings, n: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """Return a random sentence of n words and tags; without a vocabulary it uses that of the self-test."""
    pairs = [token.rpartition("/") for line in SELF_TEST_SENTENCES for token in line.split()]
    words = words or [word for word, _, _ in pairs]
    tags = tags or [tag for _, _, tag in pairs]
    return [words[rng.randrange(len(words))] for _ in range(n)], [tags[rng.randrange(len(tags))] for _ in range(n)]


def fastest(parse: Callable[[], R]) -> tuple[float, R]:
    """Return the seconds of the faster of two parses, and the result."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        result = parse()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


class _Measurements(NamedTuple):
    """Measurements of a parser. `speed`: estimate for `quick`, the parser with its search switched off, if it has one;
    `inference`: seconds per inference of the search, 0 if there is none; `searches`: maximum number of searches for a
    sentence with supertags (spines)."""

    speed: SpeedEstimate
    quick: Any
    inference: float
    searches: int


class Deadline(WrappedParser):
    """A parser that wraps another and takes at most `deadline` seconds for a sentence.

    A sentence that could take longer is parsed with a smaller budget. If it could take 1.5 times the deadline even
    without a search, it is parsed in pieces under TOP (status "fallback"); the pieces are as long as possible such that
    there is time for all. Tokens that cannot be parsed in time get no constituents. `deadline_exceeded` of the result
    reports all these cases. Other sentences get the same parse as without a deadline.

    A list of trees ends when the time is over. A sentence that would be split has a list of one tree, and no posteriors
    or explanation; constraints are enforced on the joined pieces. An explanation has no reasons for decisions that come
    too late. If a sentence is not split, constraints or posteriors may exceed the deadline: docs/deadlines.md says by
    how much.

    The speed of the machine is measured at the first parse, which takes a few seconds at most. If other work slows it
    down later, the time is checked between pieces, but a sentence that is parsed as a whole can take longer. Safe to
    use from several threads.
    """

    def __init__(self, parser: Parser, deadline: float):
        super().__init__(parser)
        self.deadline = deadline
        self._lock = threading.Lock()
        self._measurements: _Measurements | None = None
        self._by_budget: dict[int, Any] = {}

    def with_settings(self, **changes: Any) -> Deadline:
        return Deadline(self.parser.with_settings(**changes), self.deadline)

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
        """Return those of the wrapped parser; {} if the sentence would be split."""
        return {} if self._budget(len(words)) == _PIECES else self.parser.span_posteriors(words, tags)

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the best parses that are found in time; at least one. If the parser has a calibration, the time of a
        parse and a quarter of the rest are left for the caller, who computes probabilities. `limit`: not used."""
        check_k(k)
        budget = self._budget(len(words))
        if budget == _PIECES:
            first = replace(self._in_pieces(words, tags, ()), margin=0.0)
            return ParseList([first], DEADLINE if k > 1 else "")
        limit = TimeLimit(self.deadline)
        if self.parser.calibration is not None:
            limit = TimeLimit((self.deadline - self.measurements().speed.seconds(len(words))) * _LIST_SHARE)
        found = self._with(budget).parse_k_best(words, tags, k, limit)
        found[0] = _with_status(found[0], budget)
        return found

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Any) -> ParseResult:
        """Return the parser's best parse in which the constraints hold, or as much of it as fits into the time."""
        budget = self._budget(len(words))
        if budget == _PIECES:
            constraints.check(len(words), self.labels, words, self.excluded_labels)
            return constraints.enforce(self._in_pieces(words, tags, ()), self.labels)
        return _with_status(self._with(budget).parse_constrained(words, tags, constraints), budget)

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Any, k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the result of `parse_constrained`, and the other parses that are found in time. `limit`: not used."""
        check_k(k)
        budget = self._budget(len(words))
        if budget == _PIECES:
            first = replace(self.parse_constrained(words, tags, constraints), margin=0.0)
            return ParseList([first], DEADLINE if k > 1 else "")
        limit = TimeLimit(self.deadline)
        found = self._with(budget).parse_k_best_constrained(words, tags, constraints, k, limit)
        found[0] = _with_status(found[0], budget)
        return found

    def explain(
        self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = (), limit: TimeLimit | None = None
    ) -> Decisions:
        """Return the decisions of the parse; those for which there is no time have no reasons. The deadline starts
        now. Raises DtparseError if the sentence would be split. `limit`: not used."""
        budget = self._budget(len(words), bool(spines))
        if budget == _PIECES:
            raise DtparseError(
                f"the explanation of a sentence of {len(words)} tokens could take longer than the deadline of "
                f"{self.deadline:g} s; set a longer deadline, or none"
            )
        return self._with(budget).explain(words, tags, spines, TimeLimit(self.deadline))

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Return the result of the parser for each sentence, or as much of it as fits into the time."""
        return self._in_time(sentences, lambda parser, group: parser.parse_batch(group), lambda result: result)

    def parse_with_posteriors(self, sentences: Sequence[TaggedWords]) -> list[tuple[ParseResult, Posteriors]]:
        """Return the result of `parse_batch` for each sentence, with its posteriors; {} if the deadline shortened the
        parse."""
        return self._in_time(
            sentences, lambda parser, group: parser.parse_with_posteriors(group), lambda result: (result, {})
        )

    def _in_time(
        self,
        sentences: Sequence[TaggedWords],
        parse: Callable[[Any, Sequence[TaggedWords]], Sequence[Any]],
        wrap: Callable[[ParseResult], Any],
    ) -> list[Any]:
        found: dict[int, Any] = {}
        by_budget: dict[int | None, list[int]] = {}
        for index, (words, tags) in enumerate(sentences):
            budget = self._budget(len(words))
            if budget == _PIECES:
                found[index] = wrap(self._in_pieces(words, tags, ()))
            else:
                by_budget.setdefault(budget, []).append(index)
        for budget, indices in by_budget.items():
            results = parse(self._with(budget), [sentences[index] for index in indices])
            for index, one in zip(indices, results, strict=True):
                found[index] = _with_status(one, budget)
        return [found[index] for index in range(len(sentences))]

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = ()) -> ParseResult:
        """Return the result of the parser's `parse`, or as much of it as fits into the time."""
        budget = self._budget(len(words), bool(spines))
        if budget == _PIECES:
            return self._in_pieces(words, tags, spines)
        return _with_status(self._with(budget).parse(words, tags, spines), budget)

    def measurements(self) -> _Measurements:
        """Return the measurements of this machine; the first call takes them."""
        with self._lock:
            if self._measurements is None:
                with kernels_for(self.parser.name, SHORT + 1):  # wait for compiled kernels
                    self._measurements = self._measure()
        return self._measurements

    def _measure(self) -> _Measurements:
        searches = Capability.BUDGET in self.parser.capabilities
        quick = self.parser.with_settings(budget=0) if searches else self.parser
        words, tags = self.parser.vocabulary
        rng = random.Random(1)

        def measure(parser: Any, n: int) -> tuple[float, ParseResult]:
            sentence = random_sentence(words, tags, n, rng)
            return fastest(lambda: parser.parse(*sentence))

        speed = SpeedEstimate(lambda n: measure(quick, n)[0], self.deadline)
        inference, searches_per_parse = 0.0, self.parser.max_searches
        if searches:
            tried = [measure(self.parser, LENGTHS[2]) for _ in range(_N_SENTENCES)]
            inference = max(seconds / max(result.n_scored, 1) for seconds, result in tried)
        return _Measurements(speed, quick, inference, searches_per_parse)

    def _budget(self, n: int, with_spines: bool = False) -> int | None:
        """Return the budget for a sentence of n tokens: None (that of the parser), a smaller one, or _PIECES if the
        sentence must be split."""
        speed, _, inference, searches = self.measurements()
        left = self.deadline - speed.seconds(n)
        if -left > (SLACK - 1) * self.deadline:
            return _PIECES
        inference *= searches if with_spines else 1
        if not inference or self.parser.settings.budget_for(n) * inference <= left:
            return None
        max_budget = int(left / inference)
        return 0 if max_budget < _MIN_BUDGET else 1 << (max_budget.bit_length() - 1)

    def _with(self, budget: int | None) -> Any:
        if budget is None:
            return self.parser
        if budget == 0:
            return self.measurements().quick
        if budget not in self._by_budget:
            self._by_budget[budget] = self.parser.with_settings(budget=budget)
        return self._by_budget[budget]

    def _in_pieces(self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any]) -> ParseResult:
        speed, quick, _, _ = self.measurements()
        timer = Timer(speed, self.deadline)
        spans, costs, found = [(0, len(words), TOP)], [0.0], []
        for batch in timer.batches(iter_pieces(tags, speed.max_piece(len(words), self.deadline))):
            for start, end in batch:
                result = quick.parse(words[start:end], tags[start:end], spines[start:end])
                spans += [(first + start, last + start, label) for first, last, label in result.tree.spans()[1:]]
                costs += result.costs[1:]
                found.append(result)
        starts, ends, labels = zip(*spans, strict=True)
        return ParseResult(
            Tree.unchecked(words, tags, labels, starts, ends),
            tuple(costs),
            sum((one.cost for one in found), 0.0),
            "fallback",
            sum(one.n_states for one in found),
            sum(one.n_scored for one in found),
            n_searches=max((one.n_searches for one in found), default=1),
            deadline_exceeded=True,
        )


def _with_status(found: Any, budget: int | None) -> Any:
    """Return the result (or a pair of it and its posteriors), marked as limited by the deadline if a smaller budget ran
    out."""
    result = found[0] if isinstance(found, tuple) else found
    if budget is None or result.status not in ("complete", "greedy"):
        return found
    marked = replace(result, deadline_exceeded=True)
    return (marked, found[1]) if isinstance(found, tuple) else marked
