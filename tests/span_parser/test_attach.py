"""Attaching tokens in long sentences: each piece as by the kernel, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.span_parser import attach
from spacy_dtparse.span_parser.attach import attach_in_pieces
from spacy_dtparse.span_parser.attacher import attach_rules
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.symbols import SymbolTable
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.span_models import random_model, with_attach_table
from tests.span_parser.kernels import test_attach as kernel_cases

pytestmark = KERNEL_MARKS


def pieces_of(items, costs, tags, never, one_root: bool, candidates):
    """(Items, costs) of `attach_in_pieces`."""
    n_chains = len(kernel_cases.NUMBERS)
    spans = np.array([candidate[:2] for candidate in candidates], dtype=np.int32).reshape(-1, 2)
    posteriors = np.array([candidate[2] for candidate in candidates], dtype=np.float64)
    logs = np.full((len(candidates), n_chains), -np.inf, dtype=np.float32)
    for row, (*_, chain_logs) in enumerate(candidates):
        for chain, log in chain_logs.items():
            logs[row, kernel_cases.NUMBERS.index(chain)] = log
    rows = np.array(items, dtype=np.int32).reshape(-1, 3)
    found, found_costs = attach_in_pieces(
        rows,
        np.array(costs, dtype=np.float64)[: len(rows)],
        np.array(tags, dtype=np.int32),
        never,
        one_root,
        (spans, posteriors, logs),
        kernel_cases.CHAIN_FROM,
        kernel_cases.CHAIN_LABELS,
    )
    return [tuple(item) for item in found], found_costs


def test_a_sentence_of_one_piece_is_the_kernel_s() -> None:
    added = 0
    for seed in range(10 if SLOW else 200):
        case = kernel_cases.random_case(seed)
        items, costs = kernel_cases.run(*case)
        found, found_costs = pieces_of(*case)
        assert found == items, seed
        assert found_costs == pytest.approx(costs, abs=1e-6), seed
        added += len(found) - len(case[0])
    assert added > 5


def test_pieces_are_whole_children_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token is in one piece, all constituents that are not longer than a piece are too, with those below them."""
    monkeypatch.setattr(attach, "PIECE", 4)
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(1, 30))
        items = [list(item) for item in kernel_cases.random_items(rng, n)]
        pieces = list(attach._pieces(items, n))
        assert [token for piece in pieces for token in range(piece.start, piece.end)] == [*range(n)]
        inside = [c for piece in pieces for c in range(piece.first, piece.last)]
        assert inside == [c for c, (start, end, _) in enumerate(items) if end - start <= 4]
        for piece in pieces:
            assert 0 < piece.end - piece.start <= 4
            start, end = (0, n) if piece.parent < 0 else items[piece.parent][:2]
            assert start <= piece.start and piece.end <= end
            assert all(piece.start <= a and b <= piece.end for a, b, _ in items[piece.first : piece.last])
            between = [c for c, (a, b, _) in enumerate(items) if a <= piece.start and piece.end <= b and b - a > 4]
            assert piece.parent == (between[-1] if between else -1), "the closest that is longer"


def test_constituents_attached_in_pieces_nest_and_cross_no_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "PIECE", 3)
    added = 0
    for seed in range(10 if SLOW else 100):
        items, costs, tags, never, one_root, candidates = kernel_cases.random_case(seed)
        found, found_costs = pieces_of(items, costs, tags, never, one_root, candidates)
        assert len(found) == len(found_costs)
        assert found == sorted(found, key=lambda item: (item[0], -item[1])), "in pre-order"
        assert not any(a < i < b < j for a, b, _ in found for i, j, _ in found), "nothing crosses"
        before = iter(found)
        assert all(item in before for item in items), "what was there stays, in its order"
        new = len(found) - len(items)
        assert sum(end - start > 3 for start, end, _ in found) - sum(b - a > 3 for a, b, _ in items) <= (
            2 if one_root else 0
        ), "only a root is longer than a piece"
        added += new
    assert added > 0


def test_verb_phrases_without_a_verb_need_penns_tags() -> None:
    """With other tags no token of a VP would have the tag of a verb, so that none would be attached."""
    model = with_attach_table(random_model(1, seed=4))
    rules = attach_rules(model)
    assert rules is not None and model.labels[rules.verb_phrase] == "VP" and rules.is_verb.any()
    tags = SymbolTable([f"{tag}*" for tag in model.words.tables[1]])
    words = WordParts([model.words.tables[0], tags, *model.words.tables[2:]])
    others = attach_rules(replace(model, words=words))
    assert others is not None and others.verb_phrase == -1 and not others.is_verb.any()
    assert np.array_equal(others.never, rules.never), "all else is equal"
