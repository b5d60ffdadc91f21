"""Networks on their way into training and out of it."""

from __future__ import annotations

import numpy as np

from spacy_dtparse.nn.packing import pack
from spacy_dtparse.span_parser.model import PackedNetwork
from tests.span_models import random_network
from training.nn.layers import as_network, values_of


def test_stored_values_are_float32_in_training() -> None:
    packed = PackedNetwork.pack(random_network(20, 4))
    stored = packed.unpack(20, 4)
    values = values_of(stored)
    assert "factor" not in values and all(array.dtype == np.float32 for array in values.values())
    expected = packed.arrays["table"].astype(np.float32) * packed.arrays["factor"][:, None]
    assert np.array_equal(values["table"], expected)
    again = as_network(type(stored), values)
    assert again.table is values["table"] and again.factor.tolist() == [1] * 20
    assert np.array_equal(pack(again)["table"], packed.arrays["table"])
    values["edges"] += 1
    assert not np.array_equal(values["edges"], stored.edges), "arrays of their own"
