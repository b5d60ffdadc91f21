"""The span parser over a pretrained encoder: another network, and all else as in `span_parser.parser`."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..core.parser import TaggedWords
from ..core.self_test import Strings
from ..dtypes import INDEX, REAL
from ..symbols import SymbolTable
from .encoder import SentenceEncoder, parts_of_batch
from .kernels.batch import Encoded
from .kernels.network import LabelLayer
from .kernels.pretrained import encode_words, score_gaps
from .parser import SpanParser
from .pretrained import KIND, read_pretrained, write_pretrained
from .word_pieces import CONTINUED


class PretrainedEncoder(SentenceEncoder):
    """Runs the network of a model. A sentence with more word pieces than the network has positions is read in
    overlapping windows."""

    @staticmethod
    def prepare(network: Any) -> Any:
        """Return the network, whose large matrices are rounded already."""
        return network

    def word_vectors(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """Return the vectors of the words of texts (lists of words), float32 (n, d): of each text one row for its
        beginning, its words, and one for its end."""
        (network,) = self.networks
        rows, chosen = self.words.encode_all(texts, len(network.positions))
        vectors = np.empty((len(rows.piece_offsets) - 1, network.table.shape[1]), dtype=REAL)
        for first, last in parts_of_batch(rows.piece_offsets[rows.offsets].tolist()):
            begin, end = rows.offsets[first], rows.offsets[last]
            piece_offsets = rows.piece_offsets[begin : end + 1]
            encode_words(
                network, rows.pieces[piece_offsets[0] : piece_offsets[-1]], piece_offsets - piece_offsets[0],
                rows.offsets[first : last + 1] - begin, vectors[begin:end],
            )  # fmt: skip
        return vectors if chosen is None else vectors[chosen]

    def encode(
        self, sentences: Sequence[TaggedWords], n_networks: int | None = None, before: Encoded | None = None
    ) -> Encoded:
        if before is not None:
            return before  # there is only one network
        (network,) = self.networks
        m, n_unknown = len(network.bilinear), len(self.words.tables[1])
        vectors = self.word_vectors([words for words, _ in sentences])
        offsets = np.cumsum([0, *(len(words) + 2 for words, _ in sentences)]).astype(INDEX)
        tags = np.full(len(vectors), n_unknown, dtype=INDEX)
        inside = np.ones(len(tags), dtype=bool)
        inside[offsets[:-1]] = inside[offsets[1:] - 1] = False
        tags[inside] = self.words.tag_ids([tag for _, tags_of in sentences for tag in tags_of])
        size = len(vectors) - len(sentences)
        gaps, left_scores = np.empty(4 * m * size, dtype=REAL), np.empty(size, dtype=REAL)
        for first, last in parts_of_batch(offsets.tolist()):
            begin, end = offsets[first] - first, offsets[last] - last
            score_gaps(
                network, vectors[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first],
                gaps[4 * m * begin : 4 * m * end], left_scores[begin:end],
            )  # fmt: skip
        layer = LabelLayer(self._weights, self._bias, network.label_norm[None])
        return Encoded(tags[:, None], offsets, tags, gaps, left_scores, layer)


class PretrainedSpanParser(SpanParser):
    """Parses with the network of a SpanModel that reads word pieces (`span_parser.pretrained`)."""

    name = KIND
    FORMAT = read_pretrained, write_pretrained
    ENCODER = PretrainedEncoder

    def network_sizes(self, n_parameters: int) -> dict[str, int]:
        network = self.model.networks[0]
        sizes = {"layers": len(network.norms), "units": network.table.shape[1], "attention heads": network.n_heads}
        return {**sizes, "parameters": n_parameters, "word pieces": self.model.words.size}

    @cached_property
    def _whole_words(self) -> SymbolTable:
        return SymbolTable(piece for piece in self.model.words.tables[0] if not piece.startswith((CONTINUED, "[")))

    @property
    def vocabulary(self) -> tuple[Strings, Strings]:
        """The pieces that are whole words, and the tags of the model."""
        return self._whole_words, self.model.words.tables[1].strings
