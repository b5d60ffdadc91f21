"""Matrix products against numpy: sizes below and above a block's, and the same bits in any batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import codegen

from spacy_dtparse.nn.kernels.products import (
    _COLUMNS,
    _ROWS,
    RoundedMatrix,
    _plain_multiply_int8,
    _plain_multiply_int16,
    integer_matrix,
    multiply,
    multiply_int8,
    multiply_int16,
    round_columns,
    round_to_int8,
    round_to_int16,
)
from spacy_dtparse.nn.kernels.vectors import HAS_INT8_PRODUCTS, INT_LANES, LANES
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


def rounded_product(left: np.ndarray, matrix: RoundedMatrix, multiply_rounded: Any = multiply_int16) -> np.ndarray:
    around = np.full((len(left) + 2, len(matrix.factors)), 7, dtype=np.float32)
    multiply_rounded(left, matrix, around[1:-1])
    assert (around[[0, -1]] == 7).all(), "nothing is written beside the product"
    return around[1:-1]


INT_WIDTHS = sorted({1, 2, INT_LANES - 1, INT_LANES, INT_LANES + 1, 2 * INT_LANES, 2 * INT_LANES + 1, 5 * INT_LANES})
KINDS = pytest.mark.parametrize(
    "round_weights, multiply_rounded, plain_multiply, error",
    [
        (round_to_int16, multiply_int16, _plain_multiply_int16, 1e-3),
        (round_to_int8, multiply_int8, _plain_multiply_int8, 0.05),
    ],
    ids=["int16", "int8"],
)


@pytest.mark.parametrize("n", INT_WIDTHS)
@pytest.mark.parametrize("m", HEIGHTS)
@KINDS
def test_products_of_rounded_matrices(
    m: int, n: int, round_weights: Any, multiply_rounded: Any, plain_multiply: Any, error: float
) -> None:
    for k in (1, 2, 9, 64):
        left, right = numbers(m, k, m), numbers(k, n, n)
        matrix = round_weights(right)
        found, plain = rounded_product(left, matrix, multiply_rounded), np.empty((m, n), dtype=np.float32)
        plain_multiply(left, matrix, plain)
        assert np.array_equal(found, plain), "the sums are exact, so the bits are equal"
        assert np.allclose(found, left.astype(float) @ right, atol=error * np.sqrt(k))


@KINDS
def test_no_sum_overflows(round_weights: Any, multiply_rounded: Any, plain_multiply: Any, error: float) -> None:
    """All weights and all values of a row are as large as they can be."""
    for k in (1, 2, 7, 300, 5000):
        left, right = np.full((7, k), -3, dtype=np.float32), np.full((k, 3), 5, dtype=np.float32)
        right[:, 1] *= -1
        expected = -15.0 * k * np.array([1, -1, 1])
        for sign in (1, -1):
            product_here = rounded_product(sign * left, round_weights(right), multiply_rounded)
            assert np.allclose(product_here, sign * expected, rtol=2e-3)
        most = np.full((k, 3), 127, dtype=np.int8)
        product_of_integers = rounded_product(left, integer_matrix(most, np.ones(3, dtype=np.float32)))
        assert np.allclose(product_of_integers, -3.0 * 127 * k, rtol=2e-3)


def test_integers_are_not_rounded() -> None:
    values = np.random.default_rng(0).integers(-128, 128, (2, 9, 5)).astype(np.int8)
    factors = np.random.default_rng(1).random((2, 5)).astype(np.float32)
    matrix = integer_matrix(values, factors)
    assert np.array_equal(matrix.factors, factors) and not matrix.shifts.any()
    for layer in range(2):
        unpacked = matrix.groups[layer].transpose(0, 2, 1).reshape(-1, 5)
        assert np.array_equal(unpacked[:9], values[layer]) and not unpacked[9].any()


def test_a_rounded_matrix_is_rounded_to_itself() -> None:
    weights = numbers(40, 30, 5)
    weights[:, 3] = 0
    values, factors = round_columns(weights)
    assert values.dtype == np.int8 and np.abs(values[:, np.arange(30) != 3]).max(axis=0).min() == 127
    assert np.allclose(values * factors, weights, atol=0.02)
    again, factors_again = round_columns(values * factors)
    assert np.array_equal(again, values) and np.allclose(factors_again, factors, rtol=1e-6)


@KINDS
def test_rounded_rows_do_not_depend_on_others(
    round_weights: Any, multiply_rounded: Any, plain_multiply: Any, error: float
) -> None:
    left, right = numbers(2 * _ROWS + 1, 57, 3), numbers(57, 2 * INT_LANES + 3, 4)
    left[5] *= 1000
    matrix = round_weights(right)
    whole = rounded_product(left, matrix, multiply_rounded)
    for rows in (slice(0, 1), slice(3, 5), slice(1, 1 + _ROWS), slice(4, None)):
        part = rounded_product(np.ascontiguousarray(left[rows]), matrix, multiply_rounded)
        assert np.array_equal(part, whole[rows])


@KINDS
def test_zeros_and_empty_matrices(round_weights: Any, multiply_rounded: Any, plain_multiply: Any, error: float) -> None:
    matrix = round_weights(np.zeros((4, 3), dtype=np.float32))
    assert not rounded_product(numbers(2, 4, 0), matrix, multiply_rounded).any()
    right = round_weights(numbers(4, 3, 0))
    assert not rounded_product(np.zeros((2, 4), dtype=np.float32), right, multiply_rounded).any()
    assert rounded_product(numbers(0, 4, 0), matrix, multiply_rounded).shape == (0, 3)


DIGEST = """
import hashlib
import numpy as np
from spacy_dtparse.nn.kernels.products import multiply_int8, round_to_int8
from spacy_dtparse.nn.kernels.vectors import HAS_INT8_PRODUCTS, INT_LANES
digest = hashlib.sha256()
for m, k, n in ((1, 1, 1), (7, 30, 5), (13, 63, 71), (6, 240, 96)):
    random = np.random.default_rng(m)
    out = np.empty((m, n), dtype=np.float32)
    left = random.standard_normal((m, k)).astype(np.float32)
    multiply_int8(left, round_to_int8(random.standard_normal((k, n)).astype(np.float32)), out)
    digest.update(out.tobytes())
