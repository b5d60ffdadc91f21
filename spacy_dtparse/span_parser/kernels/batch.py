"""Trees of the sentences of a batch: one kernel call encodes and parses them all, and other threads can run
meanwhile."""

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX
from ...jit.decorator import kernel, yield_cpu
from .attach import attach_unattached, first_unattached
from .network import decode, encode_some, span_probabilities

DONE, OUT_OF_SPACE, UNATTACHED = 0, 1, 2
"""Reasons why `parse_from` returns: all sentences are parsed; the output is too short for the next one; the last one is
long and has unattached tokens."""


class ChartArrays(NamedTuple):
    """Options of the chart, see `kernels.network.decode`.

    `chain_from` int32 (chains + 1,), `chain_labels` int32: the labels of each chain. `min_prob`, `penalty`:
    probabilities. `candidate`: minimum probability of spans to which unattached tokens may be attached, in sentences of
    at most `piece` tokens.
    """

    chain_from: np.ndarray
    chain_labels: np.ndarray
    min_prob: float
    penalty: float
    candidate: float
    piece: int


class Batch(NamedTuple):
    """S concatenated sentences, and arrays for their encodings and trees.

    `ids` int32 (rows, k), `offsets` int32 (S + 1,): as in `kernels.network.encode_gaps`; `tags` int32 (rows,):
    the id of each row's tag. `encoded` int64 (2,): the sentences [`encoded[0]`, `encoded[1]`) are encoded, initially
    none; `gaps`, `left_scores` float32: their encodings, see `kernels.network.encode_some`. Filled: `items` int32
    (…, 3): start, end, label in pre-order, without the root, and `costs` float64; sentence s has items[ends[s] : ends[s
    + 1]] (`ends` int64 (S + 1,)). `tried` int64 (S,): number of labelled spans.
    """

    ids: np.ndarray
    offsets: np.ndarray
    tags: np.ndarray
    encoded: np.ndarray
    gaps: np.ndarray
    left_scores: np.ndarray
    items: np.ndarray
    costs: np.ndarray
    ends: np.ndarray
    tried: np.ndarray


@kernel(error_model="numpy")
def parse_from(network, weights, bias, batch, max_rows, sentence, chart, never, one_root, items_per_token):
    """Call `kernels.network.decode` for all sentences, starting with index `sentence`, and attach unattached
    tokens (`attach_unattached`). Return (index of the next sentence, DONE, `OUT_OF_SPACE` or `UNATTACHED`). The
    encoding of the last sentence is then in `gaps` and `left_scores`.

    `max_rows`: maximum number of rows that are encoded at once (at least one sentence is). `weights` float32 (1, m, C),
    `bias` (1, C): the network's label weights. `never`, `one_root`: see `kernels.attach`; if `never` is empty, no
    token counts as unattached. `items_per_token`: a sentence of n tokens has at most `items_per_token` · (n + 1) items.
    """
    m, chain_from, chain_labels = weights.shape[1], chart.chain_from, chart.chain_labels
    parents = np.empty(len(batch.tags), dtype=INDEX)
    while sentence < len(batch.offsets) - 1:
        if sentence == batch.encoded[1]:
            encoded = encode_some(network, batch.ids, batch.offsets, sentence, max_rows, batch.gaps, batch.left_scores)
            batch.encoded[0], batch.encoded[1] = sentence, encoded
        yield_cpu()
        row, at = batch.offsets[sentence], batch.ends[sentence]
        n = batch.offsets[sentence + 1] - row - 2
        if at + items_per_token * (n + 1) > len(batch.items):
            return sentence, OUT_OF_SPACE
        # A sentence of n tokens has n + 2 rows and n + 1 gaps: one gap fewer than rows for each sentence before it.
        gap = row - batch.offsets[batch.encoded[0]] - (sentence - batch.encoded[0])
        gaps = batch.gaps[4 * m * gap : 4 * m * (gap + n + 1)].reshape((1, 4, n + 1, m))
        left_scores = batch.left_scores[gap : gap + n + 1].reshape((1, n + 1))
        items, costs = batch.items[at:], batch.costs[at:]
        min_prob, penalty = chart.min_prob, chart.penalty
        count, batch.tried[sentence] = decode(
            gaps, left_scores, weights, bias, chain_from, chain_labels, 0, n, min_prob, penalty, items, costs
        )
        unattached = False
        if len(never) > 0:
            tags = batch.tags[row + 1 : row + 1 + n]
            lacks_root = one_root and count > 0 and (items[0, 0] > 0 or items[0, 1] < n)
            unattached = lacks_root or first_unattached(items, count, n, tags, never, parents[:n], 0) >= 0
            if unattached and n <= chart.piece:
                spans, posteriors, logs = span_probabilities(gaps, left_scores, weights, bias, 0, n, chart.candidate)
                count = attach_unattached(
                    items, costs, count, tags, never, one_root, spans, posteriors, logs, chain_from, chain_labels
                )
        batch.ends[sentence + 1] = at + count
        sentence += 1
        if unattached and n > chart.piece:
            return sentence, UNATTACHED
    return sentence, DONE
