"""Recurrent units against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.nn.kernels.units import CANDIDATE, FORGET, HIGHWAY, RESET, logistic, run_units, sum_rows
from tests.jit.harness import KERNEL_MARKS
from tests.reference import spans as reference

pytestmark = KERNEL_MARKS


def test_the_logistic_function_is_close_and_bounded() -> None:
    for x in np.linspace(-30, 30, 121):
        assert abs(logistic(np.float32(x)) - 1 / (1 + np.exp(-x))) < 6e-5
    assert 0 <= logistic(np.float32(-1e30)) < 1e-4 and 1 - 1e-4 < logistic(np.float32(1e30)) <= 1


@pytest.mark.parametrize("rows", [3, 4])
def test_units_run_in_both_directions(rows: int) -> None:
    rng = np.random.default_rng(rows)
    n, d = 5, 3
    numbers = rng.standard_normal((n, 2, rows, d)).astype(np.float32)
    inputs = rng.standard_normal((n, 2, d)).astype(np.float32)
    recurrent, bias = (rng.standard_normal((2, 2, d)).astype(np.float32) for _ in range(2))
    carried = numbers[:, :, HIGHWAY] if rows == 4 else inputs
    right_states, right_outputs = reference.run_units(numbers.astype(float), carried, recurrent, bias)
    states, outputs = (np.full((n, 2 * d), np.nan, dtype=np.float32) for _ in range(2))
    flat = numbers.reshape(n, -1).copy()
    run_units(flat, inputs.reshape(n, -1), 0, n, recurrent, bias, states, outputs)
    assert np.allclose(states, right_states.reshape(n, -1), atol=1e-3)
    assert np.allclose(outputs, right_outputs.reshape(n, -1), atol=1e-3)
    gates = flat.reshape(n, 2, rows, d)[:, :, [FORGET, RESET]]
    assert 0 <= gates.min() and gates.max() <= 1, "gates are kept"
    assert np.array_equal(flat.reshape(n, 2, rows, d)[:, :, CANDIDATE], numbers[:, :, CANDIDATE])


def test_each_sentence_of_a_batch_is_encoded_by_itself() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((6, 12)).astype(np.float32)
    inputs = rng.standard_normal((6, 4)).astype(np.float32)
    recurrent, bias = (rng.standard_normal((2, 2, 2)).astype(np.float32) for _ in range(2))
    states, outputs = (np.zeros((6, 4), dtype=np.float32) for _ in range(2))
    run_units(numbers.copy(), inputs, 2, 5, recurrent, bias, states, outputs)
    single_states, single_outputs = (np.zeros((3, 4), dtype=np.float32) for _ in range(2))
    run_units(numbers[2:5].copy(), inputs[2:5].copy(), 0, 3, recurrent, bias, single_states, single_outputs)
    assert np.array_equal(outputs[2:5], single_outputs)
    assert not outputs[:2].any() and not outputs[5:].any(), "other tokens are left alone"


def test_rows_are_summed() -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    out = np.full((2, 3), 9, dtype=np.float32)
    numbers = np.array([[0, 1], [3, 3]], dtype=np.int32)
    sum_rows(table, np.ones(4, dtype=np.float32), numbers, out)
    assert out.tolist() == [[3, 5, 7], [18, 20, 22]]
    sum_rows(table, np.array([1, 0.5, 0, -1], dtype=np.float32), numbers, out)
    assert out.tolist() == [[1.5, 3, 4.5], [-18, -20, -22]]


@pytest.mark.parametrize("width", [1, 7, 96, 112])
def test_a_stored_table_gives_the_bits_of_the_table_in_float32(width: int) -> None:
    rng = np.random.default_rng(width)
    stored = rng.integers(-127, 128, (60, width)).astype(np.int8)
    factor = rng.uniform(1e-8, 0.02, 60).astype(np.float32)
    numbers = rng.integers(0, 60, (40, 6)).astype(np.int32)
    wide = stored.astype(np.float32) * factor[:, None]
    right = np.zeros((40, width), dtype=np.float32)
    for column in numbers.T:
        right += wide[column]
    for table, factors in ((stored, factor), (wide, np.ones(60, dtype=np.float32))):
        out = np.full((40, width), np.nan, dtype=np.float32)
        sum_rows(table, factors, numbers, out)
        assert np.array_equal(out, right)
