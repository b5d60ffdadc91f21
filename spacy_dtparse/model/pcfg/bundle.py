"""A PcfgModel as one container, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...features.pcfg.wordclasses import WordClasses
from ...symbols import SymbolTable
from ..container import container_to_bytes
from ..reading import read_checked
from .latent_part import LatentPart
from .model import KIND, PcfgGrammar, PcfgModel

VERSION = 1


def write_model(model: PcfgModel, proofs: Sequence[dict[str, Any]] = ()) -> bytes:
    """The model as a container; equal models and proofs give equal bytes."""
    meta = {
        "version": VERSION,
        "fingerprint": model.fingerprint(),
        "labels": list(model.labels),
        "tags": list(model.tags),
        "classes": list(model.words.classes),
        "fine_names": list(model.fine.names),
        "coarse_names": list(model.coarse.names),
        "recipe": list(model.recipe),
        "given_tags": model.given_tags,
        "proofs": list(proofs),
        "meta": model.meta,
    }
    arrays = {**_prefixed("fine.", model.fine.arrays()), **_prefixed("coarse.", model.coarse.arrays())}
    for number, part in enumerate((*model.pruners, *model.latent)):
        arrays.update(_prefixed(f"latent{number}.", part.arrays()))
    more: dict[str, Any] = {"n_latent": len(model.latent), "n_pruners": len(model.pruners)}
    if model.candidates is not None:
        more["candidate_names"] = list(model.candidates.names)
        arrays.update(_prefixed("candidates.", model.candidates.arrays()))
    return container_to_bytes(KIND, {**meta, **more}, arrays)


def read_model(data: bytes) -> tuple[PcfgModel, list[dict[str, Any]]]:
    """The model of a container, and its proofs.

    Raises ModelFormatError if the bytes are no container of kind "pcfg", are damaged, of another version, or do not
    have the fingerprint they name.
    """
    return read_checked(data, KIND, VERSION, "PCFG", _build)


def _build(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> PcfgModel:
    n_pruners = int(meta.get("n_pruners", 0))
    count = n_pruners + int(meta.get("n_latent", 0))
    latent = tuple(LatentPart.from_arrays(_of(f"latent{number}.", arrays)) for number in range(count))
    names = meta.get("candidate_names")
    return PcfgModel(
        SymbolTable(meta["labels"]),
        SymbolTable(meta["tags"]),
        WordClasses(meta["classes"]),
        PcfgGrammar.from_arrays(meta["fine_names"], _of("fine.", arrays)),
        PcfgGrammar.from_arrays(meta["coarse_names"], _of("coarse.", arrays)),
        tuple(meta["recipe"]),
        bool(meta["given_tags"]),
        dict(meta["meta"]),
        latent[n_pruners:],
        latent[:n_pruners],
        None if names is None else PcfgGrammar.from_arrays(names, _of("candidates.", arrays)),
    )


def _prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {prefix + name: array for name, array in arrays.items()}


def _of(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of one grammar, by their plain names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
