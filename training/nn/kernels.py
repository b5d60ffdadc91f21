"""Gradients of the recurrent units, and optimiser steps."""

from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.jit.decorator import noalloc_kernel
from spacy_dtparse.nn.kernels.units import run_units


@noalloc_kernel(fastmath=True)
def run_sentences(gates, inputs, bounds, recurrent, bias, states, outputs):
    """Call `run_units` for every sentence: tokens [bounds[s], bounds[s + 1])."""
    for s in range(len(bounds) - 1):
        run_units(gates, inputs, bounds[s], bounds[s + 1], recurrent, bias, states, outputs)


class UnitGradients(NamedTuple):
    """Gradients of a layer of units. Written: `gates`, of the shape of the gates, and, if the highway has no rows
    there, `inputs` (tokens, 2 d). Added to: `recurrent`, `bias` (2, 2, d)."""

    gates: np.ndarray
    inputs: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray


@noalloc_kernel(fastmath=True)
def units_backward(d_outputs, gates, inputs, bounds, recurrent, states, gradients, carry):
    """Backward pass of `run_sentences`, which leaves the gates in `gates`. `carry` (d,) is scratch."""
    d_gates, d_inputs, d_recurrent, d_bias = gradients
    d = recurrent.shape[2]
    rows = gates.shape[1] // (2 * d)
    one = REAL(1)
    for s in range(len(bounds) - 1):
        length = bounds[s + 1] - bounds[s]
        for direction in range(2):
            v_forget, v_reset = recurrent[direction, 0], recurrent[direction, 1]
            dv_forget, dv_reset = d_recurrent[direction, 0], d_recurrent[direction, 1]
            db_forget, db_reset = d_bias[direction, 0], d_bias[direction, 1]
            base, offset = direction * rows * d, direction * d
            for j in range(d):
                carry[j] = 0
            for step in range(length - 1, -1, -1):
                t = bounds[s] + step if direction == 0 else bounds[s + 1] - 1 - step
                before = states[t if step == 0 else t - 1 if direction == 0 else t + 1][offset : offset + d]
                past = REAL(0) if step == 0 else one
                row, d_row, state = gates[t], d_gates[t], states[t][offset : offset + d]
                candidate, forget = row[base : base + d], row[base + d : base + 2 * d]
                reset = row[base + 2 * d : base + 3 * d]
                d_candidate, d_forget = d_row[base : base + d], d_row[base + d : base + 2 * d]
                d_reset = d_row[base + 2 * d : base + 3 * d]
                x = row[base + 3 * d : base + 4 * d] if rows == 4 else inputs[t][offset : offset + d]
                d_input = d_row[base + 3 * d : base + 4 * d] if rows == 4 else d_inputs[t][offset : offset + d]
                g = d_outputs[t][offset : offset + d]
                for j in range(d):
                    f, r, was = forget[j], reset[j], before[j] * past
                    d_input[j] = g[j] * (one - r)
                    dr = g[j] * (state[j] - x[j]) * r * (one - r)
                    now = carry[j] + g[j] * r
                    df = now * (was - candidate[j]) * f * (one - f)
                    d_candidate[j] = now * (one - f)
                    d_forget[j] = df
                    d_reset[j] = dr
                    carry[j] = now * f + df * v_forget[j] + dr * v_reset[j]
                    dv_forget[j] += df * was
                    dv_reset[j] += dr * was
                    db_forget[j] += df
                    db_reset[j] += dr


@noalloc_kernel(fastmath=True)
def add_rows(table, ids, rows):
    """Add rows[t] to table[numbers[t, k]] for all t, k; float32 (n, d), float32 (V, d), int32 (n, k)."""
    for t in range(len(ids)):
        row = rows[t]
        for i in ids[t]:
            into = table[i]
            for j in range(len(row)):
                into[j] += row[j]


class AdamFactors(NamedTuple):
    """Numbers of a step of Adam, float32; `correction`, `correction_square`: 1 / (1 - beta ** step) for each beta."""

    learning_rate: np.float32
    beta1: np.float32
    beta2: np.float32
    correction: np.float32
    correction_square: np.float32


@noalloc_kernel(fastmath=True)
def adam(values, gradients, means, squares, factors):
    """One step of Adam (Kingma & Ba 2015) on flat float32 arrays; `gradients` is set to 0."""
    learning_rate, beta1, beta2, correction, correction_square = factors
    for i in range(len(values)):
        g = gradients[i]
        means[i] = beta1 * means[i] + (REAL(1) - beta1) * g
        squares[i] = beta2 * squares[i] + (REAL(1) - beta2) * g * g
        values[i] -= learning_rate * means[i] * correction / (np.sqrt(squares[i] * correction_square) + REAL(1e-8))
        gradients[i] = 0


@noalloc_kernel(fastmath=True)
def adam_rows(table, gradients, means, squares, rows, factors):
    """`adam` on the rows of a table that occur in a batch; the others stay unchanged."""
    for row in rows:
        adam(table[row], gradients[row], means[row], squares[row], factors)


@noalloc_kernel(fastmath=True)
def update_mean(averages, values, fraction):
    """Update running means: averages += fraction * (values - averages), flat float32 arrays."""
    for i in range(len(values)):
        averages[i] += fraction * (values[i] - averages[i])
