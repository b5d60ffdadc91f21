"""Significance test between two parsers: the paired bootstrap (Efron & Tibshirani 1993; Koehn 2004)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ConfigError

Counts = tuple[int, int, int]


class BootstrapResult(NamedTuple):
    """Result of a bootstrap test. `difference`: F1 of a minus F1 of b on the corpus. `low`, `high`: its 95 % percentile
    interval. `p_value`: two-sided, the fraction of resamples whose difference is at least as far from the observed one
    as 0 is. `wins`: the fraction of resamples in which a is better. `sentences`: number of compared sentences."""

    difference: float
    low: float
    high: float
    p_value: float
    wins: float
    sentences: int


def paired_bootstrap(
    a: Sequence[Counts | None], b: Sequence[Counts | None], *, samples: int = 10_000, seed: int = 0
) -> BootstrapResult:
    """Compare two systems by (matched, gold, predicted) of each sentence, as in `ParsevalReport.counts`.

    Sentences for which either system has no counts are excluded. The same seed gives the same result.
    Raises ConfigError if the systems have different numbers of sentences, none in common, or if `samples` < 1.
    """
    if len(a) != len(b):
        raise ConfigError(f"{len(a)} and {len(b)} sentences; a paired test needs the same sentences for both")
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not pairs or samples < 1:
        raise ConfigError(f"{len(pairs)} common sentences, samples={samples}; a test needs at least 1 of each")
    counts = np.array(pairs, dtype=np.float64).reshape(len(pairs), 6)
    observed = float(_differences(counts.sum(axis=0, keepdims=True))[0])
    rng = np.random.default_rng(seed)
    drawn = np.empty(samples)
    step = max(1, 2_000_000 // len(pairs))  # resamples per block, to bound memory
    for start in range(0, samples, step):
        size = min(step, samples - start)
        chosen = rng.integers(0, len(pairs), size=(size, len(pairs)))
        chosen += np.arange(size)[:, None] * len(pairs)
        weights = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape)
        drawn[start : start + size] = _differences(weights.astype(np.float64) @ counts)
    low, high = np.quantile(drawn, (0.025, 0.975))
    extreme = int((np.abs(drawn - observed) >= abs(observed)).sum())
    p_value, wins = (extreme + 1) / (samples + 1), float((drawn > 0).mean())
    return BootstrapResult(observed, float(low), float(high), p_value, wins, len(pairs))


def _differences(sums: np.ndarray) -> np.ndarray:
    """Return F1 of a minus F1 of b for each row (matched, gold, predicted of a, then of b)."""
    brackets = sums[:, (1, 4)] + sums[:, (2, 5)]
    scores = 2 * sums[:, (0, 3)] / np.where(brackets == 0, 1, brackets)
    return scores[:, 0] - scores[:, 1]
