"""PcfgParser: always a tree, costs, pruning, fallbacks, files, threads and processes."""

from __future__ import annotations

import math
import pickle
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.parser import Parser
from spacy_dtparse.core.settings import PcfgSettings
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.model_io.container import container_from_bytes
from spacy_dtparse.pcfgla.chart import MAX_CACHED_BYTES, Buffers
from spacy_dtparse.pcfgla.model.model import PcfgModel, read_model, write_model
from spacy_dtparse.pcfgla.parser import GLUE_COST, PcfgParser
from spacy_dtparse.trees import Recipe
from tests.core.checks import (
    keeps_its_bytes,
    parse_all,
    refuses_bad_input,
    same_in_a_process,
    same_in_any_order,
    same_in_threads,
)
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.model_io.damage import GONE, refuses, refuses_broken_bytes
from tests.trees.naive import with_leaves
from training.data.corpus import Sentence, read_treebank
from training.pcfgla import Markov, PcfgOptions, binarise, train_pcfg
from training.pcfgla.counting import RuleCounts

pytestmark = KERNEL_MARKS
MARKOV = Markov()
SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample"


@cache
def sample(name: str = "train") -> list[Sentence]:
    found = read_treebank(SAMPLE / f"{name}.mrg")
    return [s for s in found if len(s.tree.words) <= 12][:20] if SLOW else found


@cache
def model(markov: Markov = MARKOV, recipe: Recipe = Recipe.PLAIN, given: bool = True) -> PcfgModel:
    return train_pcfg(sample(), PcfgOptions(markov, recipe, given_tags=given))


def work(most: int = 5 if SLOW else 40) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(s.tree.words, s.tags) for s in sample("dev")[: 3 if SLOW else 30] if len(s.tree.words) <= most * 2]


def test_the_protocol():
    parser = PcfgParser(model())
    assert isinstance(parser, Parser) and parser.name == "pcfg"
    assert "TOP" not in parser.labels and "NP" in parser.labels
    assert parser.meta["options"]["vertical"] == 2


@pytest.mark.parametrize("recipe", [Recipe.PLAIN, Recipe.TM2006], ids=["plain", "tm2006"])
def test_a_tree_over_every_token(recipe):
    parser = PcfgParser(model(recipe=recipe))
    for words, tags in work():
        result = parser.parse(words, tags)
        assert result.tree.words == words and result.tree.tags == tags
        assert result.tree.labels[0] == "TOP" and result.tree.ends[0] == len(words)
        assert math.isfinite(result.cost) and all(cost >= 0 for cost in result.costs)
        with_leaves(result.tree, words)  # checks the shape


def test_cost_is_the_probability_of_the_tree():
    """The cost of an exact parse, from the tree alone: its binarisation's rules and emissions."""
    markov = Markov(2, 1, "left", 2)  # the binarisation of a tree is its only derivation here
    used = model(markov)
    parser = PcfgParser(used, PcfgSettings(prune=0.0))
    grammar = used.fine
    number = {name: place for place, name in enumerate(grammar.names)}
    weights = {tuple(r): w for r, w in zip(grammar.binary.tolist(), grammar.binary_weight.tolist(), strict=True)}
    weights |= {tuple(r): w for r, w in zip(grammar.unary.tolist(), grammar.unary_weight.tolist(), strict=True)}
    seen = 0
    for words, tags in [*work(), (sample()[0].tree.words, sample()[0].tags)]:  # the last has a tree for certain
        result = parser.parse(words, tags)
        if result.status != "optimal":
            continue
        seen += 1
        counts = RuleCounts()
        counts.add(binarise(result.tree, markov), range(len(words)))
        total = 0.0
        for rule, count in counts.rules.items():
            names = [f"{s}.tag" if s.kind == "tag" else str(s) for s in rule]
            total += count * weights[tuple(number[name] for name in names)]
        assert math.fsum(result.costs) == pytest.approx(-total, rel=1e-9)
        leaves, leaf_from = grammar.leaves(used.words.encode(words), None)
        for symbol, place in counts.tokens:
            here = leaves[leaf_from[place] : leaf_from[place + 1]]
            score = here["score"][here["symbol"] == number[f"{symbol}.tag"]]
            total += score[0] if len(score) else grammar.emissions.floor[number[f"{symbol}.tag"]]
        assert result.cost == pytest.approx(-total, rel=1e-9)
    assert seen


