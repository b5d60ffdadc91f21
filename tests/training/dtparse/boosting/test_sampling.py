"""Priority sampling: the same sample as by sorting, whatever the guess; unbiased sums."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import boosting as naive
from training.dtparse.boosting.sampling import PrioritySampler, first_guess, label_key, stream_keys, uniforms

pytestmark = pytest.mark.kernel


def weights_of(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    sign = np.where(rng.random(n) < 0.3, 1, -1)
    size = {
        "even": np.full(n, 0.25),
        "spread": np.exp(rng.normal(-3, 4, n)),
        "sparse": rng.random(n) * (rng.random(n) < 0.1),
    }[kind]
    return (sign * size).astype(np.float32)


def test_uniforms_are_those_of_the_reference_implementation_and_are_uniform():
    out = np.empty(512, np.float32)
    uniforms(1000, 500, np.uint64(123), np.uint64(0xFFFFFFFF), out)
    assert out[:500].tolist() == naive.uniforms(1500, 123, 0xFFFFFFFF)[1000:]
    draws = np.array(naive.uniforms(20000, *stream_keys(0, label_key("NP"), 7)))
    assert 0 < draws.min() and draws.max() < 1
    assert np.abs(np.histogram(draws, 20, (0, 1))[0] - 1000).max() < 5 * np.sqrt(950)


@pytest.mark.parametrize("kind", ["even", "spread", "sparse"])
@pytest.mark.parametrize("size", [1, 10, 150, 599, 600, 1000, None])
def test_sample_is_the_one_found_by_sorting(kind, size):
    rng = np.random.default_rng(3)
    weight = weights_of(kind, rng, 600)
    sampler = PrioritySampler(size)
    for draw in range(4):
        keys = stream_keys(1, label_key("VP"), draw)
        kept, new, threshold = naive.priority_sample(np.abs(weight).tolist(), size, naive.uniforms(600, *keys))
        sample = sampler.draw(weight, keys)
        assert sample.ids.tolist() == kept
        assert sample.weight.tolist() == new
        assert sample.threshold == threshold
        weight = weight * np.float32(rng.choice([1e-6, 0.5, 1e4]))  # last tree's threshold becomes a bad guess


def test_equal_priorities_keep_exactly_k_examples():
    weight = np.ones(50, np.float32)
    sampler = PrioritySampler(20)
    sample = sampler.draw(weight, (1, 2))
    assert len(sample.ids) == 20 and (np.diff(sample.ids) > 0).all()


def test_sums_of_any_subset_are_unbiased():
    rng = np.random.default_rng(0)
    weight = weights_of("spread", rng, 400)
    subset = rng.random(400) < 0.3
    true = float(np.abs(weight)[subset].sum(dtype=np.float64))
    sampler = PrioritySampler(60)
    estimates = []
    for draw in range(3000):
        sample = sampler.draw(weight, stream_keys(9, 1, draw))
        estimates.append(sample.weight[subset[sample.ids]].sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert error > 0 and abs(np.mean(estimates) - true) < 4 * error
    assert len(sample.ids) == 60


def test_keys_differ_by_seed_label_and_draw():
    keys = {stream_keys(s, label_key(name), d) for s in range(5) for name in ("NP", "VP", "PP") for d in range(50)}
    assert len(keys) == 5 * 3 * 50
    assert stream_keys(3, 4, 5) == stream_keys(3, 4, 5)


def test_first_guess_is_near_the_threshold():
    rng = np.random.default_rng(2)
    weight = weights_of("spread", rng, 50_000)
    sample = PrioritySampler(2000).draw(weight, (5, 6))
    assert 0.5 * sample.threshold < first_guess(weight, 2000) < 1.5 * sample.threshold
