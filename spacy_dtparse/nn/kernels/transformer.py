"""Layers of transformers (Vaswani et al. 2017; BERT: Devlin et al. 2019) over texts that are concatenated without
padding. The bits of a text do not depend on the others."""

import math
from typing import Any

import numpy as np

from ...dtypes import REAL
from ...jit.decorator import kernel, noalloc_kernel, yield_cpu
from .products import matrix_of_layer, multiply, multiply_int16

GAIN, SHIFT = 0, 1
"""Rows of the weights of a normalisation."""
_EPSILON = REAL(1e-12)
_BLOCK = 16
"""Attention scores a multiple of so many tokens; those after the text are ignored."""
_LOWEST = REAL(-40)
"""Exponents below this are taken as this: the weight of a token 4e-18 times that of another."""
_ONE, _HALF = REAL(1), REAL(0.5)
_ROOT_HALF = REAL(math.sqrt(0.5))
_PART = REAL(1 / 64)
_E2, _E3, _E4, _E5 = (REAL(1 / math.factorial(k)) for k in range(2, 6))
_FLAT = REAL(4)
"""The error function is 1 beyond this, in float32."""
_A0, _A1, _A2 = REAL(-1.60960333262415e-2), REAL(-2.95459980854025e-3), REAL(-7.34990630326855e-4)
_A3, _A4 = REAL(-5.69250639462346e-5), REAL(-2.10102402082508e-6)
_A5, _A6 = REAL(2.77068142495902e-8), REAL(-2.72614225801306e-10)
_B0, _B1, _B2 = REAL(-1.42647390514189e-2), REAL(-7.37332916720468e-3), REAL(-1.68282697438203e-3)
_B3, _B4 = REAL(-2.13374055278905e-4), REAL(-1.45660718464996e-5)


@noalloc_kernel(fastmath=True, error_model="numpy")
def _error_function(y):
    """The error function of y from -4 to 4, a quotient of polynomials with an error of at most 1e-6."""
    square = y * y
    above = _A0 + square * (_A1 + square * (_A2 + square * (_A3 + square * (_A4 + square * (_A5 + square * _A6)))))
    below = _B0 + square * (_B1 + square * (_B2 + square * (_B3 + square * _B4)))
    return y * above / below


def _plain_gelu(x: Any) -> Any:
    """Compute `gelu` of a number or an array, in numpy."""
    return _HALF * x * (_ONE + _error_function(np.clip(x * _ROOT_HALF, -_FLAT, _FLAT)))


@noalloc_kernel(fastmath=True, error_model="numpy", plain=_plain_gelu)
def gelu(x):
    """x times the probability that a standard normal variable is below x, without a call, so that loops over it are
    vectorised."""
    return _HALF * x * (_ONE + _error_function(min(max(x * _ROOT_HALF, -_FLAT), _FLAT)))


@noalloc_kernel(fastmath=True, error_model="numpy")
def exponential(x):
    """e^x for x ≤ 0, with a relative error of some 1e-5, without a call: the 64th power of a polynomial."""
    part = max(x, _LOWEST) * _PART
    power = _ONE + part * (_ONE + part * (_E2 + part * (_E3 + part * (_E4 + part * _E5))))
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    return power * power


@noalloc_kernel(fastmath=True, error_model="numpy")
def normalize_row(row, weights):
    """Normalise a row in place to mean 0 and variance 1, then scale and shift it by `weights` float32 (2, d)."""
    d = len(row)
    gain, shift = weights[GAIN], weights[SHIFT]
    total = REAL(0)
    for j in range(d):
        total += row[j]
    mean = total / REAL(d)
    squares = REAL(0)
    for j in range(d):
        row[j] -= mean
        squares += row[j] * row[j]
    scale = _ONE / REAL(math.sqrt(squares / REAL(d) + _EPSILON))
    for j in range(d):
        row[j] = row[j] * scale * gain[j] + shift[j]


