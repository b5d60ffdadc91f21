"""Span marginals of blocks of a treebank, by models that were trained elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from tests.span_models import random_pretrained_model
from training.data.marginals import read_marginals
from training.data.treebanks import TreebankFile
from training.span_parser.jackknife import marginals_by_blocks

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"


def write(folder: Path, seed: int, **changes: object) -> Path:
    """Write a random model."""
    path = folder / f"{seed}.model"
    PretrainedSpanParser(replace(random_pretrained_model(seed), **changes)).to_disk(path)
    return path


def test_each_block_is_parsed_by_its_model(tmp_path: Path) -> None:
    file = TreebankFile.parse(f"{SAMPLE / 'train.mrg'},limit=25")
    sentences = file.read()
    models = [write(tmp_path, seed) for seed in (0, 1)]
    (path,) = marginals_by_blocks(models, [file], tmp_path / "out")
    chains, lengths, found = read_marginals(path)
    parsers = [PretrainedSpanParser.from_disk(model) for model in models]
    assert path.name == "sample.train.marginals.npz" and chains == parsers[0].chain_names
    assert lengths == [len(sentence.tags) for sentence in sentences]
    for index, (sentence, marginals) in enumerate(zip(sentences, found, strict=True)):
        (expected,) = parsers[index // 10 % 2].marginals([(sentence.tree.words, sentence.tags)])
        assert np.array_equal(marginals.spans, expected.spans) and np.array_equal(marginals.chains, expected.chains)
        assert np.allclose(marginals.span_probs, expected.span_probs)


def test_models_must_fit_together(tmp_path: Path) -> None:
    file = TreebankFile.parse(f"{SAMPLE / 'dev.mrg'},limit=5")
    model = write(tmp_path, 0)
    other = random_pretrained_model(0)
    path = write(tmp_path, 1, chains=(*other.chains[:-1], ("X",)))
    with pytest.raises(ConfigError, match=r"1.model has other label chains than .*0.model"):
        marginals_by_blocks([model, path], [file], tmp_path)
    with pytest.raises(ConfigError, match="of kind 'dtree'; give span or pretrained"):
        marginals_by_blocks([Path(embedded_model("en_dtparse"))], [file], tmp_path)
