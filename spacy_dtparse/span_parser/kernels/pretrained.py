"""The network of a span parser over a pretrained encoder: computes vectors of words from word pieces, and scores of
gaps in the form of `kernels.network`.

The embeddings of a piece, its shape and its position are added; layers of a transformer encode the pieces of a text; a
word is the mean of its pieces, a gap the vectors of the words at both sides.
"""

from typing import Any, NamedTuple

import numpy as np

from ...dtypes import REAL
from ...jit.decorator import kernel
from ...nn.kernels.products import RoundedMatrix, multiply, multiply_int16
from ...nn.kernels.transformer import gelu, normalize_row, run_layers
from ...stored_names import stored_as
from .network import LABEL_LEFT, LABEL_RIGHT, LEFT, RIGHT, dot


@stored_as(
    "table", "factor", "shapes", "positions", "first_norm", "attention", "attention_bias", "attended", "attended_bias",
    "inner", "inner_bias", "outer", "outer_bias", "norms", "edges", "edge_bias", "bilinear", "from_left", "from_right",
    "label_norm", "labels", "label_bias", "n_heads",
)  # fmt: skip
class PretrainedNetwork(NamedTuple):
    """Weights: float32 arrays, except for the int8 table of pieces; `attention`, `attended`, `inner`, `outer` and
    `edges` are RoundedMatrix, in training float32 arrays. d: width, f: width inside a layer, m: width of the
    projections, C: label chains; gains and shifts of a normalisation are rows of a matrix (2, …).

    `table` (V, d) of pieces with a `factor` (V,) for each row, `shapes` (N_SHAPES, d), `positions` (p, d) with what is
    added everywhere, `first_norm` (2, d).

    Layers, of `n_heads` heads: `attention` (layers, d, 3 d), queries (divided by the root of a head's width), keys and
    values; `attended` (layers, d, d), `inner` (layers, d, f), `outer` (layers, f, d), their biases (layers, …); `norms`
    (layers, 2, 2, d).

    Ends of spans: `edges` (2 d, 4 m), `edge_bias` (4 m,): LEFT, RIGHT, LABEL_LEFT, LABEL_RIGHT side by side; `bilinear`
    (m, m), `from_left`, `from_right` (m,). Labels: `label_norm` (2, m), `labels` (m, C), `label_bias` (C,).
    """

    table: np.ndarray
    factor: np.ndarray
    shapes: np.ndarray
    positions: np.ndarray
    first_norm: np.ndarray
    attention: Any
    attention_bias: np.ndarray
    attended: Any
    attended_bias: np.ndarray
    inner: Any
    inner_bias: np.ndarray
    outer: Any
    outer_bias: np.ndarray
    norms: np.ndarray
    edges: Any
    edge_bias: np.ndarray
    bilinear: np.ndarray
    from_left: np.ndarray
    from_right: np.ndarray
    label_norm: np.ndarray
    labels: np.ndarray
    label_bias: np.ndarray
    n_heads: int


def _normalize(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + REAL(1e-12)) * weights[0] + weights[1]


def _product(x: np.ndarray, matrices: RoundedMatrix, layer: int) -> np.ndarray:
    """The product with the matrix of a layer, by the kernel or its plain twin."""
    out = np.empty((len(x), matrices.factors.shape[1]), dtype=REAL)
    multiply_int16(np.ascontiguousarray(x, dtype=REAL), RoundedMatrix(*(part[layer] for part in matrices)), out)
    return out


