"""Networks that learn from second-best tags."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core.ambiguous_tags import AmbiguousTag, second_tag
from spacy_dtparse.core.parser import Capability
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.nn.packing import table_of
from spacy_dtparse.span_parser.features import TAG
from spacy_dtparse.span_parser.parser import SpanParser
from tests.teacher_shards import LISTS, made_distribution, made_shard
from training.cli import main
from training.data.corpus import Sentence, read_treebank
from training.data.shards import read_shard, retag, save_shard
from training.data.treebanks import write_tags
from training.span_parser.fitting import SpanOptions, make_model, make_training_data, stored_options, train_network
from training.span_parser.network import Shape

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "assets" / "sample"
SMALL = SpanOptions(shape=Shape(8, 8, 1, 8), epochs=1, seeds=(0,), batch_tokens=200, second_tags=True)


def sentences_with_second_tags(n: int = 40) -> list[Sentence]:
    """Trees of the sample in which nouns may be verbs."""
    found = []
    for one in read_treebank(SAMPLE / "train.mrg", limit=n):
        tags = tuple(AmbiguousTag(tag, "VB") if tag == "NN" else tag for tag in one.tags)
        found.append(Sentence(one.tree, tags, one.source))
    return found


def test_files_of_tags_keep_second_best_tags(tmp_path: Path) -> None:
    made = sentences_with_second_tags(5)
    write_tags(tmp_path / "tags", [one.tags for one in made])
    assert any("NN||VB" in line.split() for line in (tmp_path / "tags").read_text().splitlines())
    (tmp_path / "NAME").mkdir()
    trees = "".join(f"{one.tree}\n" for one in made)
    (tmp_path / "NAME" / "train.mrg").write_text(trees, encoding="utf8")
    again = read_treebank(tmp_path / "NAME" / "train.mrg", tmp_path / "tags")
    assert [one.tags for one in again] == [one.tags for one in made]
    seconds, right = ([[*map(second_tag, one.tags)] for one in part] for part in (again, made))
    assert seconds == right and any(map(any, seconds))


def test_shards_keep_second_best_tags(tmp_path: Path) -> None:
    made_shard(tmp_path / "made.00000.npz")
    shard = read_shard(tmp_path / "made.00000.npz")
    tags = [[AmbiguousTag(tag, "VB") if i % 2 else tag for i, tag in enumerate(s.tags)] for s in shard.sentences]
    retag(tmp_path / "made.00000.npz", tmp_path / "second.npz", tags)
    found = [s.tags for s in read_shard(tmp_path / "second.npz").sentences]
    assert found == [s.tags for s in shard.sentences]
    assert [[*map(second_tag, row)] for row in found] == [[*map(second_tag, row)] for row in tags]


def test_shards_with_too_many_pairs_keep_the_most_frequent(tmp_path: Path) -> None:
    """A shard has at most 255 tags; a rare pair becomes its first tag."""
    words = ("word",) * 200
    distribution = made_distribution(LISTS.tags[:1] * len(words), np.random.default_rng(0))
    save_shard(tmp_path / "many.npz", LISTS, [words, words], [distribution, distribution])
    tags = [[AmbiguousTag("NN", f"T{i}") for i in range(200)], [AmbiguousTag("NN", f"T{i + 100}") for i in range(200)]]
    retag(tmp_path / "many.npz", tmp_path / "second.npz", tags)
    found = [tag for s in read_shard(tmp_path / "second.npz").sentences for tag in s.tags]
    assert set(found) == {"NN"} and len(set(map(second_tag, found))) == 255  # with none
    assert all(second_tag(found[i]) == f"T{i}" for i in range(100, 200)), "they occur twice"


def test_a_trained_network_uses_them() -> None:
    made = sentences_with_second_tags()
    training_data = make_training_data(made, (), SMALL)
    model = make_model(training_data, [train_network(training_data, SMALL, 0)], {})
    parser = SpanParser(model)
    assert Capability.SECOND_TAGS in parser.capabilities and stored_options(SMALL)["second_tags"] is True
    assert "second_tags" not in stored_options(SpanOptions())
    assert not any(map(second_tag, model.words.tables[TAG])), "the vocabulary has plain tags"
    again = SpanParser.from_bytes(parser.to_bytes(), self_test=True)
    assert again.capabilities == parser.capabilities
    sentence = next(one for one in made if any(map(second_tag, one.tags)))
    plain = parser.run_networks(sentence.tree.words, [str(tag) for tag in sentence.tags])[0]
    assert not np.array_equal(plain, parser.run_networks(sentence.tree.words, sentence.tags)[0])


def test_a_network_can_learn_to_use_them_later() -> None:
    made, before = sentences_with_second_tags(), replace(SMALL, second_tags=False)
    first_data = make_training_data(made, (), before)
    first = make_model(first_data, [train_network(first_data, before, 0)], {})
    training_data = make_training_data(made, (), SMALL, start=first)
    assert training_data.words.size == first.words.size + 3 + len(first.words.tables[TAG])
    packed = train_network(training_data, replace(SMALL, epochs=5), 0)
    network = make_model(training_data, [packed], {}).networks[0]
    table, before_table = table_of(network), table_of(first.networks[0])
    verb = training_data.words.encode(["x"], [AmbiguousTag("NN", "VB")])[1, -1]
    assert len(table) == training_data.words.size and verb >= len(before_table)
    assert np.abs(table[verb]).max() > 0, "the row of the second-best tag has been learned"
    again = make_training_data(made, (), SMALL, start=make_model(training_data, [packed], {}))
    assert again.words.size == training_data.words.size


def test_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tags(tmp_path / "tags", [one.tags for one in sentences_with_second_tags(30)])
    (tmp_path / "train.mrg").write_text(
        "".join(f"{one.tree}\n" for one in read_treebank(SAMPLE / "train.mrg", limit=30))
    )
    trees = f"{tmp_path}/train.mrg,tags={tmp_path}/tags"
    arguments = ["train-span", "--train", trees, "--seeds", "0", "--set", "second_tags=true"]
    arguments += ["epochs=1", "shape.width=8", "shape.units=8", "shape.layers=1", "shape.projection=8"]
    assert main([*arguments, "--out", str(tmp_path / "out.model")]) in (None, 0), capsys.readouterr()
    assert Capability.SECOND_TAGS in SpanParser.from_disk(tmp_path / "out.model").capabilities


def test_tags_without_second_ones_are_an_error() -> None:
    with pytest.raises(TrainingDataError, match=r"second_tags needs second-best tags, and the files of tags have none"):
        make_training_data(read_treebank(SAMPLE / "train.mrg", limit=5), (), SMALL)


def test_rows_of_tags_that_are_never_second_stay_zero() -> None:
    training_data = make_training_data(sentences_with_second_tags(), (), SMALL)
    table = table_of(make_model(training_data, [train_network(training_data, SMALL, 0)], {}).networks[0])
    rows = table[training_data.words.second_tag_rows()]
    assert len(rows) == len(training_data.words.tables[TAG]) > 10
    assert np.abs(rows).max(axis=1).astype(bool).sum() <= 1, "only VB is ever second"
