"""Trees of the sentences of a batch: one kernel call encodes and parses them all, and other threads can run
meanwhile."""

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX
from ..jit import give_way, kernel
from .network import decode, read_some, span_probabilities
from .whole import place_of_bare, take_up_bare

DONE, MORE_ROOM, BARE = 0, 1, 2
"""Reasons why `parse_each` returns: all sentences are parsed; the output is too short for the next one; the last one is
long and has unattached tokens."""


class Chart(NamedTuple):
    """Options of the chart, see `kernels.span.network.decode`.

    `chain_from` int32 (chains + 1,), `chain_labels` int32: the labels of each chain. `least`, `penalty`: probabilities.
    `candidate`: minimum probability of spans to which unattached tokens may be attached, in sentences of at most
    `piece` tokens.
    """

    chain_from: np.ndarray
    chain_labels: np.ndarray
    least: float
    penalty: float
    candidate: float
    piece: int


class Batch(NamedTuple):
    """S concatenated sentences, and arrays for their encodings and trees.

    `numbers` int32 (rows, k), `firsts` int32 (S + 1,): as in `kernels.span.network.read_gaps`; `tags` int32 (rows,):
    the id of each row's tag. `read` int64 (2,): the sentences [`read[0]`, `read[1]`) are encoded, initially none;
    `gaps`, `own` float32: their encodings, see `kernels.span.network.read_some`. Filled: `items` int32 (…, 3): start,
    end, label in pre-order, without the root, and `costs` float64; sentence s has items[ends[s] : ends[s + 1]] (`ends`
    int64 (S + 1,)). `tried` int64 (S,): number of labelled spans.
    """

    numbers: np.ndarray
    firsts: np.ndarray
    tags: np.ndarray
    read: np.ndarray
    gaps: np.ndarray
    own: np.ndarray
    items: np.ndarray
    costs: np.ndarray
    ends: np.ndarray
    tried: np.ndarray


@kernel(error_model="numpy")
def parse_each(network, weights, bias, batch, together, sentence, chart, never, one_root, room):
    """Call `kernels.span.network.decode` for all sentences, starting with index `sentence`, and attach unattached
    tokens (`take_up_bare`). Return (index of the next sentence, DONE, `MORE_ROOM` or `BARE`). The encoding of the last
    sentence is then in `gaps` and `own`.

    `together`: maximum number of rows that are encoded at once (at least one sentence is). `weights` float32 (1, m, C),
    `bias` (1, C): the network's label weights. `never`, `one_root`: see `kernels.span.whole`; if `never` is empty, no
    token counts as unattached. `room`: a sentence of n tokens has at most `room` · (n + 1) items.
    """
    m = weights.shape[1]
    parents = np.empty(len(batch.tags), dtype=INDEX)
    while sentence < len(batch.firsts) - 1:
        if sentence == batch.read[1]:
            read = read_some(network, batch.numbers, batch.firsts, sentence, together, batch.gaps, batch.own)
            batch.read[0], batch.read[1] = sentence, read
        give_way()
        row, at = batch.firsts[sentence], batch.ends[sentence]
        n = batch.firsts[sentence + 1] - row - 2
        if at + room * (n + 1) > len(batch.items):
            return sentence, MORE_ROOM
        gap = row - batch.firsts[batch.read[0]] - (sentence - batch.read[0])
        gaps = batch.gaps[4 * m * gap : 4 * m * (gap + n + 1)].reshape((1, 4, n + 1, m))
        own = batch.own[gap : gap + n + 1].reshape((1, n + 1))
        items, costs = batch.items[at:], batch.costs[at:]
        count, batch.tried[sentence] = decode(
            gaps, own, weights, bias, chart.chain_from, chart.chain_labels, 0, n, chart.least, chart.penalty,
            items, costs,
        )  # fmt: skip
        bare = False
        if len(never) > 0:
            tags = batch.tags[row + 1 : row + 1 + n]
            lacks_root = one_root and count > 0 and (items[0, 0] > 0 or items[0, 1] < n)
            bare = lacks_root or place_of_bare(items, count, n, tags, never, parents[:n], 0) >= 0
            if bare and n <= chart.piece:
                spans, posteriors, logs = span_probabilities(gaps, own, weights, bias, 0, n, chart.candidate)
                count = take_up_bare(
                    items, costs, count, tags, never, one_root, spans, posteriors, logs, chart.chain_from,
                    chart.chain_labels,
                )  # fmt: skip
        batch.ends[sentence + 1] = at + count
        sentence += 1
        if bare and n > chart.piece:
            return sentence, BARE
    return sentence, DONE
