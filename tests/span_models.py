"""Small random span models over a few words, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.span_parser.features import PartCounts, WordParts, parts_of
from spacy_dtparse.span_parser.kernels.network import SpanNetwork
from spacy_dtparse.span_parser.kernels.pretrained import PretrainedNetwork
from spacy_dtparse.span_parser.model import AttachTables, PackedNetwork, SpanModel
from spacy_dtparse.span_parser.pretrained import PackedEncoder
from spacy_dtparse.span_parser.word_pieces import N_SHAPES, WordPieces
from spacy_dtparse.symbols import SymbolTable

SENTENCES = [
    (("The", "cat", "sat", "on", "the", "mat", "."), ("DT", "NN", "VBD", "IN", "DT", "NN", ".")),
    (("Dogs", "bark", "."), ("NNS", "VBP", ".")),
    (("A", "dog", "saw", "the", "cat"), ("DT", "NN", "VBD", "DT", "NN")),
]
CHAINS = ((), ("NP",), ("VP",), ("S",), ("S", "VP"), ("PP",))

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"the cat sat on mat . dog bark a saw ##s ##t , ##a ##b b 0 1".split())


def count_parts(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> PartCounts:
    """Count the features in sentences (words, tags)."""
    tokens: Counter[tuple[str, str]] = Counter()
    for words, tags in sentences:
        tokens.update(zip(words, tags, strict=True))
    return parts_of(tokens)


def random_network(
    size: int, n_labels: int, seed: int = 0, *, width: int = 6, units: int = 4, layers: int = 2, projection: int = 5
) -> SpanNetwork:
    """A network of random numbers, the table in float32; the first layer changes the width unless width = 2 units."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (0.5 * rng.standard_normal(shape)).astype(np.float32)

    weights, into = [], width
    for _ in range(layers):
        weights.append(some(into, (6 if into == 2 * units else 8) * units))
        into = 2 * units
    return SpanNetwork(
        some(size, width),
        np.ones(size, np.float32),
        tuple(weights),
        some(layers, 2, 2, units),
        some(layers, 2, 2, units),
        some(2 * units, 4 * projection),
        some(4 * projection),
        some(projection, projection),
        some(projection),
        some(projection),
        some(projection, n_labels),
        some(n_labels),
    )


def random_model(
    n_networks: int = 2, seed: int = 0, clusters: WordClusters | None = None, second_tags: bool = False, **sizes: int
) -> SpanModel:
    """A model of random networks over the words of SENTENCES."""
    words = WordParts.build(count_parts(SENTENCES), 1, 1, clusters=clusters, second_tags=second_tags)
    packed = tuple(
        PackedNetwork.pack(random_network(words.size, len(CHAINS), seed + k, **sizes)) for k in range(n_networks)
    )
    return SpanModel(words, CHAINS, packed, {"name": "random", "lang": "en"})


def random_pretrained_network(
    n_pieces: int, n_labels: int, seed: int = 0, *, d: int = 8, inside: int = 20, layers: int = 2, projection: int = 5
) -> PretrainedNetwork:
    """A network over an encoder of random numbers with two heads, which reads texts of at most 24 pieces."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (0.5 * rng.standard_normal(shape)).astype(np.float32)

    return PretrainedNetwork(
        some(n_pieces, d), np.ones(n_pieces, np.float32), some(N_SHAPES, d), some(24, d), some(2, d),
        some(layers, d, 3 * d), some(layers, 3 * d), some(layers, d, d), some(layers, d), some(layers, d, inside),
        some(layers, inside), some(layers, inside, d), some(layers, d), 1 + some(layers, 2, 2, d),
        some(2 * d, 4 * projection), some(4 * projection), some(projection, projection), some(projection),
        some(projection), some(2, projection), some(projection, n_labels), some(n_labels), 2,
    )  # fmt: skip


def random_pretrained_model(seed: int = 0, **sizes: int) -> SpanModel:
    """A model over a pretrained encoder of random numbers, with word pieces for the words of SENTENCES."""
    tags = sorted({tag for _, tags in SENTENCES for tag in tags})
    words = WordPieces([SymbolTable(PIECES), SymbolTable(tags)])
    packed = PackedEncoder.pack(random_pretrained_network(words.size, len(CHAINS), seed, **sizes))
    return SpanModel(words, CHAINS, (packed,), {"name": "random", "lang": "en"})


def with_attach_table(model: SpanModel, share: float = 0.5, one_root: bool = False, seed: int = 0) -> SpanModel:
    """The model with tables by which a random fraction of tokens is never unattached."""
    size, tags = len(model.labels) + 1, len(model.words.tables[1])
    never = np.random.default_rng(seed).random((size, size, tags)) < share
    return replace(model, attach_tables=AttachTables(never, one_root))


def with_home(model: SpanModel, home: str) -> SpanModel:
    """The model with tables by which tokens are unattached only in constituents of one label."""
    size, tags = len(model.labels) + 1, len(model.words.tables[1])
    never = np.ones((size, size, tags), dtype=np.bool_)
    never[model.labels.index(home)] = False
    return replace(model, attach_tables=AttachTables(never, False))
