"""Well-formedness of ensembles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spacy_dtparse.dtparse.model.ensemble import MAX_CONFIDENCE, LabelEnsemble, empty_ensemble, validate
from spacy_dtparse.errors import ModelFormatError
from tests.reference.decision_trees import GRID, flatten, random_tree

TREE = (2, 0, (1, 8, (0, 0, -4)))  # nodes 0 (atom 2), 1 leaf, 2 (atom 1), 3 leaf, 4 (atom 0), 5 and 6 leaves


def changed(field: str, at: int, value: float) -> LabelEnsemble:
    ensemble = flatten([TREE, 5])
    array = getattr(ensemble, field).copy()
    array[at] = value
    return ensemble._replace(**{field: array})


@pytest.mark.parametrize("shuffled", [False, True])
def test_sound_ensembles_pass(shuffled):
    rng = random.Random(0)
    trees = [random_tree(rng, 9, rng.randint(0, 30)) for _ in range(20)]
    validate(flatten(trees, rng if shuffled else None), 9)
    validate(empty_ensemble(), 0)
    validate(flatten([3]), 0)


@pytest.mark.parametrize(
    ("field", "at", "value", "message"),
    [
        ("atom", 0, 3, r"unknown atom at 0; atoms are 0 to 2"),
        ("atom", 1, -2, "negative atom at 1"),
        ("atom", 0, -1, "leaf with a child at 0"),
        ("atom", 1, 0, "yes child out of range at 1"),
        ("yes", 2, 8, "yes child out of range at 2"),
        ("no", 2, -1, "no child out of range at 2"),
        ("yes", 5, 0, "leaf with a child at 5"),
        ("roots", 0, 8, "root out of range at 0"),
        ("roots", 1, -1, "root out of range at 1"),
        ("roots", 1, 0, "node reached from two nodes at 0"),
        ("roots", 1, 3, "node reached from two nodes at 3"),
        ("yes", 2, 2, "node reached from two nodes at 2"),
        ("no", 4, 2, "node reached from two nodes at 2"),
        ("value", 3, np.nan, "not a number at 3"),
        ("value", 3, -np.inf, "not a number at 3"),
        ("value", 2, 1.0, "confidence on an inner node at 2"),
        ("value", 3, GRID / 2, "off the grid at 3"),
        ("value", 3, MAX_CONFIDENCE + 1, "too large at 3"),
    ],
)
def test_each_defect_is_reported_with_its_position(field, at, value, message):
    with pytest.raises(ModelFormatError, match=f"label NP: .*{message}"):
        validate(changed(field, at, value), 3, name="label NP")


def test_cycles_and_unreachable_nodes():
    circle = flatten([TREE, 5])
    circle.no[0], circle.no[4] = 6, 2  # 2 -> 4 -> 2, and the root no longer leads to them
    with pytest.raises(ModelFormatError, match="cycle of nodes at 2"):
        validate(circle, 3)
    own_child = LabelEnsemble(*(np.array(a, dtype=np.int32) for a in ([], [0, -1], [0, -1], [1, -1])), np.zeros(2))
    with pytest.raises(ModelFormatError, match="cycle of nodes at 0"):
        validate(own_child, 1)
    lost = flatten([TREE, 5])
    with pytest.raises(ModelFormatError, match="node in no tree at 7"):
        validate(lost._replace(roots=lost.roots[:1]), 3)


@pytest.mark.parametrize(
    ("field", "array", "message"),
    [
        ("atom", np.zeros(8, dtype=np.int64), "atom is int64 of 1 dimensions; it must be a int32 array"),
        ("value", np.zeros(8, dtype=np.float32), "value is float32"),
        ("yes", np.zeros((8, 1), dtype=np.int32), "yes is int32 of 2 dimensions"),
        ("roots", [0, 7], "roots is list"),
        ("no", np.zeros(7, dtype=np.int32), "have 8, 8, 7 and 8 entries"),
    ],
)
def test_wrong_types_and_lengths(field, array, message):
    with pytest.raises(ModelFormatError, match=message):
        validate(flatten([TREE, 5])._replace(**{field: array}), 3)
