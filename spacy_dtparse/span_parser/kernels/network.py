"""The span network: computes scores of spans and of their labels from the ids of tokens.

A token (there is one more before the first and after the last) is the sum of rows of one embedding table. Layers of
simple recurrent units encode the tokens in both directions; a gap between two tokens is encoded by the outputs next to
it from both directions. The score of a span is a bilinear form of its two gaps (Dozat & Manning 2017; for constituents
Zhang, Zhou & Li 2020); its labels are scored by one hidden layer over the sum of both gaps' projections.
"""

import math
from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, REAL
from ...jit.decorator import kernel, noalloc_kernel
from ...nn.kernels.products import multiply, multiply_int8
from ...nn.kernels.transformer import gelu, normalize_row
from ...nn.kernels.units import LEAK, encode_rows, logistic
from ...stored_names import stored_as
from .chart import best_inside, best_spans, tree_posteriors

LEFT, RIGHT, LABEL_LEFT, LABEL_RIGHT = 0, 1, 2, 3
"""Projections of a gap: as an end of a span to be scored, as an end of a span to be labelled."""
_NEVER = REAL(-9.5)
"""Labels e^9.5 times less probable than the best are ignored in the normalisation."""


@stored_as(
    "table", "factor", "weights", "recurrent", "bias", "edges", "edge_bias", "bilinear", "from_left", "from_right",
    "labels", "label_bias",
)  # fmt: skip
class SpanNetwork(NamedTuple):
    """Weights: float32 arrays, except for an int8 table. e: width of the table, d: units per direction, m: width of the
    projections, C: label chains.

    `table` (V, e) with a factor for each row, `factor` (V,); in training the table may be float32. `weights`: for each
    layer (its input, 2 · rows · d), rows 4 if the input is not 2 d wide (the fourth is the highway's input), else 3.
    `recurrent`, `bias` (layers, 2, 2, d). `edges` (2 d, 4 m) with `edge_bias` (4 m,): LEFT, RIGHT, LABEL_LEFT,
    LABEL_RIGHT side by side (the last two share the bias of the third). `bilinear` (m, m), `from_left`, `from_right`
    (m,). `labels` (m, C) with `label_bias` (C,). Kernels take `weights` and `edges` rounded
    (`nn.packing.round_layers`).
    """

    table: np.ndarray
    factor: np.ndarray
    weights: tuple[np.ndarray, ...]
    recurrent: np.ndarray
    bias: np.ndarray
    edges: np.ndarray
    edge_bias: np.ndarray
    bilinear: np.ndarray
    from_left: np.ndarray
    from_right: np.ndarray
    labels: np.ndarray
    label_bias: np.ndarray


class LabelLayer(NamedTuple):
    """The last layer of Q networks, which scores label chains: `weights` float32 (Q, m, C), `bias` (Q, C). `norm`
    (Q, 2, m): gain and shift of a normalisation before the rectifier, which then is `gelu`; if empty, (Q, 0, m), there
    is no normalisation, and the rectifier is leaky."""

    weights: np.ndarray
    bias: np.ndarray
    norm: np.ndarray


@noalloc_kernel(fastmath=True, error_model="numpy")
def dot(left, right, m):
    """The dot product of two float32 rows of length m."""
    total = REAL(0)
    for j in range(m):
        total += left[j] * right[j]
    return total


@kernel(fastmath=True, error_model="numpy")
def encode_gaps(network, ids, offsets, gaps, left_scores):
    """Encode the gaps of sentences as projections, n + 1 for a sentence of n tokens. The bits do not depend on the
    other sentences of a batch.

    `ids` int32 (rows, k): ids of table rows, n + 2 rows per sentence; `offsets` int32 (sentences + 1,): offsets of
    the sentences' rows, and the number of rows. Filled: `gaps` float32, concatenated by sentence, each (4, n + 1, m),
    LEFT already multiplied by the bilinear form and plus `from_right`; and `left_scores`, n + 1 per sentence, the score
    of a left end alone.
    """
    tokens, sentences = len(ids), len(offsets) - 1
    d, m = network.recurrent.shape[3], network.bilinear.shape[0]
    inputs = encode_rows(network.table, network.factor, network.weights, network.recurrent, network.bias, ids, offsets)
    size = tokens - sentences
    encoded = np.empty((size, 2 * d), dtype=REAL)
    gap = 0
    for s in range(sentences):
        for t in range(offsets[s], offsets[s + 1] - 1):
            for j in range(d):
                encoded[gap, j] = inputs[t, j]
                encoded[gap, d + j] = inputs[t + 1, d + j]
            gap += 1
    projected = np.empty((size, 4 * m), dtype=REAL)
    multiply_int8(encoded, network.edges, projected)
    left, formed = np.empty((size, m), dtype=REAL), np.empty((size, m), dtype=REAL)
    for t in range(size):
        row = projected[t]
        for j in range(3 * m):
            row[j] += network.edge_bias[j]
        for j in range(2 * m):
            row[j] = max(row[j], LEAK * row[j])
        left[t] = row[:m]
    multiply(left, network.bilinear, formed)
    gap = 0
    for s in range(sentences):
        n_gaps = offsets[s + 1] - offsets[s] - 1
        ends = gaps[4 * m * gap : 4 * m * (gap + n_gaps)].reshape((4, n_gaps, m))
        for t in range(n_gaps):
            left_scores[gap] = dot(left[gap], network.from_left, m)
            for j in range(m):
                ends[LEFT, t, j] = formed[gap, j] + network.from_right[j]  # a right end's score alone, times RIGHT
                for kind in (RIGHT, LABEL_LEFT, LABEL_RIGHT):
                    ends[kind, t, j] = projected[gap, kind * m + j]
            gap += 1


