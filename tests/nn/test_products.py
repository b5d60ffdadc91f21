"""Matrix products against numpy: sizes below and above a block's, and the same bits in any batch."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.nn.kernels.products import _COLUMNS, _ROWS, multiply
from spacy_dtparse.nn.kernels.vectors import LANES
from tests.jit.harness import KERNEL_MARKS

pytestmark = KERNEL_MARKS

WIDTHS = sorted({1, 2, LANES - 1, LANES, LANES + 1, _COLUMNS - 1, _COLUMNS, _COLUMNS + 1, 3 * _COLUMNS - 3})
HEIGHTS = sorted({1, 2, _ROWS - 1, _ROWS, _ROWS + 1, 2 * _ROWS, 3 * _ROWS - 1})


def numbers(rows: int, columns: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    around = np.full((len(left) + 2, right.shape[1]), 7, dtype=np.float32)
    multiply(left, right, around[1:-1])
    assert (around[[0, -1]] == 7).all(), "nothing is written beside the product"
    return around[1:-1]


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("m", HEIGHTS)
def test_products_are_those_of_numpy(m: int, n: int) -> None:
    for k in (1, 2, 9):
        left, right = numbers(m, k, m), numbers(k, n, n)
        assert np.allclose(product(left, right), left.astype(float) @ right, atol=1e-5)


def test_nothing_to_sum_gives_zero() -> None:
    assert (product(numbers(3, 0, 0), numbers(0, 4, 0)) == 0).all()


def test_rows_of_other_arrays() -> None:
    """Views of whole rows of larger arrays, as a kernel passes them."""
    left, right = numbers(9, 5, 1), numbers(7, 40, 2)
    assert np.array_equal(product(left[2:9], right[1:6]), product(left[2:9].copy(), right[1:6].copy()))


def test_a_result_has_the_same_bits_in_any_batch() -> None:
    left, right = numbers(2 * _ROWS + 1, 57, 3), numbers(57, 2 * _COLUMNS + 3, 4)
    whole = product(left, right)
    for rows in (slice(0, 1), slice(3, 5), slice(1, 1 + _ROWS), slice(4, None)):
        for columns in (slice(0, 1), slice(5, 5 + LANES), slice(2, 2 + _COLUMNS), slice(7, None)):
            part = product(np.ascontiguousarray(left[rows]), np.ascontiguousarray(right[:, columns]))
            assert np.array_equal(part, whole[rows, columns])
