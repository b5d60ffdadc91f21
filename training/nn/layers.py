"""Layers of simple recurrent units in training: forward pass, backward pass, and optimiser step."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.nn.kernels.units import sum_rows
from spacy_dtparse.nn.packing import table_of
from spacy_dtparse.stored_names import stored_fields, to_stored

from .kernels import AdamFactors, UnitGradients, adam, adam_rows, add_rows, run_sentences, units_backward, update_mean

Arrays = dict[str, np.ndarray]
E = TypeVar("E")
N = TypeVar("N", bound=Any)


def init_layers(size: int, width: int, units: int, layers: int, rng: np.random.Generator) -> Arrays:
    """Draw random initial parameters of a table of `size` rows, `width` columns, and of the layers on top of it."""
    d = units
    values = {"table": (rng.standard_normal((size, width)) * 0.4).astype(REAL)}
    for layer in range(layers):
        values[f"weights{layer}"] = random_matrix(width, (6 if width == 2 * d else 8) * d, rng)
        width = 2 * d
    values["recurrent"] = rng.uniform(-0.5, 0.5, (layers, 2, 2, d)).astype(REAL)
    values["bias"] = np.zeros((layers, 2, 2, d), dtype=REAL)
    values["bias"][:, :, 1] = -0.5
    return values


_CLOSED_BIAS = REAL(-2.5)
"""Bias of the reset gates of an added layer: 8 % of its output is new, the rest is its input."""


def add_layers(values: Arrays, layers: int, rng: np.random.Generator) -> Arrays:
    """Put layers on top of a network's last one until there are `layers`. The added ones almost copy their input, so
    that training goes on from what the network has learnt. Returns all values; none is changed in place."""
    found = dict(values)
    d = values["recurrent"].shape[3]
    for layer in range(len(values["recurrent"]), layers):
        found[f"weights{layer}"] = random_matrix(2 * d, 6 * d, rng)
        bias = np.zeros((1, 2, 2, d), dtype=REAL)
        bias[:, :, 1] = _CLOSED_BIAS
        recurrent = rng.uniform(-0.5, 0.5, (1, 2, 2, d)).astype(REAL)
        found["recurrent"] = np.concatenate([found["recurrent"], recurrent])
        found["bias"] = np.concatenate([found["bias"], bias])
    return found


def add_table_rows(values: Arrays, size: int) -> Arrays:
    """Put rows of zeros below the table until there are `size`. Returns all values; none is changed in place."""
    table = values["table"]
    return {**values, "table": np.pad(table, ((0, size - len(table)), (0, 0)))}


def random_matrix(rows: int, columns: int, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Draw a random matrix of variance `scale` squared divided by the number of rows."""
    return (rng.standard_normal((rows, columns)) * scale / math.sqrt(rows)).astype(REAL)


