"""SpanParser: settings, bad input, long sentences, and the same bits in any order, thread or process."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.parser import Parser
from spacy_dtparse.core.settings import SpanSettings
from spacy_dtparse.errors import ConfigError, DtparseError, ModelFormatError
from spacy_dtparse.span_parser.decoder import MIN_MARGINAL
from spacy_dtparse.span_parser.kernels.network import label_spans, span_probabilities
from spacy_dtparse.span_parser.long import long_posteriors
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.unattached import VERBS
from tests.core.checks import (
    keeps_its_bytes,
    parse_all,
    refuses_bad_input,
    same_in_a_process,
    same_in_any_order,
    same_in_threads,
)
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference import span_attach as reference
from tests.span_models import CHAINS, SENTENCES, random_model, with_attach_table, with_home

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
        assert all(cost >= -1e-6 for cost in result.costs) and result.cost == pytest.approx(sum(result.costs))
        assert result.n_scored >= len(words)


def test_order_threads_and_processes_do_not_matter() -> None:
    parser, work = SpanParser(with_attach_table(random_model())), sentences()
    assert parse_all(pickle.loads(pickle.dumps(parser)), work) == same_in_any_order(parser, work)
    same_in_threads(parser, work)
    same_in_a_process(parser, work)


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("ensemble_threshold", [0.0, 0.6])
def test_several_sentences_at_once_get_the_same_parses(networks: int, ensemble_threshold: float) -> None:
    parser = SpanParser(random_model(networks), SpanSettings(ensemble_threshold=ensemble_threshold, max_tokens=40))
    long = 60 if SLOW else 300
    rows = [*sentences(), (("a",) * long, ("DT",) * long), (("a",), ("DT",)), *sentences()]
    assert parser.parse_batch(rows) == [parser.parse(*row) for row in rows]
    assert parser.parse_batch([]) == []
    with pytest.raises(DtparseError, match="3 words but 2 tags"):
        parser.parse_batch([*rows[:2], (("a", "b", "c"), ("X", "Y"))])


@pytest.mark.parametrize("networks", [1, 2])
def test_marginals_of_a_batch_are_those_of_each_sentence(networks: int) -> None:
    parser = SpanParser(random_model(networks), SpanSettings(max_tokens=40))
    words, tags = SENTENCES[0]
    long = 8 if SLOW else 40  # marginals for all its spans: more than the initial capacity
    work = [(list(words[:1]) * n, list(tags[:1]) * n) for n in (1, long, 2, 45, 3, long)] + list(SENTENCES)
    work += [SENTENCES[n % 2] for n in range(60)]  # more than are encoded at once
    reported, fewer = parser.marginals(work), parser.marginals(work[:-1])
    assert parser.marginals([]) == []
    assert [found.span_probs.tolist() for found in fewer] == [found.span_probs.tolist() for found in reported[:-1]]
    for (own, own_tags), found in list(zip(work, reported, strict=True))[:: 7 if SLOW else 1]:
        wanted = parser.decoder.marginals_of_spans(
            parser.decoder.scored_spans(parser.run_networks(own, own_tags), MIN_MARGINAL)
        )
        assert found.spans.tolist() == wanted.spans.tolist() and found.chains.tolist() == wanted.chains.tolist()
        np.testing.assert_allclose(found.span_probs, wanted.span_probs, atol=1e-6)
        np.testing.assert_allclose(found.chain_probs, wanted.chain_probs, atol=1e-6)


@pytest.mark.parametrize("most", [0, 1, 3, 6])
def test_a_long_sentence_is_parsed_by_windows(most: int) -> None:
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
    single = SpanParser(random_model(1))
    words, tags = SENTENCES[2]
    first = SpanParser(model).with_settings(budget=0).parse(words, tags)
    assert (first.tree, first.costs) == (single.parse(words, tags).tree, single.parse(words, tags).costs)
    assert first.status == "complete" and single.parse(words, tags).status == "optimal"
    assert SpanParser(model).with_settings(networks=1).parse(words, tags) == first
    assert SpanParser(model).with_settings(networks=9).parse(words, tags) == SpanParser(model).parse(words, tags)
    both = SpanParser(model).with_settings(ensemble_threshold=0).parse(words, tags)
    assert both.costs != first.costs
    limit = max(first.costs)
    assert SpanParser(model).with_settings(ensemble_threshold=limit).parse(words, tags).costs == first.costs
    assert SpanParser(model).with_settings(ensemble_threshold=0.99 * limit).parse(words, tags).costs == both.costs


def test_posteriors_are_those_of_the_chosen_constituents() -> None:
    parser = SpanParser(random_model()).with_settings(ensemble_threshold=0)
    for words, tags in SENTENCES:
        result, found = parser.parse(words, tags), parser.span_posteriors(words, tags)
        assert found[0, len(words), "TOP"] == 1.0 and all(0 < p <= 1 for p in found.values())
        for span, cost in list(zip(result.tree.spans(), result.costs, strict=True))[1:]:
            assert found[span] >= np.exp(-cost) - 1e-5, "a chain's probability is part of its labels'"
    words, tags = SENTENCES[0]
    cut = parser.with_settings(max_tokens=3).span_posteriors(words, tags)
    assert all(0 < p <= 1 for p in cut.values()) and cut[0, len(words), "TOP"] == 1.0
    with pytest.raises(DtparseError, match="an empty sentence"):
        parser.span_posteriors([], [])


def test_bad_input_is_refused() -> None:
    parser = SpanParser(random_model())
    refuses_bad_input(parser)
    assert isinstance(parser, Parser) and parser.name == "span"
    assert parser.labels == ("NP", "PP", "S", "VP") and parser.describe()["networks"] == "2 of 2"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": -1}, "'budget' is -1; it must be a whole number from 0"),
        ({"networks": 0}, "'networks' is 0; it must be a whole number from 1"),
        ({"max_tokens": 2.5}, "'max_tokens' is 2.5; it must be a whole number"),
        ({"penalty": 1.0}, "'penalty' is 1.0; it must be a number from 0 to below 1"),
        ({"ensemble_threshold": -1}, "'ensemble_threshold' is -1; it must be a number from 0"),
        ({"penalty": True}, "'penalty' is True"),
        ({"attach_unattached": 1}, "'attach_unattached' is 1; it must be true or false"),
        ({"attach_unattached": 0}, "'attach_unattached' is 0; it must be true or false"),
        ({"attach_unattached": "no"}, "'attach_unattached' is 'no'; it must be true or false"),
    ],
)
def test_settings_are_checked(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SpanParser(random_model(1)).with_settings(**settings)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown parser setting beam; allowed are budget, max_tokens"):
        SpanSettings().with_changes(beam=3)


def test_a_penalty_trades_recall_for_precision() -> None:
    parser = SpanParser(random_model()).with_settings(ensemble_threshold=0)
    sizes = [
        sum(len(parser.with_settings(penalty=p).parse(*one).tree) for one in SENTENCES) for p in (0.0, 0.3, 0.6, 0.95)
    ]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1]


def whole_twin(parser: SpanParser, words, tags):
    """(Spans with TOP, scores) of a sentence's tree from the chart, after attaching its tokens."""
    result, n, most = (
        parser.with_settings(attach_unattached=False).parse(words, tags),
        len(words),
        parser.settings.max_tokens,
    )
    numbers = {label: number for number, label in enumerate(parser.labels)}
    parts = parser.run_networks(words, tags)
    if n <= most:
        reported = span_probabilities(*parts, 0, n, 0.02)
    else:
        spans, posteriors = long_posteriors(*parts[:2], most)
        spans, posteriors = spans[posteriors >= 0.02], posteriors[posteriors >= 0.02]
        logs = np.empty((len(spans), len(CHAINS)), dtype=np.float32)
        label_spans(parts[0], parts[2], spans, logs)
        reported = spans, posteriors, logs
    chains = [tuple(numbers[label] for label in chain) for chain in CHAINS]
    candidates = [
        (i, j, float(p), dict(zip(chains[1:], logs[1:].tolist(), strict=True)))
        for (i, j), p, logs in zip(reported[0].tolist(), reported[1], reported[2], strict=True)
    ]
    never, one_root = parser.model.attach_tables
    never = np.concatenate([never, np.zeros((*never.shape[:2], 1), dtype=bool)], axis=2)
    listed = list(parser.model.words.tables[1])
    places = [listed.index(tag) if tag in listed else len(listed) for tag in tags]
    items = [(start, end, numbers[label]) for start, end, label in result.tree.spans()[1:]]
    verbs = {listed.index(tag) for tag in VERBS if tag in listed}
    places = reference.masked_tags(items, places, numbers["VP"], verbs, len(listed))
    found, costs = reference.attach(items, result.costs[1:], places, never, one_root, candidates)
    return [(0, n, "TOP"), *((i, j, parser.labels[label]) for i, j, label in found)], [0.0, *costs]


