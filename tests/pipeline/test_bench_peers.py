"""benchmarks/bench_peers.py: the input of other parsers, the timing of systems, and independence of torch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.bench_modules import bench_module
from tests.pipeline.conftest import make_nlp


@pytest.fixture
def bench() -> Iterator[ModuleType]:
    with bench_module("bench_peers") as module:
        yield module


def test_sentences_of_the_peers(bench, model_file):
    nlp = make_nlp(model_file)
    docs = [nlp("The old cat  sat. It sleeps."), nlp("\n"), nlp("She saw it.")]
    found, longer = bench.sentences(docs, 4)
    assert longer == 1, "the first has five tokens and white space"
    assert [sentence.words for sentence in found] == [["It", "sleeps", "."], ["She", "saw", "it", "."]]
    assert found[0].space_after == [True, False, False] and found[0].tree is None
    found, longer = bench.sentences(docs)
    assert longer == 0 and found[0].words == ["The", "old", "cat", "sat", "."], "without white space"
    assert found[0].bracketed == next(docs[0].sents)._.parse_string


def test_systems_take_turns(bench):
    calls = []
    systems = {name: lambda name=name: calls.append(name) for name in "ab"}
    best = bench.by_turns(systems, 2, lambda name: calls.append(f"before {name}"))
    assert calls == ["before a", "a", "before b", "b"] * 3
    assert list(best) == ["a", "b"] and all(0 <= second < 1 for pair in best.values() for second in pair)


def test_metrics_of_a_row(bench):
    facts = {"ours": {"tokens": 1000}, "theirs": {"tokens": 500, "pieces": 600}}
    ours, theirs = bench.rows("text.txt", {"ours": (0.02, 0.04), "theirs": (1.0, 2.0)}, facts)
    assert (ours["tokens_per_cpu_second"], ours["tokens_per_wall_second"]) == (50_000, 25_000)
    assert (ours["cpu_microseconds"], ours["wall_microseconds"], ours["first_is_faster"]) == (20.0, 40.0, 1.0)
    assert (theirs["cpu_microseconds"], theirs["first_is_faster"], theirs["pieces"]) == (2000.0, 100.0, 600)


@pytest.mark.parametrize("missing", ["torch", "transformers", "tokenizers", "benepar", "stanza"])
def test_only_the_option_needs_torch(bench, missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)  # its import fails
    for name in ("torch_peers", "bench_peers"):
        importlib.reload(sys.modules[name])
