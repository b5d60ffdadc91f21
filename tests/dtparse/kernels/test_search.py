"""The agenda search against all derivations of tiny sentences and against a plain agenda, count by count."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.kernels.score import inference_cost, make_cache
from spacy_dtparse.dtparse.kernels.state import make_nodes
from spacy_dtparse.dtparse.model.model import untrained_model
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.trees.heads import COLLINS
from tests.jit.harness import (
    FIRST_STRATEGY,
    KERNEL_MARKS,
    SLOW,
    STRATEGIES,
    HandMade,
    hand_made,
    sentence,
    small_lexicon,
    templates,
)
from tests.reference.search import GLUE, agenda, exhaustive, price
from tests.reference.states import SHIFT, Rules, spans
from training.dtparse.oracle import derivation

pytestmark = KERNEL_MARKS
ENOUGH = 10**9


def parser_of(made: HandMade, budget: int) -> DtreeParser:
    """One compiled parser for each model, whatever the budget."""
    if not hasattr(made, "parser"):
        made.parser = DtreeParser(made.model)  # type: ignore[attr-defined]
    return made.parser.with_settings(budget=budget)  # type: ignore[attr-defined]


def walk_cost(made: HandMade, result) -> tuple[float, list[float]]:
    """Cost of a parse, and of each constituent, from tree walks along its derivation (not for bottom_up)."""
    tree, rules, lexicon = result.tree, made.rules, made.model.lexicon
    state, low = rules.start(tree.tags), 0
    costs, total, score = {}, 0.0, made.scorer(tree.words, tree.tags)
    for i, j, label in derivation(tree, lexicon.labels, rules.strategy).tolist():
        name = SHIFT if label == len(lexicon.labels) else lexicon.labels[label]
        action = (i - low, j - low, name)
        assert action in rules.candidates(state)
        cost = price(rules, state, action, score)
        total += cost
        before, state = state, rules.apply(state, *action)
        if name != SHIFT:
            members = before.frontier[action[0] : action[1]]
            costs[members[0].start, members[-1].end, name] = cost
            low += j - i - 1 if rules.strategy == "shift_reduce" else 0
    return total, [costs[span] for span in tree.spans()]


def check_cover(result, words, tags, max_arity=None) -> None:
    tree = result.tree
    assert tree.words == tuple(words) and tree.tags == tuple(tags)
    assert tree.labels[0] == "TOP" and "TOP" not in tree.labels[1:]
    tree._validate()


TINY = [
    (("NP", "TOP"), 3, 0), (("NP", "TOP"), 4, 1), (("NP", "VP", "TOP"), 2, 2), (("NP", "VP", "TOP"), 3, 3),
    (("NP", "VP", "PP", "TOP"), 1, 4),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("edge_punctuation", [True, False])
@pytest.mark.parametrize("strategy", FIRST_STRATEGY)
def test_a_large_budget_finds_the_cheapest_of_all_derivations(strategy, edge_punctuation):
    beaten = 0
    for labels, n, seed in TINY:
        if n * len(labels) > (6 if SLOW else 8) and (SLOW or not edge_punctuation):
            continue
        made = hand_made(strategy, labels, seed, edge_punctuation=edge_punctuation)
        rng = random.Random(seed)
        for _ in range(1 if n * len(labels) > 8 else 2):
            words, tags = sentence(rng, n)
            score = made.scorer(words, tags)
            best = exhaustive(made.rules, tags, score)
            result = parser_of(made, ENOUGH).parse(words, tags)
            assert result.cost == pytest.approx(best.cost, rel=1e-12, abs=1e-12)
            assert result.status == ("fallback" if best.glued else "optimal")
            check_cover(result, words, tags)
            greedy = parser_of(made, 0).parse(words, tags)
            assert greedy.status in ("greedy", "fallback") and greedy.greedy_optimal is None
            assert greedy.cost >= best.cost - 1e-9
            if result.status == "optimal":
                assert result.greedy_optimal == (greedy.tree == result.tree and greedy.status == "greedy")
                beaten += not result.greedy_optimal
                assert result.n_scored <= best.n_states * 3 * n * len(labels)
    assert beaten > 0 or SLOW or not edge_punctuation


@pytest.mark.parametrize("edge_punctuation", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_search_takes_the_steps_of_the_plain_agenda(strategy, edge_punctuation):
    """Same cost to the bit, same tree, status and counts, at any budget."""
    statuses = set()
    for seed in range(2 if SLOW else 6):
        made = hand_made(strategy, ("NP", "VP", "TOP"), seed, edge_punctuation=edge_punctuation)
        rng = random.Random(100 + seed)
        for n, budget in ((1, 50), (3, 0), (4, 40), (5, 300), (6, 0), (4, 3)):
            words, tags = sentence(rng, n)
            found = agenda(made.rules, tags, made.scorer(words, tags), budget)
            parser = parser_of(made, budget)
            result = parser.parse(words, tags)
            counts = parser.searcher.search(made.model.lexicon.encode(words, tags), budget)[3]
            assert result.cost == found.cost
            assert result.status == found.status
            assert (result.n_states, result.n_scored) == (found.expanded, found.scored)
            assert int(counts[3]) == found.queued
            built = spans(found.state)
            if found.status == "fallback":
                built = [(0, n, "TOP"), *built]
                assert math.isclose(result.costs[0], GLUE * len(found.state.frontier), rel_tol=1e-12)
            else:
                assert sum(result.costs) <= result.cost + 1e-9
            assert result.tree.spans() == built
            if result.greedy_optimal is not None:
                assert result.greedy_optimal == found.first_is_best
            check_cover(result, words, tags)
            statuses.add(result.status)
    assert "greedy" in statuses or not edge_punctuation
    assert "complete" in statuses or SLOW
    assert ("fallback" in statuses) == (not edge_punctuation)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_has_the_parses_of_its_sentences(strategy):
    rng, made = random.Random(f"batch {strategy}"), hand_made(strategy, seed=5)
    lengths = (1, 3, 2) if SLOW else (1, 7, 2, 30, 3, 12, 1, 40, 5)
    parser = parser_of(made, 200 if SLOW else 20_000).with_settings(max_tokens=25)  # longer ones are parsed greedily
    work = [sentence(rng, n) for n in lengths]
    wanted = [parser.with_settings(max_tokens=25).parse(*one) for one in work]  # each with separate arrays
    assert parser.parse_batch(work) == wanted == parser.parse_batch(work[::-1])[::-1]
    if not SLOW:
        assert {"greedy"} < {result.status for result in wanted}
        agenda_sizes = [len(room.agenda.states) for room in parser.searcher.local.workspaces.values()]
        assert max(agenda_sizes) > 4096, "arrays were lengthened on the way"


@pytest.mark.parametrize("strategy", ["l2r", "r2l", "shift_reduce"])
def test_costs_are_those_of_the_tree_walk_along_the_derivation(strategy):
    for seed, budget in ((0, 0), (1, 500), (2, 0)):
        made = hand_made(strategy, ("NP", "VP", "TOP"), seed)
        words, tags = sentence(random.Random(seed), 4 if SLOW else 7)
        result = parser_of(made, budget).parse(words, tags)
        total, costs = walk_cost(made, result)
        assert result.cost == pytest.approx(total, rel=1e-12)
        assert list(result.costs) == pytest.approx(costs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["baseline", "kitchen_sink", "standard"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_shipped_tables(strategy, name):
    made = hand_made(strategy, ("NP", "VP", "TOP"), 7, table=name, n_trees=12)
    words, tags = sentence(random.Random(7), 3 if SLOW else 5)
    budget = 20 if SLOW else 300
    found = agenda(made.rules, tags, made.scorer(words, tags), budget)
    result = parser_of(made, budget).parse(words, tags)
    assert (result.cost, result.status, result.n_scored) == (found.cost, found.status, found.scored)
    assert result.tree.spans() == spans(found.state)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_cached_scores_are_those_of_their_windows(strategy):
    """With templates that use a few items around a window, most windows of a search were scored in another state."""
    for seed in range(2 if SLOW else 6):
        made = hand_made(strategy, ("NP", "VP", "TOP"), seed, table="near_left")
        words, tags = sentence(random.Random(seed), 4 if SLOW else 6)
        budget = 150 if SLOW else 2_000
        found = agenda(made.rules, tags, made.scorer(words, tags), budget)
        parser = DtreeParser(made.model).with_settings(budget=budget)
        for turn in range(2):  # and none is left from the sentence before
            before = int(parser.searcher.local.scratch.features.mark[0]) if turn else 0
            result = parser.parse(words, tags)
            assert (result.cost, result.status, result.n_scored) == (found.cost, found.status, found.scored)
            assert result.tree.spans() == spans(found.state)
            cache = parser.searcher.local.workspaces[True].cache
            used = int(cache.used[0])
            rows = cache.entries["row"][cache.entries["key"] != 0]
            assert sorted(rows.tolist()) == [*range(used)] and 0 < used < result.n_scored
            mark = parser.searcher.local.scratch.features.mark
            assert mark[0] - before == used, "each window's features are read once"


def test_bottom_up_meets_a_state_once():
    """Without merging the same search queues more; with it each state is followed from its cheapest path."""
    less = 0
    for seed in range(2 if SLOW else 4):
        made = hand_made("bottom_up", ("NP", "VP", "TOP"), seed)
        words, tags = sentence(random.Random(seed), 2 if SLOW else 3)
        score = made.scorer(words, tags)
        merged = agenda(made.rules, tags, score, ENOUGH)
        apart = agenda(made.rules, tags, score, ENOUGH, merge=False)
        parser = parser_of(made, ENOUGH)
        counts = parser.searcher.search(made.model.lexicon.encode(words, tags), ENOUGH)[3]
        assert int(counts[3]) == merged.queued <= apart.queued
        assert merged.cost == pytest.approx(apart.cost, rel=1e-12)
        less += apart.queued - merged.queued
    assert less > 0


def test_unary_chains_of_other_orders_are_other_states():
    """NP over VP and VP over NP have the same set of items; merging them would lose parses."""
    rules = Rules("bottom_up", ("NP", "VP", "TOP"), COLLINS, 3)
    start = rules.start(("NN",))
    up = rules.apply(rules.apply(start, 0, 1, "NP"), 0, 1, "VP")
    down = rules.apply(rules.apply(start, 0, 1, "VP"), 0, 1, "NP")
    assert up != down and sorted(spans(up)) == sorted(spans(down))
    for seed in range(6 if SLOW else 40):
        made = hand_made("bottom_up", ("NP", "VP", "PP", "TOP"), seed, n_trees=3)
        words, tags = sentence(random.Random(seed), 1)
        score = made.scorer(words, tags)
        result = parser_of(made, ENOUGH).parse(words, tags)
        assert result.cost == pytest.approx(exhaustive(made.rules, tags, score).cost, rel=1e-12)
        found = agenda(made.rules, tags, score, ENOUGH)
        assert (result.n_states, result.n_scored) == (found.expanded, found.scored)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_larger_budget_costs_more_work_and_finds_better_trees(strategy):
    made = hand_made(strategy, ("NP", "VP", "TOP"), 3)
    words, tags = sentence(random.Random(1), 3 if SLOW else 6)
    results = [parser_of(made, budget).parse(words, tags) for budget in (0, 1, 200, 2000 if not SLOW else 400)]
    scored = [result.n_scored for result in results]
    costs = [result.cost for result in results]
    assert scored == sorted(scored) and scored[0] < scored[-1]
    assert costs == sorted(costs, reverse=True)
    for result in results:
        check_cover(result, words, tags)
    assert results[1].status in ("complete", "optimal") and results[1].cost == results[0].cost
    longer = parser_of(made, 200).with_settings(max_tokens=2).parse(words, tags)  # too long for search
    assert (longer.tree, longer.cost, longer.n_scored) == (results[0].tree, results[0].cost, scored[0])
    assert longer.status in ("greedy", "fallback")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_stuck_states_fall_back_on_a_tree_of_all_tokens(strategy):
    made = hand_made(strategy, ("NP", "VP", "TOP"), 1, edge_punctuation=False)
    for tags in ((",",), (",", ",", ","), ("NN", ","), (",", "NN"), (",", "DT", "NN", ",", ",")):
        words = tuple("," if tag == "," else "cat" for tag in tags)
        for budget in (0, 1, 60 if SLOW else 2000):
            result = parser_of(made, budget).parse(words, tags)
            assert result.status == "fallback" and result.cost >= GLUE and result.greedy_optimal is None
            check_cover(result, words, tags)
            score = made.scorer(words, tags)
            found = agenda(made.rules, tags, score, budget)
            assert (result.cost, result.n_scored) == (found.cost, found.scored)
    only = parser_of(made, 0).parse((",", ","), (",", ","))
    assert only.tree.labels == ("TOP",) and only.costs == (2 * GLUE,)


def test_a_model_with_no_label_but_top_falls_back():
    lexicon = small_lexicon(("TOP",))
    for strategy in STRATEGIES:
        model = untrained_model(lexicon, templates("every_kind"), COLLINS, strategy, 3, ())
        for budget in (0, 100):
            result = DtreeParser(model, SearchSettings(budget=budget)).parse(["a", "cat"], ["DT", "NN"])
            assert (result.status, result.tree.labels) == ("fallback", ("TOP",))


def test_an_untrained_model_prices_everything_at_one_half():
    lexicon = small_lexicon()
    for strategy in STRATEGIES:
        model = untrained_model(lexicon, templates("every_kind"), COLLINS, strategy, 3, ())
        result = DtreeParser(model, SearchSettings(budget=400)).parse(["a", "cat", "ran"], ["DT", "NN", "VBD"])
        assert result.costs == pytest.approx([math.log(2)] * len(result.tree))
        assert result.cost >= math.log(2) * len(result.tree) - 1e-9


@pytest.mark.slow
def test_the_state_table_and_the_heap_grow():
    """Thousands of queued states: more than the arrays initially hold, the same as the plain agenda."""
    if SLOW:
        pytest.skip("takes long without compiling")
    for strategy in ("bottom_up", "r2l"):
        made = hand_made(strategy, ("NP", "VP", "TOP"), 2)
        words, tags = sentence(random.Random(3), 9)
        parser = parser_of(made, 8_000)
        counts = parser.searcher.search(made.model.lexicon.encode(words, tags), 8_000)[3]
        assert int(counts[3]) > 4096
        found = agenda(made.rules, tags, made.scorer(words, tags), 8_000)
        result = parser.parse(words, tags)
        assert (result.cost, result.n_scored, int(counts[3])) == (found.cost, found.scored, found.queued)


def test_a_second_sentence_of_the_same_size_needs_no_more_workspace():
    """The next search reuses the arrays of the last one, and arrays that have grown once are large enough."""
    for strategy, n in (("bottom_up", 3), ("shift_reduce", 4)) if SLOW else (("bottom_up", 8), ("shift_reduce", 12)):
        made = hand_made(strategy, ("NP", "VP", "TOP"), 2)
        words, tags = sentence(random.Random(3), n)
        tokens = made.model.lexicon.encode(words, tags)
        for budget in (0, 2_000):
            parser = DtreeParser(made.model)
            first = parser.searcher.search(tokens, budget)
            before = parser.searcher.local.workspaces[budget > 0]
            again = parser.searcher.search(tokens, budget)
            after = parser.searcher.local.workspaces[budget > 0]
            assert first[1:3] == again[1:3] and np.array_equal(first[0], again[0])
            assert list(map(id, _arrays(before))) == list(map(id, _arrays(after)))
            agenda_arrays = (after.agenda.states, after.agenda.heap, after.agenda.path, after.agenda.ends)
            for array in (*agenda_arrays, after.nodes.item, after.node_costs):  # nothing that is left in them is read
                array.view(np.uint8)[:] = 0x5A
            third = parser.searcher.search(tokens, budget)
            assert first[1:3] == third[1:3] and np.array_equal(first[0], third[0])


@pytest.mark.parametrize("table", ["every_kind", "near_left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_arrays_that_are_too_short_for_anything_grow(strategy, table):
    """A search that starts with the shortest possible arrays has the same result as one with large arrays."""
    made = hand_made(strategy, ("NP", "VP", "TOP"), 2, table=table)
    words, tags = sentence(random.Random(3), 3 if SLOW else 6)
    tokens = made.model.lexicon.encode(words, tags)
    for budget in (0, 40 if SLOW else 500):
        parser = DtreeParser(made.model)
        first, keep = parser.searcher.search(tokens, budget), budget > 0
        room = parser.searcher.local.workspaces[keep]
        agenda, cache = room.agenda, room.cache
        agenda = agenda._replace(states=agenda.states[:1].copy(), heap=agenda.heap[: 1 + keep].copy())
        agenda = agenda._replace(visited=np.zeros(2, agenda.visited.dtype))
        if len(cache.entries) > 2:
            cache = make_cache(4, cache.scores.shape[1])
        parser.searcher.local.workspaces[keep] = room._replace(agenda=agenda, cache=cache)
        again = parser.searcher.search(tokens, budget)
        assert first[1:3] == again[1:3] and np.array_equal(first[0], again[0]) and np.array_equal(first[3], again[3])
        assert len(parser.searcher.local.workspaces[keep].agenda.states) > 1


def _arrays(part) -> list[np.ndarray]:
    """The arrays of a part of a workspace, including those of nested parts."""
    return [part] if isinstance(part, np.ndarray) else [array for below in part for array in _arrays(below)]


@pytest.mark.parametrize("strategy", ["shift_reduce", "r2l", "l2r"])
def test_greedy_work_per_token_does_not_grow_with_length(strategy):
    """Counts, not clocks: states per token stay flat; under shift_reduce so do the inferences scored."""
    made = hand_made(strategy, ("NP", "VP", "TOP"), 4, table="standard", n_trees=8)
    parser = parser_of(made, 0)
    sizes = (20, 40) if SLOW else ((50, 2000) if strategy == "shift_reduce" else (50, 200))
    states, scored = [], []
    for n in sizes:
        words, tags = sentence(random.Random(1), n)
        result = parser.parse(words, tags)
        check_cover(result, words, tags)
        assert result.status == "greedy" and len(result.costs) == len(result.tree)
        states.append(result.n_states / n)
        scored.append(result.n_scored / n)
    assert states[1] < 1.5 * states[0] + 1
    if strategy == "shift_reduce":
        assert scored[1] < 1.5 * scored[0] + 1


def test_unary_chains_cannot_outgrow_the_nodes():
    """A model that wants every unary there is: chains stop at the number of labels, arrays hold them."""
    labels = (*(f"L{n}" for n in range(4 if SLOW else 15)), "TOP")
    lexicon = small_lexicon(labels)
    for strategy in STRATEGIES:
        model = untrained_model(lexicon, templates("every_kind"), COLLINS, strategy, 3, ())
        n = 5 if SLOW else 40
        result = DtreeParser(model, SearchSettings(budget=0)).parse(["cat"] * n, ["NN"] * n)
        check_cover(result, ["cat"] * n, ["NN"] * n)
        assert len(result.tree) > n


def test_inference_cost_is_stable():
    for h in (-800.0, -30.0, -1.0, 0.0, 1e-9, 1.0, 30.0, 800.0):
        exact = np.logaddexp(0.0, -h)
        assert inference_cost(h) == pytest.approx(float(exact), rel=1e-14)
    assert make_nodes(3, 4).pool.shape == (4,)
