"""Reading and writing of a DtreeModel: one container with tables, atoms, trees, fingerprint and proofs."""

from typing import Any

import numpy as np

from ...dtypes import BITS, INDEX, OFFSET
from ...errors import ModelFormatError
from ...features.trees.lexicon import Lexicon
from ...features.trees.templates import Templates, compile_templates
from ...kernels.trees.atoms import AtomMap
from ...kernels.trees.features import PARTS_WIDTH
from ...trees.heads import HeadRules
from ..reading import ModelFormat
from .gate import Gate
from .model import DtreeModel, hash_table
from .packing import pack_ensembles, unpack_ensembles

KIND = "dtree"
VERSION = 1
READER = "reader"
"""The array that has the bytes of the reader's model."""
_TABLES: dict[str, Any] = {"lexicon": Lexicon, "templates": Templates, "heads": HeadRules}
_PLAIN: dict[str, Any] = {"strategy": str, "max_arity": int, "edge_punctuation": bool, "recipe": tuple}


def _parts(model: DtreeModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
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
    if model.reader:
        arrays |= {READER: np.frombuffer(bytes(model.reader), dtype=np.uint8), "believed_labels": model.labels}
    meta = {
        **{name: getattr(model, name).to_dict() for name in _TABLES},
        **{name: getattr(model, name) for name in _PLAIN},
        **{"n_atoms": model.n_atoms, "n_ensembles": len(model.ensembles), "gate": gate_meta},
    }
    return meta, arrays


def _model(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> DtreeModel:
    tables = {name: kind.from_dict(meta[name]) for name, kind in _TABLES.items()}
    n_atoms = int(meta["n_atoms"])
    _, n_direct = compile_templates(tables["templates"], tables["lexicon"].sizes)
    direct = np.full(n_direct, -1, dtype=INDEX)
    direct[np.cumsum(arrays["direct_at"].astype(OFFSET))] = arrays["direct_atom"]
    keys, values = hash_table(arrays["hashed_key"].astype(np.uint64), arrays["hashed_atom"].astype(INDEX))
    for numbers in (direct, arrays["hashed_atom"]):
        if len(numbers) and int(numbers.max()) >= n_atoms:
            raise ModelFormatError(f"the model maps to atom {int(numbers.max())} of {n_atoms}; fetch it again")
    parts = np.zeros((n_atoms, PARTS_WIDTH), dtype=INDEX)
    parts[:, : arrays["parts"].shape[1]] = arrays["parts"]
    return DtreeModel(
        **tables,
        **{name: kind(meta[name]) for name, kind in _PLAIN.items()},
        atoms=AtomMap(direct, keys, values, np.array([n_atoms, len(arrays["hashed_key"]), 0], dtype=OFFSET)),
        parts=parts,
        ensembles=unpack_ensembles(arrays, n_atoms, prefix="trees."),
        gate=Gate.from_parts(meta.get("gate"), arrays),
        meta=dict(meta["meta"]),
        reader=arrays[READER].tobytes() if READER in arrays else b"",
        labels=arrays["believed_labels"].astype(BITS) if READER in arrays else np.zeros((0, 0, 0), dtype=BITS),
    )


# Lzma makes the file 7 % smaller, but takes 0.1 s more to expand.
FORMAT = ModelFormat(KIND, VERSION, "ensemble", _parts, _model, "zlib")
read_model, write_model = FORMAT.read, FORMAT.write
