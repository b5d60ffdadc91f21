"""Parameters of networks in their storage format."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spacy_dtparse.dtypes import REAL


def real_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a packed network as float32, by their stored names, those in int8 multiplied by their factors."""
    found = {name: array.astype(REAL) for name, array in arrays.items()}
    for name in [name for name in found if f"{name}_factor" in found]:
        found[name] = found[name] * np.expand_dims(found.pop(f"{name}_factor"), -2)
    found["table"] = found["table"] * found.pop("factor")[:, None]
    return found
