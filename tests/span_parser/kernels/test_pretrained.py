"""The kernels of a pretrained encoder against numpy."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from spacy_dtparse.jit.decorator import interpret_kernels
from spacy_dtparse.span_parser.kernels.network import LabelLayer, label_spans
from spacy_dtparse.span_parser.kernels.pretrained import encode_words, score_gaps
from tests.jit.harness import KERNEL_MARKS
from tests.reference.matrices import unrounded_network
from tests.span_models import CHAINS, random_pretrained_model

pytestmark = KERNEL_MARKS

TEXTS = [("The", "cats", "sat", "."), ("a",), tuple("the dog saw a cat on the mats , the dogs , a cat".split())]


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def encoded(model, texts):
    rows, _ = model.words.encode_all(texts, 24)
    out = np.full((len(rows.piece_offsets) - 1, model.networks[0].table.shape[1]), np.nan, dtype=np.float32)
    encode_words(model.networks[0], rows.pieces, rows.piece_offsets, rows.offsets, out)
    return out, rows.offsets


def test_words_are_encoded_as_by_numpy() -> None:
    model = random_pretrained_model()
    with interpret_kernels():
        expected, _ = encoded(model, TEXTS)
    assert np.allclose(encoded(model, TEXTS)[0], expected, atol=1e-4) and np.isfinite(expected).all()


def test_the_bits_of_a_text_are_the_same_in_any_batch() -> None:
    model = random_pretrained_model()
    together, offsets = encoded(model, TEXTS)
    for text, first, last in zip(TEXTS, offsets[:-1], offsets[1:], strict=True):
        assert np.array_equal(encoded(model, [text])[0], together[first:last])


def test_gaps_and_labels_are_scored_as_by_numpy() -> None:
    model = random_pretrained_model()
    (network,) = model.networks
    m = len(network.bilinear)
    words, offsets = encoded(model, TEXTS)
    size = len(words) - len(TEXTS)
    gaps, own = np.full(4 * m * size, np.nan, dtype=np.float32), np.full(size, np.nan, dtype=np.float32)
    score_gaps(network, words, offsets, gaps, own)
    network = unrounded_network(network)
    at = 0
    for first, last in pairwise(offsets):
        here, n = words[first:last], last - first - 1
        projected = np.concatenate([here[:-1], here[1:]], axis=1) @ network.edges + network.edge_bias
        left, right = gelu(projected[:, :m]), gelu(projected[:, m : 2 * m])
        found = gaps[4 * m * at : 4 * m * (at + n)].reshape(1, 4, n, m)
        scores = left @ network.bilinear @ right.T + (left @ network.from_left)[:, None] + right @ network.from_right
        assert np.allclose(found[0, 0] @ found[0, 1].T + own[at : at + n, None], scores, atol=2e-3)
        spans = np.array([(i, j) for i in range(n) for j in range(i + 1, n)], dtype=np.int32)
        hidden = projected[spans[:, 0], 2 * m : 3 * m] + projected[spans[:, 1], 3 * m :]
        hidden = (hidden - hidden.mean(axis=1, keepdims=True)) / hidden.std(axis=1, keepdims=True)
        logits = gelu(hidden * network.label_norm[0] + network.label_norm[1]) @ network.labels + network.label_bias
        logs = np.empty((len(spans), len(CHAINS)), dtype=np.float32)
        layer = LabelLayer(network.labels[None], network.label_bias[None], network.label_norm[None])
        label_spans(found, layer, spans, logs)
        assert np.allclose(logs, logits - np.logaddexp.reduce(logits, axis=1)[:, None], atol=2e-3)
        at += n
