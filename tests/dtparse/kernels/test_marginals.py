"""Span marginals: the matrix, the atoms, and pruned windows and labels, all against a reference implementation."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.core.constraints import Constraint, Constraints, read_label
from spacy_dtparse.core.marginals import SpanMarginals, concatenate_marginals
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.constrained import constraint_rows
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.features.marginals import batch_with_marginals, with_marginals
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels import marginals as b
from spacy_dtparse.dtparse.kernels import pruning
from spacy_dtparse.dtparse.kernels.search import STATUSES
from spacy_dtparse.dtparse.model.model import untrained_model
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.tree import Tree
from tests.jit.harness import (
    KERNEL_MARKS,
    SLOW,
    STRATEGIES,
    TAGS,
    WORDS,
    KernelState,
    Rules,
    atom_reader,
    collecting,
    gold,
    gold_trees,
    replayer,
    sentence,
    templates,
)
from tests.reference import features as slow
from training.dtparse.examples import Derivation

from .test_features import named, replayed

pytestmark = KERNEL_MARKS

NUMBERS = {
    b.SPAN_PROB: "mass", b.CHAIN_PROB: "sure", b.CHAIN_PROB_2: "second sure", b.STARTING: "starting",
    b.ENDING: "ending", b.CROSSING: "crossing",
}  # fmt: skip
CHAINS = ("", "NP", "S VP", "VP", "PP NP")
LABELS = ("NP", "VP", "PP", "TOP")


def lexicon(labels: tuple[str, ...] = LABELS) -> Lexicon:
    return Lexicon.build(labels, TAGS, WORDS, "XX", CHAINS)


def random_marginals(rng: random.Random, n: int, share: float = 0.6) -> slow.SpanMarginals:
    """Marginals of some of the spans, some without a second chain."""
    found = {}
    for i in range(n):
        for j in range(i + 1, n + 1):
            if rng.random() < share:
                span_prob = rng.choice([rng.random(), 0.999, 0.003])
                names = tuple(rng.sample(CHAINS[1:], rng.choice([1, 2, 2])))
                first = span_prob * rng.uniform(0.5, 1)
                found[i, j] = span_prob, names, (first, span_prob - first if len(names) == 2 else 0.0)
    return slow.SpanMarginals(found)


def as_arrays(marginals: slow.SpanMarginals) -> SpanMarginals:
    rows = sorted(marginals.spans.items())
    numbers = [[CHAINS.index(name) for name in names] + [-1] * (2 - len(names)) for _, (_, names, _) in rows]
    return SpanMarginals(
        np.array([span for span, _ in rows], dtype=np.int32).reshape(-1, 2),
        np.array([marginal[0] for _, marginal in rows], dtype=float),
        np.array(numbers, dtype=np.int32).reshape(-1, 2),
        np.array([marginal[2] for _, marginal in rows], dtype=float).reshape(-1, 2),
    )


def costs_of(marginals: slow.SpanMarginals, span: tuple[int, int]) -> list[float]:
    """Costs in nats of a constituent there, of none, of a label of the second chain, and of any other label."""
    span_prob, _, probs = marginals.spans[span]
    within = min(max(span_prob, 0.002), 0.998)
    odds = math.log(within / (1 - within))
    first, second, rest = (max(chance, 0.002) for chance in (*probs, span_prob - sum(probs)))
    return [max(-odds, 0), max(odds, 0), max(math.log(first / second), 0), max(math.log(first / rest), 0)]


def decision(marginals: slow.SpanMarginals, span: tuple[int, int], threshold: float) -> int:
    """1: a constituent and its labels are above the threshold, -1: no constituent is, 0: neither."""
    span_prob, _, probs = marginals.spans[span]
    return int(probs[0] >= threshold) - int(span_prob <= 1 - threshold)


def bin_of(number: float) -> int:
    return sum(number >= limit for limit in slow.LIMITS)


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_the_matrix_has_tokens_and_marginals_of_spans(n):
    rng = random.Random(n)
    words, tags = sentence(rng, n)
    columns, marginals = lexicon().encode(words, tags), random_marginals(rng, n)
    tokens = with_marginals(columns, as_arrays(marginals), marginal_weight=0.5, commit_threshold=0.9)
    spans = sorted(marginals.spans)
    assert tokens.dtype == np.int32 and tokens.shape == (n + len(spans), b.COLUMNS) and b.count_tokens(tokens) == n
    assert tokens[:n, : k.TOKEN_COLUMNS].tolist() == columns.tolist() and b.count_tokens(columns) == n
    for i in range(n):
        rows = range(tokens[i, b.FIRST_SPAN], tokens[i, b.LAST_SPAN])
        assert [(i, int(tokens[row, b.END])) for row in rows] == [span for span in spans if span[0] == i]
    for row, span in enumerate(spans, n):
        names = [*marginals.spans[span][1], None]
        for column, attribute in NUMBERS.items():
            assert tokens[row, column] == bin_of(marginals.number(attribute, span)), (span, attribute)
        for column, name in ((b.CHAIN, names[0]), (b.CHAIN_2, names[1])):
            assert tokens[row, column] == (-1 if name is None else CHAINS.index(name))
        costs = [
            cost / b.COST_UNIT
            for cost in tokens[row, [b.BUILD_COST, b.SKIP_COST, b.SECOND_COST, b.OTHER_COST]].tolist()
        ]
        assert costs == pytest.approx([0.5 * cost for cost in costs_of(marginals, span)], abs=0.501 / b.COST_UNIT)
        assert tokens[row, b.DECISION] == decision(marginals, span, 0.9)
    for i in range(n):
        skipped = sum(costs_of(marginals, span)[1] for span in spans if span[0] == i)
        own = tokens[tokens[i, b.FIRST_SPAN] : tokens[i, b.LAST_SPAN], b.SKIP_COST]
        assert tokens[i, b.TOTAL_SKIP_COST] == own.sum()
        assert tokens[i, b.TOTAL_SKIP_COST] / b.COST_UNIT == pytest.approx(0.5 * skipped, abs=len(spans) / b.COST_UNIT)
        assert tokens[i, b.NO_MARGINAL_COST] / b.COST_UNIT == pytest.approx(0.5 * math.log(0.998 / 0.002), abs=1e-3)


def test_a_batch_has_the_matrices_of_its_sentences():
    rng = random.Random("batch")
    columns, marginals = [], []
    for n in (3, 1, 9, 2):
        columns.append(lexicon().encode(*sentence(rng, n)))
        marginals.append(as_arrays(random_marginals(rng, n, share=0.0 if n == 2 else 0.6)))
    offsets = np.cumsum([0, *map(len, columns)])
    tokens, rows = batch_with_marginals(np.concatenate(columns), offsets, *concatenate_marginals(marginals), 0.5, 0.9)
    for s, (own, given) in enumerate(zip(columns, marginals, strict=True)):
        assert tokens[rows[s] : rows[s + 1]].tolist() == with_marginals(own, given, 0.5, 0.9).tolist()
    assert rows[-1] == len(tokens)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_atoms_of_marginals_are_those_of_the_table(strategy):
    rng = random.Random(f"marginals {strategy}")
    table, words = templates("standard_read"), lexicon()
    rules = Rules(strategy, words.labels.strings, COLLINS, 4, True)
    atoms, parts = collecting(table, words, 16)
    runner = replayer(rules, words, table, atoms, parts)
    seen = set()
    for tree in gold_trees(rng, words, (1, 4) if SLOW else (1, 2, 5, 9), 5):
        plain, marginals = gold(words, tree, strategy), random_marginals(rng, len(tree.words))
        tokens = with_marginals(plain.tokens, as_arrays(marginals))
        derivation = Derivation(tokens, plain.actions, ready=plain.ready)
        indptr, flat, right, numbers, flags = (a.copy() for a in runner.run(derivation))
        read = atom_reader(rules, words, table, tree.words, tree.tags)
        read.marginals = marginals
        names, at = named(words, table, atoms, parts), 0
        with_windows = set()
        for step, state, i, j, shift in replayed(rules, words, tree, derivation.actions):
            span = state.frontier[i].start, state.frontier[j - 1].end
            if at < len(numbers) and numbers[at] == step:
                got = sorted(names[atom] for atom in flat[indptr[at] : indptr[at + 1]].tolist())
                if got == sorted(set(read.atoms(state, i, j, shift=shift))):
                    seen |= {name for name in got if name.startswith("span model: ")}
                    at += 1
                    with_windows.add(step)
                    continue
            if shift:
                assert step not in with_windows, "a shift is left out only where it is all that is left"
                continue
            assert span not in marginals.spans, "a window is left out only if its span has no marginal"
        assert at == len(numbers), "each row has the atoms of one of the windows, in their order"
        assert (right[flags == 1] >= -1).all()
    assert {name.split(":")[1].split()[0] for name in seen} == {"window", "with", "of"}


def test_costs_of_built_skipped_and_relabelled_constituents():
    """Costs of constituents less likely than not, of likelier ones missing in the tree, of labels of other chains."""
    rng, words = random.Random(5), lexicon()
    built, skipped, label = (
        callable_from_python(k) for k in (pruning.build_cost, pruning.skip_cost, pruning.label_cost)
    )
    table = np.random.default_rng(5).integers(0, 16, (2, pruning.LEVELS, len(CHAINS) + 1)).astype(np.uint64)
    total = 0.0
    for n in (1, 3, 6, *(1, 2) * 6):
        text, tags = sentence(rng, n)
        marginals = random_marginals(rng, n, 0.9)
        rules = Rules("shift_reduce", words.labels.strings, COLLINS, 4, True)
        state = KernelState.start(rules, words, text, tags, 4)
        tokens = with_marginals(state.tokens, as_arrays(marginals), marginal_weight=1.0)
        has: set[tuple[int, int]] = set()
        for _ in range(4 * n):
            options = [one for one in state.candidates() if one[2] not in ("TOP",)]
            if not options:
                break
            i, j, name = rng.choice(options)
            at = state.low + i, state.low + j
            first, last = (state.nodes.item[state.frontier[k]] for k in (at[0], at[1] - 1))
            span = int(first["start"]), int(last["end"])
            if name == "*shift*":
                if state.cursor < state.size:
                    node = int(state.frontier[state.cursor])
                    start = int(state.nodes.item[node]["start"])
                    lacks = sum(costs_of(marginals, s)[1] for s in marginals.spans if s[0] == start and s not in has)
                    assert skipped(tokens, state.nodes, node) == pytest.approx(lacks, abs=0.02)
            else:
                there = j - i == 1 and first["first"] >= 0
                cost = math.log(0.998 / 0.002) if span not in marginals.spans else costs_of(marginals, span)[0]
                got = built(tokens, state.nodes, state.frontier, *at)
                assert got == pytest.approx(0.0 if there else cost, abs=0.01)
                number, extra = words.labels.id_of(name), 0.0
                if span in marginals.spans:
                    main = [int(table[int(there), pruning.MAIN, CHAINS.index(c)]) for c in marginals.spans[span][1]]
                    main += [int(table[int(there), pruning.MAIN, len(CHAINS)])] * (2 - len(main))
                    if not main[0] >> number & 1:
                        extra = costs_of(marginals, span)[2 if main[1] >> number & 1 else 3]
                assert label(table, tokens, state.nodes, state.frontier, *at, number) == pytest.approx(extra, abs=0.01)
                total += extra + got
                has.add(span)
            state.apply(i, j, name)
    assert total > 1


@pytest.mark.parametrize("budget", [0, 200])
def test_confident_constituents_are_built_without_a_score(budget):
    """A shift is taken if nothing else is left, a window if it is the only one and its label is above the threshold;
    everything else is scored."""
    words, n = lexicon(), 4
    table = np.full((2, pruning.LEVELS, len(CHAINS) + 1), 7, np.uint64)
    table[:, pruning.NAMED :] = 0
    table[0, pruning.NAMED, CHAINS.index("NP")] = 1 << words.labels.id_of("NP")
    model = untrained_model(words, templates("every_kind"), COLLINS, "shift_reduce", 4, ())
    parser = DtreeParser(replace(model, labels=table), SearchSettings(budget=budget))
    text, tags = sentence(random.Random(3), n)
    tree = [(0, 4), (0, 2), (2, 4)]
    for doubtful in (None, *tree):
        spans = {span: (0.7 if span == doubtful else 0.999, ("NP",), (0.6, 0.0)) for span in tree}
        spans.update({span: (0.999, ("NP",), (0.999, 0.0)) for span in tree if span != doubtful})
        tokens = with_marginals(
            words.encode(text, tags), as_arrays(slow.SpanMarginals(spans)), marginal_weight=1.0, commit_threshold=0.9
        )
        ends = np.array([0, len(tokens)]), np.array([0, n])
        parses = parser.searcher.search_all(tokens, *ends, [budget], parser.settings)
        assert STATUSES[parses.statuses[0]] != "fallback"
        if doubtful is None:
            assert parses.items.tolist() == [[0, 4, 3], [0, 4, 0], [0, 2, 0], [2, 4, 0]]
        assert (parses.counts[0, 1] == 0) == (doubtful is None)


def test_constraints_hold_whatever_the_marginals():
    """The search satisfies the constraints and terminates, whatever the marginals."""
    words, rng = lexicon(), random.Random(8)
    everything = np.full((2, pruning.LEVELS, len(CHAINS) + 1), 15, np.uint64)
    everything[:, pruning.NAMED :] = 0
    model = untrained_model(words, templates("every_kind"), COLLINS, "shift_reduce", 4, ())
    parser = DtreeParser(replace(model, labels=everything), SearchSettings(budget=0))
    cases = ((2, "0 2 NP"), (3, "1 3|0 3 !NP"), (4, "0 2 VP|2 4 PP|0 4 !NP"), (5, "1 4|2 4 PP"), (2, "1 2 NP"))
    for (n, texts), span_prob in itertools.product(cases, (0.6, 0.01)):
        text, tags = sentence(rng, n)
        wanted = Constraints(
            Constraint(int(i), int(j), *read_label(label[0] if label else ""))
            for i, j, *label in (one.split() for one in texts.split("|"))
        )
        spans = {
            (i, j): (span_prob, ("NP", "VP"), (0.7 * span_prob, 0.1 * span_prob))
            for i in range(n)
            for j in range(i + 1, n + 1)
        }
        tokens = with_marginals(words.encode(text, tags), as_arrays(slow.SpanMarginals(spans)))
        ends, rows = (np.array([0, len(tokens)]), np.array([0, n])), constraint_rows(wanted, parser.labels)
        parses = parser.searcher.search_all(tokens, *ends, [0], parser.settings, constraints=rows)
        starts, stops, labels = parses.items.T.tolist()
        tree = Tree.unchecked(text, tags, [LABELS[label] for label in labels], starts, stops)
        assert STATUSES[parses.statuses[0]] == "greedy" and not wanted.violations(tree), (texts, str(tree))
