"""The recurrent tagger: rows of a table in; scores of tags and of sentence starts out."""

from typing import NamedTuple

import numpy as np

from ...dtypes import REAL
from ...stored_names import stored_as
from ..jit import kernel
from .units import multiply, read_rows


@stored_as("table", "factor", "weights", "recurrent", "bias", "outputs", "output_bias")
class TaggingNetwork(NamedTuple):
    """float32 arrays, but for an int8 table; e: width of the table, d: units in a direction, T: tags.

    `table` (V, e), `factor` (V,), `weights`, `recurrent`, `bias`: as in `kernels.span.network.SpanNetwork`. `outputs`
    (2 d, T + 1) with `output_bias` (T + 1,): a column for each tag, and one for the beginning of a sentence.
    """

    table: np.ndarray
    factor: np.ndarray
    weights: tuple[np.ndarray, ...]
    recurrent: np.ndarray
    bias: np.ndarray
    outputs: np.ndarray
    output_bias: np.ndarray


@kernel(fastmath=True, error_model="numpy")
def score_tags(network, numbers, firsts, together, best, starts):
    """The best tag of each token, and the log odds that a sentence begins there.

    `numbers` int32 (tokens, k): rows of the table, of one text behind the other; `firsts`
    int32 (texts + 1,): where each text begins, and their number. `together`: rows that are read at once, or one text.
    Filled: `best` int32 (tokens,), of equal scores the first; `starts` float32 (tokens,).
    """
    last = 0
    while last < len(firsts) - 1:
        first, last = last, last + 1
        while last < len(firsts) - 1 and firsts[last + 1] - firsts[first] <= together:
            last += 1
        here = slice(firsts[first], firsts[last])
        _score(network, numbers[here], firsts[first : last + 1] - firsts[first], best[here], starts[here])


@kernel(fastmath=True, error_model="numpy", no_cpython_wrapper=True)
def _score(network, numbers, firsts, best, starts):
    """`score_tags` of texts that are read at once."""
    read = read_rows(network.table, network.factor, network.weights, network.recurrent, network.bias, numbers, firsts)
    scores = np.empty((len(numbers), network.outputs.shape[1]), dtype=REAL)
    multiply(read, network.outputs, scores)
    tags = network.outputs.shape[1] - 1
    bias = network.output_bias
    for t in range(len(numbers)):
        row, found = scores[t], 0
        most = row[0] + bias[0]
        for tag in range(1, tags):
            here = row[tag] + bias[tag]
            if here > most:
                found, most = tag, here
        best[t] = found
        starts[t] = row[tags] + bias[tags]
