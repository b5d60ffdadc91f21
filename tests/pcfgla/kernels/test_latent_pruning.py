"""Latent charts without some symbols of some cells: only trees are removed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spacy_dtparse.pcfgla.kernels.latent import WORD
from spacy_dtparse.pcfgla.latent import posteriors, spans_of_cells
from spacy_dtparse.pcfgla.model.latent_part import LatentPart
from tests.jit.harness import KERNEL_MARKS

from .test_latent import RULES, anchored, everything, number_in_kernel, probability, random_part, trees, vectors

pytestmark = KERNEL_MARKS


def expected_posteriors(part: LatentPart, words, every) -> dict[tuple[int, int, int, int], float]:
    """The posterior of every rule at its position, from a list of trees."""
    probs = [probability(part, words, tree) for tree in every]
    found: dict[tuple[int, int, int, int], float] = {}
    for tree, p in zip(every, probs, strict=True):
        for anchor in tree:
            found[anchor] = found.get(anchor, 0.0) + p / sum(probs)
    return found


def kernel_posteriors(
    part: LatentPart, words, allowed: np.ndarray, least: float
) -> dict[tuple[int, int, int, int], float]:
    """The posteriors that the kernels compute, with the same keys."""
    n = len(words)
    found = posteriors(part.kernel, words, allowed, 0, least)
    assert found is not None
    cells, names = spans_of_cells(n).tolist(), {k: RULES.index(rule) for rule, k in number_in_kernel(part).items()}
    return {
        (*cells[cell], split, rule if split == WORD else names[rule]): math.exp(log)
        for log, cell, split, rule in (one.tolist() for one in found[0][["posterior", "cell", "split", "rule"]])
    }


@pytest.mark.parametrize("seed", [0, 2])
def test_disallowing_a_symbol_in_a_cell_only_removes_trees(seed):
    """Everything else is as without those trees, for every symbol of every cell, including words."""
    part = random_part(seed)
    words, cells, every = vectors(part, 3, seed), spans_of_cells(3).tolist(), list(trees(0, 0, 3))
    some = 0
    for cell, symbol in [*np.ndindex(6, 5), (0, [0, 1, 2])]:  # of the last the first word's tag alone is left
        allowed = everything(3)
        allowed[cell, symbol] = 0
        closed = [(*cells[cell], one) for one in np.arange(5)[symbol].ravel().tolist()]
        left = [t for t in every if not any((i, j, rule[0]) in closed for i, j, _, rule in anchored(t))]
        if left:
            wanted = expected_posteriors(part, words, left)
            assert kernel_posteriors(part, words, allowed, 1e-12) == pytest.approx(wanted, rel=1e-9)
            some += len(left) < len(every)
    assert some > 5


@pytest.mark.parametrize("least", [0.1, 0.2])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_improbable_symbols_are_not_expanded(seed, least):
    """Rules below such a symbol lose the probability of trees with it, and nothing more."""
    part = random_part(seed)
    words, every = vectors(part, 3, seed), list(trees(0, 0, 3))
    wanted, found = expected_posteriors(part, words, every), kernel_posteriors(part, words, everything(3), least)
    kept = {(i, j, rule[0]) for i, j, _, rule in anchored(list(found))}
    probs = [probability(part, words, tree) for tree in every]
    cut = [any((i, j, rule[0]) not in kept for i, j, _, rule in anchored(tree)) for tree in every]
    lost = sum(p for p, gone in zip(probs, cut, strict=True) if gone) / sum(probs)
    assert 0.0 < lost < 0.9 and len(found) < len(wanted)
    for anchor, p in wanted.items():
        if anchor in found:
            assert max(p - lost, least) <= found[anchor] * (1 + 1e-9) and found[anchor] <= p * (1 + 1e-9)
        else:
            assert p - lost < least
    assert any(p < wanted[anchor] * (1 - 1e-6) for anchor, p in found.items())


@pytest.mark.parametrize("n", [3, 4])
def test_cells_without_allowed_symbols_only_remove_trees(n):
    part = random_part(0)
    words, cells = vectors(part, n, 0), spans_of_cells(n).tolist()
    for closed in range(n * (n + 1) // 2):
        if cells[closed] == [0, n]:
            continue
        allowed = everything(n)
        allowed[closed] = 0
        left = [t for t in trees(0, 0, n) if cells[closed] not in [[start, end] for start, end, _, _ in t]]
        total = sum(probability(part, words, tree) for tree in left)
        found = posteriors(part.kernel, words, allowed, 0, 1e-12)
        assert (found is None) == (total == 0.0)
        if found is not None:
            assert found[1] == pytest.approx(math.log(total), rel=1e-12) and closed not in found[0]["cell"]
