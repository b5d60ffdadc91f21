"""Leaf confidences over all examples, and the update of scores and weights.

The score h of an example is an int32 in units of CONFIDENCE_GRID, so it is exact whatever the order of the
sums. Signed bias and signed weight are float32, their sign being the class y of the example (Collins,
Schapire & Singer's log-loss: w = b / (1 + e^(y h))).
"""

import numpy as np

from spacy_dtparse.dtypes import CONFIDENCE_GRID, SCORE
from spacy_dtparse.kernels.jit import kernel

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
def _weights(margin_units, bias, count, scale_bits, scale, out):
    """out[j] = bias[j] / (1 + e^margin), margin = margin_units[j] × grid × sign(bias[j]); relative error ~2e-7."""
    for j in range(count):
        margin = np.float32(margin_units[j]) * _UNIT
        z = min(np.abs(margin), _LIMIT) * _LOG2E
        whole = np.int32(z + _HALF)
        f = np.float32(whole) - z  # e^-|margin| = 2^-whole · 2^f, f in [-1/2, 1/2]
        scale_bits[j] = np.int32(127 - whole) << 23
        p = _C5 + f * _C6
        p = _C4 + f * p
        p = _C3 + f * p
        p = _C2 + f * p
        p = _C1 + f * p
        out[j] = _ONE + f * p
    for j in range(count):
        small = out[j] * scale[j]  # e^-|margin|
        right = (margin_units[j] >= 0) == (bias[j] >= 0)
        out[j] = bias[j] * ((small if right else _ONE) / (_ONE + small))


@kernel
def all_weights(score, bias, weight):
    """Signed weights float32 (n,) of scores int32 (n,) and signed biases float32 (n,)."""
    scale_bits = np.empty(_BLOCK, np.int32)
    scale = scale_bits.view(np.float32)
    for first in range(0, len(score), _BLOCK):
        end = min(first + _BLOCK, len(score))
        _weights(score[first:end], bias[first:end], end - first, scale_bits, scale, weight[first:end])


@kernel
def leaf_sums(leaf, weight, sums):
    """Sums of the weights of each node's positives (column 0) and negatives (1), float64 (n_nodes, 2).

    Four sums run side by side and are added in a fixed order.
    """
    n_nodes = len(sums)
    parts = np.zeros((4, n_nodes, 2))
    n = len(leaf)
    whole = n & ~3
    for i in range(0, whole, 4):
        for lane in range(4):
            w = weight[i + lane]
            parts[lane, np.uint64(leaf[i + lane]), 0 if w > 0 else 1] += abs(np.float64(w))
    for i in range(whole, n):
        w = weight[i]
        parts[0, leaf[i], 0 if w > 0 else 1] += abs(np.float64(w))
    for node in range(n_nodes):
        for side in range(2):
            sums[node, side] = (parts[0, node, side] + parts[1, node, side]) + (
                parts[2, node, side] + parts[3, node, side]
            )


@kernel
def leaf_curvatures(leaf, weight, bias, curvature):
    """Second derivative of each node's log-loss, Σ w (1 - w / b), into float64 (n_nodes,)."""
    n_nodes = len(curvature)
    parts = np.zeros((4, n_nodes))
    n = len(leaf)
    whole = n & ~3
    for i in range(0, whole, 4):
        for lane in range(4):
            if bias[i + lane] != 0:
                w = np.float64(weight[i + lane])
                parts[lane, leaf[i + lane]] += abs(w) * (1.0 - w / np.float64(bias[i + lane]))
    for i in range(whole, n):
        if bias[i] != 0:
            w = np.float64(weight[i])
            parts[0, leaf[i]] += abs(w) * (1.0 - w / np.float64(bias[i]))
    for node in range(n_nodes):
        curvature[node] = (parts[0, node] + parts[1, node]) + (parts[2, node] + parts[3, node])


@kernel
def update_scores(leaf, units, bias, score, weight):
    """Add units[leaf] to the scores, and compute the weights of the examples whose score changed."""
    scale_bits = np.empty(_BLOCK, np.int32)
    scale = scale_bits.view(np.float32)
    for first in range(0, len(leaf), _BLOCK):
        end = min(first + _BLOCK, len(leaf))
        changed = 0
        for i in range(first, end):
            step = units[leaf[i]]
            changed |= step
            score[i] += step
        if changed != 0:
            _weights(score[first:end], bias[first:end], end - first, scale_bits, scale, weight[first:end])


