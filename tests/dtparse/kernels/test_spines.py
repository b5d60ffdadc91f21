"""Pruning by spines: windows, shifts and chains against every supertag; the pruned search against the agenda."""

from __future__ import annotations

import random
from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from spacy_dtparse.dtparse.kernels import spines as kernels
from spacy_dtparse.dtparse.kernels.spines import CHAIN, MAX_SPINES, SupertagArrays, no_supertags
from spacy_dtparse.dtparse.kernels.state import make_windows
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.dtparse.pruner import SpinePruner
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.trees import COLLINS, Tree, directional_spines
from tests.jit.harness import (
    FIRST_STRATEGY,
    KERNEL_MARKS,
    SLOW,
    STRATEGIES,
    KernelState,
    hand_made,
    sentence,
    small_lexicon,
    spans,
)
from tests.jit.harness import list_windows as windows_of
from tests.reference.search import agenda, exhaustive
from tests.reference.spines import PrunedRules, Supertag, built_by_head
from tests.reference.states import SHIFT, Rules, random_tree

pytestmark = KERNEL_MARKS
LABELS = ("NP", "VP", "PP", "TOP")
KINDS = ("plain", "directional", "mixed")
SIDES, POSITIONS = ("", "<", ">", "<>"), "(|)."
ENOUGH = 10**9

follow_chain, start_chains = callable_from_python(kernels.follow_chain), callable_from_python(kernels.start_chains)
may_shift, prune_windows = callable_from_python(kernels.may_shift), callable_from_python(kernels.prune_windows)


def supertag_of(spine, kind: str) -> Supertag:
    if kind != "directional":
        return Supertag(spine.labels)
    return Supertag(spine.labels, tuple(SIDES[side] for side in spine.sides), POSITIONS[spine.position])


def random_supertag(rng: random.Random, labels, kind: str) -> Supertag:
    chosen = tuple(rng.choice(labels[:-1]) for _ in range(rng.randint(0, 3)))
    if kind == "plain" or (kind == "mixed" and rng.random() < 0.5):
        return Supertag(chosen)
    return Supertag(chosen, tuple(rng.choice(SIDES) for _ in chosen), rng.choice(POSITIONS))


def pruned_rules(rng: random.Random, rules: Rules, trees: list[Tree], kind: str, noise: int) -> PrunedRules:
    """Rules pruned by the spines of some trees over one sentence, and at most `noise` random ones for each token."""
    supertags = []
    for token in zip(*(directional_spines(tree, rules.heads) for tree in trees), strict=True):
        found = [supertag_of(spine, kind) for spine in token]
        found += [random_supertag(rng, rules.labels, kind) for _ in range(rng.randint(0, noise))]
        supertags.append(tuple(dict.fromkeys(rng.sample(found, len(found)))))
    return PrunedRules(*(getattr(rules, field.name) for field in fields(Rules)), tuple(supertags))


def text_of(supertag: Supertag) -> str:
    sides = supertag.sides or ("",) * len(supertag.labels)
    return (supertag.place or "") + ("+".join(map("".join, zip(supertag.labels, sides, strict=True))) or "-")


def pruning(rules: PrunedRules):
    """The pruning that the parser builds from categories as text."""
    texts = [[(text_of(supertag), 1.0) for supertag in token] for token in rules.supertags]
    found = SpinePruner(rules.labels).pruning(texts, 1.0)
    assert found is not None and found.n_spines == sum(map(len, rules.supertags))
    return found, no_supertags()._replace(levels=found.levels, chains=np.zeros(8 * len(rules.supertags) + 8, CHAIN))


def kernel_candidates(state: KernelState, supertags: SupertagArrays, n_labels: int) -> list[tuple[int, int, str]]:
    room = len(state.tokens) * int(state.grammar.options[1]) + 1
    windows, children = make_windows(room), np.zeros(len(state.tokens) + 1, np.int32)
    i, j, labels = windows
    count = windows_of(state.grammar, state.view(), windows)
    kept = prune_windows(supertags, state.grammar, state.heads, state.view(), children, windows, count)
    assert (labels[:kept] != 0).all() and 0 <= kept <= count
    found = [
        (int(a) - state.low, int(b) - state.low, state.lexicon.labels[label])
        for a, b, bits in zip(i[:kept], j[:kept], labels[:kept].tolist(), strict=True)
        for label in range(n_labels)
        if bits >> label & 1
    ]
    if state.cursor > state.low and may_shift(supertags, state.nodes, state.frontier, state.cursor, state.size):
        found.append((state.cursor - state.low - 1, state.cursor - state.low, SHIFT))
    return found


