"""Profiles of hypothesis: `tests` with every test run, `nightly` for a night.

python -m pytest tests/properties -m "" --hypothesis-profile=nightly --hypothesis-seed=1
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import spacy_dtparse

_COMMON: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("tests", max_examples=25, derandomize=True, **_COMMON)
settings.register_profile("nightly", max_examples=1000, **_COMMON)
settings.load_profile("tests")


def few(examples: int) -> settings:
    """So many examples with the tests, and as many more in other profiles as those have."""
    return settings(max_examples=max(1, examples * settings.default.max_examples // 25))


NAMES = ("en_dtparse", "en_span", "en_trees", "en_pcfgla", "en_bpm")
PARSERS = dict(zip(NAMES, ("dtparse", "span_parser", "dtparse", "pcfgla", "bpm_parser"), strict=True))
"""The last component of each."""


@cache
def pipeline(name: str) -> Any:
    """An English pipeline, loaded once."""
    return spacy_dtparse.load(name)


@pytest.fixture(params=["en_dtparse", *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def name(request) -> str:
    """Each English pipeline by its name."""
    return request.param
