"""Readable names of atomic features (atoms). They are derived from the compiled template table that the kernels use."""

from typing import Protocol

import numpy as np

from ...text import SHAPES
from ..kernels import features as k
from ..kernels import marginals as b
from ..kernels.atoms import AtomMap
from .lexicon import Lexicon
from .templates import ALL_ATTRIBUTES, CHILDREN, LENGTH_TESTS, SPANS, WHERE, Templates, compile_templates

NOTHING = "nothing"
"""The value at a position without an item or token."""

_ATTRIBUTE = {code: name for name, code in ALL_ATTRIBUTES.items()}
_SPAN = {code: name for name, code in SPANS.items()}
SPAN_MODEL_PREFIX = "span model: "
"""Prefix of the names of atoms that test a marginal."""
_WHERE = {code: name for name, code in WHERE.items()}
_CHILD = {code: name for name, code in CHILDREN.items()}
_OUTER = {k.START: "first", k.END: "last", k.HEAD: "head"}
_COUNTED = {
    k.SPAN_FIRST: "first {} of span",
    k.SPAN_LAST: "last {} of span",
    k.HEAD_LEFT: "{} left of head",
    k.HEAD_RIGHT: "{} right of head",
    k.CONTEXT_LEFT: "{} of left context",
    k.CONTEXT_RIGHT: "{} of right context",
}
_UNBOUNDED = {
    k.SPAN_FIRST: "span, counted from the first",
    k.SPAN_LAST: "span, counted from the last",
    k.HEAD_LEFT: "left of head",
    k.HEAD_RIGHT: "right of head",
    k.CONTEXT_LEFT: "left context",
    k.CONTEXT_RIGHT: "right context",
    k.SPAN: "span",
    k.NON_LEFTMOST: "all but the first",
    k.NON_RIGHTMOST: "all but the last",
    k.NON_HEAD: "all but the head",
}
_KIND = {
    k.SOME_ITEM: "some item",
    k.SOME_TERMINAL: "some terminal",
    k.LENGTH_ITEMS: "items",
    k.LENGTH_TERMINALS: "terminals",
}


class HasAtoms(Protocol):
    """A model with atoms, such as `dtparse.model.model.DtreeModel`."""

    @property
    def lexicon(self) -> Lexicon: ...
    @property
    def templates(self) -> Templates: ...
    @property
    def atoms(self) -> AtomMap: ...
    @property
    def parts(self) -> np.ndarray: ...


def atom_names(model: HasAtoms) -> tuple[str, ...]:
    """Return the name of every atom of `model`, by id.

    A window is a run of adjacent frontier items considered as the children of one inference. One position: `left
    terminal 0 tag = IN`, `head word = "bank"`, `first child of last label = nothing` (first, last and head are items of
    the window). Several: `first label = DT & last label = NN`. Groups: `some item of 2 left of head: tag = CC`.
    Lengths: `items of span > 3`. The window's labels: `labels = DT JJ NN`. A hashed atom whose parts the trainer did
    not record is called `hashed atom 17`. Different atoms have different names.
    """
    table, n_direct = compile_templates(model.templates, model.lexicon.sizes)
    n_atoms = int(model.atoms.state[0])
    names = [f"hashed atom {atom_id}" for atom_id in range(n_atoms)]
    direct = _direct_names(table, model.lexicon, n_direct)
    for entry in np.flatnonzero(model.atoms.direct >= 0):
        names[model.atoms.direct[entry]] = direct[entry]
    slots = [_slot_name(table, slot) for slot in range(len(table.slots))]
    tuples = {int(row[3]): [int(slot) for slot in row[:3] if slot >= 0] for row in table.tuples}
    for atom_id in model.atoms.values[np.flatnonzero(model.atoms.keys)]:
        template, width, *values = (int(value) for value in model.parts[atom_id])
        if width == 0:
            continue
        if template == table.sequence[0]:
            labels = (model.lexicon.symbols[value] for value in values[:width])
            names[atom_id] = "labels = " + " ".join(labels)
        else:
            tests = (
                f"{slots[slot]} = {_value(model.lexicon, int(table.slots[slot, 1]), value)}"
                for slot, value in zip(tuples[template], values[:width], strict=True)
            )
            names[atom_id] = " & ".join(tests)
    return tuple(names)


def _direct_names(table: k.TemplateTable, lexicon: Lexicon, n_direct: int) -> list[str]:
    """Return the name of each entry of the direct map."""
    names = [""] * n_direct
    for slot, base in zip(table.unary.tolist(), table.unary_base.tolist(), strict=True):
        attribute = int(table.slots[slot, 1])
        for value in range(-1, lexicon.sizes.of(attribute)):
            names[base + 1 + value] = f"{_slot_name(table, slot)} = {_value(lexicon, attribute, value)}"
    for (slot, below), base in zip(table.ordered.tolist(), table.ordered_base.tolist(), strict=True):
        name = _slot_name(table, slot)
        names[base] = f"{name}: {NOTHING}"
        for limit in range(1, b.N_BINS):
            names[base + limit] = f"{name} {'<' if below else '>='} {b.LIMITS[limit - 1]:g}"
    for (kind, group, attribute), base in zip(table.grouped.tolist(), table.grouped_base.tolist(), strict=True):
        start = f"{_KIND[kind]} of {_group_name(*table.groups[group].tolist())}"
        if kind in (k.SOME_ITEM, k.SOME_TERMINAL):
            for value in range(lexicon.sizes.of(attribute)):
                names[base + value] = f"{start}: {_ATTRIBUTE[attribute]} = {_value(lexicon, attribute, value)}"
        else:
            for length in range(LENGTH_TESTS // 2):
                names[base + length] = f"{start} = {length}"
                names[base + LENGTH_TESTS // 2 + length] = f"{start} > {length}"
    return names


def _value(lexicon: Lexicon, attribute: int, value: int) -> str:
    if value < 0:
        return NOTHING
    if attribute == k.WORD:
        return f'"{lexicon.words[value]}"'  # quoted, since "nothing" is a word too
    if attribute >= k.MARGINAL_COLUMN:
        if attribute - k.MARGINAL_COLUMN in (b.CHAIN, b.CHAIN_2):
            return lexicon.chains[value]
        return f"{b.LIMITS[value - 1] if value else 0:g} to {b.LIMITS[value] if value < len(b.LIMITS) else 1:g}"
    if attribute == k.CLUSTER:
        return lexicon.cluster_name(value)
    table = {k.CLASS: lexicon.classes, k.SHAPE: SHAPES}.get(attribute, lexicon.symbols)
    return table[value]


def _slot_name(table: k.TemplateTable, slot: int) -> str:
    position, attribute = table.slots[slot].tolist()
    return f"{_position_name(table, position)} {_ATTRIBUTE[attribute]}"


def _position_name(table: k.TemplateTable, position: int) -> str:
    space, where, offset, _ = table.positions[position].tolist()
    if space == k.MARGINAL_SPAN:
        return SPAN_MODEL_PREFIX + _SPAN[where]
    if space == k.CHILD:
        return f"{_CHILD[where]} child of {_position_name(table, offset)}"
    if space == k.ITEM and offset == 0 and where in _OUTER:
        return _OUTER[where]
    return f"{_WHERE[where]} {'item' if space == k.ITEM else 'terminal'} {offset}"


def _group_name(code: int, n: int, with_head: int) -> str:
    name = _COUNTED[code].format(n) if n > 0 and code in _COUNTED else _UNBOUNDED[code]
    return f"{name} with head" if with_head else name
