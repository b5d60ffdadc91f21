"""Span parsers that learn the clusters of words: `python -m training train-span --clusters`."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.span_parser.features import WordParts
from training.data.treebanks import TreebankFile
from training.span_parser.jackknife import jackknifed_marginals
from training.span_parser.running import SpanSources, parse_settings, train_span_parser

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
SMALL = [
    *("shape.width=6", "shape.units=4", "shape.projection=5", "epochs=0.3"),
    *("min_word_count=1", "batch_tokens=100", "eval_every=50", "warmup_steps=1"),
]
FILES = [TreebankFile(SAMPLE / "train.mrg", limit=30)]


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    path = tmp_path / "clusters.txt"
    path.write_text("the a an\ncat dog gnu\n")
    path.with_suffix(".texts").write_text("spacy-lookups-data\n")
    return path


def test_a_model_has_the_clusters_and_their_credit(clusters: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "model", parse_settings(SMALL, (0,))
    train_span_parser(SpanSources(FILES, clusters=clusters), options, {"name": "x"}, out, workers=1)
    model = load_parser(out).model
    assert isinstance(model.words, WordParts) and model.words.clusters is not None
    assert model.words.clusters.clusters == ("the a an", "cat dog gnu") and "0" in model.words.tables[-1]
    assert model.meta["credits"][-1] == (
        "Raw text, for word clusters: Brown clusters in the package spacy-lookups-data (MIT)"
    )
    with pytest.raises(ConfigError, match="--clusters are for new networks; --start continues trained ones"):
        train_span_parser(SpanSources(FILES, start=out, clusters=clusters), options, {}, out, workers=1)
    with pytest.raises(ConfigError, match="--clusters are for new networks; --start continues trained ones"):
        jackknifed_marginals(FILES, 2, options, tmp_path / "w", tmp_path / "o", out, 1, clusters)


def test_other_clusters_are_another_run(clusters: Path, tmp_path: Path) -> None:
    options, work, out = parse_settings(SMALL, (0,)), tmp_path / "work", tmp_path / "model"
    sources = SpanSources(FILES, clusters=clusters)
    train_span_parser(sources, options, {"name": "x"}, out, work / "span", workers=1)
    jackknifed_marginals(FILES, 2, options, work / "folds", tmp_path / "marginals", workers=1, clusters=clusters)
    clusters.write_text("the a an cat\ndog gnu\n")
    with pytest.raises(TrainingDataError, match="span"):
        train_span_parser(sources, options, {"name": "x"}, out, work / "span", workers=1)
    with pytest.raises(TrainingDataError, match="folds"):
        jackknifed_marginals(FILES, 2, options, work / "folds", tmp_path / "marginals", workers=1, clusters=clusters)
