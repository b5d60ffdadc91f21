"""A tag layer over the word vectors of a pretrained encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ModelFormatError, TrainingDataError
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from tests.span_models import random_pretrained_model
from tests.teacher_shards import made_shard
from training.__main__ import main
from training.data.shards import read_shard
from training.teacher.tag_layer import EncoderTagger, encode_words, open_encoder

WORDS = {"DT": ["the", "a"], "NN": ["cat", "mat", "cats"], "VBD": ["sat", "saw"], "IN": ["on"]}
TAG_OF = {word: tag for tag, words in WORDS.items() for word in words}


def sentence(rng: np.random.Generator) -> list[tuple[str, str]]:
    return [(str(rng.choice(WORDS[tag])), tag) for tag in ("DT", "NN", "VBD", "IN", "DT", "NN")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `encoder`, a treebank in `trees`, and `layer.npz`, a layer that was trained on the treebank."""
    folder, rng = tmp_path_factory.mktemp("tags"), np.random.default_rng(0)
    (folder / "encoder").write_bytes(PretrainedSpanParser(random_pretrained_model()).to_bytes())
    (folder / "trees").mkdir()
    for part, size in (("train", 200), ("dev", 20)):
        lines = [" ".join(f"({tag} {word})" for word, tag in sentence(rng)) for _ in range(size)]
        (folder / "trees" / f"{part}.mrg").write_text("".join(f"( (S {line}) )\n" for line in lines))
    model, layer = str(folder / "encoder"), str(folder / "layer.npz")
    main(["teacher", "fit-tags", model, "--treebank", str(folder / "trees:2"), "--epochs", "300", "--out", layer])
    return folder


def test_the_layer_learns_the_tags(made: Path) -> None:
    tagger = EncoderTagger(made / "encoder", made / "layer.npz")
    words = ["the", "cat", "saw", "on", "a", "mat"]
    tags = tuple(TAG_OF[word] for word in words)
    assert tagger.tag([words, [], words]) == [tags, (), tags]
    assert tagger.tag([]) == [] and tagger.tag([[]]) == [()]


def test_a_word_has_the_same_input_in_every_batch(made: Path) -> None:
    encoder = open_encoder(made / "encoder")
    texts = [["the", "cats", "sat"], ["cats"], ["on", "a", "mat"]]
    together = encode_words(encoder, texts)
    d = encoder.networks[0].table.shape[1]
    assert together.shape == (7, 2 * d)
    assert np.array_equal(together, np.concatenate([encode_words(encoder, [text]) for text in texts]))
    assert np.array_equal(together[1, d:], together[3, d:]), "the embedding does not depend on the other words"
    assert not np.array_equal(together[1, :d], together[3, :d]), "the vector does"


def test_shards_and_trees_are_tagged(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [("the", "cat", "sat", "on", "a", "mat"), ("a", "cats", "saw", "on", "the", "cat")]
    (tmp_path / "shards").mkdir()
    made_shard(tmp_path / "shards" / "text.00000.npz", words, [("NN",) * len(one) for one in words])
    options = ["--encoder", str(made / "encoder"), "--tag-layer", str(made / "layer.npz"), "--workers", "1"]
    sources = [str(tmp_path / "shards"), str(made / "trees" / "dev.mrg")]
    main(["teacher", "retag", *sources, *options, "--out", str(tmp_path / "out")])
    found = read_shard(tmp_path / "out" / "text.00000.npz").sentences
    assert [one.tags for one in found] == [tuple(TAG_OF[word] for word in one) for one in words]
    assert "100.00 % of the tags are correct" in capsys.readouterr().out


def test_what_does_not_fit_is_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelFormatError, match=r"en_span is a model of kind 'span' without a pretrained encoder"):
        open_encoder("en_span")
    wider = tmp_path / "wider"
    wider.write_bytes(PretrainedSpanParser(random_pretrained_model(d=16)).to_bytes())
    with pytest.raises(TrainingDataError, match="give the encoder that the layer was trained with"):
        EncoderTagger(wider, made / "layer.npz")
    with pytest.raises(TrainingDataError, match="no readable training state"):
        EncoderTagger(made / "encoder", made / "encoder")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "train.mrg").write_text("")
    arguments = ["teacher", "fit-tags", str(made / "encoder"), "--treebank", str(tmp_path / "empty")]
    assert main([*arguments, "--out", str(tmp_path / "x")]) == 1
    assert "there are no training sentences" in capsys.readouterr().err
    retag = ["teacher", "retag", str(made / "trees" / "dev.mrg"), "--out", str(tmp_path)]
    assert main([*retag, "--encoder", str(made / "encoder")]) == 1
    assert "belong together" in capsys.readouterr().err
