"""The recurrent tagger: computes scores of tags and of sentence starts from the ids of tokens."""

from typing import NamedTuple

import numpy as np

from ..dtypes import REAL
from ..jit.decorator import kernel, noalloc_kernel
from ..nn.kernels.products import multiply
from ..nn.kernels.units import encode_rows
from ..stored_names import stored_as

_LARGE = REAL(1e30)
"""More than any score."""


@stored_as("table", "factor", "weights", "recurrent", "bias", "outputs", "output_bias")
class TaggingNetwork(NamedTuple):
    """Weights: float32 arrays, except for an int8 table. e: width of the table, d: units per direction, T: tags.

    `table` (V, e), `factor` (V,), `weights`, `recurrent`, `bias`: as in `kernels.network.SpanNetwork`. `outputs`
    (2 d, T + 1) with `output_bias` (T + 1,): a column for each tag, and one for the start of a sentence. Kernels take
    `weights` rounded (`nn.packing.round_layers`).
    """

    table: np.ndarray
    factor: np.ndarray
    weights: tuple[np.ndarray, ...]
    recurrent: np.ndarray
    bias: np.ndarray
    outputs: np.ndarray
    output_bias: np.ndarray


@kernel(fastmath=True, error_model="numpy")
def score_tags(network, ids, offsets, max_rows, max_gap, best, second, starts):
    """Compute the best tags of each token, and the log odds that a sentence starts there.

    `ids` int32 (tokens, k): ids of table rows, of concatenated texts; `offsets` int32 (texts + 1,): offsets of the
    texts, and the number of tokens. `max_rows`: maximum number of tokens that are encoded at once (at least one text
    is). `max_gap`: maximum difference between the log probabilities of the best tag and of a second one. Filled:
    `best` int32 (tokens,), of equal scores the first; `second` int32 (tokens,), -1: none; `starts` float32 (tokens,).
    """
    last = 0
    while last < len(offsets) - 1:
        first, last = last, last + 1
        while last < len(offsets) - 1 and offsets[last + 1] - offsets[first] <= max_rows:
            last += 1
        here = slice(offsets[first], offsets[last])
        here_offsets = offsets[first : last + 1] - offsets[first]
        _score(network, ids[here], here_offsets, max_gap, best[here], second[here], starts[here])


@kernel(fastmath=True, error_model="numpy", no_cpython_wrapper=True)
def _score(network, ids, offsets, max_gap, best, second, starts):
    """Compute `score_tags` for texts that are encoded at once."""
    encoded = encode_rows(network.table, network.factor, network.weights, network.recurrent, network.bias, ids, offsets)
    scores = np.empty((len(ids), network.outputs.shape[1]), dtype=REAL)
    multiply(encoded, network.outputs, scores)
    tags = network.outputs.shape[1] - 1  # the last column is for the start of a sentence
    bias = network.output_bias
    for t in range(len(ids)):
        row = scores[t]
        for column in range(len(row)):
            row[column] += bias[column]
        starts[t] = row[tags]
        by_tag = row[:tags]
        highest = _highest(by_tag)
        best[t] = _find(by_tag, highest)
        by_tag[best[t]] = -_LARGE
        next_highest = _highest(by_tag)
        second[t] = _find(by_tag, next_highest) if highest - next_highest <= max_gap else -1


@noalloc_kernel(fastmath=True)
def _highest(scores):
    """The highest of some scores: a loop without branches, which is vectorised."""
    highest = -_LARGE
    for score in scores:
        highest = max(highest, score)
    return highest


@noalloc_kernel
def _find(scores, wanted):
    """The index of the first of some scores that is `wanted`."""
    found = 0
    while found < len(scores) - 1 and scores[found] != wanted:  # also ends at nan, of a damaged model
        found += 1
    return found
