"""A batch gives the same bits as each of its sentences, for any number encoded together and any workspace size."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.core.settings import SpanSettings
from spacy_dtparse.span_parser import attach, attacher, batch
from spacy_dtparse.span_parser.attach import PIECE
from spacy_dtparse.span_parser.encoder import output_of, select_encoded
from spacy_dtparse.span_parser.kernels.batch import (
    DONE,
    OUT_OF_SPACE,
    UNATTACHED,
    ChainListing,
    ChartArrays,
    Trees,
    outputs_of,
    parse_from,
)
from spacy_dtparse.span_parser.kernels.network import decode, encode_gaps
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.span_parser.posteriors import new_listing
from tests.jit.harness import KERNEL_MARKS
from tests.span_models import CHAINS, SENTENCES, random_model, with_attach_table

pytestmark = KERNEL_MARKS

SIZE = max(map(len, CHAINS))
SHORTER = [(words[:n], tags[:n]) for words, tags in SENTENCES for n in range(1, len(words) + 1)]


def chart_of(parser: SpanParser) -> ChartArrays:
    return parser.decoder.chart(0)


def empty_trees(n_sentences: int, room: int) -> Trees:
    return Trees(
        np.full((room, 3), -9, np.int32),
        np.full(room, np.nan),
        np.zeros(n_sentences + 1, np.int64),
        np.zeros(n_sentences, np.int64),
        np.zeros(n_sentences),
    )


def grown(output: Trees | ChainListing, room: int) -> Trees | ChainListing:
    """The output with `room` more entries."""
    names = ("items", "costs") if isinstance(output, Trees) else ("entries", "posteriors", "logs")
    arrays = {name: output._asdict()[name] for name in names}
    return output._replace(
        **{name: np.concatenate([one, np.empty((room, *one.shape[1:]), one.dtype)]) for name, one in arrays.items()}
    )


def parse_one(parser: SpanParser, words, tags):
    """(items, costs, spans that were labelled) of a sentence, by the kernels for one sentence."""
    n, numbers = len(words), parser.model.words.encode(words, tags)
    layer = parser.encode([(words, tags)]).layer
    q, m = layer.weights.shape[:2]
    gaps, own = np.empty((q, 4 * m * (n + 1)), np.float32), np.empty((q, n + 1), np.float32)
    for k in range(q):
        encode_gaps(parser.encoder.networks[k], numbers, np.array([0, n + 2], np.int32), gaps[k], own[k])
    items, costs = np.empty((3 * SIZE * (n + 1), 3), np.int32), np.empty(3 * SIZE * (n + 1))
    chart, gaps = chart_of(parser), gaps.reshape((q, 4, n + 1, m))
    count, tried = decode(gaps, own, layer, *chart[:2], 0, n, chart.min_prob, chart.penalty, items, costs)
    return items[:count].tolist(), costs[:count].tolist(), tried


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("room", [3 * SIZE * 8, 80, 4000])
def test_a_batch_is_its_sentences(networks: int, listed: bool, room: int) -> None:
    parser = SpanParser(random_model(networks, seed=4))
    encoded = parser.encode(SHORTER)
    trees, listing = empty_trees(len(SHORTER), room), new_listing(len(SHORTER), 1, listed)
    done, whys = 0, []
    while not whys or whys[-1] != DONE:
        done, why = parse_from(encoded, trees, listing, done, chart_of(parser), *attacher.NO_RULES)
        whys.append(why)
        if why == OUT_OF_SPACE:
            n = len(SHORTER[done][0])
            is_full = trees.ends[done] + 3 * SIZE * (n + 1) > len(trees.items)
            assert is_full or listed, "there was too little for the next one"
            trees, listing = (grown(trees, 100), listing) if is_full else (trees, grown(listing, 10))
    assert done == len(SHORTER) and (OUT_OF_SPACE in whys) == (room < 4000 or listed)
    ends, found = trees.ends.tolist(), []
    for s, (words, tags) in enumerate(SHORTER):
        here = slice(ends[s], ends[s + 1])
        found.append(trees.items[here].tolist())
        assert (found[-1], trees.costs[here].tolist(), trees.tried[s]) == parse_one(parser, words, tags)
        assert trees.max_cost[s] == max(trees.costs[here], default=0.0)
    assert sum(map(len, found)) > len(SHORTER), "there are trees"
    if listed:
        assert parser.listed_posteriors(listing, SHORTER) == [parser.span_posteriors(*one) for one in SHORTER]


@pytest.mark.parametrize("networks", [1, 3])
def test_the_output_for_a_sentence_is_that_of_a_batch_of_one(networks: int) -> None:
    parser = SpanParser(random_model(networks, seed=2))
    sentences = SHORTER * 4  # more than are encoded at once
    encoded, first = parser.encode(sentences), parser.encoder.encode(sentences, 1)
    chosen = [7, 2, 30]
    some, complete = select_encoded(encoded, chosen), parser.encoder.complete(first, chosen)
    for s, sentence in enumerate(sentences):
        single = parser.run_networks(*sentence)
        outputs = output_of(encoded, s)
        assert all(map(np.array_equal, outputs[2], single[2]))
        for one, other, kernel in zip(outputs[:2], single[:2], outputs_of(encoded, s), strict=True):
            assert np.array_equal(one, other) and np.array_equal(kernel, other)
    for k, s in enumerate(chosen):
        for one, other, wanted in zip(
            output_of(some, k)[:2], output_of(complete, k)[:2], output_of(encoded, s)[:2], strict=True
        ):
            assert np.array_equal(one, wanted) and np.array_equal(other, wanted)
    for array, other in zip([*some[:-1], *some.layer], [*complete[:-1], *complete.layer], strict=True):
        assert np.array_equal(array, other)


@pytest.mark.parametrize("one_root", [False, True])
def test_it_stops_after_a_sentence_with_unattached_tokens(one_root: bool) -> None:
    """It stops if the sentence is too long to attach them in the same pass, as all are here."""
    parser = SpanParser(
        with_attach_table(random_model(1, seed=4), share=0.3, one_root=one_root), SpanSettings(attach_unattached=False)
    )
    parser_of_whole = SpanParser(parser.model)
    whole = parser_of_whole.attacher
    encoded, trees, seen = parser.encode(SHORTER), empty_trees(len(SHORTER), 4000), []
    done, why, listing = 0, -1, new_listing(len(SHORTER), 0, False)
    while why != DONE:
        done, why = parse_from(encoded, trees, listing, done, chart_of(parser), *whole.rules)
        if why == UNATTACHED:
            seen.append(done - 1)
    hangs = []
    for words, tags in SHORTER:
        items, *_ = parse_one(parser, words, tags)
        rows = parser_of_whole.decoder.workspace(len(words))[0]
        rows[: len(items)] = np.array(items, np.int32).reshape(-1, 3)
        hangs.append(whole.is_fully_attached(len(items), parser.model.words.tag_ids(tags)))
    assert seen == [s for s, fine in enumerate(hangs) if not fine] and 0 < len(seen) < len(SHORTER)


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("piece", [3, PIECE])
def test_parses_are_those_of_the_long_way(share: float, piece: int, monkeypatch) -> None:
    """Compare with parsing each sentence by itself, as with several networks; tokens are attached at once or later."""
    for module in (attach, attacher, batch):
        monkeypatch.setattr(module, "PIECE", piece)
    parser = SpanParser(with_attach_table(random_model(1, seed=4), share))
    found = parser.parse_batch(SHORTER)
    for sentence, result in zip(SHORTER, found, strict=True):
        output = parser.run_networks(*sentence)
        decoded = parser.decoder.decode(output)
        items, costs = parser.attacher.attach(len(decoded.items), parser.model.words.tag_ids(sentence[1]), output)
        assert result == parser.result_of_items(sentence, items, costs, decoded.status, decoded.tried)
