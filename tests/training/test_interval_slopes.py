"""Beliefs that are known in part: the derivative pulls posteriors into their bounds, and no further."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.kernels.spans import tree_posteriors
from training.span.network import ROUNDED, interval_slopes

pytestmark = pytest.mark.kernel
N = 6


def scores_of(seed: int, scale: float = 1.5) -> np.ndarray:
    scores = np.triu(np.random.default_rng(seed).standard_normal((N + 1, N + 1)) * scale, 2)
    return scores.astype(REAL)


def kept(posteriors: np.ndarray, least: float) -> np.ndarray:
    """What is left of a teacher's posteriors in a shard."""
    return np.where(posteriors >= least, np.rint(posteriors * 255) / 255, 0).astype(REAL)


@pytest.mark.parametrize("seed", range(5))
def test_the_teachers_own_scores_are_within_all_bounds(seed: int) -> None:
    scores = scores_of(seed)
    lost, slopes = interval_slopes(scores, kept(tree_posteriors(scores)[1], 0.02), 0.02)
    assert lost == 0 and not slopes.any()


@pytest.mark.parametrize("seed", range(5))
def test_each_span_is_pulled_into_its_bounds(seed: int) -> None:
    teacher, student = tree_posteriors(scores_of(seed))[1], scores_of(seed + 100)
    believed, own = kept(teacher, 0.02), tree_posteriors(student)[1]
    lost, slopes = interval_slopes(student, believed, 0.02)
    places = [(i, j) for i in range(N + 1) for j in range(i + 2, N + 1)]
    out = []
    for i, j in places:
        low, high = (believed[i, j] - ROUNDED, believed[i, j] + ROUNDED) if believed[i, j] else (0.0, 0.02)
        out.append(own[i, j] - high if own[i, j] > high else own[i, j] - low if own[i, j] < low else 0.0)
    assert lost == pytest.approx(np.abs(out).sum() / 2, abs=1e-6) and lost > 0
    mean = np.mean(out)  # all scores together tell nothing, and are not moved
    assert [slopes[place] for place in places] == pytest.approx([x - mean for x in out], abs=1e-6)
    assert abs(slopes.sum()) < 1e-9 and not np.tril(slopes, 1).any()


def test_scores_stay_small_however_long_they_are_learned() -> None:
    believed = kept(tree_posteriors(scores_of(3, 4.0))[1], 0.02)  # sure spans, rounded to 1, beside others
    scores = np.zeros((N + 1, N + 1), dtype=REAL)
    for _ in range(5000):
        lost, slopes = interval_slopes(scores, believed, 0.02)
        scores -= (0.5 * slopes).astype(REAL)
    assert lost < 1e-3 and np.abs(scores).max() < 20
