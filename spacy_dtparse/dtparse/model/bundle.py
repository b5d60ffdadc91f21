"""Read and write a DtreeModel: one container with tables, atoms, trees, fingerprint and golden parses."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...dtypes import BITS, INDEX, OFFSET
from ...errors import ModelFormatError
from ...model_io.container import plain
from ...model_io.model_format import FETCH, ModelFormat
from ...model_io.segments import ascending
from ...trees.heads import HeadRules
from ..features.lexicon import Lexicon
from ..features.templates import TableSizes, Templates, compile_templates
from ..kernels.atoms import AtomMap
from ..kernels.features import PARTS_WIDTH, TemplateTable
from .model import DtreeModel, hash_table
from .packing import pack_ensembles, unpack_ensembles
from .schema import SCHEMA, SPAN_MODEL_ARRAY
from .window_filter import WindowFilter

KIND = "dtree"
VERSION = 1
_MAX_DIRECT = 2**25
"""Maximum number of values at single positions; the atom's id for each of them is stored in memory."""
_TABLES: dict[str, Any] = {"lexicon": Lexicon, "templates": Templates, "heads": HeadRules}
_PLAIN: dict[str, Any] = {"strategy": str, "max_arity": int, "edge_punctuation": bool, "recipe": tuple}


def _dtree_to_arrays(model: DtreeModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    filled = np.flatnonzero(model.atoms.keys)
    order = np.argsort(model.atoms.values[filled], kind="stable")
    direct = np.flatnonzero(model.atoms.direct >= 0)
    width = int(model.parts[:, 1].max(initial=0)) + 2
    filter_meta, filter_arrays = model.window_filter.to_parts()
    arrays = {
        "direct_at": np.diff(direct, prepend=0),
        "direct_atom": model.atoms.direct[direct],
        "hashed_key": model.atoms.keys[filled][order],
        "hashed_atom": model.atoms.values[filled][order],
        "parts": model.parts[:, :width].copy(),
        **filter_arrays,
        **pack_ensembles(model.ensembles, model.n_atoms, prefix="trees."),
    }
    if model.span_model:
        arrays |= {
            SPAN_MODEL_ARRAY: np.frombuffer(bytes(model.span_model), dtype=np.uint8),
            "believed_labels": model.labels,
        }
    meta = {
        **{name: getattr(model, name).to_dict() for name in _TABLES},
        **{name: getattr(model, name) for name in _PLAIN},
        **{"n_atoms": model.n_atoms, "n_ensembles": len(model.ensembles), "gate": filter_meta},
        "digest": _digest(filter_meta, arrays),
    }
    return meta, arrays


def _digest(filter_meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the digest of data that the fingerprint does not cover: the window filter's metadata and all arrays (16
    hex digits)."""
    digest = hashlib.sha256(json.dumps(plain(filter_meta, "gate")).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()[:16]


def _dtree_from_arrays(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> DtreeModel:
    tables = {name: kind.from_dict(meta[name]) for name, kind in _TABLES.items()}
    n_atoms = meta["n_atoms"]
    templates, sizes = tables["templates"], tables["lexicon"].sizes
    table, n_direct = compile_templates(templates, sizes)
    if n_direct > _MAX_DIRECT:
        raise ModelFormatError(f"the templates have {n_direct} values at single positions; the limit is {_MAX_DIRECT}")
    direct = np.full(n_direct, -1, dtype=INDEX)
    direct[ascending(arrays["direct_at"], n_direct, "atoms")] = arrays["direct_atom"]
    atom_ids = np.concatenate([arrays["direct_atom"], arrays["hashed_atom"]])
    if np.bincount(atom_ids, minlength=1).max() > 1:  # the capacity for a window's atoms assumes each once
        raise ModelFormatError("an atom of the model has several tests; fetch or write it again")
    keys, values = hash_table(arrays["hashed_key"], arrays["hashed_atom"])
    _check_parts(arrays["parts"], templates, table, sizes)
    parts = np.zeros((n_atoms, PARTS_WIDTH), dtype=INDEX)
    parts[:, : arrays["parts"].shape[1]] = arrays["parts"]
    model = DtreeModel(
        **tables,
        **{name: kind(meta[name]) for name, kind in _PLAIN.items()},
        atoms=AtomMap(direct, keys, values, np.array([n_atoms, len(arrays["hashed_key"]), 0], dtype=OFFSET)),
        parts=parts,
        ensembles=unpack_ensembles(arrays, n_atoms, prefix="trees."),
        window_filter=WindowFilter.from_parts(meta["gate"], arrays),
        meta=dict(meta["meta"]),
        span_model=arrays[SPAN_MODEL_ARRAY].tobytes() if SPAN_MODEL_ARRAY in arrays else b"",
        labels=arrays["believed_labels"] if SPAN_MODEL_ARRAY in arrays else np.zeros((0, 0, 0), dtype=BITS),
    )
    stated = meta.get("digest")  # the oldest files have none
    if stated is not None and (digest := _digest(meta["gate"], arrays)) != stated:
        raise ModelFormatError(f"the model has digest {digest}, but states {stated!r}: it is damaged; {FETCH}")
    return model


def _check_parts(parts: np.ndarray, templates: Templates, table: TemplateTable, sizes: TableSizes) -> None:
    """Raise ModelFormatError unless the parts of hashed atoms are valid for their templates. A row: the template's
    index, the number of values, the values; if the second entry is 0, the parts are unknown."""
    width, fits = parts.shape[1], 2 <= parts.shape[1] <= PARTS_WIDTH
    known_rows = parts[parts[:, 1] != 0] if fits else parts
    limits = np.full((len(templates.tuples) + 1, PARTS_WIDTH - 2), -1, dtype=OFFSET)  # -1: no value may be there
    for slots in table.tuples.tolist():
        attributes = [int(table.slots[slot, 1]) for slot in slots[:3] if slot >= 0]
        limits[slots[3], : len(attributes)] = [sizes.of(attribute) for attribute in attributes]
    if fits and len(known_rows):
        template, count = known_rows[:, 0], known_rows[:, 1]
        last = len(templates.tuples) if templates.sequence else len(templates.tuples) - 1
        limits[-1] = sizes.symbols
        fits = bool(((template >= 0) & (template <= last) & (count >= 1) & (count <= width - 2)).all())
        if fits:
            used = np.arange(width - 2) < count[:, None]
            of = limits[template][:, : width - 2]
            fits = bool((~used | (known_rows[:, 2:] < of)).all())
            is_complete = (limits >= 0).sum(axis=1)[template] == count
            fits = fits and bool((is_complete | (template == len(templates.tuples))).all())
    if not fits:
        raise ModelFormatError("the model's hashed atoms do not match its templates; fetch or write it again")


# LZMA makes the file 7 % smaller, but takes 0.1 s more to expand.
FORMAT = ModelFormat(KIND, VERSION, "ensemble", _dtree_to_arrays, _dtree_from_arrays, SCHEMA, "zlib")
read_model, write_model = FORMAT.read, FORMAT.write
