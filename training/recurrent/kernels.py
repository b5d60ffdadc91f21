"""Gradients of the recurrent units, and optimiser steps."""

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.kernels.jit import bare_kernel
from spacy_dtparse.kernels.recurrent.units import run_units


@bare_kernel(fastmath=True)
def run_sentences(numbers, inputs, bounds, recurrent, bias, states, outputs):
    """Call `run_units` for every sentence: tokens [bounds[s], bounds[s + 1])."""
    for s in range(len(bounds) - 1):
        run_units(numbers, inputs, bounds[s], bounds[s + 1], recurrent, bias, states, outputs)


@bare_kernel(fastmath=True)
def units_back(d_outputs, numbers, inputs, bounds, recurrent, states, d_numbers, d_inputs, d_recurrent, d_bias, carry):
    """Backward pass of `run_sentences`, which leaves the gates in `numbers`.

    Written: `d_numbers`, of the shape of `numbers`, and, if the highway has no rows there, `d_inputs` (tokens, 2 d).
    Added to: `d_recurrent`, `d_bias` (2, 2, d). `carry` (d,) is scratch.
    """
    d = recurrent.shape[2]
    rows = numbers.shape[1] // (2 * d)
    one = REAL(1)
    for s in range(len(bounds) - 1):
        length = bounds[s + 1] - bounds[s]
        for direction in range(2):
            v_forget, v_reset = recurrent[direction, 0], recurrent[direction, 1]
            dv_forget, dv_reset = d_recurrent[direction, 0], d_recurrent[direction, 1]
            db_forget, db_reset = d_bias[direction, 0], d_bias[direction, 1]
            base, own = direction * rows * d, direction * d
            for j in range(d):
                carry[j] = 0
            for step in range(length - 1, -1, -1):
                t = bounds[s] + step if direction == 0 else bounds[s + 1] - 1 - step
                before = states[t if step == 0 else t - 1 if direction == 0 else t + 1][own : own + d]
                past = REAL(0) if step == 0 else one
                row, d_row, state = numbers[t], d_numbers[t], states[t][own : own + d]
                candidate, forget = row[base : base + d], row[base + d : base + 2 * d]
                reset = row[base + 2 * d : base + 3 * d]
                d_candidate, d_forget = d_row[base : base + d], d_row[base + d : base + 2 * d]
                d_reset = d_row[base + 2 * d : base + 3 * d]
                x = row[base + 3 * d : base + 4 * d] if rows == 4 else inputs[t][own : own + d]
                d_input = d_row[base + 3 * d : base + 4 * d] if rows == 4 else d_inputs[t][own : own + d]
                g = d_outputs[t][own : own + d]
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


@bare_kernel(fastmath=True)
def add_rows(table, numbers, rows):
    """Add rows[t] to table[numbers[t, k]] for all t, k; float32 (n, d), float32 (V, d), int32 (n, k)."""
    for t in range(len(numbers)):
        row = rows[t]
        for number in numbers[t]:
            into = table[number]
            for j in range(len(row)):
                into[j] += row[j]


@bare_kernel(fastmath=True)
def adam(values, slopes, means, squares, rate, keep, keep_square, correction, correction_square):
    """One step of Adam (Kingma & Ba 2015) on flat float32 arrays; `slopes` is set to 0."""
    for i in range(len(values)):
        g = slopes[i]
        means[i] = keep * means[i] + (REAL(1) - keep) * g
        squares[i] = keep_square * squares[i] + (REAL(1) - keep_square) * g * g
        values[i] -= rate * means[i] * correction / (np.sqrt(squares[i] * correction_square) + REAL(1e-8))
        slopes[i] = 0


@bare_kernel(fastmath=True)
def adam_rows(table, slopes, means, squares, rows, rate, keep, keep_square, correction, correction_square):
    """`adam` on the rows of a table that occur in a batch; the others stay unchanged."""
    for row in rows:
        adam(table[row], slopes[row], means[row], squares[row], rate, keep, keep_square, correction, correction_square)


@bare_kernel(fastmath=True)
def follow(averages, values, share):
    """Update running means: averages += share * (values - averages), flat float32 arrays."""
    for i in range(len(values)):
        averages[i] += share * (values[i] - averages[i])
