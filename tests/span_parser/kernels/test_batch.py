"""A batch gives the same bits as each of its sentences, for any number encoded together and any workspace size."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.core.settings import SpanSettings
from spacy_dtparse.span_parser import attach, single_network
from spacy_dtparse.span_parser import parser as span_parser
from spacy_dtparse.span_parser.attach import PIECE
from spacy_dtparse.span_parser.kbest import CANDIDATE
from spacy_dtparse.span_parser.kernels.batch import DONE, OUT_OF_SPACE, UNATTACHED, Batch, ChartArrays, parse_from
from spacy_dtparse.span_parser.kernels.network import decode, encode_gaps
from spacy_dtparse.span_parser.parser import SpanParser
from tests.jit.harness import KERNEL_MARKS
from tests.span_models import CHAINS, SENTENCES, random_model, with_attach_table

pytestmark = KERNEL_MARKS

SIZE = max(map(len, CHAINS))
NO_TABLE = np.zeros((0, 0, 0), dtype=np.bool_)
SHORTER = [(words[:n], tags[:n]) for words, tags in SENTENCES for n in range(1, len(words) + 1)]


def chart_of(parser: SpanParser) -> ChartArrays:
    return ChartArrays(*parser._chain_table, parser._min_posterior(), 0.0, CANDIDATE, 0)


def batch_of(parser: SpanParser, sentences, together: int, room: int) -> Batch:
    words, m = parser.model.words, parser._weights.shape[1]
    numbers, offsets = words.encode_all(sentences)
    most = max(together, np.diff(offsets).max())
    return Batch(
        numbers,
        offsets,
        words.tags_of(numbers),
        np.zeros(2, np.int64),
        np.empty(4 * m * most, np.float32),
        np.empty(most, np.float32),
        np.full((room, 3), -9, np.int32),
        np.full(room, np.nan),
        np.zeros(len(sentences) + 1, np.int64),
        np.zeros(len(sentences), np.int64),
    )


def parse_one(parser: SpanParser, words, tags):
    """(items, costs, spans that were labelled) of a sentence, by the kernels for one sentence."""
    n, m, numbers = len(words), parser._weights.shape[1], parser.model.words.encode(words, tags)
    gaps, own = np.empty(4 * m * (n + 1), np.float32), np.empty(n + 1, np.float32)
    encode_gaps(parser._networks[0], numbers, np.array([0, n + 2], np.int32), gaps, own)
    items, costs = np.empty((3 * SIZE * (n + 1), 3), np.int32), np.empty(3 * SIZE * (n + 1))
    gaps, own = gaps.reshape((1, 4, n + 1, m)), own.reshape((1, n + 1))
    count, tried = decode(
        gaps, own, parser._weights, parser._bias, *chart_of(parser)[:2], 0, n, *chart_of(parser)[2:4], items, costs
    )
    return items[:count].tolist(), costs[:count].tolist(), tried


@pytest.mark.parametrize("together", [1, 9, 17, 400])
@pytest.mark.parametrize("room", [3 * SIZE * 8, 80, 4000])
def test_a_batch_is_its_sentences(together: int, room: int) -> None:
    parser = SpanParser(random_model(1, seed=4))
    batch, done, whys = batch_of(parser, SHORTER, together, room), 0, []
    while not whys or whys[-1] != DONE:
        done, why = parse_from(
            parser._networks[0],
            parser._weights,
            parser._bias,
            batch,
            together,
            done,
            chart_of(parser),
            NO_TABLE,
            False,
            3 * SIZE,
        )
        whys.append(why)
        if why == OUT_OF_SPACE:
            n = len(SHORTER[done][0])
            assert batch.ends[done] + 3 * SIZE * (n + 1) > len(batch.items), "there was too little for the next one"
            more = np.concatenate([batch.items, np.empty((100, 3), np.int32)])
            batch = batch._replace(items=more, costs=np.concatenate([batch.costs, np.empty(100)]))
    assert done == len(SHORTER) and (OUT_OF_SPACE in whys) == (room < 4000)
    ends, found = batch.ends.tolist(), []
    for s, (words, tags) in enumerate(SHORTER):
        here = slice(ends[s], ends[s + 1])
        found.append(batch.items[here].tolist())
        assert (found[-1], batch.costs[here].tolist(), batch.tried[s]) == parse_one(parser, words, tags)
    assert sum(map(len, found)) > len(SHORTER), "there are trees"


@pytest.mark.parametrize("one_root", [False, True])
def test_it_stops_after_a_sentence_with_unattached_tokens(one_root: bool) -> None:
    """It stops if the sentence is too long to attach them in the same pass, as all are here; its encoding is still
    stored and need not be computed again."""
    parser = SpanParser(
        with_attach_table(random_model(1, seed=4), share=0.3, one_root=one_root), SpanSettings(attach_unattached=False)
    )
    whole = SpanParser(parser.model)
    m, attach_tables, seen = parser._weights.shape[1], whole._attach_tables, []
    batch, done, why = batch_of(parser, SHORTER, 17, 4000), 0, -1
    while why != DONE:
        done, why = parse_from(
            parser._networks[0],
            parser._weights,
            parser._bias,
            batch,
            17,
            done,
            chart_of(parser),
            *attach_tables,
            3 * SIZE,
        )
        if why == UNATTACHED:
            s, (words, tags) = done - 1, SHORTER[done - 1]
            seen.append(s)
            gaps, own, *_ = parser._run_networks(parser.model.words.encode(words, tags), 1)
            gap = batch.offsets[s] - batch.offsets[batch.encoded[0]] - (s - batch.encoded[0])
            assert np.array_equal(batch.left_scores[gap : gap + len(words) + 1], own[0])
            assert np.array_equal(batch.gaps[4 * m * gap : 4 * m * (gap + len(words) + 1)], gaps.reshape(-1))
    hangs = []
    for words, tags in SHORTER:
        items, *_ = parse_one(parser, words, tags)
        room = whole._workspace(len(words))
        room[0][: len(items)] = np.array(items, np.int32).reshape(-1, 3)
        kinds = parser.model.words.tag_ids(tags)
        hangs.append(whole._is_fully_attached(len(items), len(words), kinds, attach_tables))
    assert seen == [s for s, fine in enumerate(hangs) if not fine] and 0 < len(seen) < len(SHORTER)


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("piece", [3, PIECE])
def test_parses_are_those_of_the_long_way(share: float, piece: int, monkeypatch) -> None:
    """Compare with parsing each sentence by itself, as with several networks; tokens are attached at once or later."""
    for module in (attach, single_network):
        monkeypatch.setattr(module, "PIECE", piece)
    monkeypatch.setattr(span_parser, "PIECE", piece)
    parser = SpanParser(with_attach_table(random_model(1, seed=4), share))
    found = parser.parse_batch(SHORTER)
    for (words, tags), result in zip(SHORTER, found, strict=True):
        numbers = parser.model.words.encode(words, tags)
        assert result == parser._parse(words, tags, numbers, parser._run_networks(numbers, 1))
