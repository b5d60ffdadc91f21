"""The agenda's arrays: the places where a search stands, and the table of states met."""

from __future__ import annotations

import numpy as np

from spacy_dtparse.kernels.trees import agenda
from tests.unit.kernels.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS
PLACES = (
    "CURRENT LOW CURSOR SIZE N_STATES N_HEAP N_MET QUEUED_FROM N_ENDS N_TRIED FIRST SCORED EXPANDED RESUMED "
    "NEED_STATES NEED_MET NEED_CACHE BEGUN"
)


def test_what_a_search_keeps_has_a_place_of_its_own():
    places = [getattr(agenda, name) for name in PLACES.split()]
    assert sorted(places) == [*range(agenda._MARKS)]


def test_a_larger_table_has_all_states_met():
    full, bigger = np.zeros(8, dtype=agenda.MET), np.zeros(32, dtype=agenda.MET)
    full["key"], full["cost"] = (np.arange(1, 9, dtype=np.uint64) << np.uint64(40)) + np.uint64(1), range(8)
    agenda._rehash(full, bigger)
    there = bigger[bigger["key"] != agenda.EMPTY]
    assert sorted(there.tolist()) == full.tolist()