@kernel(fastmath=True, error_model="numpy")
def score_spans(gaps, left_scores, first, last, scores):
    """Write the scores of all spans of [first, last), averaged over the networks, to float32 `scores` (last - first +
    1, last - first + 1); 0 for spans of one token. `gaps` (networks, 4, gaps, m), `left_scores` (networks, gaps)."""
    n_networks, m = gaps.shape[0], gaps.shape[3]
    size = last - first + 1
    right = np.empty((n_networks * m, size), dtype=REAL)
    left = np.empty((size, n_networks * m), dtype=REAL)
    scale = REAL(1.0 / n_networks)
    for q in range(n_networks):
        for t in range(size):
            for j in range(m):
                right[q * m + j, t] = gaps[q, RIGHT, first + t, j]
                left[t, q * m + j] = gaps[q, LEFT, first + t, j] * scale
    multiply(left, right, scores)
    for t in range(size):
        left_score = REAL(0)
        for q in range(n_networks):
            left_score += left_scores[q, first + t] * scale
        for j in range(t + 1, size):
            scores[t, j] += left_score
    for t in range(size - 1):
        scores[t, t + 1] = 0


@kernel(fastmath=True, error_model="numpy")
def label_spans(gaps, layer, spans, out):
    """Write the log-probabilities of the label chains of `spans` int32 (c, 2) to float32 `out` (c, C): the normalised
    geometric mean of the networks' distributions. `layer`: their LabelLayer."""
    weights, bias, norm = layer.weights, layer.bias, layer.norm
    n_spans, n_networks, m, n_labels = len(spans), gaps.shape[0], gaps.shape[3], bias.shape[1]
    hidden = np.empty((n_spans, m), dtype=REAL)
    logits = np.empty((n_spans, n_labels), dtype=REAL)
    scale = REAL(1.0 / n_networks)
    for q in range(n_networks):
        for c in range(n_spans):
            left, right = gaps[q, LABEL_LEFT, spans[c, 0]], gaps[q, LABEL_RIGHT, spans[c, 1]]
            row = hidden[c]
            if norm.shape[1] > 0:
                for j in range(m):
                    row[j] = left[j] + right[j]
                normalize_row(row, norm[q])
                for j in range(m):
                    row[j] = gelu(row[j])
            else:
                for j in range(m):
                    x = left[j] + right[j]
                    row[j] = max(x, LEAK * x)
        multiply(hidden, weights[q], logits)
        for c in range(n_spans):
            for label in range(n_labels):
                x = scale * (logits[c, label] + bias[q, label])
                out[c, label] = x if q == 0 else out[c, label] + x
    for c in range(n_spans):
        highest = out[c, 0]
        for label in range(n_labels):
            highest = max(highest, out[c, label])
        total = REAL(0)
        for label in range(n_labels):
            x = out[c, label] - highest
            y = logistic(x)  # e^x = y / (1 - y), without a call
            total += y / (REAL(1) - y) if x > _NEVER else REAL(0)
        rest = REAL(highest + math.log(total))
        for label in range(n_labels):
            out[c, label] -= rest


