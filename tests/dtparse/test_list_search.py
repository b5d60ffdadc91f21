"""Lists of the k best trees in little memory and with a limit of time: the same lists as without these limits."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from spacy_dtparse.core.kbest import DEADLINE, NO_MORE
from spacy_dtparse.core.time_limit import TimeLimit
from spacy_dtparse.dtparse import list_search
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.dtparse.searcher import EXHAUSTIVE
from tests.jit.harness import KERNEL_MARKS, SLOW, STRATEGIES, hand_made, sentence

pytestmark = KERNEL_MARKS
N, K = (6, 5) if SLOW else (14, 40)


class Countdown(TimeLimit):
    """A limit that is over when it is asked for the n-th time. `part` returns the limit of the search; None: itself."""

    def __init__(self, n: int, search: TimeLimit | None = None):
        super().__init__()
        self.left, self.search = n, search

    def part(self, share: float) -> TimeLimit:
        return self.search or self

    def is_over(self) -> bool:
        self.left -= 1
        self.reached = self.reached or self.left <= 0
        return self.reached


@pytest.fixture
def small_arrays(monkeypatch):
    """Arrays that are full after a few states; returns a list with an entry for each removal of states."""
    removals = []

    def remove_states(agenda, max_queue):
        before = int(agenda.mark[4])
        lowest_cost = list_search_remove(agenda, max_queue)
        removals.append(before - int(agenda.mark[4]))
        return lowest_cost

    list_search_remove = list_search.remove_states
    monkeypatch.setattr(list_search, "remove_states", remove_states)
    monkeypatch.setattr(list_search, "MAX_STATES", 16)
    monkeypatch.setattr(list_search, "MAX_CACHE", 16)
    monkeypatch.setattr("spacy_dtparse.dtparse.kernels.batch.make_agenda", _small_agenda)
    return removals


def _small_agenda(n_tokens, max_nodes, queue_states, find_duplicates):
    from spacy_dtparse.dtparse.kernels.agenda import make_agenda

    agenda = make_agenda(n_tokens, max_nodes, queue_states, find_duplicates)
    return agenda._replace(states=agenda.states[:64], heap=agenda.heap[:64]) if queue_states else agenda


def make_parser(strategy: str, budget: int) -> tuple[DtreeParser, list[str], list[str]]:
    made = hand_made(strategy, ("NP", "VP", "TOP"), 3)
    words, tags = sentence(random.Random(4), N)
    return DtreeParser(made.model, replace(EXHAUSTIVE, budget=budget)), words, tags


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [1, 2000])
def test_removed_states_change_no_list(strategy: str, budget: int, request) -> None:
    parser, words, tags = make_parser(strategy, budget)
    expected = parser.parse_k_best(words, tags, K)
    removals = request.getfixturevalue("small_arrays")
    parser, _, _ = make_parser(strategy, budget)
    assert repr(parser.parse_k_best(words, tags, K)) == repr(expected)
    assert removals and (any(removals) or budget > 1)
    assert expected.reason == ("" if len(expected) == K else NO_MORE)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_limit_ends_the_search_with_the_parses_found_so_far(strategy: str, small_arrays) -> None:
    parser, words, tags = make_parser(strategy, 200 if SLOW else 2000)
    complete = parser.parse_k_best(words, tags, K)
    lengths = set()
    for n in (1, 2, 3, 5, 9, 17, 33, 65):
        found = parser.parse_k_best(words, tags, K, Countdown(n))
        lengths.add(len(found))
        assert repr(found[0]) == repr(complete[0])
        assert found.reason == ("" if len(found) == K else DEADLINE) or len(found) == len(complete)
        assert all(a.margin <= b.margin for a, b in itertools.pairwise(found))
        assert len({one.tree for one in found}) == len(found)
        optimal = [one.tree for one in found[1:] if one.status == "optimal"]
        assert set(optimal) <= {one.tree for one in complete}, "proven ones are among the best"
    assert 1 in lengths
    assert parser.parse_k_best(words, tags, K, TimeLimit(0.0)).reason == DEADLINE
    assert len(parser.parse_k_best(words, tags, K, TimeLimit(0.0))) == 1
    assert repr(parser.parse_k_best(words, tags, K, TimeLimit(1000.0))) == repr(complete)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_in_short_steps_finds_the_same_list(strategy: str, monkeypatch) -> None:
    parser, words, tags = make_parser(strategy, 200 if SLOW else 2000)
    steps, search = [], list_search.search_from
    monkeypatch.setattr(list_search, "search_from", lambda *given: steps.append(search(*given)) or steps[-1])
    expected = parser.parse_k_best(words, tags, K)
    n_steps = len(steps)
    monkeypatch.setattr(list_search, "_STEP", 16)
    assert repr(parser.parse_k_best(words, tags, K)) == repr(expected)
    assert len(steps) > n_steps + 10
    found = parser.parse_k_best(words, tags, K, Countdown(9, Countdown(3)))
    assert found.reason == DEADLINE, "the search returns often enough to be ended"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_limit_also_ends_the_making_of_trees(strategy: str) -> None:
    """The search has ended in time; the list is the beginning of the complete one."""
    parser, words, tags = make_parser(strategy, 200 if SLOW else 2000)
    complete = parser.parse_k_best(words, tags, K)
    lengths = []
    for n in (2, 4, 9, 1000) if SLOW else range(2, 2 * len(complete) + 8):
        limit = Countdown(n, TimeLimit())
        found = parser.parse_k_best(words, tags, K, limit)
        lengths.append(len(found))
        assert repr(list(found)) == repr(complete[: len(found)])
        assert (found.reason == DEADLINE) == limit.reached or len(found) == K
    assert lengths == sorted(lengths)
    assert lengths[0] <= 2
    assert lengths[-1] == len(complete)


def test_a_part_of_a_limit() -> None:
    limit = TimeLimit(1000.0)
    assert not limit.part(0.5).is_over()
    assert limit.part(0.0).is_over()
    assert not limit.reached
    assert not TimeLimit().part(0.5).is_over(), "no limit"
