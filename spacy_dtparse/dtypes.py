"""Every array type of the package, each with its reason."""

from __future__ import annotations

import numpy as np

INDEX = np.int32
"""Token, item, symbol and atom numbers: below 2**31 in any treebank that fits in memory."""

OFFSET = np.int64
"""Positions in arrays that hold all postings or all examples, which can pass 2**31."""

SCORE = np.float64
"""Scores, costs and their sums: 53 bits, so that sums of grid values are exact (see CONFIDENCE_GRID)."""

WEIGHT = np.float32
"""Stored example biases: millions of rows; sums over them are always taken in SCORE."""

BITS = np.uint64
"""A machine word of the bit-parallel rule scorer."""

HASH = np.uint64
"""Keys of hashed atoms and of states met."""

CONFIDENCE_GRID = 2.0**-16
"""Leaf confidences are whole multiples of this, so a float64 sum of them has no rounding and does not depend on
order.
"""
