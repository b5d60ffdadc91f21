"""Small random recurrent taggers over a few words, for tests."""

from __future__ import annotations

from collections import Counter

import numpy as np

from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.nn.packing import pack
from spacy_dtparse.recurrent_tagger.features import TokenParts
from spacy_dtparse.recurrent_tagger.kernels import TaggingNetwork
from spacy_dtparse.recurrent_tagger.model import RecurrentModel

TEXTS = [
    ["The", "cat", "sat", "on", "the", "mat", ".", "Dogs", "bark", "\n\n", "A", "dog", "saw", "1,250", "cats", "!"],
    ["Dogs", "bark", "."],
    ["NASA"],
]
TAGS = (".", "DT", "IN", "NN", "NNS", "VBD")
FORMS = ((r"^@\w{2,}$", "ADD"), (r"^\u2026+$", "."))


def random_network(
    size: int, n_tags: int, seed: int = 0, *, width: int = 6, units: int = 4, layers: int = 2
) -> TaggingNetwork:
    """A network of random numbers, the table in float32; the first layer changes the width unless width = 2 units."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (0.7 * rng.standard_normal(shape)).astype(np.float32)

    weights, into = [], width
    for _ in range(layers):
        weights.append(some(into, (6 if into == 2 * units else 8) * units))
        into = 2 * units
    return TaggingNetwork(
        some(size, width),
        np.ones(size, np.float32),
        tuple(weights),
        some(layers, 2, 2, units),
        some(layers, 2, 2, units),
        some(2 * units, n_tags + 1),
        some(n_tags + 1),
    )


def random_model(
    seed: int = 0, space: str = "_SP", clusters: WordClusters | None = None, **sizes: int
) -> RecurrentModel:
    """A model of a random network over the words of TEXTS."""
    parts = TokenParts.build(Counter(token for text in TEXTS for token in text), 1, clusters=clusters)
    packed = pack(random_network(parts.size, len(TAGS), seed, **sizes))
    return RecurrentModel(parts, TAGS, packed, FORMS, space, {"name": "random", "lang": "en"})
