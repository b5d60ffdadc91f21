"""Loss and gradients of the span network in training.

The loss of a sentence has two parts. Brackets: -ln of the probability of all binary trees without a span that crosses
a constituent, among all binary trees. Labels: -ln of their probabilities; the spans of such trees that are no
constituents are examples of "no label", weighted by their posterior probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.features.span.wordparts import UNKNOWN_WORD, WORD
from spacy_dtparse.kernels.recurrent.units import LEAK
from spacy_dtparse.stored_names import stored_as

from ..data.spans import SpanExample, believed_slopes, bracket_slopes
from ..recurrent.kernels import add_rows
from ..recurrent.layers import Arrays, Learner, drop, first_layers, random_matrix

_SEEN = 0.05
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


def first_values(size: int, n_labels: int, shape: Shape, rng: np.random.Generator) -> Arrays:
    """Draw random initial parameters for a table of `size` rows and `n_labels` label chains."""
    d, m = shape.units, shape.projection

    def random(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return random_matrix(rows, columns, rng, scale)

    def zeros(*sizes: int) -> np.ndarray:
        return np.zeros(sizes, dtype=REAL)

    return first_layers(size, shape.width, d, shape.layers, rng) | {
        "edges": random(2 * d, 4 * m), "edge_bias": zeros(4 * m), "bilinear": random(m, m, 0.3),
        "from_left": zeros(m), "from_right": zeros(m),
        "labels": random(m, n_labels, 0.5), "label_bias": zeros(n_labels),
    }  # fmt: skip


def _rectified(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, LEAK * x)


def _rectified_back(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return np.where(x > 0, slope, LEAK * slope)


class Trainer(Learner):
    """Parameters and optimiser of a span network."""

    def __init__(self, values: Arrays, dropout: Dropout, average: float = 0.999):
        super().__init__(values, dropout.table, dropout.layers, average)
        self.dropout = dropout

    # ---- one step ----

    def step(self, batch: Sequence[SpanExample], rng: np.random.Generator, rate: float) -> tuple[float, float]:
        """Update the parameters on a batch. Returns the losses of brackets and of labels per token, nats."""
        losses, rows = self.slopes_of(batch, rng)
        self._update(rows, rate)
        return losses

    def slopes_of(
        self, batch: Sequence[SpanExample], rng: np.random.Generator | None
    ) -> tuple[tuple[float, float], np.ndarray]:
        """Add the gradients of a batch's loss per token to `slopes`. Without `rng` there is no dropout.

        Returns ((loss of brackets, of labels), rows of the table that occur in the batch).
        """
        values, slopes = self.values, self.slopes
        bounds = np.cumsum([0, *(len(example.numbers) for example in batch)])
        numbers = np.concatenate([example.numbers for example in batch])
        lengths = np.diff(bounds)
        n_tokens = len(numbers) - 2 * len(batch)
        if rng is not None:
            hidden = rng.random(len(numbers)) < np.concatenate([example.rare for example in batch])
            numbers[hidden, WORD] = UNKNOWN_WORD
        read, kept = self._read(numbers, bounds, lengths, rng)
        d, m = values["recurrent"].shape[3], values["bilinear"].shape[0]
        gaps = np.zeros_like(read)
        gaps[:, :d] = read[:, :d]
        gaps[:-1, d:] = read[1:, d:]
        masked, mask = drop(gaps, self.dropout.layers, rng, lengths)
        projected = masked @ values["edges"] + values["edge_bias"]
        projected[:, 3 * m :] -= values["edge_bias"][3 * m :]
        d_projected = np.zeros_like(projected)
        bracket_loss, unlabelled = self._brackets(batch, bounds, projected, d_projected, rng, n_tokens)
        label_loss = self._labels(batch, bounds, unlabelled, projected, d_projected, rng, n_tokens)
        slopes["edges"] += masked.T @ d_projected
        slopes["edge_bias"][: 3 * m] += d_projected[:, : 3 * m].sum(axis=0)
        d_gaps = d_projected @ values["edges"].T
        d_gaps *= mask
        d_read = np.zeros_like(read)
        d_read[:, :d] = d_gaps[:, :d]
        d_read[1:, d:] = d_gaps[:-1, d:]
        self._read_back(d_read, kept, numbers, bounds)
        return (bracket_loss / n_tokens, label_loss / n_tokens), np.unique(numbers)

    def _brackets(
        self, batch: Sequence[SpanExample], bounds: np.ndarray, projected: np.ndarray, d_projected: np.ndarray,
        rng: np.random.Generator | None, n_tokens: int,
    ) -> tuple[float, list[tuple[np.ndarray, ...]]]:  # fmt: skip
        """Return the loss of brackets, and the spans without a label: starts and ends (gap indices in the batch), label
        0, weights."""
        values, slopes = self.values, self.slopes
        m = values["bilinear"].shape[0]
        both = projected[:, : 2 * m]
        active, mask = drop(_rectified(both), self.dropout.projections, rng)
        left, right = active[:, :m], active[:, m:]
        form = left @ values["bilinear"] + values["from_right"]
        alone = left @ values["from_left"]
        d_form, d_active, d_alone = np.zeros_like(form), np.zeros_like(active), np.zeros_like(alone)
        loss = 0.0
        unlabelled: list[tuple[np.ndarray, ...]] = []
        for first, example in zip(bounds, batch, strict=False):
            n = example.n_tokens
            if n < 2:
                continue
            here = slice(first, first + n + 1)
            scores = form[here] @ right[here].T + alone[here, None]
            if example.believed is not None:
                lost, slope = believed_slopes(scores, example.believed.astype(REAL))
            else:
                assert example.crossing is not None
                lost, slope, posteriors = bracket_slopes(scores, example.crossing)
                posteriors[example.spans[:, 0], example.spans[:, 1]] = 0
                starts, ends = np.nonzero(posteriors > _SEEN)
                weights = posteriors[starts, ends] * example.weight
                unlabelled.append((starts + first, ends + first, np.zeros(len(starts), dtype=INDEX), weights))
            loss += example.weight * lost
            slope = (slope * (example.weight / n_tokens)).astype(REAL)
            d_form[here] = slope @ right[here]
            d_active[here, m:] = slope.T @ form[here]
            d_alone[here] = slope.sum(axis=1)
        slopes["bilinear"] += left.T @ d_form
        slopes["from_right"] += d_form.sum(axis=0)
        slopes["from_left"] += left.T @ d_alone
        d_active[:, :m] = d_form @ values["bilinear"].T + np.outer(d_alone, values["from_left"])
        d_active *= mask
        d_projected[:, : 2 * m] = _rectified_back(both, d_active)
        return loss, unlabelled

    def _labels(
        self, batch: Sequence[SpanExample], bounds: np.ndarray, unlabelled: Sequence[tuple[np.ndarray, ...]],
        projected: np.ndarray, d_projected: np.ndarray, rng: np.random.Generator | None, n_tokens: int,
    ) -> float:  # fmt: skip
        values, slopes = self.values, self.slopes
        m = values["bilinear"].shape[0]
        labelled = [
            (*(example.spans + first).T, example.labels, example.shares * REAL(example.weight))
            for first, example in zip(bounds, batch, strict=False)
        ]
        start, end, label, weight = map(np.concatenate, zip(*labelled, *unlabelled, strict=True))
        weight = weight.astype(REAL)
        summed = projected[start, 2 * m : 3 * m] + projected[end, 3 * m :]
        hidden, mask = drop(_rectified(summed), self.dropout.projections, rng)
        logits = hidden @ values["labels"] + values["label_bias"]
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        here = np.arange(len(label)), label
        loss = -float(weight @ logs[here])
        slope = np.exp(logs)
        slope[here] -= 1
        slope *= (weight / n_tokens)[:, None]
        slopes["labels"] += hidden.T @ slope
        slopes["label_bias"] += slope.sum(axis=0)
        d_hidden = slope @ values["labels"].T
        d_hidden *= mask
        d_summed = _rectified_back(summed, d_hidden).astype(REAL)
        for side, gaps in ((slice(2 * m, 3 * m), start), (slice(3 * m, None), end)):
            d_side = np.zeros((len(projected), m), dtype=REAL)
            add_rows(d_side, gaps[:, None].astype(INDEX), d_summed)
            d_projected[:, side] += d_side
        return loss