def test_given_and_predicted_tags():
    words, tags = sample()[0].tree.words, sample()[0].tags
    given, own = PcfgParser(model()), PcfgParser(model(), PcfgSettings(tags="own"))
    assert own.parse(words, ["NEVER"] * len(words)) == own.parse(words, ["NEVER"] * len(words))
    assert own.parse(words, ["NEVER"] * len(words)).cost == pytest.approx(own.parse(words, tags).cost)
    assert given.parse(words, tags).cost >= own.parse(words, tags).cost - 1e-6
    assert given.parse(words, ["NEVER"] * len(words)).cost == pytest.approx(own.parse(words, tags).cost)
    assert PcfgParser(model(given=False)).parse(words, tags).cost == pytest.approx(own.parse(words, tags).cost)


def test_pruning_changes_the_work_and_hardly_the_cost():
    exact, pruned = PcfgParser(model(), PcfgSettings(prune=0.0)), PcfgParser(model(), PcfgSettings(prune=1e-3))
    one, other = ([parser.parse(*s) for s in work()] for parser in (exact, pruned))
    assert {r.status for r in one} <= {"optimal", "fallback"} and {r.status for r in other} <= {
        "complete",
        "optimal",
        "fallback",
    }
    assert sum(r.n_scored for r in other) < sum(r.n_scored for r in one)
    assert sum(r.n_states for r in other) < sum(r.n_states for r in one)
    for a, b in zip(one, other, strict=True):
        assert b.status == "fallback" or b.cost >= a.cost - 1e-9


def test_nothing_is_pruned_by_a_grammar_of_equal_size():
    parser = PcfgParser(model(Markov(1, 0, "right", 1)))
    assert {parser.parse(*one).status for one in work()} <= {"optimal", "fallback"}


def test_pieces_that_no_rule_combines_are_joined_under_the_root():
    """A grammar of one-word sentences has no binary rule: pieces under TOP."""
    tree = next(s for s in sample() if len(s.tree.words) > 3)
    one = tree.tree.__class__(["Yes"], ["UH"], ["TOP", "INTJ"], [0, 0], [1, 1])
    parser = PcfgParser(train_pcfg([Sentence(one, ("UH",), "x")] * 3))
    result = parser.parse(["Yes", "no", "Yes"], ["UH", "UH", "NN"])
    assert result.status == "fallback" and result.tree.labels[0] == "TOP" and result.cost > 3 * GLUE_COST
    assert result.tree.labels.count("INTJ") == 3 or "INTJ" not in result.tree.labels
    assert parser.parse(["Yes"], ["UH"]).status == "optimal"
    assert parser.parse(["Yes"], ["UH"]).tree.labels == ("TOP", "INTJ")


