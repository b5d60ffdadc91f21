"""The tagger's kernel against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.nn.packing import round_layers, table_of
from spacy_dtparse.recurrent_tagger.kernels import score_tags
from tests.jit.harness import KERNEL_MARKS
from tests.recurrent_models import TAGS, TEXTS, random_model
from tests.reference import spans as reference

pytestmark = KERNEL_MARKS


def scored(
    network, encoded: list[np.ndarray], together: int = 400, max_gap: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    best, second = np.full((2, offsets[-1]), -7, np.int32)
    starts = np.full(offsets[-1], np.nan, np.float32)
    score_tags(round_layers(network), np.concatenate(encoded), offsets, together, max_gap, best, second, starts)
    return best, second, starts


@pytest.mark.parametrize("sizes", [{}, {"width": 8}, {"layers": 1}, {"layers": 3, "units": 3}])
def test_scores_are_those_of_numpy(sizes: dict[str, int]) -> None:
    model = random_model(3, **sizes)
    network, numbers = model.network, model.parts.encode(TEXTS[0])
    x = reference.read_layers(network, numbers)
    scores = x @ network.outputs + network.output_bias
    best, _, starts = scored(network, [numbers])
    margin = np.sort(scores[:, :-1], axis=1)
    clear = margin[:, -1] - margin[:, -2] > 1e-2
    assert clear.sum() > 10 and np.array_equal(best[clear], scores[clear, :-1].argmax(axis=1))
    assert len(set(best.tolist())) > 1 and best.max() < len(TAGS)
    error = np.abs(starts - scores[:, -1])
    assert np.median(error) < 5e-3 and error.max() < 0.1, "a number between two steps may be rounded to the other"


@pytest.mark.parametrize("width", [6, 48])
def test_a_packed_table_scores_like_one_in_float32(width: int) -> None:
    model = random_model(2, width=width)
    network, encoded = model.network, [model.parts.encode(TEXTS[0])]
    assert network.table.dtype == np.int8
    wide = network._replace(table=table_of(network), factor=np.ones_like(network.factor))
    (tags, _, starts), (right_tags, _, right_starts) = scored(network, encoded), scored(wide, encoded)
    assert np.array_equal(tags, right_tags)
    # not in every bit: the kernel is compiled for each type of table, and `fastmath` may sum in another order
    assert np.allclose(starts, right_starts, rtol=1e-5, atol=1e-5)


def test_of_equal_scores_the_first_tag_is_taken() -> None:
    model = random_model(0)
    network = model.network._replace(outputs=model.network.outputs * 0, output_bias=model.network.output_bias * 0)
    best, second, starts = scored(network, [model.parts.encode(TEXTS[0])])
    assert not best.any() and set(second.tolist()) == {1} and not starts.any()


@pytest.mark.parametrize("max_gap", [0.3, 1.0, 3.0])
def test_the_second_tag_is_given_if_it_is_nearly_as_probable(max_gap: float) -> None:
    model = random_model(3)
    network, numbers = model.network, model.parts.encode(TEXTS[0])
    scores = (reference.read_layers(network, numbers) @ network.outputs + network.output_bias)[:, :-1]
    best, second, _ = scored(network, [numbers], max_gap=max_gap)
    order = np.argsort(-scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    clear = (ranked[:, 0] - ranked[:, 1] > 1e-2) & (ranked[:, 1] - ranked[:, 2] > 1e-2)
    clear &= abs(ranked[:, 0] - ranked[:, 1] - max_gap) > 1e-2
    right = np.where(ranked[:, 0] - ranked[:, 1] <= max_gap, order[:, 1], -1)
    assert clear.sum() > 10 and len(set((right[clear] >= 0).tolist())) == 2
    assert np.array_equal(best[clear], order[clear, 0]) and np.array_equal(second[clear], right[clear])


def test_texts_are_scored_alike_in_any_batch() -> None:
    model = random_model(1)
    encoded = [model.parts.encode(text) for text in (*TEXTS, *TEXTS[::-1])]
    best, second, starts = scored(model.network, encoded)
    at = 0
    for numbers in encoded:
        single = scored(model.network, [numbers])
        here = slice(at, at + len(numbers))
        for batched, by_itself in zip((best, second, starts), single, strict=True):
            assert np.array_equal(batched[here], by_itself)
        at = here.stop
    assert at == len(best)
