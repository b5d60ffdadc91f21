"""Eisner's chart and the spanning tree of Chu, Liu and Edmonds against the enumeration of all trees."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.bpm_parser.kernels import spanning
from spacy_dtparse.bpm_parser.kernels.spanning import projective_tree, spanning_tree, tree_score
from spacy_dtparse.jit.decorator import callable_from_python
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference.dependencies import best_trees, is_projective, is_tree, link_tie, tie_sum, trees

pytestmark = KERNEL_MARKS

GRID = 2.0**-6
DECODERS = [pytest.param(True, id="projective"), pytest.param(False, id="spanning")]


def decode(scores: np.ndarray, projective: bool) -> tuple[int, ...] | None:
    heads = np.full(len(scores), -7, np.int32)
    found = (projective_tree if projective else spanning_tree)(scores, heads)
    return tuple(heads.tolist()) if found else None


def matrix(n: int, rng: np.random.Generator, kind: str) -> np.ndarray:
    """Scores whose sums are exact."""
    scores = np.rint(rng.standard_normal((n + 1, n + 1)) / GRID) * GRID
    if "ties" in kind:
        scores = rng.integers(-1, 2, (n + 1, n + 1)).astype(float)
    if "forbidden" in kind:
        scores[rng.random(scores.shape) < 0.5] = -np.inf
    return scores


@pytest.mark.parametrize("projective", DECODERS)
@pytest.mark.parametrize("kind", ["any", "ties", "forbidden", "ties, forbidden"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_best_of_all_trees(n: int, kind: str, projective: bool) -> None:
    rng = np.random.default_rng(n)
    missing = 0
    for _ in range(4 if n == 5 or SLOW else 15):
        scores = matrix(n, rng, kind)
        best = best_trees(scores, projective)
        heads = decode(scores, projective)
        if not best:
            assert heads is None, "forbidden links leave no tree"
            missing += 1
            continue
        assert heads == best[0][0], (scores, best)
        assert tree_score(scores, np.array(heads, np.int32)) == (best[0][1], tie_sum(heads))
    assert missing or n in (4, 5) or "forbidden" not in kind, "some of these have no tree"


@pytest.mark.parametrize("projective", DECODERS)
@pytest.mark.parametrize("kind", ["any", "ties"])
def test_six_tokens(kind: str, projective: bool) -> None:
    scores = matrix(6, np.random.default_rng(6), kind)
    assert decode(scores, projective) == best_trees(scores, projective)[0][0]


@pytest.mark.parametrize("projective", DECODERS)
def test_a_missing_tree_is_reported(projective: bool) -> None:
    scores = np.zeros((5, 5))
    scores[0] = -np.inf
    assert decode(scores, projective) is None, "the root has no dependent"
    scores[0] = 0.0
    scores[:, 3] = -np.inf
    assert decode(scores, projective) is None, "a token has no head"
    scores = np.full((5, 5), -np.inf)
    assert decode(scores, projective) is None
    scores[0, 1] = scores[0, 2] = scores[1, 3] = scores[2, 4] = 0.0
    assert decode(scores, projective) is None, "two dependents of the root at least"
    scores[1, 2] = -1e6
    assert decode(scores, projective) == (None if projective else (-1, 0, 1, 1, 2)), "however little it is worth"
    scores[1, 4] = -1e6
    assert decode(scores, projective) == (-1, 0, 1, 1, 1 if projective else 2)


def test_numbers_that_decide_among_equals_decide_always() -> None:
    tie = callable_from_python(spanning.link_tie)
    for head in range(12):
        for dependent in range(1, 12):
            number = int(tie(head, dependent))
            assert number == link_tie(head, dependent) and 0 <= number < 2**40
    for n in range(1, 6):
        assert len({tie_sum(heads) for heads in trees(n)}) == len(trees(n)) == n ** (n - 1)


@pytest.mark.parametrize("kind", ["any", "ties"])
@pytest.mark.parametrize("n", [7, 12] if SLOW else [7, 20, 45])
def test_longer_sentences(n: int, kind: str) -> None:
    rng, crossing = np.random.default_rng(n), 0
    for _ in range(2 if SLOW else 10):
        scores = matrix(n, rng, kind)
        projective, spanning_heads = decode(scores, True), decode(scores, False)
        assert projective is not None and spanning_heads is not None
        assert is_tree(projective) and is_tree(spanning_heads) and is_projective(projective)
        values = [tree_score(scores, np.array(heads, np.int32)) for heads in (projective, spanning_heads)]
        assert values[1] >= values[0], "all projective trees are trees"
        crossing += not is_projective(spanning_heads)
    assert crossing


@pytest.mark.parametrize("n", [2, 9] if SLOW else [2, 9, 30])
def test_a_tree_whose_links_are_worth_more_than_others_is_found(n: int) -> None:
    rng = np.random.default_rng(n)
    for projective in (True, False):
        gold = decode(matrix(n, rng, "any"), projective)
        scores = -np.rint(rng.random((n + 1, n + 1)) / GRID) * GRID
        for d, head in enumerate(gold[1:], 1):
            scores[head, d] += 1.0
        assert decode(scores, projective) == gold and decode(scores, False) == gold
        for d, head in enumerate(gold[1:], 1):  # and it is what is left when all else is forbidden
            scores[:, d] = -np.inf
            scores[head, d] = 3.0
        assert decode(scores, projective) == gold


@pytest.mark.parametrize("projective", DECODERS)
@pytest.mark.parametrize("n", [1, 2, 3, 4] if SLOW else [1, 2, 3, 4, 5])
def test_every_tree_can_be_the_best(n: int, projective: bool) -> None:
    """Trees of every shape, with arrays as long as the largest trees need."""
    for heads in trees(n):
        if is_projective(heads) or not projective:
            scores = np.zeros((n + 1, n + 1))
            scores[list(heads[1:]), range(1, n + 1)] = 1.0
            assert decode(scores, projective) == heads


@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_cycle_around_every_cycle(n: int) -> None:
    """Tokens 1 and 2 prefer each other as heads, then these two and 3, and so on: the maximum number of cycles."""
    scores = np.full((n + 1, n + 1), -np.inf)
    scores[0, 1:] = np.arange(n, dtype=float)
    for d in range(2, n + 1):
        scores[d - 1, d] = scores[d, d - 1] = 1000.0 - 10.0 * d
    assert decode(scores, False) == (-1, *range(2, n + 1), 0)


def test_scores_of_impossible_links_are_not_used() -> None:
    scores = matrix(6, np.random.default_rng(1), "any")
    expected = decode(scores, False), decode(scores, True)
    np.fill_diagonal(scores, 50.0)
    scores[:, 0] = 50.0
    kept = scores.copy()
    assert (decode(scores, False), decode(scores, True)) == expected
    assert np.array_equal(scores, kept), "and what is given stays as it is"
