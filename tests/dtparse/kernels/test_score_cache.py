"""A cache of scores: which windows count as the same, and that entries survive when it grows."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.dtparse.kernels import score
from spacy_dtparse.dtparse.kernels.score import CACHE_ENTRY, grow_cache, make_cache
from spacy_dtparse.dtparse.model.model import FILTER_REACH, make_grammar
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.trees.heads import COLLINS
from tests.jit.harness import KERNEL_MARKS, KernelState, small_lexicon
from tests.reference.states import STRATEGIES, Rules

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


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_windows_are_the_same_where_nothing_differs_that_templates_see(strategy):
    """Two states that differ in one item, for the distances that templates look to the left and right. Under
    shift_reduce everything to the left is determined by the tokens."""
    lexicon, key = small_lexicon(), callable_from_python(score._window_key)
    n, i, j = 10, 4, 6
    rules = Rules("r2l", lexicon.labels.strings, COLLINS, 3)
    for at in range(n):
        one = KernelState.start(rules, lexicon, ("cat",) * n, ("NN",) * n)
        other = one.copy()
        other.apply(at, at + 1, "NP")
        for left in range(5):
            for right in range(5):
                grammar = make_grammar(strategy, 3, True, len(lexicon.labels), left, right)
                keys = [int(key(grammar, of.view(), i, j, np.uint64(7))) for of in (one, other)]
                first = i if strategy == "shift_reduce" else i - max(left, FILTER_REACH)
                seen = first <= at < j + right
                assert (keys[0] != keys[1]) == seen
