"""Recurrent networks as they are stored: the table in whole numbers, all else in float16."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..dtypes import REAL, STORED_REAL, STORED_TABLE
from ..errors import ModelFormatError

N = TypeVar("N", bound=Any)
_AGAIN = "fetch or write the model again"


def pack(network: Any) -> dict[str, np.ndarray]:
    """A NamedTuple of arrays, one of them `table` and one a tuple `weights`, by the names of its fields: the table in
    int8 (V, e) with a factor for each row, float32 (V,), `weights0`, … for the layers, all but the table in float16."""
    factor = np.maximum(np.abs(network.table).max(axis=1), 1e-8).astype(REAL) / REAL(127)
    table = np.rint(network.table / factor[:, None]).astype(STORED_TABLE)
    rest = {**network._asdict(), **{f"weights{k}": part for k, part in enumerate(network.weights)}}
    del rest["weights"], rest["table"]
    return {"table": table, "factor": factor, **{name: rest[name].astype(STORED_REAL) for name in rest}}


def unpack(
    arrays: Mapping[str, np.ndarray], kind: type[N], shapes: Callable[[Mapping[str, np.ndarray]], Mapping[str, Any]]
) -> N:
    """The network of a `kind` in float32; `shapes`: of what must be there, by the names of `pack`, from the arrays.

    Raises ModelFormatError when shapes disagree, there is no layer, or a number is not finite.
    """
    wide = {name: np.ascontiguousarray(array, dtype=REAL) for name, array in arrays.items()}
    n_layers = sum(name.startswith("weights") for name in wide)
    if not all(np.isfinite(array).all() for array in wide.values()):
        raise ModelFormatError(f"a network has numbers that are not finite; {_AGAIN}")
    try:
        wide["table"] = wide["table"] * wide["factor"][:, None]
        network = kind(
            weights=tuple(wide[f"weights{k}"] for k in range(n_layers)),
            **{name: wide[name] for name in kind._fields if name != "weights"},
        )
    except KeyError as error:
        raise ModelFormatError(f"a network lacks its {error}; {_AGAIN}") from error
    if not network.weights:
        raise ModelFormatError(f"a network has no layer; {_AGAIN}")
    for name, shape in shapes(wide).items():
        if wide[name].shape != shape:
            raise ModelFormatError(
                f"an array of a network has the shape {wide[name].shape}, where {shape} is needed; {_AGAIN}"
            )
    return network


def shapes_of_layers(wide: Mapping[str, np.ndarray], size: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a table of `size` rows and of the layers that read it."""
    d, n_layers = wide["recurrent"].shape[-1], sum(name.startswith("weights") for name in wide)
    widths = [wide["table"].shape[1], *[2 * d] * (n_layers - 1)]
    return {
        **{f"weights{k}": (width, (6 if width == 2 * d else 8) * d) for k, width in enumerate(widths)},
        "table": (size, widths[0]), "recurrent": (n_layers, 2, 2, d), "bias": (n_layers, 2, 2, d),
    }  # fmt: skip
