"""The bit-parallel scorer against trees as nested tuples."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from spacy_dtparse.dtparse.kernels import rules as rule_kernels
from spacy_dtparse.dtparse.kernels.rules import BATCH, make_scratch
from spacy_dtparse.dtparse.model.rules import compile_rules
from spacy_dtparse.jit.decorator import callable_from_python
from tests.reference.decision_trees import GRID, flatten, random_list, random_tree, score

pytestmark = pytest.mark.kernel

rules_batch = callable_from_python(rule_kernels.rules_batch)


def subsets(n: int):
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1))


def compact(rules, atoms) -> np.ndarray:
    numbers = rules.atom_map[np.array(atoms, dtype=np.int64)] if len(atoms) else np.zeros(0, dtype=np.int32)
    return numbers[numbers >= 0].astype(np.int32)


def same_bits(a, b) -> bool:
    return np.array_equal(np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64))


def label_trees(rng: random.Random, n_atoms: int) -> list[list]:
    """Labels without trees, with single leaves, any shape, lists, lists of present atoms, and over 64 rules."""
    return [
        [],
        [5, -5, 70_000],
        [random_tree(rng, n_atoms, rng.randint(0, 6)) for _ in range(12)],
        [random_list(rng, n_atoms, rng.randint(1, 6)) for _ in range(40)],
        [random_list(rng, n_atoms, 4, present=0.9) for _ in range(20)],
        [0],
        [random_tree(rng, n_atoms, 5) for _ in range(60)],
    ]


@pytest.mark.parametrize("dense_fraction", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_every_set_of_atoms_scores_as_the_trees(seed, dense_fraction):
    rng, n_atoms = random.Random(seed), 6
    labels = label_trees(rng, n_atoms)
    ensembles = [flatten(trees, rng) for trees in labels]
    rules = compile_rules(ensembles, n_atoms, dense_fraction=dense_fraction)
    words = np.diff(rules.label_word)
    assert words.tolist()[:2] == [0, 0] and words.max() > 1
    scratch = make_scratch(rules)
    for active in subsets(n_atoms):
        expected = [score(trees, set(active)) * GRID for trees in labels]
        assert same_bits(score_one(rules, scratch, active, len(labels)), expected)


def batch_scores(rules, scratch, context, candidates, n_labels) -> np.ndarray:
    """Scores (candidates, labels) of candidates with a state's atoms in common, from one call of the kernel."""
    parts = [compact(rules, context), *(compact(rules, own) for own in candidates)]
    ends = np.cumsum([len(part) for part in parts])
    scores = np.full((len(candidates), n_labels), 9.0)
    for k in range(len(candidates)):
        scratch.batch[k, :2] = ends[k + 1], len(candidates) - 1 - k  # any rows
    rules_batch(rules, scratch, np.concatenate(parts).astype(np.int32), np.int64(ends[0]), len(candidates), scores)
    return scores[::-1]


def score_one(rules, scratch, atoms, n_labels) -> np.ndarray:
    """Scores (labels,) of one candidate without a state."""
    return batch_scores(rules, scratch, [], [atoms], n_labels)[0]


@pytest.mark.parametrize("dense_fraction", [0.0, 0.3, 1.0])
def test_candidates_of_one_state_score_as_each_by_itself(dense_fraction):
    """Any division into the state's and the candidates' atoms, with repeats in both, scores as the union."""
    rng, n_atoms = random.Random(7), 12
    labels = label_trees(rng, n_atoms)
    rules = compile_rules([flatten(trees) for trees in labels], n_atoms, dense_fraction=dense_fraction)
    scratch = make_scratch(rules)
    in_both = trailing = 0
    for size in (1, 1, 2, 3, 4, 5, 6, 2, 4, 7):
        context = [rng.randrange(n_atoms) for _ in range(rng.randint(0, 6))]
        many = [[rng.randrange(n_atoms) for _ in range(rng.randint(0, 8))] for _ in range(size)]
        in_both += any(set(context) & set(own) for own in many)
        trailing += size > 1 and bool(set(many[-1]) & set(many[-2]))
        for own, got in zip(many, batch_scores(rules, scratch, context, many, len(labels)), strict=True):
            assert same_bits(got, [score(trees, {*context, *own}) * GRID for trees in labels])
            assert same_bits(got, score_one(rules, scratch, [*context, *own], len(labels)))
    assert in_both > 5 and trailing > 3