@kernel
def add_units(leaf, units, score):
    """Add units[leaf] to the scores."""
    for i in range(len(leaf)):
        score[i] += units[leaf[i]]


def majoriser_step(positive: float, negative: float, penalty: float, value: float) -> float:
    """Step δ that minimises W⁺ e^-δ + W⁻ e^δ + λ |value + δ|, which bounds the objective from above.

    `positive`, `negative`: W⁺, W⁻ at the present confidence `value`. From value = 0 the step is 0 when
    |W⁺ - W⁻| ≤ λ. A step never passes the objective's own minimum, so the objective falls with every step
    and with any part of one.
    """
    side = _side(positive - negative, penalty, value)
    ahead, behind = (positive, negative) if side > 0 else (negative, positive)
    return _up_to_kink(side * _minimum(ahead, behind, penalty), side, value) if side else 0.0


def _side(slope: float, penalty: float, value: float) -> float:
    """Sign of the confidence that a step leads to or stays at; 0 where a leaf of 0 had better stay so."""
    if value != 0.0:
        return 1.0 if value > 0 else -1.0
    return 0.0 if abs(slope) <= penalty else 1.0 if slope > 0 else -1.0


def _up_to_kink(step: float, side: float, value: float) -> float:
    """`step`, ended at confidence 0, where |value + δ| has its kink."""
    return -value if value != 0.0 and (value + step) * side < 0 else step


def _minimum(ahead: float, behind: float, penalty: float) -> float:
    """δ that minimises ahead · e^-δ + behind · e^δ + penalty · δ (no sum may be negative, ahead or penalty above 0)."""
    if ahead == 0.0:
        return -np.inf
    # the root of behind x² + penalty x - ahead, in the form that does not cancel; covers behind = 0
    bottom = penalty + np.sqrt(penalty * penalty + 4.0 * ahead * behind)
    return float(np.log(2.0 * ahead / bottom)) if bottom > 0 else np.inf


def newton_step(positive: float, negative: float, curvature: float, penalty: float, value: float) -> float:
    """Damped Newton step ln(1 + |slope| / curvature) of one leaf, signed; 0 where the objective cannot fall.

    The log-loss's third derivative is at most its second, so the curvature grows at most by e^|δ| on the
    way, and the step never passes the minimum.
    """
    slope = positive - negative
    side = _side(slope, penalty, value)
    force = slope - side * penalty  # minus the derivative of the objective
    if side == 0.0 or force == 0.0:
        return 0.0
    length = np.log1p(abs(force) / curvature) if curvature > 0 else np.inf
    return _up_to_kink(float(np.copysign(length, force)), side, value)


def step_units(sums: np.ndarray, penalty: float, value: np.ndarray, curvature: np.ndarray | None = None) -> np.ndarray:
    """Steps of all nodes as int32 multiples of CONFIDENCE_GRID, cut towards 0 (so never too long).

    `sums` float64 (n, 2): W⁺, W⁻; `value` int64 (n,): present confidences in units. With `curvature` float64
    (n,) the longer of the majoriser's and the Newton step is taken: neither passes the minimum.
    """
    out = np.zeros(len(sums), dtype=np.int32)
    for node in range(len(sums)):
        positive, negative, now = sums[node, 0], sums[node, 1], value[node] * CONFIDENCE_GRID
        step = majoriser_step(positive, negative, penalty, now)
        if curvature is not None:
            other = newton_step(positive, negative, curvature[node], penalty, now)
            step = other if abs(other) > abs(step) else step
        out[node] = int(np.clip(step / CONFIDENCE_GRID, -MAX_STEP_UNITS, MAX_STEP_UNITS))
    return out


def signed_bias(gold: np.ndarray, b_pos: np.ndarray, b_neg: np.ndarray, number: int) -> np.ndarray:
    """b · y float32 (n,): +b_pos where gold is the label's number, else -b_neg."""
    return np.where(gold == number, b_pos, -b_neg).astype(np.float32)


def log_loss(score: np.ndarray, bias: np.ndarray) -> float:
    """Σ b ln(1 + e^(-y h)) in float64 of scores int32 and signed biases float32."""
    margin = score.astype(SCORE) * CONFIDENCE_GRID * np.sign(bias)
    return float(np.sum(np.abs(bias.astype(SCORE)) * np.logaddexp(0.0, -margin)))
