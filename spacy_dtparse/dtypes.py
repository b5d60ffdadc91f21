"""Every array type of the package, each with its reason."""

import numpy as np

INDEX = np.int32
"""Token, item, symbol and atom numbers: below 2**31 in any treebank that fits in memory."""

OFFSET = np.int64
"""Positions in arrays that hold all postings or all examples, which can pass 2**31."""

SCORE = np.float64
"""Scores, costs and their sums: 53 bits, so that sums of grid values are exact (see CONFIDENCE_GRID)."""

WEIGHT = np.float32
"""Stored example biases: millions of rows; sums over them are always taken in SCORE."""

REAL = np.float32
"""Numbers of span networks and of their scores: a register holds twice as many as of float64, and two training runs
differ by far more than 24 bits can tell. Sums of probabilities are taken in SCORE."""

STORED_REAL = np.float16
"""Networks in a file, and a teacher's beliefs in memory, most of what a training run holds: half the bytes of REAL, and
11 bits are enough for numbers that were learned."""

STORED_TABLE = np.int8
"""The table of a network in a file, most of its bytes: whole numbers, times a factor for each row."""

BITS = np.uint64
"""A machine word of the bit-parallel rule scorer."""

HASH = np.uint64
"""Keys of hashed atoms and of states met."""

CONFIDENCE_GRID = 2.0**-16
"""Leaf confidences are whole multiples of this, so a float64 sum of them has no rounding and does not depend on order.
"""

SIDES, PLACES = 4, 4
"""Of spines: sides of a head (0: none, 1: left, 2: right, 3: both), and places of what is no head: first, inner, last,
root."""
