"""The matrix products of the networks: of float32, of int16, which takes half the time, and of int8, which takes half
of that on processors with an instruction for it.

For a product of integers, a matrix of weights is rounded once, with a factor for each of its columns, and the other
matrix whenever it is multiplied, with a factor for each of its rows. The sums are exact, so the result has the same
bits on every processor.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import REAL
from ...jit.decorator import inner_kernel, kernel, noalloc_kernel
from .vectors import HAS_INT8_PRODUCTS, INT_LANES, LANES, make_block, make_integer_block

_ROWS, _COLUMNS = 6, 2 * LANES
"""Size of a block: its 12 sums, two vectors of the right matrix and one value of the left use 15 of 16 registers."""
_block, _narrow = make_block(_ROWS, 2), make_block(_ROWS, 1)
_row, _narrow_row, _single = make_block(1, 2), make_block(1, 1), make_block(1, 1, lanes=1)
_INT_COLUMNS = 2 * INT_LANES
_int_block, _int_narrow = make_integer_block(_ROWS, 2), make_integer_block(_ROWS, 1)
_int_row, _int_narrow_row = make_integer_block(1, 2), make_integer_block(1, 1)
_int_single = make_integer_block(1, 1, lanes=1)
_LARGEST, _LARGEST_INT8 = REAL(8191), REAL(127)
"""Largest absolute values of a row that is rounded to int16, and to int8."""
_WITHOUT_SIGN, _SMALLEST = np.int32(0x7FFFFFFF), REAL(1e-30)
_LARGEST_WEIGHT, _LARGEST_SUM = 32767, 2**31 - 1
_INT8_ROW, _INT8_GROUP, _SHIFT = (np.uint8, 4, 128) if HAS_INT8_PRODUCTS else (np.int16, 2, 0)
"""Rows that are rounded to int8: their type, the number of values in a group, and what is added to each value. The
instruction multiplies uint8 by int8; without it, products of int16 have the same bits."""


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
    """A matrix of weights (k, n), or several (layers, k, n), as whole numbers. `groups` int16 or int8 (…, groups, n,
    size): rows p · size, … at p, filled up with 0; `factors` float32 (…, n): of the columns; `shifts` int32 (…, n): to
    be subtracted from the sums of the columns, since something is added to each value of the other matrix.
    """

    groups: np.ndarray
    factors: np.ndarray
    shifts: np.ndarray


@kernel(no_cpython_wrapper=True)
def matrix_of_layer(matrices, layer):
    """One of several matrices, a RoundedMatrix of (k, n)."""
    return RoundedMatrix(matrices.groups[layer], matrices.factors[layer], matrices.shifts[layer])


def round_to_int16(weights: np.ndarray) -> RoundedMatrix:
    """Round weights, float32 (…, k, n), for `multiply_int16`, as finely as sums of int32 allow."""
    weights = np.asarray(weights, dtype=np.float64)
    k = weights.shape[-2]
    absolute = np.abs(weights)
    factors = np.maximum(
        absolute.max(axis=-2) / _LARGEST_WEIGHT, absolute.sum(axis=-2) / (_LARGEST_SUM / float(_LARGEST) - k / 2 - 1)
    )
    factors = np.maximum(factors, 1e-30)
    return _group(np.rint(weights / factors[..., None, :]), factors, 2, np.int16)


def integer_matrix(values: np.ndarray, factors: np.ndarray) -> RoundedMatrix:
    """The matrix, or several, of whole numbers, int8 (…, k, n), times a factor for each column, float32 (…, n), for
    `multiply_int16`. It is exact if int32 is large enough for the sums."""
    if np.abs(values, dtype=np.int16).sum(axis=-2, dtype=np.int64).max(initial=0) * float(_LARGEST) > _LARGEST_SUM:
        return round_to_int16(values * factors[..., None, :])
    return _group(values, factors, 2, np.int16)


def round_columns(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round weights, float32 (…, k, n), to int8: (values of the same shape, factors of the columns, float32 (…, n)).
    Rounding values times factors again gives the same values."""
    largest = np.abs(weights).max(axis=-2, initial=0)
    factors = (np.maximum(largest, 1e-30) / _LARGEST_INT8).astype(REAL)
    return np.rint(weights / factors[..., None, :]).astype(np.int8), factors


def round_to_int8(weights: np.ndarray) -> RoundedMatrix:
    """Round weights, float32 (…, k, n), for `multiply_int8`."""
    values, factors = round_columns(weights)
    return _group(values, factors, _INT8_GROUP, np.int8 if HAS_INT8_PRODUCTS else np.int16, _SHIFT)


