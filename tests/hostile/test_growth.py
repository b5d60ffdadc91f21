"""Functions over constituents take linear time, however deep or wide the tree is."""

from __future__ import annotations

import pytest

import spacy_dtparse

from .growth import SHAPES, make_doc, make_tree, measure


@pytest.mark.parametrize("shape", SHAPES)
def test_trees_have_about_n_constituents(shape: str) -> None:
    found = spacy_dtparse.constituents(make_doc(make_tree(shape, 40)))
    assert 38 <= len(found) <= 80
    first = next(spacy_dtparse.subconstituents(found[0]))
    assert (first.start, first.end) == (found[0].start, found[0].end)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["subconstituents", "children", "parent", "labels", "parse_string", "to_tree"])
def test_time_is_linear(name: str, shape: str) -> None:
    if (name, shape) == ("labels", "chain"):
        pytest.skip("n labels for each of n constituents")
    assert not measure(name, shape, 1000, 2).is_too_steep
