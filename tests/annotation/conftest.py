"""The pipeline of the tests of annotation."""

from __future__ import annotations

import pytest

import spacy_dtparse


@pytest.fixture(scope="module")
def nlp():
    return spacy_dtparse.load()
