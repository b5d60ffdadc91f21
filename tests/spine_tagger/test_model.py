"""Serialization of a tagger's data, damage, and parts that do not fit together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.errors import DtparseError, ModelFormatError
from spacy_dtparse.linear.features import pack_pairs
from spacy_dtparse.model_io.container import container_from_bytes, container_to_bytes
from spacy_dtparse.spine_tagger.model import KIND, read_model, write_model
from tests.jit.harness import KERNEL_MARKS
from tests.tagger_models import SENTENCES, random_tagger, small_parts

pytestmark = KERNEL_MARKS


def test_models_round_trip_through_bytes() -> None:
    model = random_tagger(1)
    data = write_model(model)
    again = read_model(data)[0]
    assert write_model(again) == data and again.fingerprint() == model.fingerprint()
    assert again.meta == model.meta and again.scale == model.scale
    for one, other in zip(model.tables, again.tables, strict=True):
        assert np.array_equal(one, other) and (np.isscalar(one) or one.dtype == other.dtype)
    for words, tags, _ in SENTENCES:
        assert np.array_equal(model.parts.encode(words, tags), again.parts.encode(words, tags))


def test_a_fingerprint_is_of_all_that_decides() -> None:
    model = random_tagger(1)
    weights = model.weights
    others = [
        model,
        replace(model, scale=0.8),
        replace(model, weights=weights._replace(grid=weights.grid - 1)),
        replace(model, weights=weights._replace(weights=weights.weights[::-1].copy())),
        replace(model, parts=replace(model.parts, n_plain=0)),
        random_tagger(2),
    ]
    assert len({other.fingerprint() for other in others}) == len(others)
    assert replace(model, meta={}).fingerprint() == model.fingerprint()


def changed(**changes) -> bytes:
    meta, arrays = container_from_bytes(write_model(random_tagger(1)), KIND)
    for name, value in changes.items():
        (arrays if name in arrays else meta)[name] = value
    return container_to_bytes(KIND, meta, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "tagger has version 2; this release reads version 1"),
        ({"fingerprint": "0" * 16}, "has fingerprint .* but states '0000000000000000'"),
        ({"scale": 0.5}, "has fingerprint .* but states"),
        ({"scale": 0.0}, "scale is 0.0; it must be above 0"),
        ({"scale": float("nan")}, "scale is nan"),
        ({"scale": "x"}, "scale is 'x'; it must be a number from 0"),
        ({"labels.keys": np.zeros(3, np.uint64)}, r"must be 3 \(features of labels\)"),
        ({"labels.labels": np.zeros(3, np.int32)}, r"must be 3 \(pairs\)"),
        ({"labels.weights": np.zeros(3, np.int16)}, r"has the shape \(3,\), where dimension 0 must be"),
        ({"labels.weights": np.zeros(3, np.float32)}, "is float32 of 1 dimensions; it must be int16 of 1"),
        ({"labels.counts": np.array([1, 2])}, "is int64 of 1 dimensions; it must be int32 of 1"),
        ({"allowed_counts": np.array([5, 1], np.int32)}, "tag dictionary does not fit"),
        ({"allowed": np.zeros(3, np.int32)}, "tag dictionary does not fit"),
        ({"parts": {}}, "data.parts lacks 'n_plain'"),
    ],
)
def test_damage_is_reported(change: dict, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        read_model(changed(**change))


def test_foreign_and_broken_bytes_are_refused() -> None:
    data = write_model(random_tagger(1))
    assert read_model(changed())[0].meta["name"] == "random"
    with pytest.raises(ModelFormatError, match="truncated"):
        read_model(data[:-5])
    with pytest.raises(ModelFormatError, match="damaged"):
        read_model(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelFormatError, match="of kind 'span'; a file of kind 'tagger' is needed"):
        read_model(container_to_bytes("span", {}, {}))


@pytest.mark.parametrize("place", [0, 1, 7, -2, -1])
def test_positions_and_labels_out_of_range_are_refused(place: int) -> None:
    model = random_tagger(1)
    parts, weights = model.parts, model.weights
    for name, value in (("allowed", 99), ("allowed", -1), ("allowed_from", 999), ("allowed_from", -1)):
        wrong = getattr(parts, name).copy()
        wrong[place] = value
        with pytest.raises(DtparseError, match="tag dictionary does not fit"):
            replace(parts, **{name: wrong})
    for field, value in (("labels", 5), ("labels", -1), ("starts", 9999), ("starts", -1)):
        wrong = getattr(weights, field).copy()
        wrong[place] = value
        with pytest.raises(ModelFormatError, match="weights of labels do not fit"):
            replace(model, weights=weights._replace(**{field: wrong}))


def test_lists_that_do_not_fit_are_refused() -> None:
    parts = small_parts()
    with pytest.raises(DtparseError, match=r"99 of \d+ words are frequent"):
        replace(parts, n_plain=99)
    with pytest.raises(DtparseError, match="without labels"):
        replace(parts, labels=type(parts.labels)([]))
    with pytest.raises(DtparseError, match="4095 labels; a tagger can have at most 4094"):
        replace(parts, labels=type(parts.labels)(map(str, range(4095))))


def test_the_greatest_weights_are_kept() -> None:
    keys, features = np.array([3, 5, 8, 9], np.uint64), np.array([0, 0, 2, 3, 3])
    labels, weights = np.array([1, 2, 0, 0, 2]), np.array([1.0, -2.0, 0.0001, -4.0, 8.0])
    stage = pack_pairs(keys, features, labels, weights)
    assert (stage.keys.tolist(), stage.starts.tolist()) == ([3, 9], [0, 2, 4])
    assert (stage.labels.tolist(), (stage.weights * 2.0**-stage.grid).tolist()) == ([1, 2, 0, 2], [1, -2, -4, 8])
    few = pack_pairs(keys, features, labels, weights, 3)
    assert (few.keys.tolist(), few.starts.tolist(), few.labels.tolist()) == ([3, 9], [0, 1, 3], [2, 0, 2])
    coarse = pack_pairs(keys, features, labels, weights, levels=8)
    assert coarse.grid == 0 and coarse.weights.tolist() == [1, -2, -4, 8]
    assert len(pack_pairs(keys, features, labels, np.zeros(5)).keys) == 0
