"""Compute leaf confidences over all examples, and update scores and weights.

The score h of an example is an int32 in units of CONFIDENCE_GRID, so it is exact for any order of the sums. Signed bias
and signed weight are float32; their sign is the class y of the example (Collins, Schapire & Singer's log-loss: w = b /
(1 + e^(y h))).
"""

import numpy as np

from spacy_dtparse.dtypes import CONFIDENCE_GRID
from spacy_dtparse.jit.decorator import kernel

_BLOCK = 1024
_UNIT = np.float32(CONFIDENCE_GRID)
_LOG2E = np.float32(1.4426950408889634)
_LIMIT = np.float32(86.0)
_ONE = np.float32(1.0)
_HALF = np.float32(0.5)
_C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(c)
    for c in (0.6931471805599453, 0.2402265069591007, 0.05550410866482158, 0.009618129107628477,
              0.0013333558146428443, 0.00015403530393381608)
)  # fmt: skip
MAX_STEP_UNITS = 16 << 16
"""No step moves a leaf's confidence by more than 16: e^-16 is below float32's precision."""


@kernel
def _weights(margin_units, bias, scale_bits, out):
    """out[j] = bias[j] / (1 + e^margin), margin = margin_units[j] × grid × sign(bias[j]); relative error ~2e-7."""
    scale, count = scale_bits.view(np.float32), len(out)
    for j in range(count):
        margin = np.float32(margin_units[j]) * _UNIT
        z = min(np.abs(margin), _LIMIT) * _LOG2E
        whole = np.int32(z + _HALF)
        f = np.float32(whole) - z  # e^-|margin| = 2^-whole · 2^f, f in [-1/2, 1/2]
        scale_bits[j] = np.int32(127 - whole) << 23
        out[j] = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
    for j in range(count):
        small = out[j] * scale[j]  # e^-|margin|
        right = (margin_units[j] >= 0) == (bias[j] >= 0)
        out[j] = bias[j] * ((small if right else _ONE) / (_ONE + small))


@kernel
def all_weights(score, bias, weight):
    """Compute signed weights float32 (n,) from scores int32 (n,) and signed biases float32 (n,)."""
    scale_bits = np.empty(_BLOCK, np.int32)
    for first in range(0, len(score), _BLOCK):
        end = min(first + _BLOCK, len(score))
        _weights(score[first:end], bias[first:end], scale_bits, weight[first:end])


@kernel
def leaf_sums(leaf, weight, bias, curved, sums):
    """Sum over each node's examples, into float64 (n_nodes, 3): weights of positives, of negatives, and, if `curved`,
    the second derivative of the log-loss, Σ w (1 - w / b); else infinity.

    Four sums run side by side and are added in a fixed order.
    """
    n = len(leaf)
    whole = np.uint64(n & ~3)
    parts = np.zeros((len(sums), 4, 3))
    for k in range(n):
        i = np.uint64(k)
        node, lane = np.uint64(leaf[i]), i & np.uint64(3) if i < whole else np.uint64(0)
        w = np.float64(weight[i])
        parts[node, lane, np.uint64(w <= 0)] += abs(w)
        if curved and bias[i] != 0:
            parts[node, lane, 2] += abs(w) * (1.0 - w / np.float64(bias[i]))
    sums[:] = (parts[:, 0] + parts[:, 1]) + (parts[:, 2] + parts[:, 3])
    if not curved:
        sums[:, 2] = np.inf


@kernel
def update_scores(leaf, units, bias, score, weight):
    """Add units[leaf] to the scores, and compute the weights of the examples whose score changed."""
    scale_bits = np.empty(_BLOCK, np.int32)
    for first in range(0, len(leaf), _BLOCK):
        end = min(first + _BLOCK, len(leaf))
        changed = 0
        for i in range(first, end):
            step = units[leaf[i]]
            changed |= step
            score[i] += step
        if changed != 0:
            _weights(score[first:end], bias[first:end], scale_bits, weight[first:end])


@kernel
def add_units(leaf, units, score):
    """Add units[leaf] to the scores."""
    for i in range(len(leaf)):
        score[i] += units[leaf[i]]


def step_units(sums: np.ndarray, penalty: float, value: np.ndarray) -> np.ndarray:
    """Compute the steps of all nodes as int32 multiples of CONFIDENCE_GRID, rounded towards 0 (so never too long).

    `sums` float64 (n, 3): W⁺, W⁻ and curvature, see `leaf_sums`; `value` int64 (n,): present confidences in units. The
    step is the longer of two: the δ that minimises W⁺ e^-δ + W⁻ e^δ + λ |value + δ|, an upper bound of the objective,
    and the damped Newton step ln(1 + |slope| / curvature). (The log-loss's third derivative is at most its second, so
    the curvature grows at most by e^|δ| on the way.) Neither passes the minimum of the objective, so the objective
    falls with every step and with any part of one. Both end at confidence 0, where |value + δ| has its kink; a leaf
    leaves 0 if |W⁺ - W⁻| > λ.
    """
    positive, negative, curvature = sums.T
    now, slope = value * CONFIDENCE_GRID, positive - negative
    side = np.sign(np.where(now != 0, now, slope))  # sign of the confidence after the step
    ahead, behind = np.where(side > 0, (positive, negative), (negative, positive))
    force = slope - side * penalty  # minus the derivative of the objective
    with np.errstate(divide="ignore", invalid="ignore"):
        # the root of behind x² + penalty x - ahead, in the form that does not cancel; covers behind = 0
        bottom = penalty + np.sqrt(penalty * penalty + 4.0 * ahead * behind)
        step = side * np.log(2.0 * ahead / bottom)
        newton = np.copysign(np.log1p(np.abs(force) / curvature), force)
    step = np.where(np.abs(newton) > np.abs(step), newton, step)
    step = np.where((now + step) * side < 0, -now, step)
    step[(now == 0) & (np.abs(slope) <= penalty)] = 0.0
    return np.clip(step / CONFIDENCE_GRID, -MAX_STEP_UNITS, MAX_STEP_UNITS).astype(np.int32)
