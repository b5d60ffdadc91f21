"""Input that every parser with supertags refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spacy_dtparse.errors import ConfigError, DtparseError

NO_BETAS: list[Any] = [0.1, "0.1", [1.1], [-0.1], [math.nan], [True], ["0.1"], {0.1}, 3]
"""Values that are no list of fractions."""
ODD: list[Any] = [
    [("NP",)],
    ["NP"],
    [("NP", "likely")],
    [(None, 1.0)],
    [("NP", -0.1)],
    [("NP", math.nan)],
    None,
    3,
    "NP",
]
"""Values that are no supertags of a word."""


def refuses_bad_supertags(parser: Any) -> None:
    for number in (1, 3):
        with pytest.raises(DtparseError, match=f"2 words but spines for {number}; give spines for every word, or none"):
            parser.parse(["a", "b"], ["DT", "NN"], [[("-", 1.0)]] * number)
    for wrong in ODD:
        with pytest.raises(DtparseError, match=r"the spines of word 1 are .*; give a list of .text, prob"):
            parser.parse(["a", "b"], ["DT", "NN"], [[("-", 1.0)], wrong])


def refuses_betas(settings: Any, parser: Any, wrong: Any) -> None:
    kind = settings.KIND
    with pytest.raises(ConfigError, match=rf"{kind} setting 'betas' is .*; it must be a list of numbers from 0 to 1"):
        settings(betas=wrong)
    with pytest.raises(ConfigError, match=f"{kind} setting 'betas' is "):
        parser.with_settings(betas=wrong)
