"""The agenda's arrays: the slots of stored states, and the table of states met."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.dtparse.kernels import agenda
from spacy_dtparse.dtparse.kernels.score import make_cache
from tests.jit.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS
POSITIONS = (
    "CURRENT LOW CURSOR SIZE N_STATES N_HEAP N_VISITED QUEUED_FROM N_ENDS N_TRIED FIRST SCORED EXPANDED RESUMED "
    "NEED_STATES NEED_VISITED NEED_CACHE STARTED"
)


def test_each_stored_state_has_a_slot():
    places = [getattr(agenda, name) for name in POSITIONS.split()]
    assert sorted(places) == [*range(agenda._N_MARKS)]


def test_a_larger_table_keeps_all_states():
    full, bigger = np.zeros(8, dtype=agenda.VISITED), np.zeros(32, dtype=agenda.VISITED)
    full["key"], full["cost"] = (np.arange(1, 9, dtype=np.uint64) << np.uint64(40)) + np.uint64(1), range(8)
    agenda._rehash(full, bigger)
    there = bigger[bigger["key"] != agenda.EMPTY]
    assert sorted(there.tolist()) == full.tolist()


NEEDS = {"states": agenda.NEED_STATES, "met": agenda.NEED_VISITED, "cache": agenda.NEED_CACHE}


def lengths(rooms) -> dict[str, int]:
    return {"states": len(rooms[0].states), "met": len(rooms[0].visited), "cache": len(rooms[1].scores)}


@pytest.mark.parametrize("name", NEEDS)
def test_only_arrays_that_are_too_short_grow(name):
    """An array that just fits stays the same object; one that lacks one slot is replaced, with all its contents."""
    some, cache = agenda.make_agenda(5, 50, True, True), make_cache(64, 3)
    before = lengths((some, cache))
    some.states["cost"] = np.arange(len(some.states))
    some.heap[:] = np.arange(len(some.heap))
    for of, place in NEEDS.items():
        some.mark[place] = before[of]
    same, same_cache = agenda.enlarge(some, cache)
    assert all(one is other for one, other in zip((*same, *same_cache), (*some, *cache), strict=True))
    some.mark[NEEDS[name]] += 1
    more, more_cache = agenda.enlarge(some, cache)
    after = lengths((more, more_cache))
    assert {of for of in after if after[of] > before[of]} == {name} and after[name] <= 2 * before[name] + 2
    assert len(more.heap) == len(more.states)
    assert np.array_equal(more.states["cost"][: before["states"]], some.states["cost"])
    assert np.array_equal(more.heap[: before["states"]], some.heap)
    assert more.path is some.path and more.mark is some.mark and more.ends is some.ends


def test_a_greedy_search_has_no_heap_that_grows():
    some = agenda.make_agenda(5, 50, False, False)
    some.mark[agenda.NEED_STATES] = len(some.states) + 1
    more, _ = agenda.enlarge(some, make_cache(2, 3))
    assert len(more.states) > len(some.states) and more.heap is some.heap and len(some.heap) == 1
