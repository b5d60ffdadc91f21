"""The mean of the parameters of span models."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.model import PackedNetwork, SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from tests.span_models import random_model, random_pretrained_model
from training.__main__ import main
from training.nn.storage import real_arrays
from training.span_parser.averaging import average_models

MAKERS = {"recurrent": random_model, "pretrained": random_pretrained_model}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_each_parameter_is_the_weighted_mean(make) -> None:
    first, second = make(seed=0), make(seed=7)
    mean = average_models([first, second], [1, 3])
    assert len(mean.packed) == len(first.packed) and mean.networks
    for a, b, c in zip(first.packed, second.packed, mean.packed, strict=True):
        old, new, found = (real_arrays(one.arrays) for one in (a, b, c))
        assert found.keys() == old.keys()
        for name, array in found.items():
            expected = 0.25 * old[name] + 0.75 * new[name]
            step = np.abs(expected).max() / (127 if array.ndim > 1 else 1000)
            np.testing.assert_allclose(array, expected, atol=step, err_msg=name)
            assert np.abs(array - old[name]).max() > 2 * step, f"{name} is not the first model's"


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_mean_of_a_model_and_itself_is_the_model(make) -> None:
    model = make(seed=1)
    for before, after in zip(model.packed, average_models([model, model], [0.3, 0.3]).packed, strict=True):
        assert after.arrays.keys() == before.arrays.keys()
        for name, array in before.arrays.items():
            tolerance = 0 if array.dtype == np.int8 else 1e-3
            np.testing.assert_allclose(after.arrays[name], array, rtol=tolerance, atol=tolerance, err_msg=name)


def with_reversed_chains(model: SpanModel) -> SpanModel:
    """The model with its label chains, after the empty one, in reverse order."""
    order = [0, *range(len(model.chains) - 1, 0, -1)]
    packed = []
    for one in model.packed:
        assert isinstance(one, PackedNetwork)
        labels = {name: one.arrays[name][..., order] for name in ("labels", "label_bias")}
        packed.append(PackedNetwork({**one.arrays, **labels}))
    return replace(model, chains=tuple(model.chains[k] for k in order), packed=tuple(packed))


def test_labels_are_matched_by_name() -> None:
    first, second = random_model(seed=0), random_model(seed=7)
    expected = average_models([first, second], [1, 1])
    found = average_models([first, with_reversed_chains(second)], [1, 1])
    assert found.chains == first.chains
    for a, b in zip(expected.packed, found.packed, strict=True):
        np.testing.assert_array_equal(a.arrays["labels"], b.arrays["labels"])


def test_credits_are_all_models(tmp_path: Path, capsys) -> None:
    paths = [tmp_path / name for name in ("a.model", "b.model", "mean.model")]
    for seed, path in enumerate(paths[:2]):
        model = random_pretrained_model(seed)
        meta = {**model.meta, "credits": ["both", path.name], "calibration": {"constituents": [[0.5, 0.5]]}}
        path.write_bytes(PretrainedSpanParser(replace(model, meta=meta)).to_bytes())
    assert main(["average-span", str(paths[0]), f"{paths[1]}:3", "--out", str(paths[2])]) in (0, None)
    assert "mean.model" in capsys.readouterr().out
    mean = PretrainedSpanParser.from_disk(paths[2])
    assert mean.meta["credits"] == ["both", "a.model", "b.model"] and "calibration" not in mean.meta
    assert mean.parse(["Dogs", "bark"], ["NNS", "VBP"]).tree.n_tokens == 2


def test_models_that_do_not_fit_are_refused(tmp_path: Path, capsys) -> None:
    model = random_model()
    with pytest.raises(ConfigError, match="give two or more"):
        average_models([model], [1])
    for weights in ([1, 0], [1, -1], [1, float("nan")], [1, float("inf")], [1]):
        with pytest.raises(ConfigError, match="weights above 0"):
            average_models([model, model], weights)
    with pytest.raises(ConfigError, match="has 1 networks, the first 2"):
        average_models([model, random_model(n_networks=1)], [1, 1])
    with pytest.raises(ConfigError, match="other words or tags"):
        average_models([model, random_pretrained_model()], [1, 1])
    others = [random_pretrained_model(**sizes) for sizes in ({}, {"d": 6}, {"layers": 3})]
    for one, other in permutations(others, 2):
        with pytest.raises(ConfigError, match="network of other sizes"):
            average_models([one, other], [1, 1])
    for one, other in permutations([model, random_model(units=6), random_model(layers=3)], 2):
        with pytest.raises(ConfigError, match="network of other sizes"):
            average_models([one, other], [1, 1])
    chains = (*model.chains[:-1], ("OTHER",))
    with pytest.raises(ConfigError, match="other label chains"):
        average_models([model, replace(model, chains=chains)], [1, 1])
    (tmp_path / "a.model").write_bytes(SpanParser(model).to_bytes())
    assert main(["average-span", str(tmp_path / "a.model"), f"{tmp_path / 'a.model'}:2", "--out", "x"]) == 1
    assert "give each one once" in capsys.readouterr().err
