"""Deadlines: which sentences are parsed normally, with a smaller budget, in pieces, or in part; with a simulated clock
that parsers advance."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from spacy_dtparse.bpm_parser.deadline import DependencyDeadline
from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core import Capability, Parser, ParseResult, deadline
from spacy_dtparse.core.constraints import Constraints
from spacy_dtparse.core.deadline import LENGTHS, Deadline, SpeedEstimate
from spacy_dtparse.core.kbest import DEADLINE
from spacy_dtparse.core.parser import Decisions, ParseList
from spacy_dtparse.core.pieces import iter_pieces
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.core.time_limit import TimeLimit
from spacy_dtparse.trees.tree import Tree
from tests.dependency_models import SENTENCES, random_model
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference.dependencies import is_tree

pytestmark = KERNEL_MARKS


class Timer(SimpleNamespace):
    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Timer()
    monkeypatch.setattr(deadline, "time", clock)
    return clock


class Searching(Parser):
    """Takes a millisecond per token, and one per ten inferences; a sentence needs forty inferences per token."""

    name = "searching"
    labels = ("S", "NP")
    capabilities = frozenset({Capability.BUDGET})
    max_searches = 3
    per_token, slower = 0.001, 1.0

    def __init__(self, clock, settings=None, parsed=None):
        self.clock, self.settings = clock, settings or SearchSettings(budget=10_000)
        self.parsed = [] if parsed is None else parsed

    def with_settings(self, **changes):
        return type(self)(self.clock, self.settings.with_changes(**changes), self.parsed)

    def to_bytes(self):
        raise NotImplementedError

    def parse_batch(self, sentences):
        return [self.parse(*sentence) for sentence in sentences]

    def parse(self, words, tags, spines=()):
        n, wanted = len(words), 40 * len(words)
        spent = min(self.settings.budget_for(n), wanted)
        self.parsed.append((n, spent, spines) if spines else (n, spent))
        self.clock.now += self.slower * (self.per_token * n + 0.0001 * spent)
        tree = Tree.from_spans(words, tags, [(0, n, "TOP"), (0, n, "S"), (n - 1, n, "NP")])
        status = "greedy" if not spent else "optimal" if spent == wanted else "complete"
        return ParseResult(tree, (0.0, 1.0, 2.0), 3.0, status, 1, spent)


def sentence(n: int) -> tuple[list[str], list[str]]:
    return [f"w{k}" for k in range(n)], ["," if k % 7 == 6 else "NN" for k in range(n)]


def test_sentences_that_fit_are_parsed_normally(clock):
    parser = Deadline(Searching(clock), 0.2)
    for n in (1, 10, 20):
        assert parser.parse(*sentence(n)) == parser.parser.parse(*sentence(n))
    assert parser.parse_batch([sentence(20), sentence(3)]) == [parser.parser.parse(*sentence(n)) for n in (20, 3)]


def test_the_budget_shrinks_first(clock):
    parser = Deadline(Searching(clock), 0.2)
    parser.measurements()
    for n, budget in ((60, 1024), (150, 256)):
        began = clock.now
        result = parser.parse(*sentence(n))
        assert parser.parser.parsed[-1] == (n, budget) and result.deadline_exceeded and len(result.tree.labels) == 3
        assert clock.now - began <= 0.2
    greedy = Deadline(Searching(clock), 0.155).parse(*sentence(150))
    assert greedy.status == "greedy" and greedy.deadline_exceeded
    assert parser.parse_batch([sentence(n) for n in (3, 60, 4)])[1].n_scored == 1024
    spines = [[("X", 1.0)]] * 20
    parser.parse(*sentence(20), spines)  # three searches
    assert parser.parser.parsed[-1] == (20, 256, spines)
    assert parser.parse(*sentence(20)).n_scored == 800


def test_long_sentences_are_cut(clock):
    parser = Deadline(Searching(clock), 0.2)
    parser.measurements()
    parser.parser.parsed.clear()
    words, tags = sentence(1000)
    began = clock.now
    result = parser.parse(words, tags)
    sizes = [n for n, _ in parser.parser.parsed]
    assert result.deadline_exceeded and result.status == "fallback" and clock.now - began <= 0.2
    assert max(sizes) <= LENGTHS[0] and 100 < sum(sizes) <= 200, "as many pieces as there is time for"
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    expected = [(0, 1000, "TOP")]
    for start, end in pairwise(starts):
        expected += [(start, end, "S"), (end - 1, end, "NP")]
    assert list(result.tree.spans()) == expected and result.tree.words == tuple(words)
    assert len(result.costs) == len(expected)
    assert result.cost == 3.0 * len(sizes) and result.n_searches == 1


class Listing(Searching):
    """Records the limits of constrained lists and explanations."""

    limits: ClassVar[list[Any]] = []

    def parse_k_best_constrained(self, words, tags, constraints, k, limit=None):
        self.limits.append(limit)
        return ParseList([self.parse(words, tags)], "")

    def explain(self, words, tags, spines=(), limit=None):
        self.limits.append(limit)
        return Decisions(self.name, self.parse(words, tags), {})


def test_constrained_lists_and_explanations_have_a_limit(clock):
    parser = Deadline(Listing(clock), 0.2)
    parser.measurements()
    Listing.limits.clear()
    words, tags = sentence(10)
    parser.parse_k_best_constrained(words, tags, Constraints(), 3)
    parser.explain(words, tags)
    assert [type(one) for one in Listing.limits] == [TimeLimit, TimeLimit]
    found = parser.parse_k_best_constrained(*sentence(1000), Constraints(), 3)
    assert len(found) == 1 and found.reason == DEADLINE and found[0].deadline_exceeded and len(Listing.limits) == 2


def test_a_limit_is_paused(monkeypatch):
    clock = Timer()
    monkeypatch.setattr("spacy_dtparse.core.time_limit.time", clock)
    limit = TimeLimit(1.0)
    with limit.pause():
        clock.now += 5
    assert not limit.is_over()
    clock.now += 1
    assert limit.is_over()


def test_a_slower_machine_ends_parsing(clock):
    parser = Deadline(Searching(clock), 0.2)
    parser.measurements()
    Searching.slower = 3.0
    try:
        began = clock.now
        result = parser.parse(*sentence(1000))
    finally:
        Searching.slower = 1.0
    assert result.deadline_exceeded and 0.1 < clock.now - began <= 0.4


def test_tokens_stay_unattached_where_there_is_no_time_for_a_piece(clock):
    parser = Deadline(Searching(clock), 0.003)
    assert list(parser.parse(*sentence(9)).tree.spans()) == [(0, 9, "TOP")]
    assert parser.parse(*sentence(1)).status == "greedy"


def test_speed_estimates():
    speed = SpeedEstimate(lambda n: n * n / 1e6, 0.001)
    assert speed.seconds(40) == pytest.approx(0.0016) and speed.seconds(30) == pytest.approx(0.0012)
    assert speed.seconds(41) == float("inf"), "longer ones were not measured"
    assert (
        speed.max_piece(1000, 0.02) == 20
        and speed.max_piece(1000, 0.001) == LENGTHS[0]
        and speed.max_piece(20, 0.02) == 40
    )
    whole = SpeedEstimate(lambda n: n / 1e6, 1.0)
    assert whole.seconds(1600) == pytest.approx(4 * 0.0016)


def test_split_points():
    tags = ["NN"] * 6 + [","] + ["NN"] * 5
    assert (
        list(iter_pieces(tags, 8)) == [(0, 7), (7, 12)]
        and list(iter_pieces(tags, 100)) == [(0, 12)]
        and next(iter_pieces(tags, 3)) == (0, 3)
    )
    assert list(iter_pieces(["NN"] * 5, 1)) == [(k, k + 1) for k in range(5)] and list(iter_pieces([], 3)) == []


def test_pieces_are_sought_only_when_there_is_time_for_them(clock):
    asked = []

    def asking():
        for one in iter_pieces(["NN"] * 1000, 5):
            asked.append(one)
            yield one

    now = deadline.Timer(SpeedEstimate(lambda n: n / 1000, 1.0), 0.1)
    found = []
    for part in now.batches(asking()):
        found += part
        clock.now += 0.005 * len(part)
    assert 10 < len(found) <= 20 and asked[:-1] == found == list(iter_pieces(["NN"] * 1000, 5))[: len(found)]


@pytest.mark.skipif(SLOW, reason="minutes in plain Python, and the clock is what counts")
def test_dependencies(clock, monkeypatch):
    parser = DependencyParser(random_model())
    parse = DependencyParser.parse

    def slow(self, columns):
        clock.now += 0.001 * len(columns.words)
        return parse(self, columns)

    monkeypatch.setattr(DependencyParser, "parse", slow)
    rows = [row for one in SENTENCES for row in zip(*one[:4], strict=True)] * 20
    for seconds, n, done in ((1.0, 20, 20), (0.1, 60, 60), (0.02, 100, 20), (0.001, 12, 0)):
        columns = TokenColumns(*zip(*rows[:n], strict=True))
        timed = DependencyDeadline(parser, seconds)
        timed.speed()
        began = clock.now
        result = timed.parse(columns)
        assert clock.now - began <= seconds and is_tree((-1, *(head + 1 for head in result.heads)))
        assert result.deadline_exceeded == (done < n) and len(result.labels) == n
        if done == n:
            assert result == parser.parse(columns)
        else:
            assert len(set(result.heads[max(done, 1) :])) == 1, "the others hang on one token"


@pytest.mark.skipif(SLOW, reason="minutes in plain Python, and the clock is what counts")
def test_encoding_time_counts_where_dependencies_are_cut(clock, monkeypatch):
    parser = DependencyParser(random_model())
    parse, parsed = DependencyParser.parse, []

    def slow(self, columns):
        clock.now += 0.001 * len(columns.words)
        parsed.append(len(columns.words))
        return parse(self, columns)

    monkeypatch.setattr(DependencyParser, "parse", slow)
    rows = [row for one in SENTENCES for row in zip(*one[:4], strict=True)] * 40
    long, short = (TokenColumns(*zip(*rows[:n], strict=True)) for n in (200, 20))
    timed = DependencyDeadline(parser, 0.1)
    timed.speed()
    for spent, least, most in ((0.0, 75, 100), (0.04, 40, 60), (0.075, 10, 25), (7.0, 10, 25)):
        parsed.clear()
        began = clock.now
        assert timed.parse(long, spent).deadline_exceeded
        assert least < sum(parsed) <= most and clock.now - began <= max(0.1 - spent, 0.025) + 1e-9
        assert timed.parse(short, spent) == parser.parse(short), "what fits does not depend on it"
