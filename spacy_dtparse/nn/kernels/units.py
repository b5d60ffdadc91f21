"""Simple recurrent units (Lei, Zhang, Wang, Dai & Artzi 2018) over the tokens of sentences.

A unit has four values at a token: candidate, forget gate, reset gate and, if the layer changes the width, the highway
input. They are matrix products over all tokens, except for the products of the two gates with the previous state; the
recurrence is one pass of elementwise operations in each direction. Training and parsing call the same functions.
"""

import numpy as np

from ...dtypes import REAL
from ...jit.decorator import kernel, noalloc_kernel, yield_cpu
from .products import matrix_of_layer, multiply_int8

CANDIDATE, FORGET, RESET, HIGHWAY = 0, 1, 2, 3
"""Rows of a unit's values."""
_EDGE = REAL(9.94)
"""Absolute value beyond which the approximation of the logistic function is constant."""
_HALF = REAL(0.5)
_C0, _C1, _C2 = REAL(135135), REAL(17325), REAL(378)
_D1, _D2, _D3 = REAL(62370), REAL(3150), REAL(28)
LEAK = REAL(0.1)
"""Slope of the leaky rectifier below 0."""


@noalloc_kernel(fastmath=True, error_model="numpy")
def logistic(x):
    """1 / (1 + e^-x), with an error of at most 5e-5, by Lambert's continued fraction of tanh(x / 2): without a function
    call, so that loops over it are vectorised."""
    half = _HALF * min(max(x, -_EDGE), _EDGE)
    square = half * half
    above = half * (_C0 + square * (_C1 + square * (_C2 + square)))
    below = _C0 + square * (_D1 + square * (_D2 + square * _D3))
    return _HALF + _HALF * (above / below)


@noalloc_kernel(fastmath=True)
def run_units(products, inputs, first, last, recurrent, bias, states, outputs):
    """Run one layer of units over the tokens [first, last) of one sentence, forwards and backwards.

    `products` float32 (tokens, 2 · rows · d): products of the tokens with the layer's weights, for both directions, in
    rows of d values; the rows FORGET and RESET are replaced by the gates. The input of the highway is the row HIGHWAY
    if there are 4 rows, else `inputs` float32 (tokens, 2 d). `recurrent`, `bias` float32 (2, 2, d): by direction and
    gate. Filled: `states`, `outputs` float32 (tokens, 2 d).
    """
    d = recurrent.shape[2]
    rows = products.shape[1] // (2 * d)
    one = REAL(1)
    for direction in range(2):
        v_forget, v_reset = recurrent[direction, 0], recurrent[direction, 1]
        b_forget, b_reset = bias[direction, 0], bias[direction, 1]
        base, column = direction * rows * d, direction * d
        for step in range(last - first):
            t = first + step if direction == 0 else last - 1 - step
            row, state, output = products[t], states[t][column : column + d], outputs[t][column : column + d]
            candidate, forget = row[base : base + d], row[base + d : base + 2 * d]
            reset = row[base + 2 * d : base + 3 * d]
            highway = row[base + 3 * d : base + 4 * d] if rows == 4 else inputs[t][column : column + d]
            before = states[t if step == 0 else t - 1 if direction == 0 else t + 1][column : column + d]
            if step == 0:  # `before` is this row itself, so it is read as zeros below
                state[:] = 0
            # Loops with few arrays each: overlap is checked before the loop, so they become vector code.
            for j in range(d):
                forget[j] = logistic(forget[j] + v_forget[j] * before[j] + b_forget[j])
            for j in range(d):
                reset[j] = logistic(reset[j] + v_reset[j] * before[j] + b_reset[j])
            for j in range(d):
                state[j] = forget[j] * before[j] + (one - forget[j]) * candidate[j]
            for j in range(d):
                output[j] = reset[j] * state[j] + (one - reset[j]) * highway[j]


@noalloc_kernel
def sum_rows(table, factor, ids, out):
    """Write to out[t] the sum of the table rows with the ids `ids[t]`, each times its factor.

    `table` (V, d): int8 as stored, or float32; `factor` float32 (V,), `ids` int32 (n, k), `out` float32 (n, d). An
    int8 table and the same table in float32 give the same bits: without `fastmath`, a product is rounded before it is
    added.
    """
    for t in range(len(ids)):
        total = out[t]
        total[:] = 0
        for row_id in ids[t]:
            row, row_factor = table[row_id], factor[row_id]
            for j in range(len(total)):
                total[j] += REAL(row[j]) * row_factor


@kernel(fastmath=True, error_model="numpy", no_cpython_wrapper=True)
def encode_rows(table, factor, weights, recurrent, bias, ids, offsets):
    """Encode the tokens of sentences: the outputs of the last layer, float32 (tokens, 2 d). The bits do not depend on
    the other sentences.

    `table` (V, e) with `factor` as in `sum_rows`; `weights`: of the first layer, and of the others together, each a
    `products.RoundedMatrix`; `recurrent` and `bias` float32 (layers, 2, 2, d). `ids` int32 (tokens, k): ids of table
    rows; `offsets` int32 (sentences + 1,): offsets of the sentences, and the number of tokens.
    """
    tokens, d = len(ids), recurrent.shape[3]
    inputs = np.empty((tokens, table.shape[1]), dtype=REAL)
    sum_rows(table, factor, ids, inputs)
    states = np.empty((tokens, 2 * d), dtype=REAL)
    for layer in range(len(recurrent)):
        matrix = matrix_of_layer(weights[1], layer - 1) if layer else weights[0]
        products = np.empty((tokens, len(matrix.factors)), dtype=REAL)
        multiply_int8(inputs, matrix, products)
        outputs = np.empty((tokens, 2 * d), dtype=REAL)
        for s in range(len(offsets) - 1):
            yield_cpu()
            run_units(products, inputs, offsets[s], offsets[s + 1], recurrent[layer], bias[layer], states, outputs)
        inputs = outputs
    return inputs
