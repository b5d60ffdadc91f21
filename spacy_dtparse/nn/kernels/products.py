"""The matrix product of the networks."""

import numpy as np

from ...jit.decorator import noalloc_kernel
from .vectors import LANES, make_block

_ROWS, _COLUMNS = 6, 2 * LANES
"""Size of a block: its 12 sums, two vectors of the right matrix and one value of the left use 15 of 16 registers."""
_block, _narrow = make_block(_ROWS, 2), make_block(_ROWS, 1)
_row, _narrow_row, _single = make_block(1, 2), make_block(1, 1), make_block(1, 1, lanes=1)


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
