"""Matrix products against numpy: sizes below and above a block's, and the same bits in any batch."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from spacy_dtparse.nn.kernels.products import (
    _COLUMNS,
    _ROWS,
    RoundedMatrix,
    _plain_multiply_rounded,
    integer_matrix,
    multiply,
    multiply_rounded,
    round_matrix,
)
from spacy_dtparse.nn.kernels.vectors import INT_LANES, LANES
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


def rounded_product(left: np.ndarray, matrix: RoundedMatrix) -> np.ndarray:
    around = np.full((len(left) + 2, len(matrix.factors)), 7, dtype=np.float32)
    multiply_rounded(left, matrix, around[1:-1])
    assert (around[[0, -1]] == 7).all(), "nothing is written beside the product"
    return around[1:-1]


INT_WIDTHS = sorted({1, 2, INT_LANES - 1, INT_LANES, INT_LANES + 1, 2 * INT_LANES, 2 * INT_LANES + 1, 5 * INT_LANES})


@pytest.mark.parametrize("n", INT_WIDTHS)
@pytest.mark.parametrize("m", HEIGHTS)
def test_products_of_rounded_matrices(m: int, n: int) -> None:
    for k in (1, 2, 9, 64):
        left, right = numbers(m, k, m), numbers(k, n, n)
        matrix = round_matrix(right)
        found, plain = rounded_product(left, matrix), np.empty((m, n), dtype=np.float32)
        _plain_multiply_rounded(left, matrix, plain)
        assert np.array_equal(found, plain), "the sums are exact, so the bits are equal"
        assert np.allclose(found, left.astype(float) @ right, atol=1e-3 * np.sqrt(k))


def test_no_sum_overflows() -> None:
    """All weights and all values of a row are as large as they can be."""
    for k in (1, 2, 7, 300, 5000):
        left, right = np.full((7, k), -3, dtype=np.float32), np.full((k, 3), 5, dtype=np.float32)
        right[:, 1] *= -1
        expected = -15.0 * k * np.array([1, -1, 1])
        assert np.allclose(rounded_product(left, round_matrix(right)), expected, rtol=2e-3)
        most = np.full((k, 3), 127, dtype=np.int8)
        product_of_integers = rounded_product(left, integer_matrix(most, np.ones(3, dtype=np.float32)))
        assert np.allclose(product_of_integers, -3.0 * 127 * k, rtol=2e-3)


def test_integers_are_not_rounded() -> None:
    values = np.random.default_rng(0).integers(-128, 128, (2, 9, 5)).astype(np.int8)
    factors = np.random.default_rng(1).random((2, 5)).astype(np.float32)
    matrix = integer_matrix(values, factors)
    assert np.array_equal(matrix.factors, factors)
    for layer in range(2):
        unpacked = matrix.pairs[layer].transpose(0, 2, 1).reshape(-1, 5)
        assert np.array_equal(unpacked[:9], values[layer]) and not unpacked[9].any()


def test_rounded_rows_do_not_depend_on_others() -> None:
    left, right = numbers(2 * _ROWS + 1, 57, 3), numbers(57, 2 * INT_LANES + 3, 4)
    left[5] *= 1000
    matrix = round_matrix(right)
    whole = rounded_product(left, matrix)
    for rows in (slice(0, 1), slice(3, 5), slice(1, 1 + _ROWS), slice(4, None)):
        assert np.array_equal(rounded_product(np.ascontiguousarray(left[rows]), matrix), whole[rows])


def test_zeros_and_empty_matrices() -> None:
    matrix = round_matrix(np.zeros((4, 3), dtype=np.float32))
    assert not rounded_product(numbers(2, 4, 0), matrix).any()
    assert not rounded_product(np.zeros((2, 4), dtype=np.float32), round_matrix(numbers(4, 3, 0))).any()
    assert rounded_product(numbers(0, 4, 0), matrix).shape == (0, 3)


def test_no_product_reads_memory_that_was_freed() -> None:
    """glibc overwrites what is freed here, or returns it to the system. Numba frees an array after its last use, also
    while a block still has its address; with 33 MB of rounded rows, those of 25,000 tokens, the process crashed."""
    code = (
        "import numpy as np\n"
        "from spacy_dtparse.nn.kernels.products import _plain_multiply_rounded, multiply_rounded, round_matrix\n"
        "for rows in (5, 700):\n"
        "    random = np.random.default_rng(rows)\n"
        "    left = random.standard_normal((rows, 63)).astype(np.float32)\n"
        "    matrix = round_matrix(random.standard_normal((63, 40)))\n"
        "    found, expected = np.empty((2, rows, 40), dtype=np.float32)\n"
        "    multiply_rounded(left, matrix, found)\n"
        "    _plain_multiply_rounded(left, matrix, expected)\n"
        "    assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)\n"
    )
    environment = {**os.environ, "MALLOC_PERTURB_": "165", "MALLOC_MMAP_THRESHOLD_": "16384"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)
