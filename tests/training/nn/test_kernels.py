"""The optimiser's kernels against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.harness import KERNEL_MARKS
from tests.reference import optimiser as reference
from training.nn.kernels import AdamFactors, adam, adam_rows, add_rows, update_mean

pytestmark = KERNEL_MARKS
RATE, KEEP, KEEP_SQUARE = 0.05, 0.9, 0.99


def factors(step: int) -> AdamFactors:
    given = RATE, KEEP, KEEP_SQUARE, 1 / (1 - KEEP**step), 1 / (1 - KEEP_SQUARE**step)
    return AdamFactors(*map(np.float32, given))


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("size", [1, 5, 19])
def test_steps_of_adam(size: int) -> None:
    rng = np.random.default_rng(size)
    values, means, squares = numbers(rng, size), np.zeros(size, np.float32), np.zeros(size, np.float32)
    right = values.tolist(), means.tolist(), squares.tolist()
    for step in range(1, 5):
        gradients = numbers(rng, size)
        gradients[0] = 0
        right = reference.adam(right[0], gradients.tolist(), right[1], right[2], RATE, KEEP, KEEP_SQUARE, step)
        adam(values, gradients, means, squares, factors(step))
        assert not gradients.any(), "slopes are emptied"
        for found, expected in zip((values, means, squares), right, strict=True):
            assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_rows_that_do_not_occur_in_a_batch_stay_unchanged() -> None:
    rng = np.random.default_rng(0)
    arrays = [numbers(rng, 6, 4), numbers(rng, 6, 4), numbers(rng, 6, 4), np.abs(numbers(rng, 6, 4))]
    before = [array.copy() for array in arrays]
    rows = np.array([1, 4], dtype=np.int32)
    adam_rows(*arrays, rows, factors(3))
    for row in range(6):
        if row in rows:
            value, slope, mean, square = (array[row].tolist() for array in before)
            right = reference.adam(value, slope, mean, square, RATE, KEEP, KEEP_SQUARE, 3)
            for array, expected in zip((arrays[0], arrays[2], arrays[3]), right, strict=True):
                assert np.allclose(array[row], expected, rtol=1e-4, atol=1e-5)
            assert not arrays[1][row].any()
        else:
            assert all(np.array_equal(array[row], kept[row]) for array, kept in zip(arrays, before, strict=True))


def test_rows_are_added_wherever_they_are_named() -> None:
    rng = np.random.default_rng(1)
    table, rows = numbers(rng, 5, 3), numbers(rng, 4, 3)
    places = np.array([[0, 2], [2, 2], [4, 0], [1, 2]], dtype=np.int32)  # row 3 is not named, 2 twice in one list
    right = reference.add_rows(table.tolist(), places.tolist(), rows.tolist())
    add_rows(table, places, rows)
    assert np.allclose(table, right, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_averages_follow(share: float) -> None:
    rng = np.random.default_rng(2)
    averages, values = numbers(rng, 9), numbers(rng, 9)
    right = reference.update_mean(averages.tolist(), values.tolist(), share)
    update_mean(averages, values, np.float32(share))
    assert np.allclose(averages, right, atol=1e-6)
