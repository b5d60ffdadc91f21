"""SpanParser: settings, bad input, long sentences, and the same bits in any order, thread or process."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, DtparseError, ModelFormatError
from spacy_dtparse.parsers import load_parser
from spacy_dtparse.parsers.base import ConstituentParser
from spacy_dtparse.parsers.span import SpanParser, SpanSettings
from spacy_dtparse.trees import Tree
from tests.span_models import SENTENCES, random_model
from tests.unit.kernels.harness import KERNEL_MARKS, SLOW
from tests.unit.parsers.checks import (
    keeps_its_bytes,
    parse_all,
    refuses_bad_input,
    same_in_a_process,
    same_in_any_order,
    same_in_threads,
)

pytestmark = KERNEL_MARKS


def sentences() -> list:
    rng, work = random.Random(4), []
    words, tags = SENTENCES[0]
    for n in (1, 2, 3) if SLOW else (1, 2, 30, 4, 12, 7):
        work.append(([rng.choice(words) for _ in range(n)], [rng.choice(tags) for _ in range(n)]))
    return [*work, *SENTENCES]


def test_every_sentence_gets_a_tree() -> None:
    parser = SpanParser(random_model())
    for words, tags in sentences():
        result = parser.parse(words, tags)
        tree = result.tree
        assert tree == Tree(tree.words, tree.tags, tree.labels, tree.starts, tree.ends), "well formed"
        assert tree.words == tuple(words) and tree.labels[0] == "TOP" and result.status == "optimal"
        assert all(score >= -1e-6 for score in result.scores) and result.cost == pytest.approx(sum(result.scores))
        assert result.n_scored >= len(words)


def test_order_threads_and_processes_do_not_matter() -> None:
    parser, work = SpanParser(random_model()), sentences()
    assert parse_all(pickle.loads(pickle.dumps(parser)), work) == same_in_any_order(parser, work)
    same_in_threads(parser, work)
    same_in_a_process(parser, work)


@pytest.mark.parametrize("most", [0, 1, 3, 6])
def test_a_long_sentence_is_cut(most: int) -> None:
    parser = SpanParser(random_model())
    words, tags = SENTENCES[0]
    cut = parser.with_settings(max_tokens=most).parse(words, tags)
    assert cut.status == "greedy"
    tree = cut.tree
    assert tree == Tree(tree.words, tree.tags, tree.labels, tree.starts, tree.ends)
    assert parser.with_settings(max_tokens=len(words)).parse(words, tags) == parser.parse(words, tags)


def test_a_very_long_sentence_is_parsed() -> None:
    words, tags = SENTENCES[0]
    n = 30 if SLOW else 1500
    result = SpanParser(random_model(1)).with_settings(max_tokens=20).parse((words * n)[:n], (tags * n)[:n])
    assert result.tree.n_tokens == n and result.status == "greedy"


def test_networks_can_be_left_out() -> None:
    model = random_model(2)
    alone = SpanParser(random_model(1))
    words, tags = SENTENCES[2]
    first = SpanParser(model).with_settings(budget=0).parse(words, tags)
    assert (first.tree, first.scores) == (alone.parse(words, tags).tree, alone.parse(words, tags).scores)
    assert first.status == "complete" and alone.parse(words, tags).status == "optimal"
    assert SpanParser(model).with_settings(networks=1).parse(words, tags) == first
    assert SpanParser(model).with_settings(networks=9).parse(words, tags) == SpanParser(model).parse(words, tags)
    both = SpanParser(model).with_settings(confident=0).parse(words, tags)
    assert both.scores != first.scores
    limit = max(first.scores)
    assert SpanParser(model).with_settings(confident=limit).parse(words, tags).scores == first.scores
    assert SpanParser(model).with_settings(confident=0.99 * limit).parse(words, tags).scores == both.scores


def test_posteriors_are_those_of_the_chosen_constituents() -> None:
    parser = SpanParser(random_model()).with_settings(confident=0)
    for words, tags in SENTENCES:
        result, found = parser.parse(words, tags), parser.span_posteriors(words, tags)
        assert found[0, len(words), "TOP"] == 1.0 and all(0 < p <= 1 for p in found.values())
        for span, score in list(zip(result.tree.spans(), result.scores, strict=True))[1:]:
            assert found[span] >= np.exp(-score) - 1e-5, "a chain's probability is part of its labels'"
    words, tags = SENTENCES[0]
    cut = parser.with_settings(max_tokens=3).span_posteriors(words, tags)
    assert all(0 < p <= 1 for p in cut.values()) and cut[0, len(words), "TOP"] == 1.0
    with pytest.raises(DtparseError, match="an empty sentence"):
        parser.span_posteriors([], [])


def test_bad_input_is_refused() -> None:
    parser = SpanParser(random_model())
    refuses_bad_input(parser)
    assert isinstance(parser, ConstituentParser) and parser.name == "span"
    assert parser.labels == ("NP", "PP", "S", "VP") and parser.describe()["networks"] == "2 of 2"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": -1}, "'budget' is -1; it must be 0 or more"),
        ({"networks": 0}, "'networks' is 0; it must be 1 or more"),
        ({"max_tokens": 2.5}, "'max_tokens' is 2.5; it must be a whole number"),
        ({"penalty": 1.0}, "'penalty' is 1.0; it must be a number from 0 to below 1"),
        ({"confident": -1}, "'confident' is -1; it must be a number from 0"),
        ({"penalty": True}, "'penalty' is True"),
    ],
)
def test_settings_are_checked(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SpanParser(random_model(1)).with_settings(**settings)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown parser setting beam; allowed are budget, max_tokens"):
        SpanSettings().with_changes(beam=3)


def test_a_penalty_trades_recall_for_precision() -> None:
    parser = SpanParser(random_model()).with_settings(confident=0)
    sizes = [
        sum(len(parser.with_settings(penalty=p).parse(*one).tree) for one in SENTENCES) for p in (0.0, 0.3, 0.6, 0.95)
    ]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1]


def test_files_come_back(tmp_path) -> None:
    parser = SpanParser(random_model())
    parser.to_disk(tmp_path / "model")
    again = load_parser(tmp_path / "model")
    assert isinstance(again, SpanParser) and again.to_bytes() == parser.to_bytes()
    assert again.parse(*SENTENCES[0]) == parser.parse(*SENTENCES[0])
    table = SpanParser.from_disk(tmp_path / "model").model.networks[0].table
    assert np.array_equal(table, again.model.networks[0].table)
    with pytest.raises(ModelFormatError, match="truncated"):
        load_parser(parser.to_bytes()[:-9])


def test_a_model_is_packed_once():
    keeps_its_bytes(SpanParser(random_model()))