def check_chains(state: KernelState, supertags: SupertagArrays, rules: PrunedRules, reference) -> None:
    """Check the chain of each item of the frontier by enumerating the supertags of its head."""
    for number, node in zip(state.frontier[state.low : state.size].tolist(), reference.frontier, strict=True):
        if node.label == rules.top:
            continue
        given, built = rules.supertags[node.head], built_by_head(node)
        agreeing = [k for k, supertag in enumerate(given) if supertag.agrees(built)]
        further = {given[k].labels[len(built)] for k in agreeing if len(given[k].labels) > len(built)}
        places = {place for k in agreeing for place in POSITIONS if given[k].ends(built, place)}
        chain = supertags.chains[number]
        assert int(chain["spines"]) & ((1 << len(given)) - 1) == sum(1 << k for k in agreeing)
        assert int(chain["labels"]) == sum(1 << rules.labels.index(label) for label in further)
        assert int(chain["positions"]) == sum(1 << POSITIONS.index(place) for place in places)
        assert int(chain["height"]) == len(built)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_windows_shifts_and_chains_are_those_of_the_supertags(strategy, kind):
    """In random states that are reached by allowed steps only."""
    lexicon, rng = small_lexicon(LABELS), random.Random(f"{strategy} {kind}")
    states = fewer = kept_back = complete = 0
    for round_ in range(24 if SLOW else 60):
        words, tags = sentence(rng, rng.randint(1, 5 if SLOW else 8))
        plain = Rules(strategy, LABELS, COLLINS, 3 + round_ % 3, round_ % 4 != 0)
        trees = [random_tree(rng, tags, LABELS, plain.max_arity) for _ in range(rng.randint(1, 2))]
        rules = pruned_rules(rng, plain, trees, kind, round_ % 4)
        supertags = pruning(rules)[1]
        kernel, reference = KernelState.start(plain, lexicon, words, tags), rules.start(tags)
        start_chains(supertags, len(words))
        while not rules.is_complete(reference):
            actions = rules.candidates(reference)
            assert kernel_candidates(kernel, supertags, len(LABELS)) == actions
            check_chains(kernel, supertags, rules, reference)
            states += 1
            fewer += len(actions) < len(plain.candidates(reference))
            kept_back += plain.may_shift(reference) and not rules.may_shift(reference)
            if not actions:
                break
            action = rng.choice(actions)
            before = int(kernel.nodes.used[0])
            kernel.apply(*action)
            if int(kernel.nodes.used[0]) > before:
                follow_chain(supertags, kernel.nodes)
            reference = rules.apply(reference, *action)
        complete += rules.is_complete(reference)
    assert states > 40 and fewer > states / 8 and complete > 0
    assert (kept_back > 0) == (strategy == "shift_reduce" and kind != "plain")


def searched(made, rules: PrunedRules, words, budget: int, tags):
    """The kernel's search with the pruned rules."""
    if not hasattr(made, "parser"):
        made.parser = DtreeParser(made.model)
    found = pruning(rules)[0]
    tokens = made.model.lexicon.encode(words, tags)
    items, cost, status, counts = made.parser.searcher.search(tokens, budget, pruning=found)
    names = made.model.lexicon.labels
    return [(s, e, names[label]) for s, e, label in items.tolist()], cost, status, counts.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", FIRST_STRATEGY)
