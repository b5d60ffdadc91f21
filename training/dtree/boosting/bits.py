"""The position of the lowest set bit, for kernels that walk bitsets."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

ONE = np.uint64(1)
ZERO = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW6 = np.uint64(63)
SIX = np.uint64(6)

if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set at run time

    def lowest_bit(word: np.uint64) -> np.uint64:
        """Position of the lowest set bit of `word`, which must not be 0."""
        return np.uint64((int(word) & -int(word)).bit_length() - 1)

else:

    @intrinsic
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Position of the lowest set bit of `word` (uint64), which must not be 0: one machine instruction."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), generate
