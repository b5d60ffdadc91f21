"""Loss and gradients of the span network in training.

The loss of a sentence has two parts. Brackets: -ln of the probability of all binary trees without a span that crosses
a constituent, among all binary trees. Labels: -ln of their probabilities; the spans of such trees that are no
constituents are examples of "no label", weighted by their posterior probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.nn.kernels.units import LEAK
from spacy_dtparse.nn.vocabularies import UNKNOWN_WORD
from spacy_dtparse.span_parser.features import WORD
from spacy_dtparse.stored_names import stored_as

from ..data.spans import SpanExample, bracket_gradients, distillation_gradients
from ..nn.kernels import add_rows
from ..nn.layers import Arrays, NetworkTrainer, apply_dropout, init_layers, label_losses, random_matrix

_MIN_POSTERIOR = 0.05
"""Minimum posterior probability of a span that is used as an example of "no label"."""


@stored_as("width", "units", "layers", "projection")
@dataclass(frozen=True)
class Shape:
    """Sizes of a network: `width` of the embedding table, `units` per direction, number of `layers`, `projection`."""

    width: int = 96
    units: int = 96
    layers: int = 2
    projection: int = 96


@stored_as("table", "layers", "projections")
@dataclass(frozen=True)
class Dropout:
    """Dropout rates: of the table's rows, of the inputs of layers, of projections."""

    table: float = 0.1
    layers: float = 0.3
    projections: float = 0.2


def init_span_values(size: int, n_labels: int, shape: Shape, rng: np.random.Generator) -> Arrays:
    """Draw random initial parameters for a table of `size` rows and `n_labels` label chains."""
    d, m = shape.units, shape.projection

    def random(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return random_matrix(rows, columns, rng, scale)

    def zeros(*sizes: int) -> np.ndarray:
        return np.zeros(sizes, dtype=REAL)

    return init_layers(size, shape.width, d, shape.layers, rng) | {
        "edges": random(2 * d, 4 * m),
        "edge_bias": zeros(4 * m),
        "bilinear": random(m, m, 0.3),
        "from_left": zeros(m),
        "from_right": zeros(m),
        "labels": random(m, n_labels, 0.5),
        "label_bias": zeros(n_labels),
    }


def init_relation_values(units: int, n_relations: int, rng: np.random.Generator) -> Arrays:
    """Draw random initial parameters of the layer that predicts relations, for `units` per direction. It is used in
    training only."""
    return {
        "relations": random_matrix(2 * units, n_relations, rng, 0.5),
        "relation_bias": np.zeros(n_relations, dtype=REAL),
    }


def _leaky_relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, LEAK * x)


