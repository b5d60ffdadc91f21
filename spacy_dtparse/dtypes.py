"""All array dtypes of the package, each with its reason."""

import numpy as np

INDEX = np.int32
"""Ids of tokens, items, symbols and atoms: below 2**31 in any treebank that fits in memory."""

OFFSET = np.int64
"""Positions in arrays of all postings or all examples, which can exceed 2**31."""

SCORE = np.float64
"""Scores, costs and their sums: 53 bits, so sums of grid values are exact (see CONFIDENCE_GRID)."""

WEIGHT = np.float32
"""Stored example biases: millions of rows. Sums over them are always taken in SCORE."""

REAL = np.float32
"""Values and scores of the networks: a register holds twice as many float32 as float64, and two training runs differ by
far more than the rounding error of 24 bits. Sums of probabilities are taken in SCORE."""

STORED_REAL = np.float16
"""Networks in a file, and a teacher's span distributions in memory (most of the memory of a training run): half the
bytes of REAL, and 11 bits are enough for learned values."""

STORED_TABLE = np.int8
"""The embedding table of a network in a file (most of its bytes): integers, with one factor per row."""

BITS = np.uint64
"""A machine word of the bit-parallel rule scorer."""

HASH = np.uint64
"""Keys of hashed atoms and of visited states."""

CONFIDENCE_GRID = 2.0**-16
"""Leaf confidences are integer multiples of this, so a float64 sum of them is exact and independent of order."""

SIDES, POSITIONS = 4, 4
"""Values in directional spines: sides of a head that have other children (0: none, 1: left, 2: right, 3: both), and
positions of a child that is not the head: first, inner, last, root."""
