"""The matrix products of the networks: of float32, and of int16, which takes half the time.

For a product of int16, a matrix of weights is rounded once, with a factor for each of its columns, and the other matrix
whenever it is multiplied, with a factor for each of its rows. The sums are exact, so the result has the same bits on
every processor.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import REAL
from ...jit.decorator import inner_kernel, kernel, noalloc_kernel
from .vectors import INT_LANES, LANES, make_block, make_int16_block

_ROWS, _COLUMNS = 6, 2 * LANES
"""Size of a block: its 12 sums, two vectors of the right matrix and one value of the left use 15 of 16 registers."""
_block, _narrow = make_block(_ROWS, 2), make_block(_ROWS, 1)
_row, _narrow_row, _single = make_block(1, 2), make_block(1, 1), make_block(1, 1, lanes=1)
_INT_COLUMNS = 2 * INT_LANES
_int_block, _int_narrow = make_int16_block(_ROWS, 2), make_int16_block(_ROWS, 1)
_int_row, _int_narrow_row = make_int16_block(1, 2), make_int16_block(1, 1)
_int_single = make_int16_block(1, 1, lanes=1)
_LARGEST = 8191
"""Largest absolute value of a rounded row."""
_WITHOUT_SIGN, _SMALLEST = np.int32(0x7FFFFFFF), REAL(1e-30)
_LARGEST_WEIGHT, _LARGEST_SUM = 32767, 2**31 - 1


def _plain_multiply(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Compute `multiply` in numpy, with sums in the same order."""
    out[:] = 0
    for p in range(len(right)):
        out += left[:, p : p + 1] * right[p]


