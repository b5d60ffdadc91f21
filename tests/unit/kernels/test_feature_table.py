"""The table of feature keys against a dict."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.kernels import feature_table
from spacy_dtparse.kernels.feature_table import make_slots
from spacy_dtparse.kernels.jit import from_python
from tests.unit.kernels.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS

find_slot = from_python(feature_table.find_slot)
MOST = 2**64 - 1


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 300])
def test_every_key_is_found_and_no_other(count: int) -> None:
    rng = np.random.default_rng(count)
    near = np.arange(1, count // 2 + 1, dtype=np.uint64)  # neighbours, and keys that differ in their highest bits only
    keys = np.unique(np.concatenate([near, near << np.uint64(56), rng.integers(1, MOST, count, np.uint64, True)]))
    keys = rng.permutation(np.append(keys, np.uint64(MOST)) if count and keys[-1] != MOST else keys)
    slots, numbers = make_slots(keys)
    assert slots.dtype == np.uint64 and numbers.dtype == np.int32 and slots.shape == numbers.shape
    assert len(slots) & (len(slots) - 1) == 0 and len(slots) >= max(16, 2 * len(keys)), "at most half full"
    assert np.count_nonzero(slots) == len(keys)
    for place, key in enumerate(keys):
        slot = find_slot(slots, key)
        assert slots[slot] == key and numbers[slot] == place
    held = set(keys.tolist())
    for key in (*range(1000, 1100), MOST - 1, *((number << 48) + 5 for number in range(1, 50))):
        if key not in held:
            assert slots[find_slot(slots, np.uint64(key))] == 0, "where it would go"


def test_keys_that_want_the_same_slot_stand_side_by_side() -> None:
    slots, _ = make_slots(np.zeros(0, np.uint64))
    wanted = [key for key in range(1, 2000) if find_slot(slots, np.uint64(key)) == len(slots) - 1][:5]
    keys = np.array(wanted, np.uint64)
    slots, numbers = make_slots(keys)
    found = [int(find_slot(slots, key)) for key in keys]
    assert found == [len(slots) - 1, 0, 1, 2, 3], "past the end it goes on at the start"
    assert numbers[found].tolist() == [0, 1, 2, 3, 4]