print(INT_LANES, HAS_INT8_PRODUCTS, digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not codegen.get_host_cpu_features().startswith(("+", "-")), reason="LLVM does not know the processor"
)
def test_products_of_int8_have_the_same_bits_on_processors_with_fewer_instructions(tmp_path: Path) -> None:
    """As for a processor without the instruction for int8, and for one without AVX."""
    found = {}
    host = codegen.get_host_cpu_features().split(",")
    for without in ((), ("vnni",), ("avx512", "vnni"), ("avx", "fma", "vnni")):
        features = ["-" + f[1:] if any(part in f for part in without) else f for f in host]
        environment = {**os.environ, "NUMBA_CPU_FEATURES": ",".join(features), "NUMBA_CACHE_DIR": str(tmp_path)}
        code = subprocess.run(
            [sys.executable, "-c", DIGEST], env=environment, check=True, timeout=300, capture_output=True, text=True
        )
        lanes, has_products, digest = code.stdout.split()
        found[int(lanes), has_products] = digest
    assert len(found) > 1 or not any(f.startswith("+avx") for f in host), "the features have an effect"
    assert (INT_LANES, str(HAS_INT8_PRODUCTS)) in found
    assert len(set(found.values())) == 1


def test_no_product_reads_memory_that_was_freed() -> None:
    """glibc overwrites what is freed here, or returns it to the system. Numba frees an array after its last use, also
    while a block still has its address; with 33 MB of rounded rows, those of 25,000 tokens, the process crashed."""
    code = (
        "import numpy as np\n"
        "from spacy_dtparse.nn.kernels.products import _plain_multiply_int16, multiply_int16, round_to_int16\n"
        "for rows in (5, 700):\n"
        "    random = np.random.default_rng(rows)\n"
        "    left = random.standard_normal((rows, 63)).astype(np.float32)\n"
        "    matrix = round_to_int16(random.standard_normal((63, 40)))\n"
        "    found, expected = np.empty((2, rows, 40), dtype=np.float32)\n"
        "    multiply_int16(left, matrix, found)\n"
        "    _plain_multiply_int16(left, matrix, expected)\n"
        "    assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)\n"
    )
    environment = {**os.environ, "MALLOC_PERTURB_": "165", "MALLOC_MMAP_THRESHOLD_": "16384"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)