def _plain_encode_words(
    network: PretrainedNetwork, pieces: np.ndarray, piece_offsets: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Compute `encode_words` in numpy."""
    heads = network.n_heads
    for s in range(len(offsets) - 1):
        bounds = piece_offsets[offsets[s] : offsets[s + 1] + 1]
        ids, shapes = pieces[bounds[0] : bounds[-1]].T
        n = len(ids)
        x = network.table[ids] * network.factor[ids, None] + network.shapes[shapes] + network.positions[:n]
        x = _normalize(x, network.first_norm)
        for layer in range(len(network.norms)):
            projected = _product(x, network.attention, layer) + network.attention_bias[layer]
            query, key, value = projected.reshape(n, 3, heads, -1).transpose(1, 2, 0, 3)
            weights = query @ key.transpose(0, 2, 1)
            weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            attended = (weights @ value).transpose(1, 0, 2).reshape(n, -1)
            update = _product(attended, network.attended, layer) + network.attended_bias[layer]
            x = _normalize(x + update, network.norms[layer, 0])
            inner = gelu(_product(x, network.inner, layer) + network.inner_bias[layer])
            update = _product(inner, network.outer, layer) + network.outer_bias[layer]
            x = _normalize(x + update, network.norms[layer, 1])
        sizes = np.diff(bounds)
        out[offsets[s] : offsets[s + 1]] = np.add.reduceat(x, bounds[:-1] - bounds[0]) / sizes[:, None]


@kernel(fastmath=True, error_model="numpy", plain=_plain_encode_words)
def encode_words(network, pieces, piece_offsets, offsets, out):
    """Encode the words of texts, see `word_pieces.PieceRows`: `pieces` int32 (P, 2), `piece_offsets` int32 (rows + 1,),
    `offsets` int32 (S + 1,). Filled: `out` float32 (rows, d). The bits do not depend on the other texts."""
    tokens, d = len(pieces), network.table.shape[1]
    x = np.empty((tokens, d), dtype=REAL)
    of_texts = piece_offsets[offsets]
    for s in range(len(of_texts) - 1):
        for t in range(of_texts[s], of_texts[s + 1]):
            row, piece = x[t], network.table[pieces[t, 0]]
            factor = network.factor[pieces[t, 0]]
            shape, position = network.shapes[pieces[t, 1]], network.positions[t - of_texts[s]]
            for j in range(d):
                row[j] = REAL(piece[j]) * factor + shape[j] + position[j]
            normalize_row(row, network.first_norm)
    run_layers(network, x, of_texts)
    for w in range(len(piece_offsets) - 1):
        row, scale = out[w], REAL(1.0 / (piece_offsets[w + 1] - piece_offsets[w]))
        row[:] = 0
        for t in range(piece_offsets[w], piece_offsets[w + 1]):
            piece = x[t]
            for j in range(d):
                row[j] += piece[j] * scale


@kernel(fastmath=True, error_model="numpy")
def score_gaps(network, words, offsets, gaps, left_scores):
    """Compute the scores of gaps from the vectors of words, float32 (rows, d), and the first rows of the sentences,
    `offsets` int32 (S + 1,). Filled: `gaps`, `left_scores`, as by `kernels.network.encode_gaps`."""
    d, m = words.shape[1], network.bilinear.shape[0]
    size = len(words) - (len(offsets) - 1)
    encoded = np.empty((size, 2 * d), dtype=REAL)
    gap = 0
    for s in range(len(offsets) - 1):
        for t in range(offsets[s], offsets[s + 1] - 1):
            encoded[gap, :d] = words[t]
            encoded[gap, d:] = words[t + 1]
            gap += 1
    projected = np.empty((size, 4 * m), dtype=REAL)
    multiply_int16(encoded, network.edges, projected)
    left, formed = np.empty((size, m), dtype=REAL), np.empty((size, m), dtype=REAL)
    for t in range(size):
        row = projected[t]
        for j in range(4 * m):
            row[j] += network.edge_bias[j]
        for j in range(2 * m):
            row[j] = gelu(row[j])
        left[t] = row[:m]
    multiply(left, network.bilinear, formed)
    gap = 0
    for s in range(len(offsets) - 1):
        n_gaps = offsets[s + 1] - offsets[s] - 1
        ends = gaps[4 * m * gap : 4 * m * (gap + n_gaps)].reshape((4, n_gaps, m))
        for t in range(n_gaps):
            left_scores[gap] = dot(left[gap], network.from_left, m)
            for j in range(m):
                ends[LEFT, t, j] = formed[gap, j] + network.from_right[j]
                for kind in (RIGHT, LABEL_LEFT, LABEL_RIGHT):
                    ends[kind, t, j] = projected[gap, kind * m + j]
            gap += 1
