"""Layers of simple recurrent units in training: forward pass, backward pass, and optimiser step."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.kernels.recurrent.units import sum_rows
from spacy_dtparse.model.packing import table_of
from spacy_dtparse.stored_names import stored_fields, to_stored

from .kernels import adam, adam_rows, add_rows, follow, run_sentences, units_back

Arrays = dict[str, np.ndarray]
N = TypeVar("N", bound=Any)


def first_layers(size: int, width: int, units: int, layers: int, rng: np.random.Generator) -> Arrays:
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


def random_matrix(rows: int, columns: int, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Draw a random matrix of variance `scale` squared divided by the number of rows."""
    return (rng.standard_normal((rows, columns)) * scale / math.sqrt(rows)).astype(REAL)


def drop(
    x: np.ndarray, share: float, rng: np.random.Generator | None, lengths: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Apply dropout at rate `share`; returns x and the factors. With the `lengths` of sentences it drops columns, the
    same for all tokens of a sentence."""
    if rng is None or share == 0:
        return x, np.ones(1, dtype=REAL)
    shape = x.shape if lengths is None else (len(lengths), x.shape[1])
    mask = ((rng.random(shape, dtype=REAL) >= share) / REAL(1 - share)).astype(REAL)
    if lengths is not None:
        mask = np.repeat(mask, lengths, axis=0)
    return x * mask, mask


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


class Learner:
    """A network's values, their running means, and the optimiser's state. One process, one thread.

    `table_share`, `layer_share`: dropout rates of the inputs of the first layer, and of the others.
    """

    def __init__(self, values: Arrays, table_share: float, layer_share: float, average: float = 0.999):
        self.values = values
        self.table_share, self.layer_share = table_share, layer_share
        self.average = average
        self.averages = {name: array.copy() for name, array in values.items()}
        self.slopes, self.means, self.squares = (
            {name: np.zeros_like(array) for name, array in values.items()} for _ in range(3)
        )
        self.steps = 0
        self._ones = np.ones(len(values["table"]), dtype=REAL)

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

    def _read(
        self, numbers: np.ndarray, bounds: np.ndarray, lengths: np.ndarray, rng: np.random.Generator | None
    ) -> tuple[np.ndarray, list[tuple]]:
        values, n = self.values, len(numbers)
        d = values["recurrent"].shape[3]
        x = np.empty((n, values["table"].shape[1]), dtype=REAL)
        sum_rows(values["table"], self._ones, numbers, x)
        kept = []
        for layer in range(len(values["recurrent"])):
            masked, mask = drop(x, self.layer_share if layer else self.table_share, rng, lengths)
            units = masked @ values[f"weights{layer}"]
            states, outputs = (np.empty((n, 2 * d), dtype=REAL) for _ in range(2))
            run_sentences(units, masked, bounds, values["recurrent"][layer], values["bias"][layer], states, outputs)
            kept.append((masked, mask, units, states))
            x = outputs
        return x, kept

    def _read_back(self, d_x: np.ndarray, kept: list[tuple], numbers: np.ndarray, bounds: np.ndarray) -> None:
        values, slopes, n = self.values, self.slopes, len(numbers)
        d = values["recurrent"].shape[3]
        for layer, (masked, mask, units, states) in reversed(list(enumerate(kept))):
            d_units, d_carried = np.empty_like(units), np.zeros((n, 2 * d), dtype=REAL)
            units_back(
                d_x, units, masked, bounds, values["recurrent"][layer], states, d_units, d_carried,
                slopes["recurrent"][layer], slopes["bias"][layer], np.empty(d, dtype=REAL),
            )  # fmt: skip
            slopes[f"weights{layer}"] += masked.T @ d_units
            d_x = d_units @ values[f"weights{layer}"].T
            if units.shape[1] == 6 * d:
                d_x += d_carried
            d_x *= mask
        add_rows(slopes["table"], numbers, d_x)

    def _update(self, rows: np.ndarray, rate: float) -> None:
        slopes, most = self.slopes, 5.0
        square = float(np.square(slopes["table"][rows]).sum())
        square += sum(float(np.vdot(slope, slope)) for name, slope in slopes.items() if name != "table")
        if square > most * most:
            for name, slope in slopes.items():
                slope[rows if name == "table" else ...] *= REAL(most / math.sqrt(square))
        self.steps += 1
        keeps = 0.9, 0.99
        factors = [REAL(x) for x in (rate, *keeps, *(1 / (1 - keep**self.steps) for keep in keeps))]
        share = REAL(1 - min(self.average, (1 + self.steps) / (10 + self.steps)))
        for name, value in self.values.items():
            state = slopes[name], self.means[name], self.squares[name]
            if name == "table":
                adam_rows(value, *state, rows, *factors)
                continue
            adam(value.reshape(-1), *(array.reshape(-1) for array in state), *factors)
            follow(self.averages[name].reshape(-1), value.reshape(-1), share)
        if self.steps % 10 == 0:  # the table is large and its rows change seldom
            ten = REAL(1 - (1 - share) ** 10)
            follow(self.averages["table"].reshape(-1), self.values["table"].reshape(-1), ten)