@noalloc_kernel(plain=_plain_multiply)
def multiply(left, right, out):
    """Compute out = left @ right; float32 (m, k), (k, n), (m, n), rows contiguous.

    Each output is summed in order, so its bits do not depend on the other rows and columns. If the sizes are not
    multiples of a block's, the last blocks overlap the previous ones.
    """
    m, k = left.shape
    n = right.shape[1]
    if k == 0:
        out[:] = 0
        return
    a, b, c = left.ctypes.data, right.ctypes.data, out.ctypes.data
    a_step, b_step, c_step = left.strides[0], right.strides[0], out.strides[0]
    width = _COLUMNS if n >= _COLUMNS else LANES if n >= LANES else 1
    height = _ROWS if m >= _ROWS and width > 1 else 1
    for panel in range((n + width - 1) // width):
        column = min(panel * width, n - width)
        for strip in range((m + height - 1) // height):
            row = min(strip * height, m - height)  # at least 0, like `column`: no block is larger than the matrices
            block_arguments = a + row * a_step, a_step, b + 4 * column, b_step, c + row * c_step + 4 * column, c_step, k
            if width == 1:
                _single(*block_arguments)
            elif height == 1:
                _row(*block_arguments) if width == _COLUMNS else _narrow_row(*block_arguments)
            else:
                _block(*block_arguments) if width == _COLUMNS else _narrow(*block_arguments)


class RoundedMatrix(NamedTuple):
    """A matrix of weights (k, n), or several (layers, k, n), for `multiply_rounded`. `pairs` int16 (…, ⌈k / 2⌉, n, 2):
    rows 2 p and 2 p + 1 at p, the last 0 if k is odd; `factors` float32 (…, n): of the columns."""

    pairs: np.ndarray
    factors: np.ndarray


@kernel(no_cpython_wrapper=True)
def matrix_of_layer(matrices, layer):
    """One of several matrices, a RoundedMatrix of (k, n)."""
    return RoundedMatrix(matrices.pairs[layer], matrices.factors[layer])


def round_matrix(weights: np.ndarray) -> RoundedMatrix:
    """Round weights, float32 (…, k, n), to int16 as finely as sums of int32 allow."""
    weights = np.asarray(weights, dtype=np.float64)
    k = weights.shape[-2]
    absolute = np.abs(weights)
    factors = np.maximum(
        absolute.max(axis=-2) / _LARGEST_WEIGHT, absolute.sum(axis=-2) / (_LARGEST_SUM / _LARGEST - k / 2 - 1)
    )
    factors = np.maximum(factors, 1e-30)
    return _pack_pairs(np.rint(weights / factors[..., None, :]), factors)


def integer_matrix(values: np.ndarray, factors: np.ndarray) -> RoundedMatrix:
    """The matrix, or several, of whole numbers, int8 (…, k, n), times a factor for each column, float32 (…, n). It is
    exact if int32 is large enough for the sums."""
    if np.abs(values, dtype=np.int16).sum(axis=-2, dtype=np.int64).max(initial=0) * _LARGEST > _LARGEST_SUM:
        return round_matrix(values * factors[..., None, :])
    return _pack_pairs(values, factors)


def _pack_pairs(values: np.ndarray, factors: np.ndarray) -> RoundedMatrix:
    *layers, k, n = values.shape
    padded = np.zeros((*layers, k + k % 2, n), dtype=np.int16)
    padded[..., :k, :] = values
    pairs = np.swapaxes(padded.reshape(*layers, (k + 1) // 2, 2, n), -1, -2)
    return RoundedMatrix(np.ascontiguousarray(pairs), np.ascontiguousarray(factors, dtype=REAL))


@noalloc_kernel(fastmath={"nnan", "nsz"}, error_model="numpy")
def _round_rows(left, rounded, factors):
    """Round the rows of `left` float32 (m, k) to int16: `rounded` (m, k or k + 1, the last column 0 then) times
    `factors` float32 (m,)."""
    m, k = left.shape
    largest = REAL(_LARGEST)
    bits, factor_bits = left.view(np.int32), factors.view(np.int32)
    for t in range(m):
        row, row_bits, target = left[t], bits[t], rounded[t]
        # Without their sign, float32 are in the order of their bits, and a maximum of integers is vectorised.
        highest_bits = np.int32(0)
        for j in range(k):
            highest_bits = max(highest_bits, row_bits[j] & _WITHOUT_SIGN)
        factor_bits[t] = highest_bits
        highest = max(factors[t], _SMALLEST)
        scale = largest / highest
        for j in range(k):
            target[j] = np.int16(np.rint(row[j] * scale))
        if k < len(target):
            target[k] = 0
        factors[t] = highest / largest


def _plain_multiply_rounded(left: np.ndarray, matrix: RoundedMatrix, out: np.ndarray) -> None:
    """Compute `multiply_rounded` in numpy."""
    half, n, _ = matrix.pairs.shape
    rounded, factors = np.zeros((len(left), 2 * half), dtype=np.int16), np.empty(len(left), dtype=REAL)
    _round_rows(left, rounded, factors)
    weights = matrix.pairs.transpose(0, 2, 1).reshape(2 * half, n)
    sums = (rounded.astype(float) @ weights.astype(float)).astype(np.int32)  # float64 is exact here, and fast
    out[:] = sums.astype(REAL) * factors[:, None] * matrix.factors


@inner_kernel
def _multiply_pairs(rounded, factors, matrix, out):
    """Compute `multiply_rounded` for rounded rows. A kernel of its own, since numba frees an array after its last use,
    whoever has its address; the arrays of a caller live until the call returns."""
    m, n, half = rounded.shape[0], matrix.pairs.shape[1], matrix.pairs.shape[0]
    a, b, c = rounded.ctypes.data, matrix.pairs.ctypes.data, out.ctypes.data
    a_step, b_step, c_step = rounded.strides[0], matrix.pairs.strides[0], out.strides[0]
    width = _INT_COLUMNS if n >= _INT_COLUMNS else INT_LANES if n >= INT_LANES else 1
    height = _ROWS if m >= _ROWS and width > 1 else 1
    for panel in range((n + width - 1) // width):
        column = min(panel * width, n - width)
        for strip in range((m + height - 1) // height):
            row = min(strip * height, m - height)
            block_arguments = (
                a + row * a_step, a_step, b + 4 * column, b_step, c + row * c_step + 4 * column, c_step, half,
                factors.ctypes.data + 4 * row, matrix.factors.ctypes.data + 4 * column,
            )  # fmt: skip
            if width == 1:
                _int_single(*block_arguments)
            elif height == 1:
                _int_row(*block_arguments) if width == _INT_COLUMNS else _int_narrow_row(*block_arguments)
            else:
                _int_block(*block_arguments) if width == _INT_COLUMNS else _int_narrow(*block_arguments)


@kernel(error_model="numpy", plain=_plain_multiply_rounded)
def multiply_rounded(left, matrix, out):
    """Compute out = left @ matrix, with the rows of `left` rounded to 14 bits; float32 (m, k), RoundedMatrix of (k, n),
    float32 (m, n), rows contiguous. The bits of a row do not depend on the other rows."""
    m, half = left.shape[0], matrix.pairs.shape[0]
    rounded, factors = np.empty((m, 2 * half), dtype=np.int16), np.empty(m, dtype=REAL)
    _round_rows(left, rounded, factors)
    _multiply_pairs(rounded, factors, matrix, out)