def apply_dropout(
    x: np.ndarray, rate: float, rng: np.random.Generator | None, lengths: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Apply dropout at rate `rate`; returns x and the factors. With the `lengths` of sentences it drops columns, the
    same for all tokens of a sentence."""
    if rng is None or rate == 0:
        return x, np.ones(1, dtype=REAL)
    shape = x.shape if lengths is None else (len(lengths), x.shape[1])
    mask = ((rng.random(shape, dtype=REAL) >= rate) / REAL(1 - rate)).astype(REAL)
    if lengths is not None:
        mask = np.repeat(mask, lengths, axis=0)
    return x * mask, mask


def label_losses(logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return -ln of the probability of each row's label (n,), and its gradient (n, number of labels). The rows of
    `logits` are shifted in place."""
    logits -= logits.max(axis=1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    here = np.arange(len(labels)), labels
    gradient = np.exp(logs)
    gradient[here] -= 1
    return -logs[here], gradient


def as_network(kind: type[N], values: Arrays) -> N:
    """Build a network of a kind, a NamedTuple of arrays with a tuple `weights`, with these values and factors of 1."""
    n_layers = sum(name.startswith("weights") for name in values)
    rest = {field: values[name] for name, field in stored_fields(kind).items() if name not in ("weights", "factor")}
    factor = np.ones(len(values["table"]), dtype=REAL)
    return kind(weights=tuple(values[f"weights{k}"] for k in range(n_layers)), factor=factor, **rest)


def values_of(network: Any) -> Arrays:
    """Copy the values of a network: the reverse of `as_network`, with the table in float32."""
    arrays = {n: a for n, a in to_stored(network).items() if n not in ("weights", "table", "factor")}
    rest = {"table": table_of(network), **{name: array.copy() for name, array in arrays.items()}}
    return {**{f"weights{k}": part.copy() for k, part in enumerate(network.weights)}, **rest}


class NetworkTrainer(ABC, Generic[E]):
    """A network's values, their running means, and the optimiser's state. One process, one thread.

    `table_dropout`, `layer_dropout`: dropout rates of the inputs of the first layer, and of the others.
    """

    def __init__(self, values: Arrays, table_dropout: float, layer_dropout: float, ema_decay: float = 0.999):
        self.values = values
        self.table_dropout, self.layer_dropout = table_dropout, layer_dropout
        self.ema_decay = ema_decay
        self.averages = {name: array.copy() for name, array in values.items()}
        self.gradients, self.means, self.squares = (
            {name: np.zeros_like(array) for name, array in values.items()} for _ in range(3)
        )
        self.steps = 0
        self._ones = np.ones(len(values["table"]), dtype=REAL)

    def step(self, batch: Sequence[E], rng: np.random.Generator, learning_rate: float) -> tuple[float, float]:
        """Update the parameters on a batch. Returns the losses of `add_gradients`."""
        losses, rows = self.add_gradients(batch, rng)
        self._update(rows, learning_rate)
        return losses

    @abstractmethod
    def add_gradients(
        self, batch: Sequence[E], rng: np.random.Generator | None
    ) -> tuple[tuple[float, float], np.ndarray]:
        """Add the gradients of a batch's loss per token to `gradients`. Without `rng` there is no dropout.

        Returns (two losses per token, nats; rows of the table that occur in the batch).
        """

    def state(self) -> Arrays:
        """All arrays by name, to be saved and passed to `restore`."""
        found = {"steps": np.array(self.steps)}
        for kind in ("values", "averages", "means", "squares"):
            found |= {f"{kind}.{name}": array for name, array in getattr(self, kind).items()}
        return found

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the arrays of `state`."""
        self.steps = int(state["steps"])
        for kind in ("values", "averages", "means", "squares"):
            for name, array in getattr(self, kind).items():
                array[...] = state[f"{kind}.{name}"]

    def _forward(
        self, ids: np.ndarray, bounds: np.ndarray, lengths: np.ndarray, rng: np.random.Generator | None
    ) -> tuple[np.ndarray, list[tuple]]:
        values, n = self.values, len(ids)
        d = values["recurrent"].shape[3]
        x = np.empty((n, values["table"].shape[1]), dtype=REAL)
        sum_rows(values["table"], self._ones, ids, x)
        activations = []
        for layer in range(len(values["recurrent"])):
            masked, mask = apply_dropout(x, self.layer_dropout if layer else self.table_dropout, rng, lengths)
            units = masked @ values[f"weights{layer}"]
            states, outputs = (np.empty((n, 2 * d), dtype=REAL) for _ in range(2))
            run_sentences(units, masked, bounds, values["recurrent"][layer], values["bias"][layer], states, outputs)
            activations.append((masked, mask, units, states))
            x = outputs
        return x, activations

    def _backward(self, d_x: np.ndarray, activations: list[tuple], ids: np.ndarray, bounds: np.ndarray) -> None:
        values, gradients, n = self.values, self.gradients, len(ids)
        d = values["recurrent"].shape[3]
        for layer, (masked, mask, units, states) in reversed(list(enumerate(activations))):
            d_units, d_carried = np.empty_like(units), np.zeros((n, 2 * d), dtype=REAL)
            added = UnitGradients(d_units, d_carried, gradients["recurrent"][layer], gradients["bias"][layer])
            recurrent, carry = values["recurrent"][layer], np.empty(d, dtype=REAL)
            units_backward(d_x, units, masked, bounds, recurrent, states, added, carry)
            gradients[f"weights{layer}"] += masked.T @ d_units
            d_x = d_units @ values[f"weights{layer}"].T
            if units.shape[1] == 6 * d:
                d_x += d_carried
            d_x *= mask
        add_rows(gradients["table"], ids, d_x)

    def _update(self, rows: np.ndarray, learning_rate: float) -> None:
        gradients, max_norm = self.gradients, 5.0
        square = float(np.square(gradients["table"][rows]).sum())
        square += sum(float(np.vdot(gradient, gradient)) for name, gradient in gradients.items() if name != "table")
        if square > max_norm * max_norm:
            for name, gradient in gradients.items():
                gradient[rows if name == "table" else ...] *= REAL(max_norm / math.sqrt(square))
        self.steps += 1
        betas = 0.9, 0.99
        corrections = (1 / (1 - beta**self.steps) for beta in betas)
        factors = AdamFactors(*(REAL(x) for x in (learning_rate, *betas, *corrections)))
        fraction = REAL(1 - min(self.ema_decay, (1 + self.steps) / (10 + self.steps)))
        for name, value in self.values.items():
            state = gradients[name], self.means[name], self.squares[name]
            if name == "table":
                adam_rows(value, *state, rows, factors)
                continue
            adam(value.reshape(-1), *(array.reshape(-1) for array in state), factors)
            update_mean(self.averages[name].reshape(-1), value.reshape(-1), fraction)
        if self.steps % 10 == 0:  # the table is large and its rows change seldom
            ten = REAL(1 - (1 - fraction) ** 10)
            update_mean(self.averages["table"].reshape(-1), self.values["table"].reshape(-1), ten)
