"""A cache of scores that grows keeps what it has."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.kernels.trees.score import CACHE_ENTRY, grow_cache, make_cache
from tests.unit.kernels.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("used", [0, 1, 7, 16])
def test_a_grown_cache_has_the_same_content(used):
    rng = np.random.default_rng(used)
    cache = make_cache(32, 3)
    cache.used[0] = used
    cache.scores[:used] = rng.random((used, 3))
    keys = (rng.permutation(60)[:used].astype(np.uint64) + np.uint64(1)) << np.uint64(29)  # some want the same place
    for row, key in enumerate(keys):
        at = int(key >> np.uint64(29)) % 32
        while cache.entries[at]["key"]:
            at = (at + 1) % 32
        cache.entries[at] = np.array((key, row), CACHE_ENTRY)
    bigger = grow_cache(cache)
    assert len(bigger.entries) == 64 and bigger.scores.shape == (32, 3) and bigger.used.tolist() == [used]
    assert np.array_equal(bigger.scores[:used], cache.scores[:used])
    assert sorted(bigger.entries[bigger.entries["key"] != 0].tolist()) == sorted(
        (int(key), row) for row, key in enumerate(keys)
    )
    for row, key in enumerate(keys):
        at = int(key >> np.uint64(29)) % 64
        while bigger.entries[at]["key"] != key:
            assert bigger.entries[at]["key"], "it would not be found"
            at = (at + 1) % 64
        assert bigger.entries[at]["row"] == row
