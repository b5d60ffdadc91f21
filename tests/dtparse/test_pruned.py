"""DtreeParser with spines: pruning, the sequence of passes, and unusual supertags."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from spacy_dtparse.core import Capability
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.kernels.spines import MAX_LABELS
from spacy_dtparse.dtparse.model.model import untrained_model
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.trees import (
    COLLINS,
    Recipe,
    Tree,
    directional_spines,
    format_directional,
    format_spine,
    read_trees,
    spines,
)
from tests.core.checks import parse_all, same_in_a_process, same_in_any_order, same_in_threads
from tests.jit.harness import KERNEL_MARKS, SLOW, STRATEGIES, hand_made, sentence, small_lexicon, templates
from tests.pcfgla.supertag_cases import NO_BETAS, refuses_bad_supertags, refuses_betas
from tests.reference.states import random_tree
from tests.trees.naive import with_leaves

pytestmark = KERNEL_MARKS
KINDS = {
    "directional": lambda tree: [format_directional(spine) for spine in directional_spines(tree)],
    "plain": lambda tree: [format_spine(spine) for spine in spines(tree)],
}
SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample" / "dev.mrg"


def supertags_of(tree: Tree, kind: str = "directional", p: float = 1.0) -> list[list[tuple[str, float]]]:
    return [[(text, p)] for text in KINDS[kind](tree)]


def a_parser(strategy: str = "shift_reduce", **settings) -> DtreeParser:
    return DtreeParser(hand_made(strategy, seed=1).model, SearchSettings(**{"budget": 0, **settings}))


def cases(n: int = 10):
    rng = random.Random(3)
    return [sentence(rng, rng.randint(1, 4 if SLOW else 9)) for _ in range(3 if SLOW else n)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_categories_of_a_parse_give_it_again(strategy, kind):
    """Pruning by the spines of a greedy parse leaves that greedy parse, where the costs do not change."""
    parser, saved = a_parser(strategy, shift_threshold=math.inf), 0
    for words, tags in cases():
        found = parser.parse(words, tags)
        again = parser.parse(words, tags, supertags_of(found.tree, kind))
        assert (again.status, again.tree) == (found.status, found.tree)
        assert (again.n_searches, again.ambiguity) == (1, 1.0)
        assert again.n_scored <= found.n_scored and again.cost <= found.cost
        saved += found.n_scored - again.n_scored
        assert (found.n_searches, found.ambiguity) == (1, None)
        if kind == "directional" and strategy == "shift_reduce":
            assert (again.n_scored, again.cost, again.costs) == (0, 0.0, (0.0,) * len(found.tree))
    assert saved > 0


def test_gold_categories_give_the_gold_tree():
    """Whatever the model thinks of it; in shift-reduce without a score."""
    rng = random.Random(5)
    for budget in (0, 300):
        parser = a_parser(budget=budget)
        for words, tags in cases():
            gold = with_leaves(random_tree(rng, tags, ("NP", "VP", "TOP"), 3), words)
            found = parser.parse(words, tags, supertags_of(gold))
            assert (found.tree, found.n_scored, found.cost) == (gold, 0, 0.0)
            assert found.status == ("optimal" if budget else "greedy")


def test_the_trees_of_the_sample_follow_from_their_directional_spines():
    """An untrained model with all their labels parses them without a mistake."""
    trees = [Recipe.PLAIN.apply(tree) for tree in read_trees(SAMPLE)][: 8 if SLOW else None]
    labels = (*sorted({label for tree in trees for label in tree.labels[1:]}), "TOP")
    tags = tuple(sorted({tag for tree in trees for tag in tree.tags}))
    lexicon = Lexicon.build(labels, tags, ("*rare*",), tags[0])
    model = untrained_model(lexicon, templates("every_kind"), COLLINS, "shift_reduce", 64, ())
    parser = DtreeParser(model, SearchSettings(budget=0))
    determined = 0
    for tree in trees:
        if len(tree.child_lists()[0]) == 1:
            found = parser.parse(tree.words, tree.tags, supertags_of(tree))
            assert (found.tree, found.n_scored) == (tree, 0)
            determined += 1
    assert determined > len(trees) / 2


def other_tree(found, words, tags) -> Tree:
    """Another tree over the same words."""
    rng = random.Random(11)
    trees = (with_leaves(random_tree(rng, tags, ("NP", "VP", "TOP"), 3), words) for _ in range(100))
    return next(tree for tree in trees if tree != found)


def test_passes_over_falling_beta():
    """Offers that no tree fits first (no label is twice in a chain), then others, at last none; counts are of all
    passes together."""
    words, tags = ("a", "cat", "saw", "X9"), ("DT", "NN", "VBD", "NN")
    parser = a_parser(budget=300 if SLOW else 2000)
    found = parser.parse(words, tags)
    other = other_tree(found.tree, words, tags)
    bad, good = "|NP+NP", KINDS["directional"](other)
    late = [[(bad, 1.0), (text, 0.05)] for text in good]
    for betas, searches, ambiguity, tree in (
        ((0.1, 0.01), 2, 2.0, other),
        ((0.01, 0.001), 1, 2.0, other),
        ((0.1,), 2, None, found.tree),
        ((), 1, None, found.tree),
        ((0.5, 0.1), 2, None, found.tree),
        ((0.1, 0.01, 0.001), 2, 2.0, other),
    ):
        result = parser.with_settings(betas=betas).parse(words, tags, late)
        assert (result.n_searches, result.ambiguity, result.tree) == (searches, ambiguity, tree)
    never = [[(bad, 1.0)]] * 4
    result = parser.parse(words, tags, never)
    assert (result.tree, result.cost, result.status) == (found.tree, found.cost, found.status)
    assert (result.n_searches, result.ambiguity) == (2, None), (
        "both betas give the same supertags, so one search tries them"
    )
    assert result.n_states > found.n_states and result.n_scored >= found.n_scored


@pytest.mark.parametrize("odd", ["(XX", "NP+XX", "nonsense<>", "", "=", "(", ".NP><", "NP+", "(NP+-", "..", "+"])
def test_supertags_that_the_model_cannot_build_are_ignored(odd):
    """It is ignored if the word has another category; a word without any is not pruned, nor is its sentence."""
    words, tags = ("a", "cat", "saw"), ("DT", "NN", "VBD")
    parser = a_parser()
    plain = parser.parse(words, tags)
    own = supertags_of(plain.tree)
    assert parser.parse(words, tags, own).n_scored == 0 < plain.n_scored
    beside = parser.parse(words, tags, [own[0], [(odd, 1.0), (own[1][0][0], 0.9)], own[2]])
    assert (beside.tree, beside.n_scored, beside.n_searches, beside.ambiguity) == (plain.tree, 0, 1, 1.0)
    for nothing in ([(odd, 1.0)], []):
        for supertags in ([own[0], nothing, own[2]], [nothing, own[1], own[2]]):
            found = parser.parse(words, tags, supertags)
            assert (found, found.n_searches) == (plain, 1)


def test_words_that_all_head_nothing_leave_no_tree():
    """Empty categories for all words are valid supertags, and are tried before the search without supertags."""
    words, tags = ("a", "cat", "saw"), ("DT", "NN", "VBD")
    parser = a_parser()
    plain, found = parser.parse(words, tags), parser.parse(words, tags, [[("-", 1.0)]] * 3)
    assert (found.tree, found.status, found.n_searches, found.ambiguity) == (plain.tree, plain.status, 2, None)


def test_only_the_likeliest_count_in_any_order():
    words, tags = ("cat",), ("NN",)
    parser = a_parser(betas=(0.5,))
    for supertags in ([(".NP", 0.2), (".VP", 0.8)], [(".VP", 0.8), (".NP", 0.2)]):
        assert parser.parse(words, tags, [supertags]).tree.labels == ("TOP", "VP")
    both = parser.parse(words, tags, [[(".NP", 0.4), (".VP", 0.8)]])
    assert both.ambiguity == 2.0 and both.n_scored > 0
    assert parser.parse(words, tags, [[(".NP", 0.0)]]).tree.labels == ("TOP", "NP")


def test_bad_supertags_are_refused():
    refuses_bad_supertags(a_parser())


@pytest.mark.parametrize("wrong", NO_BETAS)
def test_invalid_betas_are_refused(wrong):
    refuses_betas(SearchSettings, a_parser(), wrong)


def test_betas_are_numbers_of_a_tuple():
    assert SearchSettings(betas=[1, 0]).betas == (1.0, 0.0) and SearchSettings(betas=()).betas == ()
    assert a_parser(betas=[0.3]).with_settings(budget=3).settings.betas == (0.3,)


@pytest.mark.parametrize("more", [0, 1, 40])
def test_a_model_of_very_many_labels_does_without_spines(more):
    """It needs no bits for its labels: the last one is found as well as the first."""
    labels = (*(f"L{k:02}" for k in range(MAX_LABELS - 1 + more)), "TOP")
    model = untrained_model(small_lexicon(labels), templates("every_kind"), COLLINS, "shift_reduce", 3, ())
    parser = DtreeParser(model, SearchSettings(budget=0))
    assert (Capability.SUPERTAGS in parser.capabilities) == (more == 0)
    words, tags = ("a",), ("DT",)
    free = parser.parse(words, tags)
    last = parser.parse(words, tags, [[(f".{labels[-2]}", 1.0)]])
    if more:
        assert last == free and last.ambiguity is None
        assert len(free.tree) == len(labels), "each label once in a chain of all, as each is worth as much"
    else:
        assert last.tree.labels == ("TOP", labels[-2]) and last.n_scored == 0


def test_supertags_of_dropped_tokens_are_ignored():
    """A recipe removes the full stop; its supertags do not count."""
    model = replace(hand_made("shift_reduce", seed=1).model, recipe=("remove_edge_punctuation",))
    parser = DtreeParser(model, SearchSettings(budget=0))
    words, tags = ("a", "cat", "."), ("DT", "NN", ".")
    plain = parser.parse(words, tags)
    inner = parser.parse(words[:2], tags[:2])
    for last in ([], [("=", 1.0)], [("NP", 1.0)]):
        found = parser.parse(words, tags, [*supertags_of(inner.tree), last])
        assert (found.tree, found.n_scored, found.ambiguity) == (plain.tree, 0, 1.0)


class SelfPrunedParser:
    """A parser that uses the spines of its greedy parse, and some more, as supertags for a second one."""

    def __init__(self, parser: DtreeParser):
        self.parser = parser

    def parse(self, words, tags):
        own = self.parser.parse(words, tags).tree
        more = ((".VP", 0.5), (")NP", 0.02), ("(-", 0.3))
        return self.parser.parse(words, tags, [[(text, 1.0), *more] for text in KINDS["directional"](own)])


@pytest.mark.slow
def test_order_threads_and_processes_do_not_matter():
    self_pruned = SelfPrunedParser(a_parser(budget=20 if SLOW else 300))
    work = cases()
    assert all(result.ambiguity is not None for result in (self_pruned.parse(*one) for one in work))
    assert parse_all(
        SelfPrunedParser(DtreeParser(self_pruned.parser.model, self_pruned.parser.settings)), work
    ) == same_in_any_order(self_pruned, work)
    same_in_threads(self_pruned, work)
    same_in_a_process(self_pruned, work)
