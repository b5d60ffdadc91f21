"""PcfgParser: k best trees and posteriors of constituents of a plain grammar, and which decoder it may have."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from spacy_dtparse.core.settings import PcfgSettings
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.trees import Recipe
from tests.jit.harness import KERNEL_MARKS
from tests.trees.naive import with_leaves
from training.data.corpus import Sentence
from training.pcfgla import train_pcfg

from .test_parser import model, sample, work

pytestmark = KERNEL_MARKS


def shape(result):
    tree = result.tree
    return tuple(zip(tree.starts, tree.ends, tree.labels, strict=True))


@pytest.mark.parametrize("recipe", [Recipe.PLAIN, Recipe.TM2006], ids=["plain", "tm2006"])
@pytest.mark.parametrize("prune", [1e-4, 0.0])
def test_the_k_best_trees(recipe, prune):
    parser = PcfgParser(model(recipe=recipe), PcfgSettings(prune=prune))
    for words, tags in work()[:3]:
        first = parser.parse(words, tags)
        found = parser.parse_k_best(words, tags, 12)
        assert repr(found[0]) == repr(replace(first, margin=0.0))  # scores may be nan
        assert all(a.cost <= b.cost + 1e-9 and a.margin <= b.margin for a, b in itertools.pairwise(found))
        assert [one.margin for one in found] == pytest.approx([one.cost - first.cost for one in found], abs=1e-9)
        assert len({shape(result) for result in found}) == len(found) > 1
        for result in found:
            assert result.tree.words == words and result.tree.tags == tags and result.tree.labels[0] == "TOP"
            with_leaves(result.tree, words)  # checks the shape
        again = parser.parse_k_best(words, tags, 5)
        assert [shape(result) for result in again] == [shape(result) for result in found[:5]]
        assert repr(parser.parse_k_best(words, tags, 1)) == repr([replace(first, margin=0.0)])


def test_lists_where_there_is_no_tree():
    tree = next(s for s in sample() if len(s.tree.words) > 3).tree
    one = tree.__class__(["Yes"], ["UH"], ["TOP", "INTJ"], [0, 0], [1, 1])
    parser = PcfgParser(train_pcfg([Sentence(one, ("UH",), "x")] * 3))
    words, tags = ["Yes", "no", "Yes"], ["UH", "UH", "NN"]
    assert parser.parse_k_best(words, tags, 5) == [replace(parser.parse(words, tags), margin=0.0)]
    assert parser.span_posteriors(words, tags) == {(0, 3, "TOP"): 1.0}
    assert len(parser.parse_k_best(["Yes"], ["UH"], 5)) == 1  # the only tree
    assert parser.span_posteriors(["Yes"], ["UH"]) == pytest.approx({(0, 1, "TOP"): 1.0, (0, 1, "INTJ"): 1.0})


def test_lists_of_long_sentences_have_one_tree():
    words, tags = (list(x) * 4 for x in next(one for one in work() if len(one[0]) > 3))
    parser = PcfgParser(model(), PcfgSettings(max_tokens=6))
    assert parser.parse_k_best(words, tags, 9) == [replace(parser.parse(words, tags), margin=0.0)]
    found = parser.span_posteriors(words, tags)
    assert found[0, len(words), "TOP"] == 1.0 and max(end - start for start, end, label in found if label != "TOP") <= 6


@pytest.mark.parametrize("k", [0, -1, 1001, True, 2.0, "3", None])
def test_k_is_checked(k):
    with pytest.raises(ConfigError, match=f"k is {k!r}; give the number of trees wanted, a whole number from 1 to"):
        PcfgParser(model()).parse_k_best(["a"], ["DT"], k)


@pytest.mark.parametrize("recipe", [Recipe.PLAIN, Recipe.TM2006], ids=["plain", "tm2006"])
def test_posteriors_of_constituents(recipe):
    parser = PcfgParser(model(recipe=recipe))
    for words, tags in work()[:3]:
        found = parser.span_posteriors(words, tags)
        assert found[0, len(words), "TOP"] == pytest.approx(1.0)
        assert all(0.0 < p <= 1.0 and 0 <= start < end <= len(words) for (start, end, _), p in found.items())
        assert {label for _, _, label in found} <= {*parser.labels, "TOP"}
        best = parser.parse(words, tags)
        if best.status == "complete" and recipe is Recipe.PLAIN:
            assert all(key in found for key in shape(best))
        for (a, b), (c, d) in itertools.combinations(sorted({key[:2] for key in found}), 2):
            if a < c < b < d:  # two crossing spans share the trees
                one = max(p for key, p in found.items() if key[:2] == (a, b))
                other = max(p for key, p in found.items() if key[:2] == (c, d))
                assert one + other <= 1.0 + 1e-6


def test_bad_input_is_refused():
    parser = PcfgParser(model())
    for call in (lambda *x: parser.parse_k_best(*x, 3), parser.span_posteriors):
        with pytest.raises(DtparseError, match="2 words but 1 tags; give one tag per word"):
            call(["a", "b"], ["NN"])
        with pytest.raises(DtparseError, match="an empty sentence has no parse"):
            call([], [])


def test_decoders_of_a_plain_grammar():
    words, tags = work()[0]
    plain = PcfgParser(model())
    assert plain.with_settings(decoder="viterbi").parse(words, tags) == plain.parse(words, tags)
    for decoder in ("q", "rerank"):
        with pytest.raises(ConfigError, match=f"decoder '{decoder}' needs a grammar with latent annotations"):
            plain.with_settings(decoder=decoder)
    with pytest.raises(ConfigError, match="'decoder' is 'best'; it must be 'max-rule' or 'viterbi' or 'q' or 'rerank'"):
        plain.with_settings(decoder="best")
    with pytest.raises(ConfigError, match="'candidates_n' is 0; it must be a whole number from 1"):
        plain.with_settings(candidates_n=0)