@noalloc_kernel(fastmath=True, error_model="numpy")
def add_and_normalize(x, update, bias, weights):
    """Add `update` and `bias` to the rows of x, in place, and normalise them."""
    for t in range(len(x)):
        row, added = x[t], update[t]
        for j in range(len(row)):
            row[j] += added[j] + bias[j]
        normalize_row(row, weights)


@noalloc_kernel(fastmath=True, error_model="numpy")
def attend(projected, first, last, n_heads, keys, weights, out):
    """Attention of one text: rows [first, last) of `projected` float32 (tokens, 3 d), the queries, keys and values of
    all heads side by side, and of `out` (tokens, d), which is filled. `keys` (d / n_heads, w), `weights` (last - first,
    w): workspaces, w at least the tokens, rounded up to `_BLOCK`."""
    n, d = last - first, out.shape[1]
    width = d // n_heads
    for head in range(n_heads):
        at = head * width
        for t in range(n):
            key = projected[first + t, d + at : d + at + width]
            for j in range(width):
                keys[j, t] = key[j]
        multiply(projected[first:last, at : at + width], keys, weights)
        for t in range(n):
            row = weights[t]
            highest = row[0]
            for u in range(n):
                highest = max(highest, row[u])
            total = REAL(0)
            for u in range(n):
                row[u] = exponential(row[u] - highest)
                total += row[u]
            scale = _ONE / total
            for u in range(n):
                row[u] *= scale
        values = projected[first:last, 2 * d + at : 2 * d + at + width]
        multiply(weights[:, :n], values, out[first:last, at : at + width])


@kernel(fastmath=True, error_model="numpy", no_cpython_wrapper=True)
def run_layers(network, x, offsets):
    """Run the layers of an encoder over texts, in place: `x` float32 (tokens, d), text s in the rows from offsets[s].

    `network`: `attention` (layers, d, 3 d) with `attention_bias`, `attended` (layers, d, d), `inner` (layers, d, f),
    `outer` (layers, f, d), RoundedMatrix, with biases (layers, …); `norms` (layers, 2, 2, d): after the attention and
    at the end; `n_heads`.
    """
    tokens, d = x.shape
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    room = (longest + _BLOCK - 1) // _BLOCK * _BLOCK
    keys, weights = np.zeros((d // network.n_heads, room), dtype=REAL), np.empty((longest, room), dtype=REAL)
    projected, attended = np.empty((tokens, 3 * d), dtype=REAL), np.empty((tokens, d), dtype=REAL)
    update, inner = np.empty((tokens, d), dtype=REAL), np.empty((tokens, network.inner_bias.shape[1]), dtype=REAL)
    for layer in range(len(network.norms)):
        multiply_int16(x, matrix_of_layer(network.attention, layer), projected)
        bias = network.attention_bias[layer]
        for t in range(tokens):
            row = projected[t]
            for j in range(len(row)):
                row[j] += bias[j]
        for s in range(len(offsets) - 1):
            yield_cpu()
            first, last = offsets[s], offsets[s + 1]
            columns = (last - first + _BLOCK - 1) // _BLOCK * _BLOCK
            attend(
                projected, first, last, network.n_heads, keys[:, :columns], weights[: last - first, :columns], attended
            )
        multiply_int16(attended, matrix_of_layer(network.attended, layer), update)
        add_and_normalize(x, update, network.attended_bias[layer], network.norms[layer, 0])
        yield_cpu()
        multiply_int16(x, matrix_of_layer(network.inner, layer), inner)
        bias = network.inner_bias[layer]
        for t in range(tokens):
            row = inner[t]
            for j in range(len(row)):
                row[j] = gelu(row[j] + bias[j])
        yield_cpu()
        multiply_int16(inner, matrix_of_layer(network.outer, layer), update)
        add_and_normalize(x, update, network.outer_bias[layer], network.norms[layer, 1])
