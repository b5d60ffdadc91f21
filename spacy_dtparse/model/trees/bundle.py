"""Reading and writing of a DtreeModel: one container with tables, atoms, trees, fingerprint and proofs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...errors import ModelFormatError
from ...features.trees.lexicon import Lexicon
from ...features.trees.templates import Templates, compile_templates
from ...kernels.trees.atoms import AtomMap
from ...kernels.trees.features import PARTS_WIDTH
from ...trees.heads import HeadRules
from ..container import container_to_bytes
from ..reading import read_checked
from .gate import Gate
from .model import DtreeModel, hash_table
from .packing import pack_ensembles, unpack_ensembles

KIND = "dtree"
VERSION = 1
COMPRESSION = "zlib"
"""Lzma makes the file 7 % smaller, but takes 0.1 s more to expand."""


def write_model(model: DtreeModel, proofs: Sequence[dict[str, Any]]) -> bytes:
    """The bundle of a model; equal models and proofs give equal bytes."""
    held = np.flatnonzero(model.atoms.keys)
    order = np.argsort(model.atoms.values[held], kind="stable")
    direct = np.flatnonzero(model.atoms.direct >= 0)
    width = int(model.parts[:, 1].max(initial=0)) + 2
    gate_meta, gate_arrays = model.gate.to_parts()
    arrays = {
        "direct_at": np.diff(direct, prepend=0),
        "direct_atom": model.atoms.direct[direct],
        "hashed_key": model.atoms.keys[held][order],
        "hashed_atom": model.atoms.values[held][order],
        "parts": model.parts[:, :width].copy(),
        **gate_arrays,
        **pack_ensembles(model.ensembles, model.n_atoms, prefix="trees."),
    }
    meta = {
        "version": VERSION,
        "fingerprint": model.fingerprint(),
        "lexicon": model.lexicon.to_dict(),
        "templates": model.templates.to_dict(),
        "heads": model.heads.to_dict(),
        "strategy": model.strategy,
        "max_arity": model.max_arity,
        "edge_punctuation": model.edge_punctuation,
        "recipe": list(model.recipe),
        "n_atoms": model.n_atoms,
        "n_ensembles": len(model.ensembles),
        "gate": gate_meta,
        "proofs": list(proofs),
        "meta": model.meta,
    }
    return container_to_bytes(KIND, meta, arrays, compression=COMPRESSION)


def read_model(data: bytes) -> tuple[DtreeModel, list[dict[str, Any]]]:
    """The model and the proofs of a bundle.

    Raises ModelFormatError if the bytes are no bundle, are damaged, or do not have the fingerprint they name.
    """
    return read_checked(data, KIND, VERSION, "ensemble", _model)


def _model(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> DtreeModel:
    lexicon = Lexicon.from_dict(meta["lexicon"])
    templates = Templates.from_dict(meta["templates"])
    n_atoms = int(meta["n_atoms"])
    _, n_direct = compile_templates(templates, lexicon.sizes)
    direct = np.full(n_direct, -1, dtype=INDEX)
    direct[np.cumsum(arrays["direct_at"].astype(OFFSET))] = arrays["direct_atom"]
    keys, values = hash_table(arrays["hashed_key"].astype(np.uint64), arrays["hashed_atom"].astype(INDEX))
    for numbers in (direct, arrays["hashed_atom"]):
        if len(numbers) and int(numbers.max()) >= n_atoms:
            raise ModelFormatError(f"the model maps to atom {int(numbers.max())} of {n_atoms}; fetch it again")
    parts = np.zeros((n_atoms, PARTS_WIDTH), dtype=INDEX)
    parts[:, : arrays["parts"].shape[1]] = arrays["parts"]
    return DtreeModel(
        lexicon=lexicon,
        templates=templates,
        heads=HeadRules.from_dict(meta["heads"]),
        strategy=meta["strategy"],
        max_arity=int(meta["max_arity"]),
        edge_punctuation=bool(meta["edge_punctuation"]),
        recipe=tuple(meta["recipe"]),
        atoms=AtomMap(direct, keys, values, np.array([n_atoms, len(arrays["hashed_key"]), 0], dtype=OFFSET)),
        parts=parts,
        ensembles=tuple(unpack_ensembles(arrays, n_atoms, prefix="trees.")),
        gate=Gate.from_parts(meta.get("gate"), arrays),
        meta=dict(meta["meta"]),
    )