@pytest.mark.parametrize("dense_fraction", [0.0, 0.3, 1.0])
def test_wanted_labels_score_as_before_and_others_zero(dense_fraction):
    rng, n_atoms = random.Random(9), 12
    labels = label_trees(rng, n_atoms)
    rules = compile_rules([flatten(trees) for trees in labels], n_atoms, dense_fraction=dense_fraction)
    scratch = make_scratch(rules)
    for size in (1, 2, 3, 5):
        many = [[rng.randrange(n_atoms) for _ in range(rng.randint(0, 8))] for _ in range(size)]
        scratch.wanted[:] = True
        every = batch_scores(rules, scratch, [1, 2], many, len(labels))
        for share in (0.0, 0.2, 0.5):
            wanted = np.array([[rng.random() < share for _ in labels] for _ in many])
            scratch.wanted[:size] = wanted
            assert same_bits(batch_scores(rules, scratch, [1, 2], many, len(labels)), np.where(wanted, every, 0.0))


def test_an_atom_in_any_subset_of_a_batch():
    """Atom k is in the candidates that bit 0, 1, 2, 3 of k name: those at the end of the batch, and all others."""
    labels = [[(atom, 0, 1 << atom) for atom in range(16)], [(atom, 1 << atom, 0) for atom in range(16)]]
    rules = compile_rules([flatten(trees) for trees in labels], 16)
    scratch = make_scratch(rules)
    members = [[atom for atom in range(16) if atom >> k & 1] for k in range(4)]
    for order in itertools.permutations(range(4)):
        got = batch_scores(rules, scratch, [0], [members[k] for k in order], 2)
        expected = [[score(trees, {0, *members[k]}) * GRID for trees in labels] for k in order]
        assert same_bits(got, expected)


def test_a_full_batch_and_a_worn_counter():
    """As many candidates as fit; and the numbers of atoms start again before they pass int32."""
    rng = random.Random(8)
    trees = [random_list(rng, 30, 5, present=0.3) for _ in range(90)]
    rules = compile_rules([flatten(trees)], 30)
    scratch = make_scratch(rules)
    for worn in (0, rule_kernels._RUN_LIMIT, rule_kernels._RUN_LIMIT + 1):
        scratch.run[-1] = worn
        many = [rng.sample(range(30), rng.randint(0, 12)) for _ in range(BATCH)]
        got = batch_scores(rules, scratch, [3, 4], many, 1)
        assert same_bits(got[:, 0], [score(trees, {3, 4, *own}) * GRID for own in many])
    assert scratch.run[-1] == BATCH


def test_rules_with_several_present_atoms_need_all_of_them():
    both = (0, (1, (2, 0, 8), 0), 0)  # 0 and 1 present, 2 absent
    rules = compile_rules([flatten([both])], 3)
    assert rules.layer.tolist() == [[1, 2, 3]]  # one word, and two of awaited bits
    scratch = make_scratch(rules)
    got = {active: score_one(rules, scratch, active, 1)[0] / GRID for active in subsets(3)}
    assert {active for active, units in got.items() if units} == {(0, 1)}
    assert got[0, 1] == 8


def test_presence_is_forgotten_with_the_next_candidate():
    rules = compile_rules([flatten([(0, (1, 8, 0), 0)])], 2)
    scratch = make_scratch(rules)
    for state, candidate in ((0, 1), (1, 0)):
        got = batch_scores(rules, scratch, [state], [[candidate], [], [candidate], [state]], 1)
        assert (got[:, 0] / GRID).tolist() == [8, 0, 8, 0]


def test_a_label_of_many_words():
    """300 one-atom rules, each with its own bit of the sum."""
    trees = [(atom, 0, 1 << (atom % 16)) for atom in range(300)]
    rules = compile_rules([flatten([]), flatten(trees), flatten(trees[:64])], 300)
    assert rules.label_word.tolist() == [0, 0, 5, 6]
    scratch, rng = make_scratch(rules), random.Random(1)
    for _ in range(20):
        active = rng.sample(range(300), 80)
        out = score_one(rules, scratch, active, 3)
        assert same_bits(out, [0.0, score(trees, set(active)) * GRID, score(trees[:64], set(active)) * GRID])


def test_no_labels_and_no_rules():
    for ensembles in ([], [flatten([])], [flatten([]), flatten([3])]):
        rules = compile_rules(ensembles, 4)
        assert len(rules.fresh) == 0 and not (rules.atom_map >= 0).any()
        scratch = make_scratch(rules)
        out = score_one(rules, scratch, [], len(ensembles))
        assert same_bits(out, [0.0, 3 * GRID][: len(ensembles)])
        got = batch_scores(rules, scratch, [1], [[2], []], len(ensembles))
        assert same_bits(got, [out, out])


def test_values_beyond_int32_stay_exact():
    """Equal conjunctions are merged; their sum may pass what one rule can carry."""
    top = 2**28
    trees = [(0, 0, top)] * 40 + [(1, 0, -top + 1)] * 30 + [(1, (0, 1, 0), 0)]
    rules = compile_rules([flatten(trees)], 2)
    assert 40 * top > 2**31 and rules.label_word.tolist() == [0, 1]
    scratch = make_scratch(rules)
    for active in subsets(2):
        assert score_one(rules, scratch, active, 1)[0] == score(trees, set(active)) * GRID