@kernel(error_model="numpy")
def probable_spans(gaps, left_scores, first, last, min_prob):
    """The spans of [first, last) whose posterior probability is at least `min_prob`, ordered by start, then end: (start
    and end int32 (c, 2), posteriors float64 (c,)). Single tokens have a posterior of 1. `gaps` (networks, kinds, gaps,
    m) may lack LABEL_LEFT and LABEL_RIGHT."""
    n = last - first
    scores = np.empty((n + 1, n + 1), dtype=REAL)
    score_spans(gaps, left_scores, first, last, scores)
    _, all_spans = tree_posteriors(scores)
    for i in range(n):
        all_spans[i, i + 1] = 1.0
    spans = np.empty((n * (n + 1) // 2, 2), dtype=INDEX)
    posteriors = np.empty(len(spans))
    count = 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            if all_spans[i, j] >= min_prob:
                spans[count, 0], spans[count, 1] = first + i, first + j
                posteriors[count] = all_spans[i, j]
                count += 1
    return spans[:count], posteriors[:count]


@kernel(error_model="numpy")
def span_probabilities(gaps, left_scores, layer, first, last, min_prob):
    """Probabilities of the spans of [first, last) whose posterior probability is at least `min_prob`, and of their
    labels.

    Return (starts and ends int32 (c, 2), posteriors float64 (c,), log-probabilities of the labels float32 (c, C)).
    """
    spans, posteriors = probable_spans(gaps, left_scores, first, last, min_prob)
    logs = np.empty((len(spans), layer.bias.shape[1]), dtype=REAL)
    label_spans(gaps, layer, spans, logs)
    return spans, posteriors, logs


@kernel(error_model="numpy")
def constituent_marginals(spans, posteriors, logs, min_prob, kept_spans, span_probs, chains, chain_probs):
    """Write the spans of `span_probabilities` that are constituents with a probability of at least `min_prob`; return
    their number.

    Filled from index 0: `kept_spans` int32 (c, 2): the spans; `span_probs` float64 (c,): that probability; `chains`
    int32 (c, 2), `chain_probs` float64 (c, 2): the two most likely label chains (-1 if there is only one), and the
    probability that the tree has exactly that chain there.
    """
    count = 0
    for c in range(len(spans)):
        span_prob = posteriors[c] * (1.0 - math.exp(logs[c, 0]))
        if span_prob < min_prob:
            continue
        first, second = 1, -1
        for chain in range(2, logs.shape[1]):
            if logs[c, chain] > logs[c, first]:
                first, second = chain, first
            elif second < 0 or logs[c, chain] > logs[c, second]:
                second = chain
        kept_spans[count, 0], kept_spans[count, 1] = spans[c, 0], spans[c, 1]
        span_probs[count] = span_prob
        chains[count, 0], chains[count, 1] = first, second
        chain_probs[count, 0] = posteriors[c] * math.exp(logs[c, first])
        chain_probs[count, 1] = posteriors[c] * math.exp(logs[c, second]) if second >= 0 else 0.0
        count += 1
    return count


@kernel(error_model="numpy")
def decode_scored(spans, posteriors, logs, chain_from, chain_labels, first, last, penalty, items, costs):
    """Call `decode`, given the output of `span_probabilities`; return the number of items."""
    n, n_chains = last - first, len(chain_from) - 1
    gains, best = np.zeros((n + 1, n + 1), dtype=REAL), np.empty((n + 1, n + 1), dtype=REAL)
    chains = np.zeros(len(spans), dtype=INDEX)
    candidate_of = np.full((n + 1, n + 1), -1, dtype=INDEX)  # index in `spans` of a span with a gain
    for c in range(len(spans)):
        i, j = spans[c, 0] - first, spans[c, 1] - first
        index = 1
        for chain in range(2, n_chains):
            if logs[c, chain] > logs[c, index]:
                index = chain
        gain = (chain_from[index + 1] - chain_from[index]) * (posteriors[c] * (1.0 - math.exp(logs[c, 0])) - penalty)
        if gain > 0.0:
            gains[i, j] = gain
            chains[c] = index
            candidate_of[i, j] = c
    chosen = np.empty((2 * n + 2, 2), dtype=INDEX)
    best_inside(gains, n, best)
    count = 0
    for k in range(best_spans(best, n, chosen)):
        c = candidate_of[chosen[k, 0], chosen[k, 1]]
        if c < 0:
            continue
        cost = -math.log(posteriors[c]) - logs[c, chains[c]]
        for index in range(chain_from[chains[c]], chain_from[chains[c] + 1]):
            items[count, 0], items[count, 1], items[count, 2] = spans[c, 0], spans[c, 1], chain_labels[index]
            costs[count] = cost
            count += 1
    return count


@kernel(error_model="numpy", nogil=False)
def decode(gaps, left_scores, layer, chain_from, chain_labels, first, last, min_prob, penalty, items, costs):
    """Find the constituents of [first, last): those of the binary tree with the greatest expected number of correct
    labels, where each label counts its posterior probability minus `penalty`. Of equally good trees the one whose
    splits are further left wins.

    Chain c has the labels of `chain_labels` int32 in [chain_from[c], chain_from[c + 1]), from top to bottom. Spans with
    a posterior below `min_prob` are ignored. Filled from index 0: `items` int32 (…, 3), start, end, label in pre-order,
    and `costs` float64: -ln of the probability that the tree has the item's chain there. Return (number of items,
    number of labelled spans).
    """
    spans, posteriors, logs = span_probabilities(gaps, left_scores, layer, first, last, min_prob)
    count = decode_scored(spans, posteriors, logs, chain_from, chain_labels, first, last, penalty, items, costs)
    return count, len(spans)
