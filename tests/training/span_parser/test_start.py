"""A span model whose networks go on learning: `python -m training train-span --start`."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.span_parser.parser import SpanParser
from training.data.treebanks import TreebankFile, span_model_treebanks
from training.span_parser.running import SpanSources, load_start_model, parse_settings, train_span_parser

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
SMALL = [
    *("shape.width=6", "shape.units=4", "shape.projection=5"),
    *("min_word_count=1", "batch_tokens=100", "eval_every=50", "warmup_steps=1"),
]


def trained(out: Path, settings: list[str], start: Path | None = None, seeds: tuple[int, ...] = (0, 1)):
    files = [TreebankFile(SAMPLE / "train.mrg", limit=40)]
    options = parse_settings([*SMALL, *settings], seeds)
    train_span_parser(SpanSources(files, start=start), options, {"name": "x", "lang": "en"}, out, workers=1)
    return load_parser(out).model


def test_networks_start_from_those_of_the_model(tmp_path: Path) -> None:
    first = trained(tmp_path / "first", ["epochs=1"])
    still = trained(tmp_path / "still", ["epochs=1", "learning_rate=1e-9", "min_word_count=9"], tmp_path / "first")
    assert still.words.tables == first.words.tables and still.chains == first.chains, "the lists are the model's"
    for before, after in zip(first.networks, still.networks, strict=True):
        for name in ("table", "edges", "labels", "bilinear"):
            assert np.allclose(getattr(before, name), getattr(after, name), atol=2e-3), name
    assert not np.allclose(still.networks[0].labels, still.networks[1].labels, atol=2e-2), "each its own"
    moved = trained(tmp_path / "moved", ["epochs=2", "learning_rate=1e-2"], tmp_path / "first")
    assert not np.allclose(first.networks[0].labels, moved.networks[0].labels, atol=1e-2)


def test_a_network_gets_more_layers(tmp_path: Path) -> None:
    first = trained(tmp_path / "first", ["epochs=3", "learning_rate=1e-2"], seeds=(0,))
    deeper = trained(
        tmp_path / "deeper", ["epochs=0.1", "learning_rate=1e-9", "shape.layers=4"], tmp_path / "first", seeds=(0,)
    )
    (before,), (after,) = first.networks, deeper.networks
    assert deeper.meta["options"]["shape"] == {"width": 6, "units": 4, "layers": 4, "projection": 5}
    assert len(before.weights) == 2 and len(after.weights) == 4
    assert after.recurrent.shape[0] == after.bias.shape[0] == 4
    assert all(np.allclose(b, a, atol=2e-3) for b, a in zip(before.weights, after.weights[:2], strict=True))
    words, tags = ["It", "rains", "."], ["PRP", "VBZ", "."]
    gaps = [SpanParser(model).run_networks(words, tags)[0] for model in (first, deeper)]
    assert np.corrcoef(*(part.ravel() for part in gaps))[0, 1] > 0.98, "the added layers almost copy their input"
    assert not np.allclose(*gaps, atol=1e-4)


def test_as_many_seeds_as_networks(tmp_path: Path) -> None:
    trained(tmp_path / "first", ["epochs=0.2"])
    with pytest.raises(ConfigError, match="has 2 networks; give as many seeds, not 1: --seeds 0 1"):
        trained(tmp_path / "other", ["epochs=0.2"], tmp_path / "first", seeds=(3,))
    with pytest.raises(ConfigError, match="en has 1 network; give as many seeds, not 2: --seeds 0"):
        trained(tmp_path / "other", ["epochs=0.2"], Path("en"))


def test_a_model_that_starts_from_another_has_its_treebanks_licence_and_credits(tmp_path: Path) -> None:
    english = load_start_model(Path("en"), 1)
    meta = trained(tmp_path / "one", ["epochs=0.1"], Path("en"), seeds=(0,)).meta
    assert [one["name"] for one in meta["treebanks"]] == ["sample", *(one["name"] for one in english.meta["treebanks"])]
    assert english.meta["credits"] and set(english.meta["credits"]) <= set(meta["credits"])
    assert len(set(meta["credits"])) == len(meta["credits"])
    assert meta["license"] == "CC BY-SA 4.0", "the sample alone is CC0"
    assert set(span_model_treebanks(meta)) == {one["name"] for one in english.meta["treebanks"]}, "for assemble"
    again = trained(tmp_path / "two", ["epochs=0.1"], tmp_path / "one", seeds=(0,)).meta
    assert (again["treebanks"], again["credits"], again["license"]) == (
        meta["treebanks"],
        meta["credits"],
        meta["license"],
    )


def test_the_model_inside_boosted_trees_is_a_start() -> None:
    inside = load_start_model(embedded_model("en_dtparse"), 1)
    assert inside.fingerprint() == load_start_model(Path("en"), 1).fingerprint()
    with pytest.raises(ConfigError, match="is a model of kind 'dtree'; --start needs a model of kind span"):
        load_start_model(embedded_model("en_trees"), 1)


def test_labels_that_the_model_lacks_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="training")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "train.mrg").write_text("(S (Thing (DT The) (NN cat)) (Act (VBZ sleeps)) (. .))\n" * 3)
    options = parse_settings([*SMALL, "epochs=1"], (0,))
    sources = SpanSources([TreebankFile(tmp_path / "own" / "train.mrg")], start=Path("en"))
    train_span_parser(sources, options, {"name": "x", "lang": "en"}, tmp_path / "model", workers=1)
    assert "does not have the labels Act, Thing, so it cannot learn them" in caplog.text
    caplog.clear()
    trained(tmp_path / "known", ["epochs=0.1"], Path("en"), seeds=(0,))
    assert "does not have the labels" not in caplog.text
