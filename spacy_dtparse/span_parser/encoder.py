"""The encoder of the span parser: runs the networks on a batch of sentences, once for all that needs their output."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.parser import TaggedWords
from ..dtypes import INDEX, REAL
from ..nn.packing import round_layers
from .kernels.batch import Encoded
from .kernels.network import LabelLayer, encode_gaps
from .model import SpanModel

_BATCH_ROWS = 256
"""Rows per call of a network: enough to load the weights once for several sentences, and still in the cache."""
NetworkOutput = tuple[np.ndarray, np.ndarray, LabelLayer]
"""The output of Q networks for a sentence of n tokens: `gaps` float32 (Q, 4, n + 1, m), `left_scores` (Q, n + 1), and
their LabelLayer."""


class SentenceEncoder:
    """Runs the first `n_networks` networks of a model. `chain_ids`: the label chains that are scored, in this order."""

    def __init__(self, model: SpanModel, n_networks: int, chain_ids: np.ndarray):
        self.words: Any = model.words
        self.networks = tuple(map(self.prepare, model.networks[:n_networks]))
        weights = [network.labels[:, chain_ids] for network in self.networks]
        self._weights = np.ascontiguousarray(np.stack(weights))  # a choice of columns is in Fortran's order
        self._bias = np.stack([network.label_bias[chain_ids] for network in self.networks])

    @staticmethod
    def prepare(network: Any) -> Any:
        """Return a network of a model in the form that the kernels take."""
        return round_layers(network, "edges")

    def encode(
        self, sentences: Sequence[TaggedWords], n_networks: int | None = None, before: Encoded | None = None
    ) -> Encoded:
        """Return the output of the first `n_networks` networks (None: all) for sentences (words, tags). `before`: in
        place of the sentences, their output of some networks, which do not run again."""
        ids, offsets = self.words.encode_all(sentences) if before is None else (before.ids, before.offsets)
        used = len(self.networks) if n_networks is None else n_networks
        m, size = self._weights.shape[1], len(ids) - len(offsets) + 1
        gaps, left_scores = np.empty((used, 4 * m * size), dtype=REAL), np.empty((used, size), dtype=REAL)
        done = 0 if before is None else len(before.layer.weights)
        if before is not None:
            gaps[:done], left_scores[:done] = before.gaps.reshape(done, -1), before.left_scores.reshape(done, -1)
        for first, last in parts_of_batch(offsets.tolist()):
            begin, end = offsets[first] - first, offsets[last] - last
            rows, here = ids[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first]
            for q in range(done, used):
                encode_gaps(
                    self.networks[q], rows, here, gaps[q, 4 * m * begin : 4 * m * end], left_scores[q, begin:end]
                )
        layer = LabelLayer(self._weights[:used], self._bias[:used], np.empty((used, 0, m), dtype=REAL))
        return Encoded(ids, offsets, self.words.tags_of(ids), gaps.reshape(-1), left_scores.reshape(-1), layer)

    def complete(self, encoded: Encoded, chosen: Sequence[int]) -> Encoded:
        """Return the chosen sentences of a batch with the output of all networks, of which those that have run do not
        run again."""
        return self.encode((), before=select_encoded(encoded, chosen))


def parts_of_batch(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield [first, last) of adjacent sentences with at most `_BATCH_ROWS` rows together, or of one sentence."""
    first, n = 0, len(offsets) - 1
    for last in range(1, n + 1):
        if last == n or offsets[last + 1] - offsets[first] > _BATCH_ROWS:
            yield first, last
            first = last


def output_of(encoded: Encoded, s: int) -> NetworkOutput:
    """Return the output of the networks for sentence s of a batch."""
    used, m = encoded.layer.weights.shape[:2]
    begin, end = int(encoded.offsets[s]) - s, int(encoded.offsets[s + 1]) - s - 1
    gaps = encoded.gaps.reshape(used, -1)[:, 4 * m * begin : 4 * m * end].reshape(used, 4, -1, m)
    left_scores = np.ascontiguousarray(encoded.left_scores.reshape(used, -1)[:, begin:end])
    return gaps, left_scores, encoded.layer


def select_encoded(encoded: Encoded, chosen: Sequence[int]) -> Encoded:
    """Return a batch of the chosen sentences, in the order given."""
    used = len(encoded.layer.weights)
    rows = [slice(int(encoded.offsets[s]), int(encoded.offsets[s + 1])) for s in chosen]
    outputs = [output_of(encoded, s)[:2] for s in chosen]
    return encoded._replace(
        ids=np.concatenate([encoded.ids[one] for one in rows]),
        offsets=np.cumsum([0, *(one.stop - one.start for one in rows)]).astype(INDEX),
        tags=np.concatenate([encoded.tags[one] for one in rows]),
        gaps=np.concatenate([gaps.reshape(used, -1) for gaps, _ in outputs], axis=1).reshape(-1),
        left_scores=np.concatenate([left_scores for _, left_scores in outputs], axis=1).reshape(-1),
    )


def n_tokens(encoded: Encoded, s: int) -> int:
    """Return the number of tokens of sentence s of a batch."""
    return int(encoded.offsets[s + 1] - encoded.offsets[s]) - 2
