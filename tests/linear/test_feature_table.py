"""The tables of feature keys against dicts."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.linear.kernels import feature_table
from spacy_dtparse.linear.kernels.feature_table import make_families, make_slots
from tests.jit.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS

find_slot = callable_from_python(feature_table.find_slot)
find_families = callable_from_python(feature_table.find_families)
find_features = callable_from_python(feature_table.find_features)
first_position = callable_from_python(feature_table.first_position)
bin_position = callable_from_python(feature_table.bin_position)
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


def test_keys_with_the_same_slot_are_stored_side_by_side() -> None:
    slots, _ = make_slots(np.zeros(0, np.uint64))
    wanted = [key for key in range(1, 2000) if find_slot(slots, np.uint64(key)) == len(slots) - 1][:5]
    keys = np.array(wanted, np.uint64)
    slots, numbers = make_slots(keys)
    found = [int(find_slot(slots, key)) for key in keys]
    assert found == [len(slots) - 1, 0, 1, 2, 3], "past the end it goes on at the start"
    assert numbers[found].tolist() == [0, 1, 2, 3, 4]


def test_features_are_those_of_the_keys_that_are_there() -> None:
    rng = np.random.default_rng(3)
    keys = np.unique(rng.integers(1, 2**60, 50, np.uint64))
    asked = rng.permutation(np.concatenate([keys, keys + np.uint64(1), rng.integers(1, 2**60, 30, np.uint64)]))
    held = {key: number for number, key in enumerate(keys.tolist())}
    features = np.full(len(asked), -7, np.int32)
    for count in (0, 1, 40, len(asked)):
        found = find_features(asked, count, *make_slots(keys), features)
        wanted = [held[key] for key in asked[:count].tolist() if key in held]
        assert found == len(wanted) and features[:found].tolist() == wanted


def reference_family(keys: np.ndarray, key: int) -> dict[int, int]:
    """Indices of a family's keys by bin, {} without a base key."""
    held = {key_: number for number, key_ in enumerate(keys.tolist())}
    return {which: held[key | which << 56] for which in range(16) if key | which << 56 in held} if key in held else {}


@pytest.mark.parametrize("count", [0, 1, 2, 9, 40, 1000])
def test_families_are_found_with_all_their_bins(count: int) -> None:
    rng = np.random.default_rng(count)
    base_keys = np.unique(np.concatenate([np.arange(1, count // 2 + 1), rng.integers(1, 2**55, count)]))
    base_keys = np.append(base_keys, 2**55 - 1) if count else base_keys[:0]
    bins = [
        base_keys[rng.random(len(base_keys)) < share] | which << 56 for which, share in enumerate((0.8, *[0.3] * 15))
    ]
    keys = rng.permutation(np.unique(np.concatenate(bins))).astype(np.uint64)
    table = make_families(keys)
    assert table.rows.dtype == np.uint64 and table.ids.dtype == np.int32 and len(table.ids) == len(keys) + 1
    wanted = np.concatenate([base_keys, rng.integers(1, 2**55, 50)]).astype(np.uint64)
    families, room = np.full(len(wanted) + 1, 7, np.uint64), np.empty((2, len(wanted)), np.uint64)
    find_families(table.rows, wanted, len(wanted), room, families)
    assert families[-1] == 7, "only as many as asked for"
    weights = table.weights(np.arange(1.0, len(keys) + 1.0))
    assert weights.dtype == np.float32 and weights[0] == 0.0
    without_base = 0
    for key, family in zip(wanted.tolist(), families, strict=False):
        expected = reference_family(keys, key)
        places = [first_position(family), *(bin_position(family, which) for which in range(1, 16))]
        assert {b: int(table.ids[place]) for b, place in enumerate(places) if place > 0} == expected
        assert [weights[place] for place in places] == [expected.get(b, -1) + 1 for b in range(16)]
        without_base += not expected and any(key | which << 56 in keys.tolist() for which in range(16))
    assert without_base > 0 or count < 40, "a family without a base key is not found"


def test_families_with_the_same_row_are_stored_side_by_side() -> None:
    rows = len(make_families(np.arange(1, 6, dtype=np.uint64)).rows)
    room, found = np.empty((2, 1), np.uint64), np.empty(1, np.uint64)

    def row_of(key: int) -> int:
        find_families(np.zeros((rows, 2), np.uint64), np.array([key], np.uint64), 1, room, found)
        return int(room[0, 0])

    keys = np.array([key for key in range(1, 2000) if row_of(key) == rows - 1][:5], np.uint64)
    table = make_families(keys)
    used = np.flatnonzero(table.rows[:, 0])
    assert used.tolist() == [0, 1, 2, 3, rows - 1], "past the end it goes on at the start"
    families = np.empty(5, np.uint64)
    find_families(table.rows, keys, 5, np.empty((2, 5), np.uint64), families)
    assert [int(table.ids[first_position(family)]) for family in families] == [0, 1, 2, 3, 4]
