"""The mean of the parameters of span models, in place of one of them: models that were trained further from one model
keep more of what it knew if they are averaged with it (Wortsman et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.kernels.network import SpanNetwork
from spacy_dtparse.span_parser.kernels.pretrained import PretrainedNetwork
from spacy_dtparse.span_parser.model import PackedNetwork, SpanModel
from spacy_dtparse.span_parser.pretrained import PackedEncoder
from spacy_dtparse.stored_names import stored_fields

from ..nn.storage import real_arrays

_LABELS = ("labels", "label_bias")
"""Arrays whose last axis is the label chains."""


def average_models(models: Sequence[SpanModel], weights: Sequence[float]) -> SpanModel:
    """The weighted mean of models. Words, label chains and their order, tables for attaching and metadata are the first
    one's; credits are all models'. It has no calibration, since probabilities change: fit one with `calibrate`.
    `weights`: one for each model, divided by their sum.

    Raises ConfigError for less than two models, for weights that are not above 0, and for models with other words,
    label chains or sizes than the first.
    """
    if len(models) < 2 or len(weights) != len(models) or not all(0 < weight < np.inf for weight in weights):
        raise ConfigError(f"{len(models)} models with weights {list(weights)}; give two or more, with weights above 0")
    first, fractions = models[0], np.array(weights) / sum(weights)
    means: list[dict[str, Any]] = [{} for _ in first.packed]
    for number, (model, fraction) in enumerate(zip(models, fractions, strict=True), 1):
        order = _chain_order(first, model, number)
        for mean, packed in zip(means, model.packed, strict=True):
            for name, array in real_arrays(packed.arrays).items():
                if name in _LABELS:
                    array = array[..., order]
                if number > 1 and (name not in mean or mean[name].shape != array.shape):
                    raise ConfigError(f"model {number} has a network of other sizes than the first; give models of one")
                mean[name] = mean.get(name, REAL(0)) + REAL(fraction) * array
            if len(mean) != len(real_arrays(packed.arrays)):
                raise ConfigError(f"model {number} has a network of other sizes than the first; give models of one")
    credits = dict.fromkeys(credit for model in models for credit in model.meta.get("credits", []))
    packed_means = tuple(_pack(mean, packed) for mean, packed in zip(means, first.packed, strict=True))
    meta = {name: value for name, value in first.meta.items() if name != "calibration"}
    return replace(first, packed=packed_means, meta={**meta, "credits": list(credits)})


def _chain_order(first: SpanModel, model: SpanModel, number: int) -> list[int]:
    """For each label chain of `first`, its id in the model. Raises ConfigError if the models do not fit together."""
    if model.words.to_dict() != first.words.to_dict():
        raise ConfigError(f"model {number} has other words or tags than the first; average models with one --start")
    if sorted(model.chains) != sorted(first.chains):
        raise ConfigError(f"model {number} has other label chains than the first; average models with one --start")
    if len(model.packed) != len(first.packed):
        raise ConfigError(f"model {number} has {len(model.packed)} networks, the first {len(first.packed)}")
    return [model.chains.index(chain) for chain in first.chains]


def _pack(arrays: dict[str, Any], like: PackedNetwork | PackedEncoder) -> PackedNetwork | PackedEncoder:
    """Quantize float32 arrays by their stored names."""
    arrays = {**arrays, "factor": np.ones(len(arrays["table"]), dtype=REAL)}
    if isinstance(like, PackedNetwork):
        n_layers = sum(name.startswith("weights") for name in arrays)
        arrays["weights"] = tuple(arrays[f"weights{layer}"] for layer in range(n_layers))
        fields = {field: arrays[name] for name, field in stored_fields(SpanNetwork).items()}
        return PackedNetwork.pack(SpanNetwork(**fields))
    arrays["n_heads"] = like.n_heads
    fields = {field: arrays[name] for name, field in stored_fields(PretrainedNetwork).items()}
    return PackedEncoder.pack(PretrainedNetwork(**fields))
