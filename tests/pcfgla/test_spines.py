"""PcfgParser with spines: pruning of the chart, the sequence of betas, and unusual supertags."""

from __future__ import annotations

import pickle
from functools import cache

import pytest

from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.core.pieces import iter_pieces
from spacy_dtparse.core.settings import PcfgSettings
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.trees import TOP, Recipe, Tree
from tests.core.checks import parse_all, same_in_a_process, same_in_any_order, same_in_threads
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.pcfgla.kernels.test_spine_cells import KINDS, supertags_of
from tests.pcfgla.supertag_cases import NO_BETAS, refuses_bad_supertags, refuses_betas
from tests.reference.spine_cells import POSITIONS, SIDES, Spine, cells
from training.pcfgla import BINARISATIONS, Markov
from training.pcfgla.latent_training import LatentOptions, train_latent

from .test_parser import model, sample

pytestmark = KERNEL_MARKS
EXACT = PcfgSettings(prune=0.0, beam=0.0)
LEFT = Markov(2, 1, "left", 2)
"""With it a tree has one derivation, and no part can be left out."""


@cache
def latent_parser(decoder: str = "viterbi", **settings) -> PcfgParser:
    options = LatentOptions(
        markov=Markov(1, 0, "left", 1), cycles=1, iterations=4, merge_iterations=2, smooth_iterations=2
    )
    return PcfgParser(train_latent(sample(), options), PcfgSettings(decoder=decoder, tags="given", **settings))


@cache
def short(most: int = 3 if SLOW else 12) -> list:
    """Short sentences of the training part, so a grammar has trees for them."""
    return [(s.tree.words, s.tags) for s in sample() if 3 < len(s.tree.words) <= (8 if SLOW else 12)][:most]


def kept(parser: PcfgParser, found: Tree) -> Tree:
    """A parse as the parser's grammar saw it."""
    return parser.recipe.apply(found)


def a_sentence(parser: PcfgParser) -> tuple:
    """One that the grammar has a tree for."""
    return next(one for one in short() if parser.parse(*one).status != "fallback")


