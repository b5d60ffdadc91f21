"""Examples: half of a state's weight to its positives, half to its negatives; stores, atoms, corpora."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.dtparse.model.model import make_grammar
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.trees import Recipe, Tree, parse_tree
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.heads_compiled import compile_head_rules
from tests.jit.harness import (
    KERNEL_MARKS,
    SLOW,
    STRATEGIES,
    collecting,
    gold,
    gold_trees,
    replayer,
    small_lexicon,
    templates,
)
from tests.reference.states import SHIFT, Rules
from training.data.corpus import Sentence, read_treebank, survey, training_tree
from training.dtparse.examples import STORES, collect_atoms, labelled_rows, write_stores
from training.dtparse.oracle import derivation

pytestmark = KERNEL_MARKS
LEXICON = small_lexicon(("NP", "VP", "TOP"))
TABLE = templates("every_kind")


def runner_of(strategy: str, max_arity: int = 3):
    rules = Rules(strategy, LEXICON.labels.strings, COLLINS, max_arity)
    atoms, parts = collecting(TABLE, LEXICON)
    return rules, replayer(rules, LEXICON, TABLE, atoms, parts)


def sums(runner, example):
    """Per state, over all classifiers: weight of positives, of negatives, and how many of each."""
    n_labels = len(LEXICON.labels)
    found: dict[int, list[float]] = {}
    for store, rows, (_, b_pos, b_neg) in labelled_rows(runner, example, n_labels):
        state, right = runner.rows.state, runner.rows.gold
        classifiers = {"window": range(n_labels - 1), "top": [n_labels - 1], "shift": [n_labels]}[store]
        for row, pos, neg in zip(rows.tolist(), b_pos.tolist(), b_neg.tolist(), strict=True):
            for label in classifiers:
                cell = found.setdefault(int(state[row]), [0.0, 0.0, 0, 0])
                hit = right[row] == label
                cell[0 if hit else 1] += pos if hit else neg
                cell[2 if hit else 3] += 1
    return found


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_half_of_a_state_is_positive_and_half_negative(strategy, weight):
    rules, runner = runner_of(strategy)
    n_states = 0
    for tree in gold_trees(random.Random(3), LEXICON, (1, 2, 4, 7), 3):
        example = gold(LEXICON, tree, strategy, weight=weight)
        found = sums(runner, example)
        state, low = rules.start(tree.tags), 0
        for step, (i, j, label) in enumerate(example.actions.tolist()):
            windows = rules.windows(state)
            if windows:
                positive, negative, n_positive, n_negative = found.pop(step)
                top = len(state.frontier) == 1 and rules.label_fits(state, 0, 1, "TOP")
                shift = state.unread > 0
                # every label over every window, TOP where it may stand, and the shift
                assert n_positive + n_negative == len(windows) * (len(LEXICON.labels) - 1) + top + shift
                assert n_positive == 1 or strategy == "bottom_up"
                assert positive == pytest.approx(weight, rel=1e-6)
                assert negative == pytest.approx(weight if n_negative else 0.0, rel=1e-5)
                n_states += 1
            name = SHIFT if label == len(LEXICON.labels) else LEXICON.labels[label]
            state = rules.apply(state, i - low, j - low, name)
            low += j - i - 1 if strategy == "shift_reduce" and name != SHIFT else 0
        assert not found  # a state with nothing but a shift makes no example
    assert n_states > 10


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_uniform_weights(strategy):
    """Every example weighs what its sentence does, however many there are in its state."""
    _, runner = runner_of(strategy)
    for tree in gold_trees(random.Random(4), LEXICON, (2, 5), 2):
        shared = gold(LEXICON, tree, strategy, weight=3.0)
        example = replace(shared, negatives=2.0, uniform=True)
        stores = []
        for store, rows, (_, b_pos, b_neg) in labelled_rows(runner, example, len(LEXICON.labels)):
            assert b_pos.tolist() == [3.0] * len(rows) and b_neg.tolist() == [6.0] * len(rows)
            stores.append((store, rows.tolist()))
        same = labelled_rows(runner, shared, len(LEXICON.labels))
        assert stores == [(store, rows.tolist()) for store, rows, _ in same]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_node_of_too_many_children_is_built_and_is_never_a_positive(strategy):
    tree = parse_tree("(TOP (NP (VP (DT a) (NN b) (NN c) (NN d)) (NN e)))")
    positives = {}
    for arity in (3, 4):
        _, runner = runner_of(strategy, arity)
        example = gold(LEXICON, tree, strategy)
        found = sums(runner, example)
        step = next(n for n, (i, j, _) in enumerate(example.actions.tolist()) if j - i == 4)
        positives[arity] = found[step][2]
        others = [cell[2] for state, cell in found.items() if state != step]
        assert others == [1] * len(others) and max(found) == len(example.actions) - 1
        if arity == 3:
            assert found[step][0] == 0 and found[step][1] == pytest.approx(1.0, rel=1e-5)
    assert positives == {3: 0, 4: 1}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_word_and_repeated_unaries_are_replayed(strategy):
    _, runner = runner_of(strategy)
    word = sums(runner, gold(LEXICON, parse_tree("(TOP (NP (NN a)))"), strategy))
    assert len(word) == 2 and all(cell[2] == 1 for cell in word.values())
    twice = parse_tree("(TOP (NP (NP (NN a) (NN b))))")
    assert max(sums(runner, gold(LEXICON, twice, strategy))) == len(gold(LEXICON, twice, strategy).actions) - 1
    sentence = Sentence(twice, twice.tags, "x")
    assert training_tree(sentence, Recipe.PLAIN).labels == ("TOP", "NP")


def settings(strategy: str):
    grammar = make_grammar(strategy, 3, True, len(LEXICON.labels), TABLE.reach())
    return grammar, compile_head_rules(COLLINS, LEXICON.symbols)


def test_atoms_are_counted_by_examples_with_ids_by_frequency():
    trees = gold_trees(random.Random(1), LEXICON, (2, 3, 4, 5), 3)
    examples = [gold(LEXICON, tree, "shift_reduce") for tree in trees]
    grammar, heads = settings("shift_reduce")
    atoms, parts = collecting(TABLE, LEXICON)
    runner = replayer(Rules("shift_reduce", LEXICON.labels.strings, COLLINS, 3), LEXICON, TABLE, atoms, parts)
    seen = np.concatenate([runner.run(example)[1].copy() for example in examples])
    expected = np.sort(np.bincount(seen))[::-1]
    for least in (1, 4):
        found, counts = collect_atoms(grammar, heads, TABLE, LEXICON, examples, least, capacity_bits=13)
        assert counts.tolist() == expected[expected >= least].tolist()
        assert int(found.state[0]) == len(counts) and found.state[2] == 0
        numbers = np.concatenate([found.direct[found.direct >= 0], found.values[found.keys != 0]])
        assert sorted(numbers.tolist()) == list(range(len(counts)))


def test_a_full_table_drops_rare_atoms_and_keeps_frequent_ones():
    trees = gold_trees(random.Random(2), LEXICON, (3, 4) if SLOW else (6, 7, 8, 9), 3) * 2
    examples = [gold(LEXICON, tree, "bottom_up", seed) for seed, tree in enumerate(trees)]
    grammar, heads = settings("bottom_up")
    plenty, counts = collect_atoms(grammar, heads, TABLE, LEXICON, examples, 2, capacity_bits=14)
    hashed = int(plenty.state[1])
    bits = int(np.ceil(np.log2(hashed * 1.2)))
    little, fewer = collect_atoms(grammar, heads, TABLE, LEXICON, examples, 2, capacity_bits=bits)
    assert 0 < int(little.state[1]) <= hashed and fewer[0] == counts[0]
    kept = set(little.keys[little.keys != 0].tolist())
    top = plenty.keys[plenty.keys != 0][np.argsort(plenty.values[plenty.keys != 0])][: max(1, hashed // 20)]
    assert set(top.tolist()) <= kept


def test_bottom_up_states_have_every_constituent_whose_children_exist_as_positive():
    """Against sets of spans: a window is positive when its items are all the children of a gold constituent."""
    trees = gold_trees(random.Random(9), LEXICON, (2, 4) if SLOW else (2, 4, 7, 9), 3)
    grammar, heads = settings("bottom_up")
    examples = [gold(LEXICON, tree, "bottom_up", seed) for seed, tree in enumerate(trees)]
    atoms, _ = collect_atoms(grammar, heads, TABLE, LEXICON, examples, 1, capacity_bits=14)
    rules = Rules("bottom_up", LEXICON.labels.strings, COLLINS, int(grammar.options[1]))
    runner = replayer(rules, LEXICON, TABLE, atoms, np.zeros((0, 16), dtype=np.int32))
    several = 0
    for tree, example in zip(trees, examples, strict=True):
        _, _, right, state, _ = runner.run(example)
        children = tree.child_lists()
        built: list[int] = []
        frontier = [-1 - t for t in range(len(tree.words))]
        for step, (i, j, label) in enumerate(example.actions.tolist()):
            open_now = sorted(
                (tree.starts[node], LEXICON.labels.id_of(tree.labels[node]))
                for node in range(len(children))
                if node not in built and all(kid < 0 or kid in built for kid in children[node])
                if len(children[node]) <= rules.max_arity
            )
            found = right[state == step]
            assert found[found >= 0].tolist() == [label for _, label in open_now]
            several += len(open_now) > 1
            node = next(n for n in range(len(children)) if children[n] == frontier[i:j] and n not in built)
            assert LEXICON.labels.id_of(tree.labels[node]) == label
            frontier[i:j] = [node]
            built.append(node)
    assert several > len(trees)


@pytest.mark.parametrize("strategy", ["shift_reduce", "r2l"])
def test_stores_hold_the_rows_of_the_replay(strategy, tmp_path):
    trees = gold_trees(random.Random(5), LEXICON, (1, 3, 5), 4)
    examples = [gold(LEXICON, tree, strategy, weight=1 + n) for n, tree in enumerate(trees)]
    grammar, heads = settings(strategy)
    atoms, counts = collect_atoms(grammar, heads, TABLE, LEXICON, examples, 1, capacity_bits=13)
    totals = write_stores(tmp_path, grammar, heads, TABLE, LEXICON, atoms, examples)
    again = tmp_path / "again"
    assert write_stores(again, grammar, heads, TABLE, LEXICON, atoms, iter(examples)) == totals
    assert counts.sum() == totals["window"]["postings"] + totals["shift"]["postings"]
    runner = replayer(
        Rules(strategy, LEXICON.labels.strings, COLLINS, 3), LEXICON, TABLE, atoms, np.zeros((0, 16), dtype=np.int32)
    )
    expected: dict[str, list] = {store: [] for store in STORES}
    for example in examples:
        for store, rows, (_, b_pos, b_neg) in labelled_rows(runner, example, len(LEXICON.labels)):
            indptr, flat, right = runner.rows[:3]
            for row, pos, neg in zip(rows, b_pos, b_neg, strict=True):
                label = int(right[row]) if right[row] >= 0 else -1
                expected[store].append((flat[indptr[row] : indptr[row + 1]].tolist(), label, pos, neg))
    for store in STORES:
        held = {
            name: np.load(tmp_path / store / f"{name}.npy") for name in ("indptr", "atoms", "gold", "b_pos", "b_neg")
        }
        assert [a.dtype for a in held.values()] == [np.int64, np.int32, np.int16, np.float32, np.float32]
        indptr = held["indptr"]
        got = [
            (
                held["atoms"][indptr[r] : indptr[r + 1]].tolist(),
                int(held["gold"][r]),
                held["b_pos"][r],
                held["b_neg"][r],
            )
            for r in range(len(indptr) - 1)
        ]
        assert got == expected[store]
        assert totals[store] == {"rows": len(got), "postings": len(held["atoms"])}
        for name in held:
            assert (again / store / f"{name}.npy").read_bytes() == (tmp_path / store / f"{name}.npy").read_bytes()
        assert not list((tmp_path / store).glob("*.raw"))
    top = len(LEXICON.labels) - 1
    assert len(expected["top"]) < len(expected["window"]) / 2  # only windows over the one item that covers everything
    assert sum(label == top for _, label, _, _ in expected["top"]) == len(trees)
    assert (len(expected["shift"]) > 0) == (strategy == "shift_reduce")


def test_a_deep_tree_has_a_derivation():
    deep = Tree(["a"], ["NN"], ["TOP"] + ["NP"] * 5000, [0] * 5001, [1] * 5001)
    assert len(derivation(deep, LEXICON.labels, "shift_reduce")) == 5002


def test_treebanks_are_read_with_given_tags(tmp_path):
    bank = tmp_path / "bank" / "train.mrg"
    bank.parent.mkdir()
    bank.write_text(
        "(TOP (S (NP-SBJ (PRP She)) (VP (VBD left) (NP (-NONE- *)))))\n(TOP (NP (-LRB- -LRB-) (`` ``) (NN end)))\n",
        encoding="utf8",
    )
    first, second = read_treebank(bank, weight=2.0)
    assert first.tree.labels == ("TOP", "S", "NP", "VP") and first.tags == ("PRP", "VBD")
    assert second.tree.words == ("(", '"', "end") and (second.weight, second.source) == (2.0, "bank")
    assert len(read_treebank(bank, limit=1)) == 1
    tags = tmp_path / "tags"
    tags.write_text("PRP VB\n-LRB- `` NNP\n", encoding="utf8")
    assert read_treebank(bank, tags)[0].tags == ("PRP", "VB")
    assert training_tree(read_treebank(bank, tags)[0], Recipe.PLAIN).tags == ("PRP", "VB")
    tags.write_text("PRP\n-LRB- `` NNP\n", encoding="utf8")
    with pytest.raises(TrainingDataError, match="line 1: 1 tags for the 2 words of tree 1"):
        read_treebank(bank, tags)
    tags.write_text("PRP VB\n-LRB- `` NNP\nX\n", encoding="utf8")
    with pytest.raises(TrainingDataError, match="has 3 lines for the 2 trees"):
        read_treebank(bank, tags)


def test_the_survey_counts_oddities():
    trees = [
        parse_tree("(TOP (NP (NN a)))"),
        parse_tree("(TOP (NP (NP (DT a) (NN b) (NN c) (NN d))))"),
        parse_tree("(TOP (VP (VBD a) (NN b)))"),
    ]
    report = survey(trees, 3)
    assert (report["sentences"], report["tokens"], report["constituents"]) == (3, 7, 4)
    assert (report["over_arity"], report["repeated_unary"], report["one_word"]) == (1, 1, 1)
    assert report["labels_once"] == ("VP",)
