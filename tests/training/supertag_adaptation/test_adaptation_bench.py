"""benchmarks/bench_adaptation.py on the sample: its files, its figures, and what it chooses on the tuning set."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spacy_dtparse.pcfgla.parser import PcfgParser
from tests.bench_modules import bench_module
from training.data.treebanks import TreebankFile
from training.pcfgla import Markov, PcfgOptions, train_pcfg
from training.spine_tagger.corpus import read_label_file

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "assets" / "sample"


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with bench_module("bench_adaptation") as module:
        yield module


def call(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["bench_adaptation.py", *map(str, arguments)])
    bench.main()


def test_from_a_grammar_and_a_text_to_figures(bench, monkeypatch, tmp_path, capsys):
    work, text = tmp_path / "work", tmp_path / "text.txt"
    text.write_text("".join((SAMPLE / "plain.txt").read_text("utf8").splitlines(keepends=True)[:40]), "utf8")
    sentences = TreebankFile(SAMPLE / "train.mrg", limit=80).read()
    grammar = train_pcfg(sentences, PcfgOptions(Markov(1, 0, "center-head", 1)), {})
    PcfgParser(grammar).to_disk(tmp_path / "grammar.model")
    call(
        bench, monkeypatch, "prepare", "--parser", tmp_path / "grammar.model", "--corpus", SAMPLE.parent, "--train",
        "sample", "--target", "sample", "--text", text, "--work", work, "--unrestricted",
    )  # fmt: skip
    facts = {name: json.loads((work / name / "facts.json").read_text()) for name in ("text", "alone")}
    assert facts["text"]["settings"] == {"betas": [0.1, 0.01]} and not facts["alone"]["settings"]
    assert "spines" in facts["text"] and "spines" not in facts["alone"]
    learned, held = (read_label_file(work / name) for name in (bench.TEXT, bench.HELD))
    assert learned and held and all(s.labels for s in learned)
    made = ("train", "--work", work, "--sizes", 0, len(learned), "--least", 2)
    call(bench, monkeypatch, *made)
    call(bench, monkeypatch, *made, "--annotator", "tagger")
    call(bench, monkeypatch, "train", "--work", work, "--sizes", len(learned), "--annotator", "alone")
    names = ["perceptron-0", f"perceptron-{len(learned)}", f"perceptron-{len(learned)}-tagger"]
    assert (work / f"perceptron-{len(learned)}-alone.model").is_file()
    call(bench, monkeypatch, "train", "--work", work, "--sizes", 0, "--least", 2, "--gold", 12)
    names.append("perceptron-0-gold12")
    assert all((work / f"{name}.model").is_file() for name in names)
    gold = bench.gold_of_target(work, 12)
    trees = bench.spread(TreebankFile(SAMPLE / "train.mrg").read(), 12)
    assert [s.words for s in gold] == [s.tree.words for s in trees] and all(s.labels for s in gold)
    capsys.readouterr()
    figures = work / "figures.json"
    call(
        bench, monkeypatch, "measure", "--work", work, "--runs", *names, "--betas", "0.3,0.01", "0.05", "--sentences",
        6, "--sets", "tune", "target", "text", "--chain", *names[:2], "--breakdown", *names[:2], "--json", figures,
    )  # fmt: skip
    printed, table = capsys.readouterr().out, json.loads(figures.read_text())
    assert "the same betas by the tuning set, on target" in printed and "earlier" in printed
    assert list(table["sets"]) == ["tune", "target", "text"]
    for name, runs in table["sets"].items():
        assert len(runs) == 1 + 2 * len(names)
        assert runs["unpruned"]["equal"] == 1.0 and runs["unpruned"]["ambiguity"] is None
        for run in runs.values():
            assert sum(run["searches"].values()) == run["sentences"] == len(run["detail"]) <= 6
            assert 0.0 <= run["tagging"] <= run["seconds"] and ("all" in run) == (name != "text")
    counts = [table["taggers"][name]["sentences"] for name in names]
    assert counts[0] + 12 == counts[3] and counts[1] == counts[2] == counts[0] + len(learned)


def test_betas_are_chosen_on_the_tuning_set(bench):
    measures = sys.modules["adaptation_measures"]
    hit, missed = (9, 10, 10), (4, 10, 10)

    def run(seconds: float, *wrong: int) -> dict[str, Any]:
        counts = [missed if k in wrong else hit for k in range(40)]
        return {"all": sum(right for right, _, _ in counts) / 400, "seconds": seconds, "counts": counts}

    many = range(20)
    runs = {
        "unpruned": run(9.0, 1),
        "a-0 0.3": run(2.0, *many),
        "a-0 0.1": run(4.0, 1),
        "a-0 0.01": run(7.0, 1, 2),
        "a-9 0.3": run(2.1, 3),
        "a-9 0.1": run(3.0),
        "a-9 0.01": run(2.5),
        "a-99 0.3": run(1.0, *many),
        "a-99 0.1": run(3.0, *many[1:]),
        "a-99 0.01": run(4.0, *many),
    }
    chosen = measures.operating_points(runs, ["a-0", "a-9", "a-99"])
    assert chosen == {"a-0": ("a-0 0.1", "a-0 0.1"), "a-9": ("a-9 0.1", "a-9 0.3"), "a-99": ("a-99 0.1", "a-99 0.1")}


def test_sentences_at_even_distances(bench):
    measures = sys.modules["adaptation_measures"]
    assert measures.spread(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert measures.spread([1, 2], 5) == [1, 2]
