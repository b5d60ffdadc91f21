"""Trees to rules: simplification, merging, and the arrays' contract with the kernel."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from spacy_dtparse.dtparse.model.rules import compile_rules, conjunctions
from tests.reference.decision_trees import flatten, random_list, random_tree, score


def readable(rules) -> list[tuple[int, frozenset[str], int]]:
    """(label, {'+present', '-absent'}, units) of every rule."""
    literals = [rules.literal[a:b].tolist() for a, b in zip(rules.start[:-1], rules.start[1:], strict=True)]
    return [
        (int(label), frozenset(f"{'+' if code & 1 else '-'}{code >> 1}" for code in codes), int(units))
        for label, codes, units in zip(rules.label, literals, rules.units, strict=True)
    ]


def test_a_non_zero_leaf_is_its_path():
    tree = (3, (1, 0, 7), (2, 0, (0, -4, 9)))
    assert readable(conjunctions([flatten([tree])])) == [
        (0, frozenset({"+3", "-1"}), 7),
        (0, frozenset({"-3", "-2", "+0"}), -4),
        (0, frozenset({"-3", "-2", "-0"}), 9),
    ]


def test_an_atom_tested_twice_counts_once():
    assert readable(conjunctions([flatten([(0, 0, (1, 0, (0, 5, 6)))])])) == [(0, frozenset({"-0", "-1"}), 6)]


def test_a_path_that_contradicts_itself_is_no_rule():
    assert readable(conjunctions([flatten([(0, (0, 0, 5), 0)])])) == []


def test_equal_conjunctions_merge_whatever_the_order_of_tests():
    trees = [(0, 0, (1, 0, 5)), (1, 0, (0, 0, 6)), (0, 0, (1, 1, 0))]
    assert readable(conjunctions([flatten(trees)])) == [
        (0, frozenset({"-0", "-1"}), 11),
        (0, frozenset({"-0", "+1"}), 1),
    ]


def test_values_that_cancel_leave_no_rule():
    assert readable(conjunctions([flatten([(0, 3, 0), (0, -3, 0), 2, -2])])) == []


def test_labels_do_not_merge_with_one_another():
    rules = conjunctions([flatten([(0, 3, 0)]), flatten([(0, 4, 0), 2])])
    assert readable(rules) == [(0, frozenset({"+0"}), 3), (1, frozenset({"+0"}), 4)]
    assert list(rules.bias) == [0, 2]


@pytest.mark.parametrize("seed", range(5))
def test_conjunctions_are_equivalent_to_the_trees(seed):
    rng, n_atoms = random.Random(seed), 5
    labels = [
        [random_tree(rng, n_atoms, rng.randint(0, 8)) for _ in range(10)],
        [random_list(rng, n_atoms, 7) for _ in range(10)],
    ]
    rules = conjunctions([flatten(trees, rng) for trees in labels])
    table = readable(rules)
    assert len({(label, body) for label, body, _ in table}) == len(table)
    for size in range(n_atoms + 1):
        for active in itertools.combinations(range(n_atoms), size):
            true = {f"{'+' if atom in active else '-'}{atom}" for atom in range(n_atoms)}
            for label, trees in enumerate(labels):
                found = sum(units for owner, body, units in table if owner == label and body <= true)
                assert found + rules.bias[label] == score(trees, set(active))


def test_only_atoms_of_rules_get_compact_numbers():
    """Atom 2 only leads to zeros, atom 4 only to rules that cancel."""
    trees = [(1, 0, (3, 8, 0)), (2, 0, 0), (4, 6, 0), (4, -6, 0)]
    rules = compile_rules([flatten(trees)], 6)
    assert sorted(rules.atom_map[[1, 3]].tolist()) == [0, 1]
    assert (rules.atom_map[[0, 2, 4, 5]] == -1).all()
    assert len(rules.kill_start) == 3


@pytest.mark.parametrize("dense_fraction", [0.0, 0.5, 1.0])
def test_arrays_are_writable_contiguous_and_of_one_type(dense_fraction):
    rng = random.Random(3)
    trees = [random_list(rng, 40, 9, present=0.4) for _ in range(150)]
    expected = dict(
        atom_map="int32",
        label_word="int32",
        bias="float64",
        value="int32",
        fresh="uint64",
        layer="int32",
        dense="uint64",
        kill_start="int32",
        kill_word="int32",
        kill_keep="uint64",
    )
    for ensembles in ([flatten(trees), flatten([]), flatten(trees[:3])], [flatten([])], []):
        rules = compile_rules(ensembles, 40, dense_fraction=dense_fraction)
        assert {name: array.dtype.name for name, array in rules._asdict().items()} == expected
        assert all(array.flags.c_contiguous and array.flags.writeable for array in rules)
        assert all(array.base is None or array.base.dtype == array.dtype for array in rules)


def test_dense_rows_and_pairs_hold_the_same_masks():
    rng = random.Random(4)
    ensembles = [flatten([random_list(rng, 30, 12) for _ in range(200)])]
    dense, pairs = (compile_rules(ensembles, 30, dense_fraction=share) for share in (-1.0, 1.0))
    n_words = dense.dense.shape[1]
    assert len(pairs.dense) == 0 and len(dense.dense) == len(dense.kill_start) - 1
    assert (dense.kill_word >= n_words).all()  # only awaited bits are left to go word by word
    masks = np.full_like(dense.dense, ~np.uint64(0))
    for atom in range(len(pairs.kill_start) - 1):
        for k in range(pairs.kill_start[atom], pairs.kill_start[atom + 1]):
            if pairs.kill_word[k] < n_words:
                masks[atom, pairs.kill_word[k]] = pairs.kill_keep[k]
    assert np.array_equal(masks, dense.dense)
    hit = (masks != ~np.uint64(0)).sum(axis=1)
    assert (np.diff(hit) <= 0).all()  # busiest first, so that dense rows are the first atoms


def test_each_present_atom_of_a_rule_has_a_separate_word():
    """One word of rules; its awaited words hold one bit for each present atom of each rule, and no more."""
    trees = [(0, (1, (2, 8, 0), 0), 0), (0, 1, 0), (1, (3, 3, 0), 0), (3, 0, 5)]
    rules = compile_rules([flatten(trees)], 4)
    assert rules.layer.tolist() == [[1, 2, 3, 4]]
    slot = {int(value): k for k, value in enumerate(rules.value) if value}
    awaited = [{units for units, k in slot.items() if int(word) >> k & 1} for word in rules.fresh[1:]]
    assert awaited == [{8, 1, 3}, {8, 3}, {8}]
    assert sum(int(word).bit_count() for word in rules.fresh[1:]) == 6
    assert sorted(slot[units] for units in (8, 3)) == [0, 1]  # rules with most present atoms come first
    for atom, owners in enumerate(({8, 1}, {8, 3}, {8}, {3})):
        first, end = rules.kill_start[rules.atom_map[atom]], rules.kill_start[rules.atom_map[atom] + 1]
        ended = [
            units
            for word, keep in zip(rules.kill_word[first:end], rules.kill_keep[first:end], strict=True)
            for units, k in slot.items()
            if word >= 1 and not int(keep) >> k & 1
        ]
        assert sorted(ended) == sorted(owners)


def test_compiling_is_deterministic():
    rng = random.Random(5)
    ensembles = [flatten([random_list(rng, 50, 20) for _ in range(100)]) for _ in range(3)]
    first, second = compile_rules(ensembles, 50), compile_rules(ensembles, 50)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