def test_long_sentences_are_parsed_in_pieces():
    parser = PcfgParser(model(), PcfgSettings(max_tokens=6))
    words, tags = (list(x) * 4 for x in next(one for one in work() if len(one[0]) > 3))
    result = parser.parse(words, tags)
    assert result.status == "fallback" and len(result.tree.words) == len(words)
    assert len(result.costs) == len(result.tree.labels)
    with_leaves(result.tree, words)
    assert result.cost > GLUE_COST * (len(words) // 6)


def test_files(tmp_path):
    parser = PcfgParser(model(recipe=Recipe.TM2006))
    data = parser.to_bytes()
    again = load_parser(data)
    assert isinstance(again, PcfgParser) and again.to_bytes() == data
    parser.to_disk(tmp_path / "sample.pcfg")
    for other in (
        again,
        load_parser(tmp_path / "sample.pcfg"),
        pickle.loads(pickle.dumps(parser)),
        PcfgParser.from_disk(tmp_path / "sample.pcfg", parser.settings),
    ):
        assert parse_all(other, work()[:3]) == parse_all(parser, work()[:3])
    narrow = pickle.loads(pickle.dumps(parser.with_settings(max_tokens=3, prune=0.01)))
    assert narrow.settings == PcfgSettings(max_tokens=3, prune=0.01)


def test_training_and_files_are_deterministic():
    sentences = list(sample())
    assert write_model(train_pcfg(sentences)) == write_model(train_pcfg(sentences))
    random.Random(0).shuffle(sentences)
    shuffled = train_pcfg(sentences)
    assert shuffled.fine.names == train_pcfg(sample()).fine.names


def test_damaged_files():
    data = write_model(model())
    refuses_broken_bytes(read_model, data)
    refuses(read_model, data, {"version": 99}, "version 99; this release reads version 1")
    refuses(read_model, data, {"fine.kind": GONE}, "lacks the array 'fine.kind'")
    _, arrays = container_from_bytes(data, "pcfg")
    for name, change, message in (
        ("fine.binary", lambda a: a + 10**6, "names a symbol outside|they must be from 0 below"),
        ("fine.binary_weight", lambda a: a + 100, "above 0|must be to"),
        ("fine.binary_weight", lambda a: a - 1, "fingerprint"),
        ("fine.coarse", lambda a: a[::-1].copy(), "not sorted|not in ascending order"),
        ("fine.frequency", lambda a: a[1:], "other lengths|where dimension 0 must be"),
        ("coarse.from_class", lambda a: a[1:], "do not fit together|other word classes|where dimension 0 must be"),
        ("fine.base", lambda a: a + 10**6, "not in the table|they must be from"),
    ):
        refuses(read_model, data, {name: change(arrays[name])}, message)


def test_settings():
    parser = PcfgParser(model())
    assert parser.with_settings(budget=0).parse(*work()[0]).cost == parser.parse(*work()[0]).cost
    for changes, message in (
        ({"budget": -1}, "'budget' is -1; it must be a whole number from 0"),
        ({"max_tokens": 0}, "'max_tokens' is 0; it must be a whole number from 1"),
        ({"max_tokens": 2.5}, "'max_tokens' is 2.5; it must be a whole number"),
        ({"prune": 1.5}, "'prune' is 1.5; it must be a number from 0 to below 1"),
        ({"tags": "gold"}, "'tags' is 'gold'; it must be 'own' or 'given'"),
    ):
        with pytest.raises(ConfigError, match=message):
            parser.with_settings(**changes)
    with pytest.raises(ConfigError, match="unknown parser setting beams; allowed are prune, beam"):
        parser.settings.with_changes(beams=1)


def test_bad_input_is_refused():
    refuses_bad_input(PcfgParser(model()))


def test_order_and_threads_do_not_matter():
    parser = PcfgParser(model())
    same_in_any_order(parser, work())
    same_in_threads(parser, work(), 3)


@pytest.mark.skipif(SLOW, reason="two more processes")
def test_processes_do_not_matter():
    same_in_a_process(PcfgParser(model()), work()[:5])


def test_a_model_is_packed_once():
    keeps_its_bytes(PcfgParser(model()))


def test_the_workspace_is_reused():
    """For a sentence of the same size or a shorter one, unless it is of another kind or too large to be kept."""
    buffers = Buffers()
    first = buffers.array("some", (4, 6), np.float64)
    assert first.shape == (4, 6) and first.dtype == np.float64
    assert np.shares_memory(first, buffers.array("some", (6, 4), np.float64))
    assert np.shares_memory(first, buffers.array("some", (2, 3), np.float64))
    assert not np.shares_memory(first, buffers.array("other", (4, 6), np.float64))
    longer = buffers.array("some", (5, 5), np.float64)
    assert longer.shape == (5, 5) and not np.shares_memory(first, longer)
    assert np.shares_memory(longer, buffers.array("some", (4, 6), np.float64))
    assert buffers.array("some", (4, 6), np.int32).dtype == np.int32
    kept, large = (buffers.array("bytes", (MAX_CACHED_BYTES + more,), np.uint8) for more in (0, 1))
    again = buffers.array("bytes", (MAX_CACHED_BYTES,), np.uint8)
    assert np.shares_memory(kept, again) and not np.shares_memory(large, again)


def test_the_items_of_a_chart_are_used_again():
    parser = PcfgParser(model(), PcfgSettings(prune=0.0))
    words, tags = work()[0]
    parser.parse(words, tags)
    items = parser._local.buffers.items
    parser.parse(words, tags)
    assert parser._local.buffers.items is items
