"""benchmarks/dependency_peers.py: what spaCy's parser is trained on, and how."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_dtparse.bpm_parser.features import TokenColumns
from tests.bench_modules import bench_module
from tests.training.bpm_parser.samples import sentences
from training.data.dependencies import DependencySentence

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def peers() -> Iterator[ModuleType]:
    with bench_module("dependency_peers") as module:
        yield module


@pytest.mark.parametrize("lang", ["en", "zh", "cs", "ar"])
def test_sentences_are_restored_from_docs(peers: ModuleType, lang: str, tmp_path: Path) -> None:
    n, chosen = 60, sentences()
    crossing = [place + 2 if place % 4 in (1, 2) else place + 1 for place in range(1, n)]
    heads = (*[head if head <= n else n for head in crossing], 0)
    columns = TokenColumns([f"w{place}" for place in range(n)], ["T"] * n)
    chosen.append(DependencySentence(columns, heads, ("x",) * (n - 1) + ("root",), (False,) * n))
    peers.write_docs(chosen, lang, tmp_path / "some.spacy")
    docs = list(DocBin().from_disk(tmp_path / "some.spacy").get_docs(spacy.blank(lang).vocab))
    assert len(docs) == len(chosen) > 1
    for doc, sentence in zip(docs, chosen, strict=True):
        assert [token.text for token in doc] == list(sentence.columns.words) and len(list(doc.sents)) == 1
        assert tuple(0 if token.head.i == token.i else token.head.i + 1 for token in doc) == sentence.heads
        expected = [label if head else "ROOT" for label, head in zip(sentence.labels, sentence.heads, strict=True)]
        assert [token.dep_ for token in doc] == expected


def test_spacy_trains_once_by_its_own_config(peers: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    chosen = sentences()
    few = ["--training.max_steps=3", "--training.eval_frequency=1"]
    with pytest.raises(SystemExit, match=r"en: spacy train ended with code \d+; .*en\.log says why"):
        peers.train_spacy("en", chosen, chosen, tmp_path, ["--training.max_steps=x"])
    assert "max_steps" in (tmp_path / "en.log").read_text() and not (tmp_path / "en" / "model-best").exists()
    assert peers.training_seconds(tmp_path / "en.log") is None, "nothing is finished"
    peers.train_spacy("en", chosen, chosen, tmp_path, few)
    log = (tmp_path / "en.log").read_text()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d ", line) for line in log.splitlines())
    assert peers.training_seconds(tmp_path / "en.log") in range(120)
    nlp = spacy.load(tmp_path / "en" / "model-best")
    assert nlp.pipe_names == ["tok2vec", "parser"]
    training, model = nlp.config["training"], nlp.config["components"]["tok2vec"]["model"]
    assert (training["patience"], training["max_steps"], training["max_epochs"]) == (1600, 3, 0)
    assert model["embed"]["@architectures"] == "spacy.MultiHashEmbed.v2"
    assert model["encode"]["@architectures"] == "spacy.MaxoutWindowEncoder.v2"
    assert (model["encode"]["width"], model["encode"]["depth"]) == (96, 4)
    assert nlp.config["components"]["parser"]["model"]["@architectures"] == "spacy.TransitionBasedParser.v2"
    capsys.readouterr()
    peers.train_spacy("en", chosen, chosen, tmp_path)
    assert capsys.readouterr().out == f"en: {tmp_path / 'en' / 'model-best'} exists\n"
    assert (tmp_path / "en.log").read_text() == log and not (tmp_path / "en.part").exists()
    row = peers.spacy_peer(tmp_path / "en" / "model-best", chosen)
    assert 0 <= row["las"] <= row["uas"] <= 100 and row["tokens_per_second"] > 0 and row["megabytes"] > 1


def test_an_interrupted_run_continues(peers: ModuleType, tmp_path: Path) -> None:
    """From its last weights; the best of both runs is kept."""
    chosen = sentences()
    few = ["--training.max_steps=2", "--training.eval_frequency=1"]
    peers.train_spacy("en", chosen, chosen, tmp_path, few)
    first = tmp_path / "en" / "model-best"
    weights = [(first / name / "model").read_bytes() for name in ("tok2vec", "parser")]
    few.append("--training.optimizer.learn_rate=0")
    (tmp_path / "en").rename(tmp_path / "en.part")
    shutil.copytree(tmp_path / "en.part" / "model-best", tmp_path / "en.part" / "model-last")
    meta_file = tmp_path / "en.part" / "model-best" / "meta.json"
    meta = json.loads(meta_file.read_text())
    for better in (True, False):
        if not better:  # once more, now with a best one that cannot be had again
            shutil.copytree(first, tmp_path / "en.part" / "model-last")
            (tmp_path / "en").rename(tmp_path / "gone")
            meta["performance"] |= {"dep_uas": 2.0, "dep_las": 2.0}
            (tmp_path / "gone" / "model-best").rename(tmp_path / "en.part" / "model-best")
            meta_file.write_text(json.dumps(meta))
        peers.train_spacy("en", chosen, chosen, tmp_path, few)
        nlp = spacy.load(first)
        assert [(first / name / "model").read_bytes() for name in ("tok2vec", "parser")] == weights
        assert nlp.config["training"]["batcher"]["size"] == 1000 or not better
        assert (nlp.meta["performance"]["dep_uas"] == 2.0) != better
        assert not (tmp_path / "en.part").exists() and not (tmp_path / "en.cut").exists()
    log = (tmp_path / "en.log").read_text()
    assert log.count(peers.FIRST_MESSAGE) == log.count(peers.FINISHED) == 3
    assert peers.training_seconds(tmp_path / "en.log") in range(120)


def test_what_was_cut_depends_on_the_first_root(peers: ModuleType, tmp_path: Path) -> None:
    """A pipeline that sets nothing leaves each token its own root."""
    spacy.blank("en").to_disk(tmp_path / "nothing")
    columns = TokenColumns(["a", "b", "c"], ["T"] * 3)
    sentence = DependencySentence(columns, (0, 1, 2), ("root", "x", "root"), (False,) * 3)
    row = peers.spacy_peer(tmp_path / "nothing", [sentence])
    assert (row["uas"], row["las"], row["complete"], row["root"]) == (66.67, 33.33, 0.0, 100.0)


def test_times_of_a_log(peers: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "xx.log"
    assert peers.training_seconds(log) is None
    lines = ["2026-01-31T23:59:30 begins", "2026-02-01T00:00:00 ", "2026-02-01T01:00:05 ✔ Saved pipeline to …"]
    log.write_text("\n".join(lines), encoding="utf8")
    assert peers.training_seconds(log) == 3635
    again = ["2026-02-02T08:00:00 spacy train begins", "2026-02-02T08:00:07 ✔ Saved pipeline to …"]
    log.write_text("\n".join([lines[0], lines[1], *again]), encoding="utf8")
    assert peers.training_seconds(log) == 30 + 7, "of both runs"
    log.write_text("\n".join(lines[:2]), encoding="utf8")
    assert peers.training_seconds(log) is None, "not finished"
    log.write_text("no time\n✔ Saved pipeline to …", encoding="utf8")
    assert peers.training_seconds(log) is None