@pytest.mark.parametrize("one_root", [False, True])
@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"penalty": 0.9}, marks=pytest.mark.slow), {"penalty": 0.6, "max_tokens": 3}]
)
def test_tokens_that_are_never_unattached_are_attached(settings: dict, one_root: bool) -> None:
    changed = 0
    for seed in (0, 1, 5):
        model = with_attach_table(random_model(2, seed), 0.5, one_root, seed=1)
        parser, plain = (SpanParser(one).with_settings(**settings) for one in (model, random_model(2, seed)))
        for words, tags in sentences():
            result, before = parser.parse(words, tags), plain.parse(words, tags)
            tree = result.tree
            assert tree == Tree(tree.words, tree.tags, tree.labels, tree.starts, tree.ends), "well formed"
            spans, scores = whole_twin(parser, words, tags)
            assert tree.spans() == spans and result.costs == pytest.approx(scores, abs=1e-5)
            assert result.cost == sum(result.costs[1:])
            assert (result.status, result.n_scored) == (before.status, before.n_scored)
            changed += tree != before.tree
            if one_root and len(before.tree) > 1:
                assert tree.spans()[1][:2] == (0, len(words))
    assert changed > 1


@pytest.mark.parametrize("settings", [{}, {"penalty": 0.9}, {"max_tokens": 3}])
def test_trees_can_be_left_as_the_chart_makes_them(settings: dict) -> None:
    parser, plain = SpanParser(with_attach_table(random_model(), one_root=True)), SpanParser(random_model())
    assert parser.describe()["attach_unattached"] is True and plain.describe()["attach_unattached"] is False, (
        "a model without the table"
    )
    loose = parser.with_settings(attach_unattached=False, **settings)
    assert (
        loose.describe()["attach_unattached"] is False
        and loose.with_settings(penalty=0.1).settings.attach_unattached is False
    )
    assert pickle.loads(pickle.dumps(loose)).settings.attach_unattached is False
    for words, tags in sentences():
        right = plain.with_settings(**settings).parse(words, tags)
        assert loose.parse(words, tags) == right
        assert plain.with_settings(attach_unattached=False, **settings).parse(words, tags) == right