def _group(values: np.ndarray, factors: np.ndarray, size: int, dtype: type, shift: int = 0) -> RoundedMatrix:
    *layers, k, n = values.shape
    n_groups = -(-k // size)
    padded = np.zeros((*layers, n_groups * size, n), dtype=dtype)
    padded[..., :k, :] = values
    groups = np.swapaxes(padded.reshape(*layers, n_groups, size, n), -1, -2)
    shifts = shift * padded.sum(axis=-2, dtype=np.int32)
    return RoundedMatrix(np.ascontiguousarray(groups), np.ascontiguousarray(factors, dtype=REAL), shifts)


@noalloc_kernel(fastmath={"nnan", "nsz"}, error_model="numpy")
def _round_rows(left, rounded, factors, largest, shift):
    """Round the rows of `left` float32 (m, k) to integers up to `largest`: `rounded` int16 or uint8 (m, k or more, the
    rest 0 then), minus `shift`, times `factors` float32 (m,)."""
    m, k = left.shape
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
            target[j] = np.int32(np.rint(row[j] * scale)) + shift
        for j in range(k, len(target)):
            target[j] = 0
        factors[t] = highest / largest


def _plain_product(left: np.ndarray, matrix: RoundedMatrix, largest: np.float32, out: np.ndarray) -> None:
    n_groups, n, size = matrix.groups.shape
    rounded, factors = np.zeros((len(left), n_groups * size), dtype=np.int16), np.empty(len(left), dtype=REAL)
    _round_rows(left, rounded, factors, largest, np.int32(0))
    weights = matrix.groups.transpose(0, 2, 1).reshape(n_groups * size, n)
    sums = (rounded.astype(float) @ weights.astype(float)).astype(np.int32)  # float64 is exact here, and fast
    out[:] = sums.astype(REAL) * factors[:, None] * matrix.factors


def _plain_multiply_int16(left: np.ndarray, matrix: RoundedMatrix, out: np.ndarray) -> None:
    """Compute `multiply_int16` in numpy."""
    _plain_product(left, matrix, _LARGEST, out)


def _plain_multiply_int8(left: np.ndarray, matrix: RoundedMatrix, out: np.ndarray) -> None:
    """Compute `multiply_int8` in numpy."""
    _plain_product(left, matrix, _LARGEST_INT8, out)


@inner_kernel
def _multiply_groups(rounded, factors, matrix, out):
    """Compute a product for rounded rows. A kernel of its own, since numba frees an array after its last use, whoever
    has its address; the arrays of a caller live until the call returns."""
    m, n, n_groups = rounded.shape[0], matrix.groups.shape[1], matrix.groups.shape[0]
    a, b, c = rounded.ctypes.data, matrix.groups.ctypes.data, out.ctypes.data
    a_step, b_step, c_step = rounded.strides[0], matrix.groups.strides[0], out.strides[0]
    width = _INT_COLUMNS if n >= _INT_COLUMNS else INT_LANES if n >= INT_LANES else 1
    height = _ROWS if m >= _ROWS and width > 1 else 1
    for panel in range((n + width - 1) // width):
        column = min(panel * width, n - width)
        for strip in range((m + height - 1) // height):
            row = min(strip * height, m - height)
            block_arguments = (
                rounded, a + row * a_step, a_step, b + 4 * column, b_step, c + row * c_step + 4 * column, c_step,
                n_groups, factors.ctypes.data + 4 * row, matrix.factors.ctypes.data + 4 * column,
                matrix.shifts.ctypes.data + 4 * column,
            )  # fmt: skip
            if width == 1:
                _int_single(*block_arguments)
            elif height == 1:
                _int_row(*block_arguments) if width == _INT_COLUMNS else _int_narrow_row(*block_arguments)
            else:
                _int_block(*block_arguments) if width == _INT_COLUMNS else _int_narrow(*block_arguments)


@kernel(error_model="numpy", plain=_plain_multiply_int16)
def multiply_int16(left, matrix, out):
    """Compute out = left @ matrix, with the rows of `left` rounded to 14 bits; float32 (m, k), RoundedMatrix of (k, n)
    by `round_to_int16`, float32 (m, n), rows contiguous. The bits of a row do not depend on the other rows."""
    m, n_groups = left.shape[0], matrix.groups.shape[0]
    rounded, factors = np.empty((m, 2 * n_groups), dtype=np.int16), np.empty(m, dtype=REAL)
    _round_rows(left, rounded, factors, _LARGEST, np.int32(0))
    _multiply_groups(rounded, factors, matrix, out)


@kernel(error_model="numpy", plain=_plain_multiply_int8)
def multiply_int8(left, matrix, out):
    """Compute out = left @ matrix as `multiply_int16` does, but with the rows of `left` rounded to 8 bits, and a
    RoundedMatrix by `round_to_int8`."""
    m, n_groups = left.shape[0], matrix.groups.shape[0]
    rounded, factors = np.empty((m, _INT8_GROUP * n_groups), dtype=_INT8_ROW), np.empty(m, dtype=REAL)
    _round_rows(left, rounded, factors, _LARGEST_INT8, np.int32(_SHIFT))
    _multiply_groups(rounded, factors, matrix, out)
