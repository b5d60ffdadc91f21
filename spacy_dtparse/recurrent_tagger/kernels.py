"""The recurrent tagger: computes scores of tags and of sentence starts from the ids of tokens."""

from typing import NamedTuple

import numpy as np

from ..dtypes import REAL
from ..jit.decorator import kernel
from ..nn.kernels.products import multiply
from ..nn.kernels.units import encode_rows
from ..stored_names import stored_as


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
        row, best_tag, next_tag = scores[t], 0, -1
        highest = row[0] + bias[0]
        next_highest = highest
        for tag in range(1, tags):
            here = row[tag] + bias[tag]
            if here > highest:
                best_tag, highest, next_tag, next_highest = tag, here, best_tag, highest
            elif next_tag < 0 or here > next_highest:
                next_tag, next_highest = tag, here
        best[t] = best_tag
        second[t] = next_tag if highest - next_highest <= max_gap else -1
        starts[t] = row[tags] + bias[tags]
