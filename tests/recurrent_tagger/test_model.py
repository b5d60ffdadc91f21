"""Recurrent taggers: serialization and detection of damage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.model_io.container import container_from_bytes
from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.recurrent_tagger.model import KIND, read_model, write_model
from tests.model_io.damage import GONE, refuses, refuses_broken_bytes
from tests.recurrent_models import FORMS, TAGS, random_model


def test_models_round_trip_through_bytes() -> None:
    model = random_model(2)
    data = write_model(model)
    again = read_model(data)[0]
    assert write_model(again) == data and again.fingerprint() == model.fingerprint()
    assert again.tags == TAGS and again.forms == FORMS and again.space == "_SP" and again.meta == model.meta
    assert np.array_equal(again.network.table, model.network.table)
    assert np.array_equal(again.parts.encode(["The", "gnu"]), model.parts.encode(["The", "gnu"]))


def test_models_with_word_clusters_round_trip() -> None:
    model = random_model(2, clusters=WordClusters(["cat gnu", "sat slept"]))
    data = write_model(model)
    again = read_model(data)[0]
    assert write_model(again) == data and again.fingerprint() == model.fingerprint()
    assert np.array_equal(again.parts.encode(["The", "gnu"]), model.parts.encode(["The", "gnu"]))
    assert read_model(data)[0].parts.clusters is again.parts.clusters, "models share equal clusters"
    other = random_model(2, clusters=WordClusters(["cat", "gnu", "sat slept"]))
    assert len({one.fingerprint() for one in (model, other, random_model(2))}) == 3
    parts = model.parts.to_dict()
    for clusters, message in (
        ({**parts["clusters"], "words": ["cat gnu", "gnu"]}, "'gnu' is listed twice"),
        ({**parts["clusters"], "words": []}, "clusters.words has 0 entries"),
        ({"words": ["cat"]}, "clusters lacks 'names'"),
        (["cat"], "clusters is .*; it must be a dict"),
    ):
        refuses(read_model, data, {"parts": {**parts, "clusters": clusters}}, message)


def test_everything_that_decides_a_tag_is_in_the_fingerprint() -> None:
    model = random_model()
    packed = {**model.packed, "output_bias": model.packed["output_bias"] + np.float16(1)}
    others = [replace(model, tags=TAGS[::-1]), replace(model, forms=()), replace(model, space="")]
    others += [replace(model, packed=packed), random_model(1)]
    assert len({one.fingerprint() for one in (model, *others)}) == 6
    assert replace(model, meta={"name": "other"}).fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tags": []}, "tags has 0 entries; it must be a list of 1 to"),
        ({"tags": ["NN", *TAGS[1:-1], "NN"]}, "there must be one or more, each once"),
        ({"tags": ["N N", *TAGS[1:]]}, "is 'N N'; it must be a text, printable, without blanks"),
        ({"tags": TAGS[1:]}, r"shape \(8, 7\), where \(8, 6\) is needed"),
        ({"tags": GONE}, "lacks 'tags'"),
        ({"forms": [["(", "NN"]]}, r"forms\[0\]\[0\] is '\('; it must be one of the forms"),
        ({"forms": [["a", ""]]}, "is 'a'; it must be one of the forms"),
        ({"forms": 7}, "forms is 7; it must be a list"),
        ({"space": "XX"}, "fingerprint"),
        ({"parts": {}}, "data.parts lacks 'words'"),
        ({"version": 9}, "has version 9"),
        ({"weights0": GONE, "weights1": GONE}, "lacks the array 'weights0'"),
        ({"outputs": GONE}, "lacks the array 'outputs'"),
        ({"table": np.zeros((3, 6), np.int8)}, "do not fit together|where"),
        ({"recurrent": np.zeros((2, 2, 2, 4), np.uint16)}, "fingerprint"),
        ({"output_bias": np.full(7, 0x7C00, np.uint16)}, "not finite"),
    ],
)
def test_damaged_parts_are_refused(changes: dict, message: str) -> None:
    refuses(read_model, write_model(random_model()), changes, message)


def test_broken_bytes_are_refused() -> None:
    data = write_model(random_model())
    refuses_broken_bytes(lambda data: container_from_bytes(data, KIND), data)
