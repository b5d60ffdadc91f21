"""Storage format of recurrent networks: the embedding table and the layers in int8, all else in float16. Parsers use
the int8 table: in float32 it would need four times the memory."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..dtypes import REAL, STORED_REAL, STORED_TABLE
from ..errors import ModelFormatError
from ..model_io.schema import Array
from ..stored_names import stored_fields, to_stored
from .kernels.products import round_columns, round_to_int8

N = TypeVar("N", bound=Any)
_ADVICE = "fetch or write the model again"
_MAX_LAYERS = 64
"""Maximum number of recurrent layers."""
_TOLERANCE, _OLDER_TOLERANCE = 1e-2, 5e-2
"""Tolerances of self-tests (see `core.self_test`). The inputs of a layer are rounded to int8, so a difference in the
last bit, such as that of interpreted and compiled kernels, can change a score by some thousandths. The numbers in older
files are from products of int16."""


def declare_network(arrays: Mapping[str, np.ndarray], prefix: str, **rest: tuple[int | str, ...]) -> dict[str, Array]:
    """Declare the arrays of a network in a file; their names begin with the prefix. `rest`: shapes of the arrays after
    the recurrent layers. `unpack` checks that the shapes are consistent."""
    recurrent = arrays.get(prefix + "recurrent", np.zeros(0))
    layers = min(recurrent.shape[0] if recurrent.ndim else 0, _MAX_LAYERS)
    shapes = {"recurrent": ("layers", 2, 2, "units"), "bias": ("layers", 2, 2, "units"), **rest}
    found = {name: Array("uint16", shape, empty=False) for name, shape in shapes.items()}  # float16, see `pack`
    for k in range(layers):
        name, inputs, outputs = f"weights{k}", f"inputs of layer {k}", f"outputs of layer {k}"
        rounded = prefix + _factor_name(name) in arrays
        found[name] = Array("int8" if rounded else "uint16", (inputs, outputs), empty=False)
        if rounded:
            found[_factor_name(name)] = Array("float32", (outputs,), 0, 2**10)
    found["table"] = Array("int8", ("rows", "width"), empty=False)
    found["factor"] = Array("float32", ("rows",), 0, 2**10)
    return {prefix + name: replace(array, shape=_with_prefix(prefix, array.shape)) for name, array in found.items()}


def _factor_name(name: str) -> str:
    return f"{name}_factor"


def self_test_tolerance(arrays: Mapping[str, np.ndarray]) -> float:
    """Return the tolerance of the self-test of a model with a network in storage format; its layers are in float16 in
    files of older versions."""
    return _TOLERANCE if _factor_name("weights0") in arrays else _OLDER_TOLERANCE


def _with_prefix(prefix: str, shape: tuple[int | str | None, ...]) -> tuple[int | str | None, ...]:
    """Prefix the named sizes of a shape, so that they belong to this network only."""
    return tuple(prefix + size if isinstance(size, str) else size for size in shape)


def table_of(network: Any) -> np.ndarray:
    """Return the table of a network, each row times its factor, as a new array float32 (V, e)."""
    return network.table.astype(REAL) * network.factor[:, None]


def round_layers(network: N, *names: str) -> N:
    """Return a network with `weights`, and the matrices of these names, as RoundedMatrix, as kernels multiply them:
    the weights of the first layer, and those of the others together, so that types do not depend on their number."""
    first, *others = network.weights
    d = network.recurrent.shape[3]
    weights = round_to_int8(first), round_to_int8(np.stack(others) if others else np.zeros((0, 2 * d, 6 * d)))
    return network._replace(weights=weights, **{name: round_to_int8(getattr(network, name)) for name in names})  # type: ignore[no-any-return]


def pack(network: Any) -> dict[str, np.ndarray]:
    """Quantize a NamedTuple of arrays (`table`, its `factor`, a tuple `weights` and others) to a dict by field names:
    the table in int8 (V, e) with a factor for each row, float32 (V,); `weights0`, … for the layers, in int8 with a
    factor for each column, float32; all else in float16."""
    values = table_of(network)
    factor = np.maximum(np.abs(values).max(axis=1), 1e-8).astype(REAL) / REAL(127)
    table = np.rint(values / factor[:, None]).astype(STORED_TABLE)
    found = {"table": table, "factor": factor}
    for k, part in enumerate(network.weights):
        found[f"weights{k}"], found[_factor_name(f"weights{k}")] = round_columns(part)
    rest = to_stored(network)
    del rest["weights"], rest["table"], rest["factor"]
    return {**found, **{name: rest[name].astype(STORED_REAL) for name in rest}}


def unpack(
    arrays: Mapping[str, np.ndarray], kind: type[N], shapes: Callable[[Mapping[str, np.ndarray]], Mapping[str, Any]]
) -> N:
    """Build the network of class `kind`, the table in int8, all else in float32. `shapes`: computes the required shapes
    from the arrays, by the names of `pack`.

    Raises ModelFormatError if shapes are inconsistent, there is no layer, the table is not int8, or a number is not
    finite.
    """
    wide = {
        name: np.ascontiguousarray(array, dtype=STORED_TABLE if array.dtype == STORED_TABLE else REAL)
        for name, array in arrays.items()
    }
    n_layers = 0
    while (name := f"weights{n_layers}") in wide:
        factors = wide.pop(_factor_name(name), None)
        if factors is not None:
            if wide[name].dtype != STORED_TABLE or factors.shape != wide[name].shape[-1:]:
                raise ModelFormatError(f"the {name} of a network do not fit their factors; {_ADVICE}")
            wide[name] = wide[name] * factors.astype(REAL)
        n_layers += 1
    if not all(np.isfinite(array).all() for array in wide.values() if array.dtype == REAL):
        raise ModelFormatError(f"a network has numbers that are not finite; {_ADVICE}")
    try:
        network = kind(
            weights=tuple(wide[f"weights{k}"] for k in range(n_layers)),
            **{field: wide[name] for name, field in stored_fields(kind).items() if name != "weights"},
        )
    except KeyError as error:
        raise ModelFormatError(f"a network lacks its {error}; {_ADVICE}") from error
    kinds = {name: np.dtype(STORED_TABLE if name == "table" else REAL) for name in wide}
    odd = [name for name, array in wide.items() if array.dtype != kinds[name]]
    if odd:
        raise ModelFormatError(f"the {odd[0]} of a network has the wrong type {wide[odd[0]].dtype}; {_ADVICE}")
    if not network.weights:
        raise ModelFormatError(f"a network has no layer; {_ADVICE}")
    for name, shape in shapes(wide).items():
        if wide[name].shape != shape:
            raise ModelFormatError(
                f"an array of a network has the shape {wide[name].shape}, where {shape} is needed; {_ADVICE}"
            )
    return network


def shapes_of_layers(wide: Mapping[str, np.ndarray], size: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a table of `size` rows and of the layers above it."""
    d, n_layers = wide["recurrent"].shape[-1], sum(name.startswith("weights") for name in wide)
    widths = [wide["table"].shape[1], *[2 * d] * (n_layers - 1)]
    return {
        **{f"weights{k}": (width, (6 if width == 2 * d else 8) * d) for k, width in enumerate(widths)},
        "table": (size, widths[0]),
        "factor": (size,),
        "recurrent": (n_layers, 2, 2, d),
        "bias": (n_layers, 2, 2, d),
    }
