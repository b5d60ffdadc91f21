"""Vectors of words with which the networks of a span parser begin. None of it needs torch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.nn.packing import table_of
from spacy_dtparse.nn.vocabularies import UNKNOWN_WORD
from spacy_dtparse.span_parser.features import WORD, WordParts
from tests.span_models import SENTENCES, count_parts
from training.data.treebanks import TreebankFile
from training.data.word_vectors import WordVectors, init_from_vectors, project_vectors, read_vectors, save_vectors
from training.span_parser.running import SpanSources, parse_settings, train_span_parser

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"


def made(words: list[str], width: int, seed: int = 0) -> WordVectors:
    rng = np.random.default_rng(seed)
    spread = np.linspace(3, 0.1, width)
    vectors = (5 + rng.standard_normal((len(words), width)) * spread).astype(np.float32)
    return WordVectors(tuple(words), vectors, rng.integers(1, 100, len(words)))


def test_saved_vectors_are_read_back(tmp_path: Path) -> None:
    vectors = made(["the", "naïve", "…", "0000"], 6)
    save_vectors(tmp_path / "words.npz", vectors)
    again = read_vectors(tmp_path / "words.npz")
    assert again.words == vectors.words and np.array_equal(again.counts, vectors.counts)
    assert again.vectors.dtype == np.float32 and np.allclose(again.vectors, vectors.vectors, rtol=1e-3)
    np.savez(tmp_path / "less.npz", words=np.frombuffer(b"a\nb", np.uint8), vectors=np.ones((1, 2)), counts=np.ones(2))
    with pytest.raises(TrainingDataError, match=r"2 words with vectors \(1, 2\) and 2 counts; write the file again"):
        read_vectors(tmp_path / "less.npz")
    (tmp_path / "no.npz").write_bytes(b"nothing")
    with pytest.raises(TrainingDataError):
        read_vectors(tmp_path / "no.npz")


def test_fewer_dimensions_keep_words_distinct() -> None:
    words = [f"w{k}" for k in range(300)]
    vectors = made(words, 12)
    vectors.vectors[1] = vectors.vectors[0] + 0.01  # two words that are all but the same
    found = project_vectors(vectors, 5, np.random.default_rng(1))
    weights = np.sqrt(vectors.counts) / np.sqrt(vectors.counts).sum()
    assert found.shape == (300, 5) and found.dtype == np.float32
    assert np.allclose(weights @ found, 0, atol=1e-4), "centred"
    assert (weights @ np.square(found)).mean() == pytest.approx(1, rel=1e-4)
    assert np.square(weights @ np.square(found)).max() < 4, "no column is far above the others"
    assert np.linalg.norm(found[0] - found[1]) < 0.1 * np.median(np.linalg.norm(found - found[0], axis=1))
    # All directions kept: distances under the stretched axes are those of the vectors along them, turned or not.
    full = project_vectors(vectors, 12, np.random.default_rng(2))
    other = project_vectors(vectors, 12, np.random.default_rng(3))
    assert not np.allclose(full, other) and np.allclose(full @ full.T, other @ other.T, atol=1e-2)
    with pytest.raises(TrainingDataError, match=r"have 12 dimensions, the table 13; set shape\.width lower"):
        project_vectors(vectors, 13, np.random.default_rng(0))


def test_rows_of_words_are_initialised_with_their_vectors() -> None:
    parts = WordParts.build(count_parts(SENTENCES), 1, 1)
    listed = list(parts.tables[WORD])
    vectors = made([*listed[:-2], "elsewhere"], 8)
    table = np.full((parts.size, 4), 9.0, dtype=np.float32)
    assert init_from_vectors(table, parts, vectors, np.random.default_rng(1)) == len(listed) - 2
    wanted = 0.4 * project_vectors(vectors, 4, np.random.default_rng(1))
    rows = parts.encode(listed, ["?"] * len(listed))[1:-1, WORD]
    assert np.allclose(table[rows[:-2]], wanted[:-1], atol=1e-6) and (table[rows[-2:]] == 9).all()
    rarest = np.argsort(vectors.counts)[: max(1, len(wanted) // 10)]
    assert np.allclose(table[UNKNOWN_WORD], wanted[rarest].mean(axis=0), atol=1e-6)
    changed = {UNKNOWN_WORD, *rows[:-2].tolist()}
    assert all((table[row] == 9).all() for row in range(parts.size) if row not in changed)


def test_networks_are_initialised_with_vectors(tmp_path: Path) -> None:
    file = TreebankFile(SAMPLE / "train.mrg", limit=40)
    counts = Counter(word.lower() for sentence in file.read() for word in sentence.tree.words)
    save_vectors(tmp_path / "words.npz", made(list(counts), 12))
    small = [
        "shape.width=6",
        "shape.units=4",
        "shape.projection=5",
        "min_word_count=1",
        "epochs=0.1",
        "learning_rate=1e-6",
    ]

    def table(vectors: Path | None, seed: int = 0) -> np.ndarray:
        options, out = parse_settings(small, (seed,)), tmp_path / "model"
        train_span_parser(SpanSources([file], vectors=vectors), options, {"name": "x", "lang": "en"}, out, workers=1)
        model = load_parser(out).model
        rows = model.words.encode(["the", "of"], ["DT", "IN"])[1:-1, WORD]
        return table_of(model.networks[0])[rows]

    drawn, begun = table(None), table(tmp_path / "words.npz")
    assert not np.allclose(drawn, begun, atol=0.05)
    again = table(tmp_path / "words.npz", seed=1)
    assert begun[0] @ begun[1] == pytest.approx(again[0] @ again[1], abs=0.02), "turned another way for each seed"
    options = parse_settings(small, (0,))
    both = SpanSources([file], vectors=tmp_path / "words.npz", start=tmp_path / "model")
    with pytest.raises(ConfigError, match="--word-vectors initialise new networks"):
        train_span_parser(both, options, {"name": "x", "lang": "en"}, tmp_path / "other", workers=1)