def test_tags_that_are_not_listed_may_stay_unattached() -> None:
    parser = SpanParser(with_home(random_model(2, 1), "NP")).with_settings(penalty=0.9)
    loose = parser.with_settings(attach_unattached=False)
    words, tags = SENTENCES[0]
    assert parser.parse(words, tags).tree != loose.parse(words, tags).tree
    other = ["??", "", "NNP", "dt", "??", "NN ", "UH"]
    assert not set(other) & set(parser.model.words.tables[1])
    assert parser.parse(words, other) == loose.parse(words, other)


_LONG = [pytest.mark.slow, pytest.mark.skipif(SLOW, reason="minutes without the JIT")]


@pytest.mark.parametrize("n", [5, 30, pytest.param(50, marks=_LONG)])
def test_longer_and_longer_sentences_are_made_whole(n: int) -> None:
    words, tags = SENTENCES[0]
    parser = SpanParser(with_home(random_model(2, 1), "NP")).with_settings(penalty=0.9)
    sentence = (words * n)[:n], (tags * n)[:n]
    tree = parser.parse(*sentence).tree
    assert tree.spans() == whole_twin(parser, *sentence)[0]
    assert len(tree) > len(parser.with_settings(attach_unattached=False).parse(*sentence).tree)


def test_unused_networks_do_not_attach_tokens() -> None:
    both, single = SpanParser(with_attach_table(random_model(2))), SpanParser(with_attach_table(random_model(1)))
    changed = 0
    for words, tags in SENTENCES:
        first = single.with_settings(penalty=0.7).parse(words, tags)
        changed += first.tree != single.with_settings(penalty=0.7, attach_unattached=False).parse(words, tags).tree
        for settings in ({"budget": 0}, {"networks": 1}, {"ensemble_threshold": 99.0}):
            found = both.with_settings(penalty=0.7, **settings).parse(words, tags)
            assert (found.tree, found.costs) == (first.tree, first.costs)
        confident = both.with_settings(penalty=0.7, ensemble_threshold=1e-9).parse(words, tags)
        assert confident.tree == both.with_settings(penalty=0.7).parse(words, tags).tree
    assert changed


def test_files_round_trip(tmp_path) -> None:
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
