"""The feature kernel against a reference that reads the template table by name, on every state of a replay."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_dtparse.dtparse.features.names import atom_names
from spacy_dtparse.dtparse.features.tables import TABLES
from spacy_dtparse.dtparse.features.templates import Templates, compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.atoms import lookup
from spacy_dtparse.dtparse.model.model import compose, hash_table
from spacy_dtparse.trees.heads import COLLINS
from tests.jit.harness import (
    EVERY_KIND,
    KERNEL_MARKS,
    NEAR_LEFT,
    SEQUENCES,
    SLOW,
    STRATEGIES,
    atom_reader,
    collecting,
    gold,
    gold_trees,
    replayer,
    small_lexicon,
    templates,
)
from tests.reference.features import AtomReader
from tests.reference.states import SHIFT, Rules

pytestmark = KERNEL_MARKS


def named(lexicon, table, atoms, parts) -> tuple[str, ...]:
    return atom_names(SimpleNamespace(lexicon=lexicon, templates=table, atoms=atoms, parts=parts))


def replayed(rules: Rules, lexicon, tree, actions) -> list[tuple]:
    """(state number, state, i, j, is it a shift) of every row that replay should have."""
    rows, state = [], rules.start(tree.tags)
    low = 0
    for step, (i, j, label) in enumerate(actions.tolist()):
        windows = rules.windows(state)
        rows += [(step, state, a, b, False) for a, b in windows]
        if windows and state.unread:
            rows.append((step, state, state.unread - 1, state.unread, True))
        name = SHIFT if label == len(lexicon.labels) else lexicon.labels[label]
        state = rules.apply(state, i - low, j - low, name)
        low = low + j - i - 1 if rules.strategy == "shift_reduce" and name != SHIFT else low
    return rows


PLAIN = [name for name, table in TABLES.items() if not table().uses_marginals]
OWN = (EVERY_KIND.name, NEAR_LEFT.name, SEQUENCES.name)
PAIRS = [(name, strategy) for name in (*PLAIN, *OWN) for strategy in STRATEGIES]


@pytest.mark.parametrize(("name", "strategy"), PAIRS)
def test_atoms_are_those_of_the_table(name, strategy):
    rng = random.Random(f"{name} {strategy}")
    table, lexicon = templates(name), small_lexicon(("NP", "VP", "PP", "TOP"))
    arity = rng.choice([3, 4, 5])
    rules = Rules(strategy, lexicon.labels.strings, COLLINS, arity, name != "baseline")
    atoms, parts = collecting(table, lexicon)
    runner = replayer(rules, lexicon, table, atoms, parts)
    n_rows, n_direct, met = 0, int(atoms.state[0]), set()
    sizes = (1, 3, 8) if SLOW else (1, 2, 3, 5, 8, 13)
    for tree in gold_trees(rng, lexicon, sizes, arity + 1):
        derivation = gold(lexicon, tree, strategy, seed=n_rows)
        indptr, flat, _, numbers, _ = (a.copy() for a in runner.run(derivation))
        rows = replayed(rules, lexicon, tree, derivation.actions)
        names = named(lexicon, table, atoms, parts)
        read = atom_reader(rules, lexicon, table, tree.words, tree.tags)
        assert len(indptr) == len(rows) + 1 and numbers.tolist() == [row[0] for row in rows]
        for row, (_, state, i, j, shift) in enumerate(rows):
            got = [names[atom] for atom in flat[indptr[row] : indptr[row + 1]].tolist()]
            expected = read.atoms(state, i, j, shift=shift)
            assert sorted(got) == sorted(set(expected)), (tree, i, j, shift)
        n_rows += len(rows)
        met.update(flat.tolist())
    assert n_rows > len(sizes)
    assert met >= {*range(n_direct, int(atoms.state[0]))}, "no combination is numbered that no window has"
    assert int(atoms.state[0]) == len(names) == len(set(names))
    assert all(names) and not any(name.startswith("hashed atom") for name in names)


def test_replay_records_the_right_inference_and_where_top_is_allowed():
    lexicon = small_lexicon()
    table = templates("every_kind")
    rng = random.Random(1)
    for strategy in STRATEGIES:
        rules = Rules(strategy, lexicon.labels.strings, COLLINS, 3)
        atoms, parts = collecting(table, lexicon)
        runner = replayer(rules, lexicon, table, atoms, parts)
        for tree in gold_trees(rng, lexicon, (1, 3, 5), 4):
            only_the_next = np.zeros((0, 3), dtype=np.int32)
            derivation = replace(gold(lexicon, tree, strategy), ready=only_the_next)
            _, _, right, numbers, flags = (a.copy() for a in runner.run(derivation))
            low, rows = 0, replayed(rules, lexicon, tree, derivation.actions)
            lows = []
            for i, j, label in derivation.actions.tolist():
                lows.append(low)
                low += j - i - 1 if strategy == "shift_reduce" and label < len(lexicon.labels) else 0
            for row, (step, state, i, j, shift) in enumerate(rows):
                a, b, label = derivation.actions[step].tolist()
                if shift:
                    assert right[row] == (len(lexicon.labels) if label == len(lexicon.labels) else -2)
                else:
                    hit = label < len(lexicon.labels) and (a - lows[step], b - lows[step]) == (i, j)
                    assert right[row] == (label if hit else -1)
                assert flags[row] == int(
                    not shift and rules.label_fits(state, i, j, "TOP") and len(state.frontier) == 1
                )
                assert numbers[row] == step


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_buffers_that_just_fit_do_not_grow(strategy):
    lexicon, table = small_lexicon(), templates("near_left")
    tree = gold_trees(random.Random(2), lexicon, (5,), 3)[0]
    derivation = gold(lexicon, tree, strategy)
    runner = replayer(Rules(strategy, lexicon.labels.strings, COLLINS, 3), lexicon, table, *collecting(table, lexicon))
    indptr = runner.run(derivation)[0].copy()
    capacity = [len(indptr) - 1, int(indptr[-1])]
    for less in ([0, 0], [1, 0], [0, 1]):
        runner._allocate(capacity[0] - less[0], capacity[1] - less[1])
        assert np.array_equal(runner.run(derivation)[0], indptr)
        assert (list(runner.capacity) == capacity) == (less == [0, 0])
    for end in indptr[1:].tolist():  # a capacity that ends within any row, of a window or a shift
        runner._allocate(capacity[0], end - 1)
        assert np.array_equal(runner.run(derivation)[0], indptr)


def test_replay_grows_its_buffers_and_repeats_itself():
    lexicon, table = small_lexicon(), templates("every_kind")
    rules = Rules("r2l", lexicon.labels.strings, COLLINS, 3)
    tree = gold_trees(random.Random(2), lexicon, (6,), 3)[0]
    derivation = gold(lexicon, tree, "r2l")
    atoms, parts = collecting(table, lexicon)
    runner = replayer(rules, lexicon, table, atoms, parts)
    plenty = [a.copy() for a in runner.run(derivation)]
    for capacity in ((2, 1 << 12), (4096, 8), (1, 1)):
        runner._allocate(*capacity)
        again = runner.run(derivation)
        assert runner.capacity[0] > 1 and all(np.array_equal(a, b) for a, b in zip(again, plenty, strict=True))
    runner.scratch.mark[0] = 2**31 - 3  # the stamps start anew before the marks run out
    assert all(np.array_equal(a, b) for a, b in zip(runner.run(derivation), plenty, strict=True))
    assert runner.scratch.mark[0] < 2**20


def test_unknown_atoms_are_left_out():
    """With a map of only some atoms, a row has those of its atoms that are in the map."""
    lexicon, table = small_lexicon(), templates("every_kind")
    rules = Rules("shift_reduce", lexicon.labels.strings, COLLINS, 3)
    trees = gold_trees(random.Random(4), lexicon, (3, 4, 5), 3)
    atoms, parts = collecting(table, lexicon)
    runner = replayer(rules, lexicon, table, atoms, parts)
    full = []
    for tree in trees:
        indptr, flat, *_ = (a.copy() for a in runner.run(gold(lexicon, tree, "shift_reduce")))
        full.append((indptr, flat))
    atoms.state[2] = 0
    numbers = np.full(len(parts), -1, dtype=np.int32)
    kept = np.unique(np.concatenate([flat for _, flat in full]))[::3]
    numbers[kept] = np.arange(len(kept))[::-1]
    some = compose(atoms, numbers)
    assert some.state.tolist()[0] == len(kept) and not some.state[2]
    runner = replayer(rules, lexicon, table, some, np.zeros((0, k.PARTS_WIDTH), dtype=np.int32))
    for tree, (indptr, flat) in zip(trees, full, strict=True):
        got_indptr, got, *_ = runner.run(gold(lexicon, tree, "shift_reduce"))
        for row in range(len(indptr) - 1):
            expected = [numbers[a] for a in flat[indptr[row] : indptr[row + 1]] if numbers[a] >= 0]
            assert got[got_indptr[row] : got_indptr[row + 1]].tolist() == expected


def test_hash_table_finds_all_keys_and_no_other():
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(1, 2**63, size=50 if SLOW else 500, dtype=np.uint64) | np.uint64(1))
    values = rng.permutation(len(keys)).astype(np.int32)
    table_keys, table_values = hash_table(keys, values)
    shuffled = rng.permutation(len(keys))
    again = hash_table(keys[shuffled], values[shuffled])
    assert np.array_equal(table_keys, again[0]) and np.array_equal(table_values, again[1])
    state = np.array([len(keys), len(keys), 0], dtype=np.int64)
    assert [lookup(table_keys, table_values, state, key) for key in keys] == values.tolist()
    known = set(keys.tolist())
    others = [key for key in rng.integers(1, 2**63, size=50, dtype=np.uint64) if int(key) | 1 not in known]
    assert all(lookup(table_keys, table_values, state, key) == -1 for key in others)
    full = np.count_nonzero(table_keys)
    assert full == len(keys) and 2 * full <= len(table_keys)


def test_a_missing_item_is_a_value_and_an_empty_group_is_not():
    table = Templates(
        "t",
        unary=((("item", "left", 0), "label"), (("child", "first", ("item", "start", 0)), "label")),
        tuples=(((("item", "left", 0), "label"), (("item", "right", 0), "label")),),
        grouped=(("some_item", "left_context", 1, False, "label"), ("items", "left_context", 0, False, None)),
    )
    lexicon = small_lexicon()
    rules = Rules("bottom_up", lexicon.labels.strings, COLLINS, 5)
    atoms, parts = collecting(table, lexicon)
    tree = gold_trees(random.Random(1), lexicon, (1,), 2)[0]
    indptr, flat, *_ = replayer(rules, lexicon, table, atoms, parts).run(gold(lexicon, tree, "bottom_up"))
    names = named(lexicon, table, atoms, parts)
    assert [names[a] for a in flat[: indptr[1]]] == [
        "left item 0 label = nothing",
        "first child of first label = nothing",
        "items of left context = 0",
    ]


def test_names_of_other_group_forms_and_of_atoms_without_parts():
    table = Templates(
        "t",
        unary=((("item", "start", 0), "shape"),),
        tuples=(((("item", "start", 0), "label"), (("item", "end", 0), "word")),),
        grouped=(("some_item", "span_first", 0, True, "label"), ("some_terminal", "span", 0, False, "label")),
    )
    lexicon = small_lexicon()
    rules = Rules("bottom_up", lexicon.labels.strings, COLLINS, 5)
    atoms, parts = collecting(table, lexicon)
    tree = gold_trees(random.Random(1), lexicon, (2,), 2)[0]
    replayer(rules, lexicon, table, atoms, parts).run(gold(lexicon, tree, "bottom_up"))
    names = named(lexicon, table, atoms, parts)
    assert "first shape = nothing" in names and "first shape = number-mix" in names
    assert "some item of span, counted from the first with head: label = NP" in names
    assert "some terminal of span: tag = NN" in names  # a terminal's label is its tag
    assert any(name.startswith("first label = ") and ' & last word = "' in name for name in names)
    parts[:] = 0
    unnamed = named(lexicon, table, atoms, parts)
    n_direct = compile_templates(table, lexicon.sizes)[1]
    assert unnamed[:n_direct] == names[:n_direct]
    assert unnamed[n_direct:] == tuple(f"hashed atom {n}" for n in range(n_direct, len(names)))


def test_the_reference_on_a_window_by_hand():
    """Check the reference itself on one window written out by hand."""
    rules = Rules("bottom_up", ("NP", "VP", "TOP"), COLLINS, 5)
    table = templates("every_kind")
    columns = {
        "word": ["the", "cat", "saw", "*rare*"], "tag": ["DT", "NN", "VBD", "NN"],
        "class": ["D", "N", "V", "N"], "shape": ["Capital", "lower", "lower", "number-mix"],
    }  # fmt: skip
    state = rules.apply(rules.start(tuple(columns["tag"])), 0, 2, "NP")  # [NP the cat] saw X9
    got = AtomReader(table, rules, columns).atoms(state, 1, 3)
    assert got[:9] == [
        "left item 1 label = nothing",
        "first child of left item 0 tag = DT",
        "left terminal 0 tag = NN",
        'first word = "saw"',
        "head child of last child of last label = nothing",
        "head terminal -1 shape = lower",
        "right terminal 1 class = nothing",
        "start terminal 1 label = NN",
        "front item 2 label = nothing",
    ]
    assert got[9:13] == [
        "first label = VBD & last label = NN",
        "front item 0 label = VBD & left terminal 0 tag = NN",
        'left item 0 label = NP & head word = "saw" & right item 1 class = nothing',
        "start item 1 label = NN & end item 1 tag = VBD",
    ]
    assert "some item of 2 of left context: label = NP" in got
    assert "items of span = 2" in got and "items of span > 1" in got and "items of span > 2" not in got
    assert got[-1] == "labels = VBD NN"
