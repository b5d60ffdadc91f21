"""The paired bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.scoring import paired_bootstrap


def system(share: float, seed: int, n: int = 200) -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(seed)
    return [(int(matched), 20, 20) for matched in rng.binomial(20, share, size=n)]


def test_equal_systems():
    a = system(0.8, 1)
    result = paired_bootstrap(a, a, samples=500)
    assert result.difference == 0
    assert result.p_value == 1
    assert result.wins == 0
    assert (result.low, result.high) == (0, 0)


def test_clear_difference():
    result = paired_bootstrap(system(0.9, 1), system(0.7, 2), samples=2000)
    assert result.difference == pytest.approx(0.2, abs=0.03)
    assert result.low < result.difference < result.high
    assert result.low > 0.1
    assert result.p_value == pytest.approx(1 / 2001)
    assert result.wins == 1
    other = paired_bootstrap(system(0.7, 2), system(0.9, 1), samples=2000)
    assert other.difference == -result.difference
    assert other.wins == 0


def test_p_values_of_equally_good_systems_are_spread():
    p_values = [paired_bootstrap(system(0.8, s), system(0.8, 1000 + s), samples=300).p_value for s in range(60)]
    below = sum(p < 0.1 for p in p_values) / len(p_values)
    assert below <= 0.25  # about 0.1 expected
    assert max(p_values) > 0.7


def test_seeded():
    a, b = system(0.8, 1), system(0.79, 2)
    assert paired_bootstrap(a, b, samples=300, seed=4) == paired_bootstrap(a, b, samples=300, seed=4)
    assert paired_bootstrap(a, b, samples=300, seed=4) != paired_bootstrap(a, b, samples=300, seed=5)


def test_missing_sentences_are_left_out():
    a, b = system(0.8, 1, 10), system(0.7, 2, 10)
    result = paired_bootstrap([None, *a], [(1, 1, 1), *b], samples=100)
    assert result == paired_bootstrap(a, b, samples=100)
    assert result.sentences == 10


def test_sentences_without_brackets():
    result = paired_bootstrap([(0, 0, 0)] * 3, [(0, 0, 0)] * 3, samples=10)
    assert result.difference == 0


def test_bad_input():
    with pytest.raises(ConfigError, match="2 and 1 sentences"):
        paired_bootstrap([(1, 1, 1)] * 2, [(1, 1, 1)])
    with pytest.raises(ConfigError, match="0 common sentences"):
        paired_bootstrap([None], [(1, 1, 1)])
    with pytest.raises(ConfigError, match="samples=0"):
        paired_bootstrap([(1, 1, 1)], [(1, 1, 1)], samples=0)
