"""Dependency models: rounding, dropped weights, serialization, and detection of damage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.bpm_parser.model import DependencyModel, LinkStage, pack_links, read_model, write_model
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.linear.features import LabelStage, on_grid, pack_labels
from spacy_dtparse.linear.kernels.feature_table import WITHOUT_BIN, make_families
from tests.dependency_models import LABELS, SENTENCES, random_model
from tests.jit.harness import KERNEL_MARKS
from tests.model_io.damage import refuses, refuses_broken_bytes

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize(
    ("most", "grid"),
    [(0.0, 10), (1.0, 10), (31.99, 10), (32.0, 9), (63.9, 9), (1000.0, 5), (32767.0, 0), (32768.0, -1), (3e9, -17)],
)
def test_weights_are_whole_numbers_on_the_finest_grid(most: float, grid: int) -> None:
    weights = np.array([most, -most, most / 3, 0.0])
    packed, found = on_grid(weights)
    assert found == grid and packed.dtype == np.int16
    assert np.abs(packed * 2.0**-grid - weights).max() <= 2.0**-grid / 2
    assert packed[0] == -packed[1] and (most == 0 or grid == 10 or abs(int(packed[0])) > 2**14 - 1)
    assert len(on_grid(np.zeros(0))[0]) == 0


BIN = np.uint64(3 << 56)
KEYS = np.array([5, 6, 7, 8, 9, 5 | int(BIN), 7 | int(BIN), 9 | int(BIN)], np.uint64)


def test_weights_that_round_to_0_are_dropped_unless_a_feature_with_distance_needs_them() -> None:
    stage = pack_links(KEYS, np.array([0.0, 1.0, 0.0001, 0.0, -2.0, 0.5, 0.0001, 0.0]))
    assert stage.keys.tolist() == [5, 6, 9, 5 | int(BIN)], "7 with its distance rounds to 0, so 7 is not needed"
    assert (stage.weights * 2.0**-stage.grid).tolist() == [0.0, 1.0, -2.0, 0.5]
    assert stage.keys.dtype == np.uint64 and stage.weights.dtype == np.int16


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (1, [9]),
        (2, [7, 9, 7 | int(BIN)]),
        (3, [7, 8, 9, 7 | int(BIN)]),
        (4, [6, 7, 8, 9, 7 | int(BIN)]),
        (7, KEYS[[0, 1, 2, 3, 4, 6, 7]]),
        (8, KEYS),
        (99, KEYS),
        (None, KEYS),
    ],
)
def test_the_greatest_weights_are_kept(most: int | None, kept: list[int]) -> None:
    weights = np.array([2.0, -4.0, 1.0, 5.0, -9.0, 0.25, 7.0, 0.5])
    assert pack_links(KEYS, weights, most).keys.tolist() == list(kept)


def test_of_labels_only_pairs_with_a_weight_are_kept() -> None:
    keys = np.array([3, 5, 8, 9], np.uint64)
    weights = np.array([[0, 1, -2], [0, 0, 0.0001], [0.5, 0, 0], [-4, 0, 8]], float)
    stage = pack_labels(keys, weights)
    assert stage.keys.tolist() == [3, 8, 9] and stage.starts.tolist() == [0, 2, 3, 5]
    assert stage.labels.tolist() == [1, 2, 0, 0, 2]
    assert (stage.weights * 2.0**-stage.grid).tolist() == [1, -2, 0.5, -4, 8]
    few = pack_labels(keys, weights, 3)
    assert (few.keys.tolist(), few.starts.tolist(), few.labels.tolist()) == ([3, 9], [0, 1, 3], [2, 0, 2])
    assert len(pack_labels(keys, np.zeros((4, 3))).keys) == 0


@pytest.mark.parametrize(("stages", "labels"), [(1, True), (2, False), (3, True)])
def test_models_round_trip_through_bytes(stages: int, labels: bool) -> None:
    model = random_model(stages, labels=labels, source="pos+tag", places=(0, 1), stem="first", decoder="spanning")
    data = write_model(model)
    again = read_model(data)[0]
    assert write_model(again) == data and again.fingerprint() == model.fingerprint()
    assert again.meta == model.meta and again.label_names == LABELS and again.decoder == "spanning"
    assert again.parts.rules == model.parts.rules
    for one, other in zip(model.stages, again.stages, strict=True):
        assert np.array_equal(one.keys, other.keys) and np.array_equal(one.weights, other.weights)
        assert one.grid == other.grid and other.keys.dtype == np.uint64 and other.weights.dtype == np.int16
    for one, other in zip(model.tables, again.tables, strict=True):
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])
    if labels:
        assert all(np.array_equal(one, other) for one, other in zip(model.labels, again.labels, strict=True))
    else:
        assert again.labels is None
    assert again.parts.encode(SENTENCES[0]).tolist() == model.parts.encode(SENTENCES[0]).tolist()


def test_the_largest_keys_round_trip() -> None:
    model = random_model(1, labels=False)
    keys = np.array([1, 2**40, 2**59 + 5, 2**60 - 1], np.uint64)
    stage = LinkStage(keys, np.array([1, -2, 32767, -32767], np.int16), -3)
    again = read_model(write_model(replace(model, stages=(stage,))))[0].stages[0]
    assert again.keys.tolist() == keys.tolist() and again.weights.tolist() == [1, -2, 32767, -32767]
    empty = LinkStage(np.zeros(0, np.uint64), np.zeros(0, np.int16), 10)
    assert len(read_model(write_model(replace(model, stages=(empty,))))[0].stages[0].keys) == 0


def test_weights_are_stored_at_the_positions_of_their_keys() -> None:
    model = random_model(2)
    for stage, (rows, weights) in zip(model.stages, model.tables, strict=True):
        table = make_families(stage.keys)
        assert np.array_equal(rows, table.rows) and weights.dtype == np.float32
        by_key = dict(zip(stage.keys.tolist(), (stage.weights * 2.0**-stage.grid).tolist(), strict=True))
        found = dict(zip(stage.keys[table.ids[1:]].tolist(), weights[1:].tolist(), strict=True))
        assert found == by_key and weights[0] == 0.0
        bases = stage.keys[stage.keys > WITHOUT_BIN] & WITHOUT_BIN
        assert len(bases) and np.isin(bases, stage.keys).all()


def test_a_fingerprint_is_of_all_that_decides() -> None:
    model = random_model(2)
    stage, labels, parts = model.stages[0], model.labels, model.parts
    kinds = parts.kinds.copy()
    kinds[-1] = 3
    others = [
        model,
        replace(model, decoder="spanning"),
        replace(model, label_names=LABELS[::-1]),
        replace(model, labels=None),
        replace(model, stages=model.stages[:1]),
        replace(model, stages=(stage._replace(grid=stage.grid - 1), model.stages[1])),
        replace(model, stages=(stage._replace(weights=stage.weights[::-1].copy()), model.stages[1])),
        replace(model, labels=labels._replace(weights=labels.weights[::-1].copy())),
        replace(model, parts=replace(parts, kinds=kinds)),
        replace(model, parts=replace(parts, rules=replace(parts.rules, stem="first"))),
    ]
    assert len({other.fingerprint() for other in others}) == len(others)
    assert replace(model, meta={}).fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "dependency model has version 2; this release reads version 1"),
        ({"fingerprint": "0" * 16}, "has fingerprint .* but states '0000000000000000'"),
        ({"decoder": "spanning"}, "has fingerprint .* but states"),
        ({"decoder": "easy-first"}, "decoder is 'easy-first'; it must be 'projective' or 'spanning'"),
        ({"grids": []}, "an array 'stage0.keys', which this release does not know"),
        ({"grids": [1, 2]}, "lacks the array 'stage1.keys'"),
        ({"grids": ["x"]}, r"grids\[0\] is 'x'; it must be a whole number from -20 to 20"),
        ({"label_names": []}, "'labels.labels' has numbers from 0 to 4; they must be from 0 below 0"),
        ({"label_names": list(LABELS[:2])}, "'labels.labels' has numbers from 0 to 4; they must be from 0 below 2"),
        (
            {"stage0.weights": np.zeros(3, np.int16)},
            r"shape \(3,\), where dimension 0 must be \d+ \(features of stage 0\)",
        ),
        ({"stage0.keys": np.zeros(3, np.uint64)}, r"where dimension 0 must be 3 \(features of stage 0\)"),
        ({"labels.counts": np.array([1, 2])}, "is int64 of 1 dimensions; it must be int32 of 1"),
        ({"labels.labels": np.zeros(3, np.int32)}, r"where dimension 0 must be 3 \(pairs\)"),
        ({"labels.weights": np.zeros(3, np.int16)}, r"has the shape \(3,\), where dimension 0 must be"),
        ({"label_grid": None}, "'labels.counts', which this release does not know"),
        ({"kinds": np.zeros(3, np.int32)}, r"must be 12 \(tags\)"),
        ({"word_tags": np.zeros(3, np.int32)}, "is int32 of 1 dimensions; it must be int32 of 2"),
        ({"parts": {}}, "data.parts lacks 'rules'"),
    ],
)
def test_damage_is_reported(change: dict, message: str) -> None:
    refuses(read_model, write_model(random_model(1)), change, message)


def test_foreign_and_broken_bytes_are_refused() -> None:
    refuses_broken_bytes(read_model, write_model(random_model(1)))


def test_parts_that_do_not_fit_are_refused() -> None:
    model = random_model(1)
    stage, labels = model.stages[0], model.labels
    assert isinstance(model, DependencyModel) and isinstance(labels, LabelStage)
    with pytest.raises(ModelFormatError, match="has 5 stages; allowed are 1 to 4"):
        replace(model, stages=(stage,) * 5)
    with pytest.raises(ModelFormatError, match="not in ascending order"):
        replace(model, stages=(stage._replace(keys=stage.keys[::-1].copy()),))
    with pytest.raises(ModelFormatError, match="not in ascending order"):
        replace(model, stages=(LinkStage(np.array([0, 3], np.uint64), np.ones(2, np.int16), 1),))
    with pytest.raises(ModelFormatError, match="not in ascending order"):
        replace(model, stages=(LinkStage(np.array([3, 3], np.uint64), np.ones(2, np.int16), 1),))
    with pytest.raises(ModelFormatError, match="features of type int64 with"):
        replace(model, stages=(stage._replace(keys=stage.keys.astype(np.int64)),))
    starts = labels.starts.copy()
    starts[1] = labels.starts[-1] + 1
    for wrong in (
        labels._replace(starts=starts),
        labels._replace(starts=labels.starts + np.int32(1)),
        labels._replace(labels=labels.labels + np.int32(1)),
        labels._replace(labels=labels.labels - np.int32(1)),
    ):
        with pytest.raises(ModelFormatError, match="weights of labels do not fit its 5 labels"):
            replace(model, labels=wrong)
