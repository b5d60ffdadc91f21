"""The bit-parallel scorer against the tree walk, and both against trees as nested tuples."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from spacy_dtparse.kernels import rules as rule_kernels
from spacy_dtparse.kernels.jit import from_python
from spacy_dtparse.kernels.rules import make_scratch, rules_score
from spacy_dtparse.kernels.treewalk import walk_forest, walk_score
from spacy_dtparse.model.ensemble import stack
from spacy_dtparse.model.rules import compile_rules
from tests.reference.decision_trees import GRID, flatten, random_list, random_tree, score

pytestmark = pytest.mark.kernel

rules_add = from_python(rule_kernels.rules_add)
rules_start = from_python(rule_kernels.rules_start)
rules_sum = from_python(rule_kernels.rules_sum)


def subsets(n: int):
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1))


def compact(rules, atoms) -> np.ndarray:
    numbers = rules.atom_map[np.array(atoms, dtype=np.int64)] if len(atoms) else np.zeros(0, dtype=np.int32)
    return numbers[numbers >= 0].astype(np.int32)


def same_bits(a, b) -> bool:
    return np.array_equal(np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64))


def label_trees(rng: random.Random, n_atoms: int) -> list[list]:
    """Labels without trees, with bare leaves, any shape, lists, lists of present atoms, and over 64 rules."""
    return [
        [],
        [5, -5, 70_000],
        [random_tree(rng, n_atoms, rng.randint(0, 6)) for _ in range(12)],
        [random_list(rng, n_atoms, rng.randint(1, 6)) for _ in range(40)],
        [random_list(rng, n_atoms, 4, present=0.9) for _ in range(20)],
        [0],
        [random_tree(rng, n_atoms, 5) for _ in range(60)],
    ]


@pytest.mark.parametrize("dense_share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_every_set_of_atoms_scores_as_the_trees(seed, dense_share):
    rng, n_atoms = random.Random(seed), 6
    labels = label_trees(rng, n_atoms)
    ensembles = [flatten(trees, rng) for trees in labels]
    rules = compile_rules(ensembles, n_atoms, dense_share=dense_share)
    assert np.diff(rules.label_word).tolist()[:2] == [0, 0] and np.diff(rules.label_word).max() > 1
    forest, label_tree = stack(ensembles)
    scratch, stamp = make_scratch(rules), np.zeros(n_atoms, dtype=np.int64)
    scores, walked = np.zeros(len(labels)), np.zeros(len(labels))
    for mark, active in enumerate(subsets(n_atoms), start=1):
        expected = [score(trees, set(active)) * GRID for trees in labels]
        atoms = compact(rules, active)
        rules_score(rules, scratch, atoms, len(atoms), scores)
        stamp[list(active)] = mark
        walk_forest(forest, label_tree, stamp, mark, walked)
        assert same_bits(scores, expected)
        assert same_bits(walked, expected)
        assert walk_score(ensembles[3], stamp, mark) == expected[3]


@pytest.mark.parametrize("dense_share", [0.0, 0.3, 1.0])
def test_candidates_of_one_state_share_its_atoms(dense_share):
    """Any division into the state's and the candidate's atoms, with repeats in both, scores as the union."""
    rng, n_atoms = random.Random(7), 12
    labels = label_trees(rng, n_atoms)
    rules = compile_rules([flatten(trees) for trees in labels], n_atoms, dense_share=dense_share)
    scratch, scores = make_scratch(rules), np.zeros(len(labels))
    in_both = 0
    for _ in range(15):
        context = [rng.randrange(n_atoms) for _ in range(rng.randint(0, 6))]
        row = compact(rules, context)
        rules_start(rules, row, len(row), scratch.shared)
        for _ in range(4):
            own = [rng.randrange(n_atoms) for _ in range(rng.randint(0, 8))]
            in_both += bool(set(context) & set(own))
            before = np.array([0, 1], dtype=np.int32)  # atoms before lo are not read
            row = np.concatenate([before, compact(rules, own)])
            rules_add(rules, scratch.shared, row, 2, len(row), scratch.live)
            rules_sum(rules, scratch.live, scores)
            assert same_bits(scores, [score(trees, {*context, *own}) * GRID for trees in labels])
            rules_sum(rules, scratch.shared, scores)  # the state itself is still as it was
            assert same_bits(scores, [score(trees, set(context)) * GRID for trees in labels])
    assert in_both > 5


def test_rules_with_several_present_atoms_need_all_of_them():
    both = (0, (1, (2, 0, 8), 0), 0)  # 0 and 1 present, 2 absent
    rules = compile_rules([flatten([both])], 3)
    assert rules.wait_start.tolist() == [1, 3]  # one word, and two of awaited bits
    scratch, out = make_scratch(rules), np.zeros(1)
    got = {}
    for active in subsets(3):
        atoms = compact(rules, active)
        rules_score(rules, scratch, atoms, len(atoms), out)
        got[active] = out[0] / GRID
    assert {active for active, units in got.items() if units} == {(0, 1)}
    assert got[0, 1] == 8


def test_presence_is_forgotten_with_the_next_candidate():
    rules = compile_rules([flatten([(0, (1, 8, 0), 0)])], 2)
    scratch, out = make_scratch(rules), np.zeros(1)
    for state, candidate in ((0, 1), (1, 0)):
        first, other = compact(rules, [state]), compact(rules, [candidate])
        rules_start(rules, first, 1, scratch.shared)
        for own, units in ((other, 8), (other[:0], 0), (other, 8), (first, 0)):
            rules_add(rules, scratch.shared, own, 0, len(own), scratch.live)
            rules_sum(rules, scratch.live, out)
            assert out[0] == units * GRID


def test_a_label_of_many_words():
    """300 one-atom rules, each with its own bit of the sum."""
    trees = [(atom, 0, 1 << (atom % 16)) for atom in range(300)]
    rules = compile_rules([flatten([]), flatten(trees), flatten(trees[:64])], 300)
    assert list(np.diff(rules.label_word)) == [0, 5, 1]
    scratch, out, rng = make_scratch(rules), np.zeros(3), random.Random(1)
    for _ in range(20):
        active = rng.sample(range(300), 80)
        atoms = compact(rules, active)
        rules_score(rules, scratch, atoms, len(atoms), out)
        assert same_bits(out, [0.0, score(trees, set(active)) * GRID, score(trees[:64], set(active)) * GRID])


def test_no_labels_and_no_rules():
    for ensembles in ([], [flatten([])], [flatten([]), flatten([3])]):
        rules = compile_rules(ensembles, 4)
        assert len(rules.fresh) == 0 and not (rules.atom_map >= 0).any()
        scratch, out = make_scratch(rules), np.full(len(ensembles), 9.0)
        rules_score(rules, scratch, np.zeros(0, dtype=np.int32), 0, out)
        assert same_bits(out, [0.0, 3 * GRID][: len(ensembles)])


def test_values_beyond_int32_stay_exact():
    """Equal conjunctions are merged; their sum may pass what one rule can carry."""
    top = 2**28
    trees = [(0, 0, top)] * 40 + [(1, 0, -top + 1)] * 30 + [(1, (0, 1, 0), 0)]
    rules = compile_rules([flatten(trees)], 2)
    assert 40 * top > 2**31 and rules.label_word.tolist() == [0, 1]
    scratch, out = make_scratch(rules), np.zeros(1)
    for active in subsets(2):
        atoms = compact(rules, active)
        rules_score(rules, scratch, atoms, len(atoms), out)
        assert out[0] == score(trees, set(active)) * GRID
