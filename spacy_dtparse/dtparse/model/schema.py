"""Schema of files with boosted trees; see `model_io.schema`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import boolean, integer, one_of, real, short_repr
from ...core.registry import SPAN_MODEL_ARRAY
from ...model_io.schema import (
    CLUSTER,
    LABEL,
    MAX_CLUSTERS,
    NAME,
    TAG,
    WORD,
    Array,
    Check,
    Schema,
    a,
    finite,
    list_of,
    optional,
    record,
    row,
    table,
    text,
)
from ...model_io.schema import texts as strings
from ...trees.heads import MODES
from ...trees.transforms import STEPS
from ..features.templates import CHILDREN, GROUPS, KINDS, SPANS, WHERE
from ..kernels.pruning import LEVELS
from ..kernels.state import STRATEGIES
from .packing import declare_ensembles as declare_trees

MAX_LABELS, MAX_TAGS, MAX_CHAINS = 512, 2**14, 4096
MAX_ATOMS = 2**22
_MAX_TEMPLATES, _MAX_OFFSET, _MAX_ITEMS = 4096, 64, 1000
"""Maximum number of templates of a kind, maximum offset of a position, maximum number of items of a group."""
_MAX_SCANS, _MAX_RULES, _MAX_IN_SETS = 64, 512, 4096
"""Maximum numbers of scans of a head rule, of head rules, and of labels in a scan or a set."""
_MAX_MARGIN = 2**41
"""Bound of the absolute margins of the window filter."""


def check_position(value: Any, depth: int = 0) -> str:
    """Return the error in a position of a template, "" if it is valid; see `dtparse.features.templates.Position`. Spans
    of the span model have no children."""
    kind = value[0] if isinstance(value, list) and len(value) == 3 else None
    if kind == "child":
        inner = value[2][0] if isinstance(value[2], list) and value[2] else None
        if inner == "believed" or depth > 3:
            return f" is {short_repr(value)}; it must be a child of an item or terminal, at most 4 below it"
        return a(one_of(*CHILDREN))(value[1]) or check_position(value[2], depth + 1)
    if kind == "believed":
        return a(one_of(*SPANS))(value[1]) or a(integer(0, 0))(value[2])
    wrong = a(one_of("item", "terminal", "child", "believed"))(kind)
    return wrong or a(one_of(*WHERE))(value[1]) or a(integer(-_MAX_OFFSET, _MAX_OFFSET))(value[2])


_PAIR = row(check_position, text(NAME))
_SCANS = list_of(row(a(one_of(*MODES)), strings(TAG, 0, _MAX_IN_SETS)), 0, _MAX_SCANS)
_SET = strings(TAG, 0, _MAX_IN_SETS)
_LOSSES, _MARGIN = list_of(a(real(0, 1)), 0, 1000), a(integer(-_MAX_MARGIN, _MAX_MARGIN))
_VERSION = a(integer(0, 2**16))
FIELDS: dict[str, Check] = {
    "lexicon": record(
        {
            "labels": strings(LABEL, 1, MAX_LABELS), "tags": strings(TAG, 1, MAX_TAGS), "words": strings(WORD, 1),
            "unknown_tag": text(TAG),
        },
        {"chains": strings(NAME, 0, MAX_CHAINS), "clusters": strings(CLUSTER, 0, MAX_CLUSTERS)},
    ),
    "templates": record(
        {
            "name": text(NAME), "version": _VERSION, "unary": list_of(_PAIR, 0, _MAX_TEMPLATES),
            "tuples": list_of(list_of(_PAIR, 2, 3), 0, _MAX_TEMPLATES), "sequence": a(boolean()),
            "grouped": list_of(
                row(
                    a(one_of(*KINDS)), a(one_of(*GROUPS)), a(integer(0, _MAX_ITEMS)), a(boolean()),
                    optional(text(NAME)),
                ), 0, _MAX_TEMPLATES,
            ),
        },
        {"ordered": list_of(_PAIR, 0, _MAX_TEMPLATES)},
    ),
    "heads": record({
        "rules": table(LABEL, _SCANS, _MAX_RULES), "default": _SCANS, "candidate": _SCANS, "conjunctions": _SET,
        "no_coordination": _SET, "punctuation": _SET,
    }),
    "strategy": a(one_of(*STRATEGIES)), "max_arity": a(integer(2, 64)), "edge_punctuation": a(boolean()),
    "recipe": list_of(a(one_of(*STEPS)), 0, len(STEPS)), "n_atoms": a(integer(0, MAX_ATOMS)),
    "n_ensembles": a(integer(2, MAX_LABELS + 1)),
    "gate": record({
        "version": _VERSION, "entries": a(integer(0, 2**28)), "shares": _LOSSES,
        "margins": list_of(_MARGIN, 0, 1000),
    }),
}  # fmt: skip


def _declare_arrays(fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Array]:
    chains = len(fields["lexicon"].get("chains", ())) + 1
    labels = len(fields["lexicon"]["labels"])
    return {
        "direct_at": Array("int64", ("direct atoms",), 0),
        "direct_atom": Array("int32", ("direct atoms",), 0, below="atoms"),
        "hashed_key": Array("uint64", ("hashed atoms",)),
        "hashed_atom": Array("int32", ("hashed atoms",), 0, below="atoms"),
        "parts": Array("int32", ("atoms", "width of parts"), -1),
        "gate_at": Array("int64", ("weights of the window filter",), 0),
        "gate_weight": Array("int16", ("weights of the window filter",)),
        SPAN_MODEL_ARRAY: Array("uint8", ("bytes",), needed=False),
        "believed_labels": Array("uint64", (2, LEVELS, chains), below=2**labels, needed=SPAN_MODEL_ARRAY in arrays),
        **declare_trees("trees."),
    }


SCHEMA = Schema(
    fields=FIELDS,
    arrays=_declare_arrays,
    golden_fields={"items": list_of(row(*[a(integer(0))] * 3), 0, 10_000), "cost": finite()},
    optional_fields={"digest": text(NAME)},
    sizes=lambda fields: {"atoms": fields["n_atoms"], "ensembles": fields["n_ensembles"]},
)
