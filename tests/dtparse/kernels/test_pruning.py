"""Pruning by span marginals: windows and labels, costs, and constraints, against a reference and by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.features.marginals import with_marginals
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels import marginals as b
from spacy_dtparse.dtparse.kernels import pruning
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.tree import Tree
from tests.jit.harness import KERNEL_MARKS, SLOW, TAGS, WORDS, KernelState, Rules, sentence
from tests.reference import features as slow
from training.dtparse.label_pruning import label_table

from .test_marginals import CHAINS, LABELS, as_arrays, decision, lexicon, random_marginals

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("threshold", [1.0, 0.7])
def test_marginals_prune_windows_and_labels(threshold):
    rng = random.Random(3)
    words, left = lexicon(), callable_from_python(pruning.prune_by_marginals)
    table = np.random.default_rng(3).integers(0, 16, (2, pruning.LEVELS, len(CHAINS) + 1)).astype(np.uint64)
    table[:, pruning.NAMED] = 0
    for chain, name in ((1, "NP"), (2, "VP"), (3, "VP")):  # S is no label here
        table[0, pruning.NAMED, chain] = 1 << words.labels.id_of(name)
    table[:, pruning.NAMED, 4] = [1 << words.labels.id_of(name) for name in ("NP", "PP")]
    table[0, pruning.PASSED] = [0, 1, 1, 0, 1, 0]
    dropped = kept_labels = 0
    verdicts = set()
    for turn in range(12 if SLOW else 80):
        n = rng.choice([1, 2, 4, 6])
        text, tags = sentence(rng, n)
        marginals = random_marginals(rng, n)
        rules = Rules("shift_reduce", words.labels.strings, COLLINS, 4, True)
        state = KernelState.start(rules, words, text, tags, 4)
        tokens = with_marginals(state.tokens, as_arrays(marginals), commit_threshold=threshold)
        for _ in range(turn % (2 * n)):
            options = [one for one in state.candidates() if one[2] != "TOP"]
            if options:
                state.apply(*rng.choice(options))
        workspace = np.zeros((2, 64), dtype=np.int32)
        windows = state.windows()
        for at, (i, j) in enumerate(windows):
            workspace[:, at] = i + state.low, j + state.low
        labels = np.zeros(64, dtype=np.uint64)
        view, given = state.view()._replace(tokens=tokens), k.Windows(*workspace, labels)
        count, likely, taken = left(state.grammar, table, view, given, len(windows))
        expected, wanted, seen_likely = [], False, False
        legal = state.candidates()
        for i, j in windows:
            first, last = (state.nodes.item[state.frontier[state.low + at]] for at in (i, j - 1))
            span = int(first["start"]), int(last["end"])
            marginal = marginals.spans.get(span)
            allowed = {name for a, c, name in legal if (a, c) == (i, j)}
            found, there = allowed & {"TOP"}, False
            if marginal is not None:
                unary = int(j - i == 1 and first["first"] >= 0)
                names, chance = marginal[1], marginal[2][0]
                chain = CHAINS.index(names[0])
                level = (chance >= 0.5) + (chance >= 0.98)
                bits = int(table[unary, level, chain])
                if level < 2:
                    bits |= int(table[unary, 3, CHAINS.index(names[1]) if len(names) > 1 else len(CHAINS)])
                says = 0 if threshold == 1 else decision(marginals, span, threshold)
                there = says == 1 and table[0, pruning.NAMED, chain] > 0
                if there:
                    bits = int(table[unary, pruning.NAMED, chain])
                elif says == -1 and table[0, pruning.PASSED, chain]:
                    bits = 0
                found |= {name for at, name in enumerate(words.labels) if bits >> at & 1 and name != "TOP"} & allowed
            if found:
                expected.append((i, j, found))
                seen_likely |= marginal is not None and marginal[0] >= 0.5 and (j - i > 1 or first["first"] < 0)
                if there and len(expected) == len(found) == 1:
                    wanted = True
                    break
        got = [
            (int(i) - state.low, int(j) - state.low, {words.labels[at] for at in range(4) if int(bits) >> at & 1})
            for i, j, bits in zip(*workspace[:, :count], labels[:count], strict=True)
        ]
        assert (got, likely, taken) == (expected, seen_likely, wanted)
        verdicts.add((bool(taken), bool(got)))
        dropped += len(windows) - count
        kept_labels += sum(len(one[2]) for one in got)
    assert dropped and kept_labels
    assert ((True, True) in verdicts) == (threshold < 1) and {(False, True), (False, False)} <= verdicts


def test_labels_that_trees_have_under_a_chain_are_not_pruned():
    words = lexicon()
    tree = Tree(["a", "b"], ["NN", "NN"], ["TOP", "VP", "NP"], [0, 0, 0], [2, 2, 2])
    one = lambda chance, chains: SpanMarginals(  # noqa: E731
        np.array([[0, 2]], np.int32), np.array([0.99]), np.array([chains], np.int32), np.array([[chance, 0.01]])
    )
    times = 2
    table = label_table(words, [tree] * times, [one(0.99, (3, 1))] * times)
    left = lambda unary, level, chain: {  # noqa: E731
        words.labels[at] for at in range(4) if int(table[unary, level, chain]) >> at & 1
    }
    assert left(1, 2, 3) == {"VP"} and left(0, 2, 3) == {"VP", "NP"}, "VP is named by the chain, NP was seen below it"
    assert left(0, 0, 4) == {"NP", "PP"} and left(0, 3, 4) == {"NP", "PP"}, "an unseen chain has the labels of its name"
    assert not table[:, [pruning.NAMED, pruning.PASSED]].any(), "twice is too few to decide"
    assert left(1, pruning.MAIN, 3) == {"VP"} and left(0, pruning.MAIN, 4) == {"NP", "PP"}
    unsure = label_table(words, [tree] * times, [one(0.3, (4, 3))] * times)
    assert int(unsure[1, 0, 4]) >> words.labels.id_of("VP") & 1
    both = label_table(words, [tree] * 30, [one(0.99, (4, 1))] * 30)  # the chain is PP NP, the tree has VP over NP
    assert not both[:, pruning.NAMED].any()
    named = Tree(["a", "b"], ["NN", "NN"], ["TOP", "PP", "NP"], [0, 0, 0], [2, 2, 2])
    sides = np.array([[0, 1], [0, 2]], np.int32), np.array([0.05, 0.99])
    reads = SpanMarginals(*sides, np.array([[1, 3], [4, 1]], np.int32), np.array([[0.04, 0.01], [0.99, 0.0]]))
    times = 24  # 24 of 25: 0.96
    borne_out = label_table(words, [named] * times + [tree], [reads] * (times + 1))
    bits = borne_out[:, pruning.NAMED, 4].tolist()
    assert bits == [1 << words.labels.id_of("NP"), 1 << words.labels.id_of("PP")]
    assert borne_out[0, pruning.PASSED].tolist() == [0, 1, 0, 0, 0, 0]
    not_borne_out = label_table(words, [named] * (times - 1) + [tree] * 2, [reads] * (times + 1))
    assert not not_borne_out[:, pruning.NAMED].any() and not_borne_out[0, pruning.PASSED].any()
    many = Lexicon.build([*(f"L{at}" for at in range(70)), "TOP"], TAGS, WORDS, "XX", CHAINS)
    with pytest.raises(TrainingDataError, match="71 labels; with a span model at most 63 are allowed"):
        label_table(many, [], [])


def test_labels_that_are_scored_for_a_window():
    """Labels left by the marginals, and TOP where one item is left; either can be empty."""
    words, want, bit = (
        lexicon(),
        callable_from_python(pruning.mark_wanted_labels),
        {name: 1 << at for at, name in enumerate(LABELS)},
    )
    table = np.zeros((2, pruning.LEVELS, len(CHAINS) + 1), np.uint64)
    table[0, :, 1], table[1, :, 1] = bit["NP"] | bit["PP"], bit["VP"]
    for n, span, label, labels in (
        (2, (0, 2), "NP", {"NP", "PP"}), (2, (0, 1), "NP", set()), (1, (0, 1), "NP", {"NP", "PP", "TOP"}),
        (1, (0, 1), "", {"TOP"}), (1, (0, 1), "NP over NP", {"VP", "TOP"}),
    ):  # fmt: skip
        rules = Rules("shift_reduce", words.labels.strings, COLLINS, 4, True)
        state = KernelState.start(rules, words, ("cat",) * n, ("NN",) * n, 4)
        given = {(0, n): (0.9, ("NP", "VP"), (0.6, 0.3))} if label else {}
        tokens = with_marginals(state.tokens, as_arrays(slow.SpanMarginals(given)))
        if label == "NP over NP":
            state.apply(0, 1, "*shift*")
            state.apply(0, 1, "NP")
        wanted = np.ones(len(LABELS), np.bool_)
        want(state.grammar, table, state.view()._replace(tokens=tokens), *span, wanted)
        assert {name for name, seen in zip(LABELS, wanted, strict=True) if seen} == labels


def test_a_single_item_after_the_first_has_unary_labels():
    """The labels over an existing constituent are those of a chain, wherever it is."""
    words, want = lexicon(), callable_from_python(pruning.mark_wanted_labels)
    table = np.zeros((2, pruning.LEVELS, len(CHAINS) + 1), np.uint64)
    table[0, :, 1], table[1, :, 1] = 1, 2
    state = KernelState.start(Rules("r2l", words.labels.strings, COLLINS, 4, True), words, ("cat",) * 3, ("NN",) * 3, 4)
    tokens = with_marginals(state.tokens, as_arrays(slow.SpanMarginals({(2, 3): (0.9, ("NP", "VP"), (0.6, 0.3))})))
    wanted = np.ones(len(LABELS), np.bool_)
    for built, labels in ((False, {"NP"}), (True, {"VP"})):
        if built:
            state.apply(2, 3, "NP")
        want(state.grammar, table, state.view()._replace(tokens=tokens), 2, 3, wanted)
        assert {name for name, seen in zip(LABELS, wanted, strict=True) if seen} == labels


def test_levels_of_probabilities():
    """Unlikely below 0.5, nearly certain from 0.98."""
    level, bin_of_kernel = callable_from_python(pruning.confidence_level), callable_from_python(b.probability_bin)
    for probability, expected in ((0.0, 0), (0.49, 0), (0.5, 1), (0.96, 1), (0.979, 1), (0.98, 2), (0.999, 2)):
        assert level(bin_of_kernel(probability)) == expected