def test_the_pruned_search_takes_the_steps_of_the_plain_agenda(strategy, kind):
    """Same cost to the bit, same tree, status and counts, at any budget; forced steps are not scored."""
    statuses, free, fewer = set(), 0, 0
    for seed in range(2 if SLOW else 6):
        made = hand_made(strategy, ("NP", "VP", "TOP"), seed)
        rng = random.Random(seed)
        for n, budget in ((1, 50), (3, 0), (4, 60), (5, 300), (6, 0), (4, 3)):
            words, tags = sentence(rng, n)
            trees = [random_tree(rng, tags, made.rules.labels, 3) for _ in range(2)]
            rules = pruned_rules(rng, made.rules, trees, kind, seed % 3)
            found = agenda(rules, tags, made.scorer(words, tags), budget)
            built, cost, status, counts = searched(made, rules, words, budget, tags)
            assert (cost, status) == (found.cost, found.status)
            assert counts[:2] == [found.expanded, found.scored] and counts[3] == found.queued
            assert built == [(0, n, "TOP")] * (status == "fallback") + spans(found.state)
            if status == "optimal":
                assert bool(counts[2]) == found.first_is_best
            statuses.add(status)
            free += found.scored < found.expanded
            fewer += found.scored < agenda(made.rules, tags, made.scorer(words, tags), budget).scored
    assert "optimal" in statuses and ("greedy" in statuses or SLOW) and fewer > 0
    assert free > 0 or kind == "plain"


@cache
def states_without_pruning(strategy, seed):
    """How many states a sentence has by rules made from the seed."""
    made = hand_made(strategy, ("NP", "VP", "TOP"), seed)
    words, tags = sentence(random.Random(seed), 2 if SLOW else 3)
    return exhaustive(made.rules, tags, made.scorer(words, tags)).n_states


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "directional"])
@pytest.mark.parametrize("strategy", FIRST_STRATEGY)
def test_a_large_budget_finds_the_cheapest_of_the_remaining_trees(strategy, kind):
    """It costs no less than the cheapest of all, except that forced steps are free."""
    better = 0
    for seed in range(2 if SLOW else 3):
        made = hand_made(strategy, ("NP", "VP", "TOP"), seed)
        rng = random.Random(seed)
        words, tags = sentence(rng, 2 if SLOW else 3)
        trees = [random_tree(rng, tags, made.rules.labels, 3) for _ in range(2)]
        rules = pruned_rules(rng, made.rules, trees, kind, 2)
        best = exhaustive(rules, tags, made.scorer(words, tags))
        _, cost, status, _ = searched(made, rules, words, ENOUGH, tags)
        assert cost == pytest.approx(best.cost, rel=1e-12, abs=1e-12)
        assert status == ("fallback" if best.glued else "optimal")
        better += best.n_states < states_without_pruning(strategy, seed)
    assert better > 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_exact_directional_spines_leave_one_tree_which_costs_nothing(strategy):
    """Shift-reduce never has a choice; the others may build in several orders."""
    for seed in range(3 if SLOW else 20):
        made = hand_made(strategy, ("NP", "VP", "PP", "TOP"), seed % 4, max_arity=4)
        rng = random.Random(seed)
        words, tags = sentence(rng, rng.randint(1, 4 if SLOW else 6))
        tree = random_tree(rng, tags, made.rules.labels, 4)
        rules = pruned_rules(rng, made.rules, [tree], "directional", 0)
        built, cost, status, counts = searched(made, rules, words, 0 if strategy == "shift_reduce" else 5000, tags)
        assert built == tree.spans() and status != "fallback"
        if strategy == "shift_reduce":
            assert (cost, counts[1]) == (0.0, 0)


def test_a_token_can_have_as_many_supertags_as_a_number_has_bits():
    """The last of 64 counts; if there is one more, the least likely is left out."""
    made = hand_made("shift_reduce", ("NP", "VP", "TOP"), 0)
    pruner = SpinePruner(made.rules.labels)
    others = [f"{'(|)'[k % 3]}NP{'+VP' * (k // 3)}" for k in range(MAX_SPINES)]
    for further, left in ((MAX_SPINES - 1, True), (MAX_SPINES, False)):
        categories = [(".NP", 0.1), *((text, 0.5) for text in others[:further])]
        found = pruner.pruning([categories], 0.0)
        assert found.n_spines == MAX_SPINES
        parser = DtreeParser(made.model)
        items, _, status, _ = parser.searcher.search(made.model.lexicon.encode(["cat"], ["NN"]), 0, pruning=found)
        assert (status != "fallback") == left
        assert (items[:, 2].tolist() == [2, 0]) == left
