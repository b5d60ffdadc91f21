"""Joining the trees of several ensembles."""

from __future__ import annotations

import random

import numpy as np

from spacy_dtparse.dtparse.model.ensemble import empty_ensemble, validate
from tests.reference.decision_trees import flatten, random_tree
from training.dtparse.boosting.tree import concat


def test_concat_keeps_trees_and_order():
    rng = random.Random(1)
    trees = [random_tree(rng, 9, rng.randint(0, 9)) for _ in range(12)]
    joined = concat([flatten(trees[:5]), empty_ensemble(), flatten(trees[5:6]), flatten(trees[6:])])
    assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(joined, flatten(trees), strict=True))
    validate(joined, 9)
    single = flatten(trees)
    assert not any(np.shares_memory(a, b) for a, b in zip(concat([single]), single, strict=True))
