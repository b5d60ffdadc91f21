"""DtreeParser: settings, bad input, and the same bits in any order, thread or process."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.parser import Parser
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, ModelFormatError
from tests.core.checks import (
    keeps_its_bytes,
    parse_all,
    refuses_bad_input,
    same_in_a_process,
    same_in_any_order,
    same_in_threads,
)
from tests.jit.harness import KERNEL_MARKS, SLOW, STRATEGIES, hand_made, sentence

pytestmark = KERNEL_MARKS


def sentences() -> list:
    rng = random.Random(8)
    return [sentence(rng, n) for n in ((1, 2, 4) if SLOW else (1, 2, 30, 4, 12, 7))]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_order_does_not_matter(strategy):
    parser = DtreeParser(hand_made(strategy, seed=1).model, SearchSettings(budget=20 if SLOW else 200))
    work = sentences()
    assert parse_all(DtreeParser(parser.model, parser.settings), work) == same_in_any_order(parser, work)


def test_threads_do_not_matter():
    parser = DtreeParser(hand_made("shift_reduce", seed=1).model, SearchSettings(budget=20 if SLOW else 300))
    same_in_threads(parser, sentences())


def test_processes_do_not_matter():
    parser = DtreeParser(hand_made("bottom_up", seed=1).model, SearchSettings(budget=20 if SLOW else 200))
    same_in_a_process(parser, sentences())


def test_bad_input_is_refused():
    parser = DtreeParser(hand_made("shift_reduce", seed=1).model)
    refuses_bad_input(parser.with_settings(budget=0))
    assert isinstance(parser, Parser) and parser.name == "dtree"


def test_settings_are_checked_and_shared():
    parser = DtreeParser(hand_made("shift_reduce", seed=1).model)
    greedy = parser.with_settings(budget=0)
    assert greedy.compiled is parser.compiled and greedy.settings == SearchSettings(0, parser.settings.max_tokens)
    assert parser.with_settings(max_tokens=3).settings.budget_for(4) == 0
    assert parser.with_settings().settings == parser.settings
    for wrong, message in (
        (-1, "is -1; it must be a whole number from 0"),
        (1.5, "it must be a whole number"),
        (True, "whole number"),
    ):
        with pytest.raises(ConfigError, match=message):
            parser.with_settings(budget=wrong)
    with pytest.raises(ConfigError, match="unknown search setting beam; allowed are budget, max_tokens"):
        parser.settings.with_changes(beam=3)


def test_a_damaged_file_is_named_and_a_cut_header_is_called_truncated(tmp_path):
    path = tmp_path / "cut.model"
    data = DtreeParser(hand_made("shift_reduce", seed=1).model).to_bytes()
    for length in (1, 6, 20, len(data) // 2):
        path.write_bytes(data[:length])
        with pytest.raises(ModelFormatError, match=r"cut\.model: truncated model file") as caught:
            load_parser(path)
        assert length > 84 or f"only {length} bytes, the header has 84" in str(caught.value)
    with pytest.raises(ModelFormatError, match=r"^truncated"):
        load_parser(data[:20])


def test_a_model_is_packed_once():
    keeps_its_bytes(DtreeParser(hand_made("shift_reduce", seed=1).model))
