"""Reference implementation of the optimiser's kernels, on lists of Python numbers."""

from __future__ import annotations

import math


def adam(values, gradients, means, squares, rate, keep, keep_square, step):
    """(values, means, squares) after step `step`, from 1, of Adam (Kingma & Ba 2015, algorithm 1)."""
    new_values, new_means, new_squares = [], [], []
    for value, slope, mean, square in zip(values, gradients, means, squares, strict=True):
        mean = keep * mean + (1 - keep) * slope
        square = keep_square * square + (1 - keep_square) * slope**2
        unbiased, unbiased_square = mean / (1 - keep**step), square / (1 - keep_square**step)
        new_values.append(value - rate * unbiased / (math.sqrt(unbiased_square) + 1e-8))
        new_means.append(mean)
        new_squares.append(square)
    return new_values, new_means, new_squares


def add_rows(table, numbers, rows):
    """A table, lists of rows, after each of `rows` is added at all row numbers of its list."""
    found = [list(row) for row in table]
    for places, row in zip(numbers, rows, strict=True):
        for place in places:
            found[place] = [old + new for old, new in zip(found[place], row, strict=True)]
    return found


def update_mean(averages, values, share):
    """Averages moved by a fraction towards values."""
    return [(1 - share) * average + share * value for average, value in zip(averages, values, strict=True)]