def _leaky_relu_backward(x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.where(x > 0, gradient, LEAK * gradient)


class SpanTrainer(NetworkTrainer[SpanExample]):
    """Parameters and optimiser of a span network. `relation_weight`: weight of the loss of relations, relative to those
    of brackets and labels; the values then have those of `init_relation_values`."""

    def __init__(self, values: Arrays, dropout: Dropout, ema_decay: float = 0.999, relation_weight: float = 0.0):
        super().__init__(values, dropout.table, dropout.layers, ema_decay)
        self.dropout = dropout
        self.relation_weight = relation_weight

    def add_gradients(
        self, batch: Sequence[SpanExample], rng: np.random.Generator | None
    ) -> tuple[tuple[float, float], np.ndarray]:
        """See `NetworkTrainer.add_gradients`; the losses are those of brackets and of labels, which include
        relations."""
        values, gradients = self.values, self.gradients
        bounds = np.cumsum([0, *(len(example.rows) for example in batch)])
        ids = np.concatenate([example.rows for example in batch])
        lengths = np.diff(bounds)
        n_tokens = len(ids) - 2 * len(batch)
        if rng is not None:
            dropped = rng.random(len(ids)) < np.concatenate([example.rare for example in batch])
            ids[dropped, WORD] = UNKNOWN_WORD
        states, activations = self._forward(ids, bounds, lengths, rng)
        d, m = values["recurrent"].shape[3], values["bilinear"].shape[0]
        gaps = np.zeros_like(states)
        gaps[:, :d] = states[:, :d]
        gaps[:-1, d:] = states[1:, d:]
        masked, mask = apply_dropout(gaps, self.dropout.layers, rng, lengths)
        projected = masked @ values["edges"] + values["edge_bias"]
        projected[:, 3 * m :] -= values["edge_bias"][3 * m :]
        d_projected = np.zeros_like(projected)
        bracket_loss, unlabelled = self._brackets(batch, bounds, projected, d_projected, rng, n_tokens)
        label_loss = self._labels(batch, bounds, unlabelled, projected, d_projected, rng, n_tokens)
        gradients["edges"] += masked.T @ d_projected
        gradients["edge_bias"][: 3 * m] += d_projected[:, : 3 * m].sum(axis=0)
        d_gaps = d_projected @ values["edges"].T
        d_gaps *= mask
        d_states = np.zeros_like(states)
        d_states[:, :d] = d_gaps[:, :d]
        d_states[1:, d:] = d_gaps[:-1, d:]
        if self.relation_weight > 0:
            relation_loss, d_relations = self._relations(batch, states, lengths, rng, n_tokens)
            label_loss, d_states = label_loss + relation_loss, d_states + d_relations
        self._backward(d_states, activations, ids, bounds)
        return (bracket_loss / n_tokens, label_loss / n_tokens), np.unique(ids)

    def _brackets(
        self,
        batch: Sequence[SpanExample],
        bounds: np.ndarray,
        projected: np.ndarray,
        d_projected: np.ndarray,
        rng: np.random.Generator | None,
        n_tokens: int,
    ) -> tuple[float, list[tuple[np.ndarray, ...]]]:
        """Return the loss of brackets, and the spans without a label: starts and ends (gap indices in the batch), label
        0, weights."""
        values, gradients = self.values, self.gradients
        m = values["bilinear"].shape[0]
        both = projected[:, : 2 * m]
        active, mask = apply_dropout(_leaky_relu(both), self.dropout.projections, rng)
        left, right = active[:, :m], active[:, m:]
        form = left @ values["bilinear"] + values["from_right"]
        left_scores = left @ values["from_left"]
        d_form, d_active, d_left_scores = np.zeros_like(form), np.zeros_like(active), np.zeros_like(left_scores)
        loss = 0.0
        unlabelled: list[tuple[np.ndarray, ...]] = []
        for first, example in zip(bounds, batch, strict=False):
            n = example.n_tokens
            if n < 2:
                continue
            here = slice(first, first + n + 1)
            scores = form[here] @ right[here].T + left_scores[here, None]
            if example.marginals is not None:
                sentence_loss, gradient = distillation_gradients(scores, example.marginals.astype(REAL))
            else:
                assert example.crossing is not None
                sentence_loss, gradient, posteriors = bracket_gradients(scores, example.crossing)
                posteriors[example.spans[:, 0], example.spans[:, 1]] = 0
                starts, ends = np.nonzero(posteriors > _MIN_POSTERIOR)
                weights = posteriors[starts, ends] * example.weight
                unlabelled.append((starts + first, ends + first, np.zeros(len(starts), dtype=INDEX), weights))
            loss += example.weight * sentence_loss
            gradient = (gradient * (example.weight / n_tokens)).astype(REAL)
            d_form[here] = gradient @ right[here]
            d_active[here, m:] = gradient.T @ form[here]
            d_left_scores[here] = gradient.sum(axis=1)
        gradients["bilinear"] += left.T @ d_form
        gradients["from_right"] += d_form.sum(axis=0)
        gradients["from_left"] += left.T @ d_left_scores
        d_active[:, :m] = d_form @ values["bilinear"].T + np.outer(d_left_scores, values["from_left"])
        d_active *= mask
        d_projected[:, : 2 * m] = _leaky_relu_backward(both, d_active)
        return loss, unlabelled

    def _labels(
        self, batch: Sequence[SpanExample], bounds: np.ndarray, unlabelled: Sequence[tuple[np.ndarray, ...]],
        projected: np.ndarray, d_projected: np.ndarray, rng: np.random.Generator | None, n_tokens: int,
    ) -> float:  # fmt: skip
        values, gradients = self.values, self.gradients
        m = values["bilinear"].shape[0]
        labelled = [
            (*(example.spans + first).T, example.labels, example.span_weights * REAL(example.weight))
            for first, example in zip(bounds, batch, strict=False)
        ]
        start, end, label, weight = map(np.concatenate, zip(*labelled, *unlabelled, strict=True))
        weight = weight.astype(REAL)
        summed = projected[start, 2 * m : 3 * m] + projected[end, 3 * m :]
        hidden, mask = apply_dropout(_leaky_relu(summed), self.dropout.projections, rng)
        losses, gradient = label_losses(hidden @ values["labels"] + values["label_bias"], label)
        gradient *= (weight / n_tokens)[:, None]
        gradients["labels"] += hidden.T @ gradient
        gradients["label_bias"] += gradient.sum(axis=0)
        d_hidden = gradient @ values["labels"].T
        d_hidden *= mask
        d_summed = _leaky_relu_backward(summed, d_hidden).astype(REAL)
        for side, gaps in ((slice(2 * m, 3 * m), start), (slice(3 * m, None), end)):
            d_side = np.zeros((len(projected), m), dtype=REAL)
            add_rows(d_side, gaps[:, None].astype(INDEX), d_summed)
            d_projected[:, side] += d_side
        return float(weight @ losses)

    def _relations(
        self, batch: Sequence[SpanExample], states: np.ndarray, lengths: np.ndarray, rng: np.random.Generator | None,
        n_tokens: int,
    ) -> tuple[float, np.ndarray]:  # fmt: skip
        """Add the gradients of the loss of relations. Returns the weighted loss and its gradient by the states,
        float32."""
        values, gradients = self.values, self.gradients
        relations = np.concatenate(
            [np.full(len(e.rows), -1, dtype=INDEX) if e.relations is None else e.relations for e in batch]
        )
        weights = np.repeat(np.array([e.weight for e in batch], dtype=REAL), lengths)
        masked, mask = apply_dropout(states, self.dropout.layers, rng, lengths)
        known = np.flatnonzero(relations >= 0)
        scores = masked[known] @ values["relations"] + values["relation_bias"]
        losses, gradient = label_losses(scores, relations[known])
        weights = weights[known] * REAL(self.relation_weight)
        gradient *= (weights / REAL(n_tokens))[:, None]
        gradients["relations"] += masked[known].T @ gradient
        gradients["relation_bias"] += gradient.sum(axis=0)
        d_states = np.zeros_like(states)
        d_states[known] = gradient @ values["relations"].T
        return float(weights @ losses), d_states * mask
