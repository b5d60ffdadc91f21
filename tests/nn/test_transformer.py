"""The functions of a transformer's layers against exact ones."""

from __future__ import annotations

import math

import numpy as np

from spacy_dtparse.jit.decorator import interpret_kernels
from spacy_dtparse.nn.kernels.transformer import exponential, gelu, normalize_row
from tests.jit.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS


def test_the_rectifier_is_exact_in_float32() -> None:
    numbers = np.linspace(-12, 12, 241, dtype=np.float32)
    expected = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in numbers.tolist()]
    assert np.allclose([gelu(x) for x in numbers], expected, atol=2e-6)
    with interpret_kernels():
        assert np.allclose(gelu(numbers), expected, atol=2e-6)
    assert gelu(np.float32(1e6)) == np.float32(1e6) and abs(gelu(np.float32(-1e6))) < 1


def test_the_exponential_is_close_and_bounded() -> None:
    for x in np.linspace(-12, 0, 121, dtype=np.float32):
        assert abs(exponential(x) / math.exp(x) - 1) < 1e-4
    assert exponential(np.float32(0)) == 1 and 0 <= exponential(np.float32(-1e30)) < 1e-16


def test_a_normalized_row_has_mean_0_and_variance_1() -> None:
    row = np.random.default_rng(0).standard_normal(37).astype(np.float32) * 5 + 2
    weights = np.random.default_rng(1).standard_normal((2, 37)).astype(np.float32)
    expected = (row - row.mean()) / row.std() * weights[0] + weights[1]
    normalize_row(row, weights)
    assert np.allclose(row, expected, atol=1e-5)
