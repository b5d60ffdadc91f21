"""Checks for parsers of every kind: bad input is refused, and the same input gives the same bits everywhere."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from spacy_dtparse.core.parser import Parser
from spacy_dtparse.core.stored import StoredParser
from spacy_dtparse.errors import DtparseError

Work = Sequence[tuple[Sequence[str], Sequence[str]]]


def parse_all(parser: Parser, work: Work) -> list[str]:
    """The complete content of each parse, its cost to the last bit."""
    found = [parser.parse(*one) for one in work]
    return [f"{result!r} {result.cost.hex()}" for result in found]


def same_in_any_order(parser: Parser, work: Work) -> list[str]:
    """Check that the order of sentences does not matter; return the result of `parse_all`."""
    forward = parse_all(parser, work)
    assert parse_all(parser, work[::-1])[::-1] == forward
    return forward


def same_in_threads(parser: Parser, work: Work, times: int = 6) -> None:
    """Check that several threads at once have the same results as one."""
    expected = parse_all(parser, work)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: parse_all(parser, work), range(times))) == [expected] * times


def same_in_a_process(parser: Parser, work: Work) -> None:
    """Check that a new process, which receives the parser as a pickle, has the same results as this one."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(parse_all, parser, work).result(timeout=240) == parse_all(parser, work)


def keeps_its_bytes(parser: StoredParser) -> None:
    """Check that a model is packed once, and that it is passed on as the bytes that it was loaded from."""
    data = parser.to_bytes()
    again = type(parser).from_bytes(data)
    assert parser.to_bytes() is data and again.to_bytes() is data
    assert again.FORMAT[1](again.model, again.make_golden_parses()) == data


def refuses_bad_input(parser: Parser) -> None:
    """Check that bad input raises, and that unseen words and tags do not."""
    with pytest.raises(DtparseError, match="2 words but 1 tags; give one tag per word"):
        parser.parse(["a", "b"], ["NN"])
    with pytest.raises(DtparseError, match="an empty sentence has no parse"):
        parser.parse([], [])
    unseen = parser.parse(["\u00e9t\u00e9", "a b"], ["NEVER", ""])
    assert unseen.tree.tags == ("NEVER", "") and unseen.tree.words == ("\u00e9t\u00e9", "a b")