def same(again: ParseResult, found: ParseResult) -> None:
    assert again.tree == found.tree and again.cost == pytest.approx(found.cost, rel=1e-9)
    assert again.costs == pytest.approx(found.costs, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_categories_of_the_best_tree_give_it_again(kind):
    parser, saved = PcfgParser(model(LEFT), EXACT), 0
    for words, tags in short():
        found = parser.parse(words, tags)
        again = parser.parse(words, tags, supertags_of(found.tree, kind))
        if found.status != "optimal":
            continue
        same(again, found)
        assert (again.status, again.n_searches, again.ambiguity) == ("complete", 1, 1.0)
        assert (found.n_searches, found.ambiguity) == (1, None)
        assert 0 < again.n_states <= found.n_states and again.n_scored <= found.n_scored
        saved += found.n_scored - again.n_scored
    assert saved


@pytest.mark.parametrize("binarisation", BINARISATIONS)
def test_pruned_charts_have_no_better_tree(binarisation):
    """A derivation whose parts go by other heads than the head rules' may be lost, the binarised tree is not."""
    parser, equal, tried = PcfgParser(model(Markov(2, 1, binarisation, 2)), EXACT), 0, 0
    for words, tags in short():
        found = parser.parse(words, tags)
        if found.status == "optimal":
            again = parser.parse(words, tags, supertags_of(found.tree, "directional"))
            assert again.n_searches == 1 and again.cost >= found.cost - 1e-9
            equal, tried = equal + (again.tree == found.tree), tried + 1
    assert equal == tried > 0 if binarisation in ("left", "right") else equal > 0


@pytest.mark.skipif(SLOW, reason="trains a grammar")
@pytest.mark.parametrize("kind", KINDS)
def test_latent_annotations_too(kind):
    parser, tried = latent_parser(prune=0.0, beam=0.0), 0
    for words, tags in short():
        found = parser.parse(words, tags)
        if found.status == "complete":
            same(parser.parse(words, tags, supertags_of(found.tree, kind)), found)
            tried += 1
    assert tried


def read(text: str) -> Spine:
    """Parse the text of a spine, directional or plain."""
    place, rest = (text[0], text[1:]) if text[0] in POSITIONS else (POSITIONS, text)
    labels, sides = [], []
    for part in [] if rest == "-" else rest.split("+"):
        labels.append(part.rstrip("<>"))
        sides.append((part[len(labels[-1]) :],) if place != POSITIONS else SIDES)
    return Spine(tuple(labels), tuple(sides), place)


@pytest.mark.parametrize("latent", [False, pytest.param(True, marks=pytest.mark.skipif(SLOW, reason="trains"))])
@pytest.mark.parametrize("kind", ["directional", "plain"])
def test_constituents_are_those_that_spines_can_head(kind, latent):
    """With the supertags of gold trees, also pruned by posteriors."""
    parser = latent_parser("max-rule") if latent else PcfgParser(model())
    changed = pruned = 0
    for s in [s for s in sample() if 3 < len(s.tree.words) <= (8 if SLOW else 14)][: 3 if SLOW else 15]:
        gold = kept(parser, s.tree)
        supertags = supertags_of(gold, kind)
        found = parser.parse(gold.words, s.tags, supertags)
        if found.ambiguity is not None:
            left = cells([[read(text) for text, _ in word] for word in supertags], with_root=True).phrases
            assert set(found.tree.spans()[1:]) <= left
            pruned += 1
            changed += found.tree != parser.parse(gold.words, s.tags).tree
    assert pruned and (changed or SLOW)


def test_charts_over_falling_beta():
    parser = PcfgParser(model())
    words, tags = a_sentence(parser)
    plain = parser.parse(words, tags)
    bad = ".NP+NP+NP+NP+NP+NP+NP"
    late = [[(bad, 1.0), (text, 0.05)] for text in KINDS["plain"](plain.tree)]
    for betas, searches, ambiguity in (
        ((0.1, 0.01), 2, 2.0),
        ((0.01, 0.001), 1, 2.0),
        ((0.1,), 2, None),
        ((), 1, None),
        ((0.5, 0.1), 2, None),
        ((0.5, 0.1, 0.05, 0.0), 2, 2.0),
    ):
        found = parser.with_settings(betas=betas).parse(words, tags, late)
        assert (found.n_searches, found.ambiguity) == (searches, ambiguity)
        if ambiguity is None:
            assert (found.tree, found.cost, found.costs) == (plain.tree, plain.cost, plain.costs)
            assert found.status == plain.status and found.n_scored >= plain.n_scored
    own = parser.parse(words, tags, supertags_of(plain.tree, "plain"))
    assert (own.n_searches, own.ambiguity, own.tree) == (1, 1.0, plain.tree)


def test_failed_charts_count():
    """Symbols combine in a chart without a tree; the counts of the next chart are added to it."""
    parser = PcfgParser(model(LEFT), EXACT)
    words, tags = a_sentence(parser)
    plain = parser.parse(words, tags)
    found = parser.parse(words, tags, [[("-", 1.0)]] * len(words))
    assert (found.tree, found.n_searches, found.ambiguity, found.status) == (plain.tree, 2, None, "optimal")
    assert found.n_states > plain.n_states


@pytest.mark.parametrize("odd", ["(XX", "NP+XX", "nonsense<>", "", "=", "(", ".NP><", "NP+", "(NP+-", "TOP", "+"])
def test_supertags_that_the_model_cannot_build_are_ignored(odd):
    """It is ignored if the word has another category; a word without any is not pruned, nor is its sentence."""
    parser = PcfgParser(model(LEFT), EXACT)
    words, tags = a_sentence(parser)
    plain = parser.parse(words, tags)
    own = supertags_of(plain.tree, "directional")
    beside = parser.parse(words, tags, [own[0], [(odd, 1.0), (own[1][0][0], 0.9)], *own[2:]])
    same(beside, plain)
    assert (beside.n_searches, beside.ambiguity) == (1, 1.0)
    for nothing in ([(odd, 1.0)], []):
        assert parser.parse(words, tags, [own[0], nothing, *own[2:]]) == plain
        assert parser.parse(words, tags, [nothing, *own[1:]]) == plain


def test_bad_supertags_are_refused():
    refuses_bad_supertags(PcfgParser(model()))


@pytest.mark.parametrize("wrong", NO_BETAS)
def test_invalid_betas_are_refused(wrong):
    refuses_betas(PcfgSettings, PcfgParser(model()), wrong)


def test_betas_are_numbers_of_a_tuple():
    assert PcfgSettings(betas=[1, 0]).betas == (1.0, 0.0) and PcfgSettings(betas=()).betas == ()
    assert PcfgParser(model(), PcfgSettings(betas=[0.3])).with_settings(prune=0.1).settings.betas == (0.3,)


def test_sentences_in_pieces():
    """Each piece has separate charts, with the supertags of its words."""
    parser = PcfgParser(model(LEFT), EXACT)
    words, tags = a_sentence(parser)
    parser = parser.with_settings(max_tokens=len(words))
    one = parser.parse(words, tags)
    own, bad = supertags_of(one.tree, "directional"), [[(".NP+NP+NP+NP+NP+NP+NP", 1.0)]] * len(words)
    ends = [end for _, end in iter_pieces(tags * 2, len(words))]
    assert ends == [len(words), 2 * len(words)], "the test's sentence is cut in its middle"
    twice = parser.parse(words * 2, tags * 2, own * 2)
    assert (twice.n_searches, twice.ambiguity, twice.status) == (1, 1.0, "fallback")
    shifted = [(start + len(words), end + len(words), label) for start, end, label in one.tree.spans()[1:]]
    assert twice.tree.spans() == [(0, 2 * len(words), TOP), *one.tree.spans()[1:], *shifted]
    mixed = parser.parse(words * 2, tags * 2, own + bad)
    assert (mixed.tree, mixed.n_searches, mixed.ambiguity) == (twice.tree, 2, None)
    doubled = parser.parse(words * 2, tags * 2, own + [[*word, ("|NP", 0.5)] for word in own])
    assert doubled.ambiguity == 1.5


def test_supertags_of_dropped_tokens_are_ignored():
    """A recipe removes the full stop; its supertags do not count."""
    parser = PcfgParser(model(recipe=Recipe.TM2006))
    words, tags = next(one for one in short() if one[1][-1] == ".")
    plain = parser.parse(words, tags)
    own = supertags_of(kept(parser, plain.tree), "plain")
    assert len(own) < len(words), "the recipe takes nothing"
    dropped = set(range(len(words))) - set(parser.recipe.prepare(words, tags).kept)
    for nothing in ([], [("(-", 1.0)], [("NP", 1.0)]):
        rest = iter(own)
        found = parser.parse(words, tags, [nothing if k in dropped else next(rest) for k in range(len(words))])
        assert (found.tree, found.n_searches, found.ambiguity) == (plain.tree, 1, 1.0)


class SelfPrunedParser:
    """A parser that uses the spines of its first parse, and some more, as supertags for a second one."""

    def __init__(self, parser: PcfgParser):
        self.parser = parser

    def parse(self, words, tags):
        own = kept(self.parser, self.parser.parse(words, tags).tree)
        more = ((".VP", 0.5), (")NP", 0.02), ("(-", 0.3))
        return self.parser.parse(words, tags, [[(text, 1.0), *more] for text in KINDS["directional"](own)])


@pytest.mark.slow
def test_order_threads_and_pickles_do_not_matter():
    self_pruned = SelfPrunedParser(PcfgParser(model(), PcfgSettings(betas=(0.2, 0.01))))
    found = same_in_any_order(self_pruned, short())
    assert any(self_pruned.parse(*one).ambiguity is not None for one in short())
    again = pickle.loads(pickle.dumps(self_pruned))
    assert again.parser.settings.betas == (0.2, 0.01) and parse_all(again, short()) == found
    same_in_threads(self_pruned, short(), 3)
    if not SLOW:
        same_in_a_process(self_pruned, short(4))
