"""Feature template tables: which attribute of which item; compiled to the integer codes of `dtparse.kernels.features`.

A template generates atoms, the binary atomic features of Turian & Melamed (2006). A table is plain data that is stored
in the model file, so a model is always loaded with the templates it was trained with. Templates describe a window: a
run of adjacent frontier items considered as the children of one inference. There are three kinds: `unary` (one
attribute at one position), `tuples` (a conjunction of two or three of them) and `grouped` (some member of a group of
items has the value, or the group has a length), plus the full label sequence of the window.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConfigError
from ..kernels import features as k
from ..kernels import marginals as b

VERSION = 1
WITH_MARGINALS = 2
"""Version of a table with templates on span marginals."""

ATTRIBUTES = {"label": k.LABEL, "word": k.WORD, "tag": k.TAG, "class": k.CLASS, "shape": k.SHAPE, "cluster": k.CLUSTER}
MARGINALS = {  # the keys are stored in model files and stay
    "mass": k.MARGINAL_COLUMN + b.SPAN_PROB,
    "chain": k.MARGINAL_COLUMN + b.CHAIN,
    "sure": k.MARGINAL_COLUMN + b.CHAIN_PROB,
    "second chain": k.MARGINAL_COLUMN + b.CHAIN_2,
    "second sure": k.MARGINAL_COLUMN + b.CHAIN_PROB_2,
    "starting": k.MARGINAL_COLUMN + b.STARTING,
    "ending": k.MARGINAL_COLUMN + b.ENDING,
    "crossing": k.MARGINAL_COLUMN + b.CROSSING,
}
"""Attributes of a span from the span model: see `dtparse.kernels.marginals`."""
ALL_ATTRIBUTES = {**ATTRIBUTES, **MARGINALS}
SPANS = {"window": k.OF_WINDOW, "with right": k.WITH_RIGHT, "with left": k.WITH_LEFT, "of right": k.OF_RIGHT}
BELOW = frozenset({"mass", "sure"})
"""Probabilities that are mostly high, and so are tested as less than a limit: fewer atoms are present, which is faster.
"""
_CHAINS = (k.MARGINAL_COLUMN + b.CHAIN, k.MARGINAL_COLUMN + b.CHAIN_2)
WHERE = {"start": k.START, "end": k.END, "head": k.HEAD, "left": k.LEFT, "right": k.RIGHT, "front": k.FRONT}
CHILDREN = {"first": k.FIRST_CHILD, "head": k.HEAD_CHILD, "last": k.LAST_CHILD}
GROUPS = {
    "span_first": k.SPAN_FIRST,
    "span_last": k.SPAN_LAST,
    "left_of_head": k.HEAD_LEFT,
    "right_of_head": k.HEAD_RIGHT,
    "left_context": k.CONTEXT_LEFT,
    "right_context": k.CONTEXT_RIGHT,
    "span": k.SPAN,
    "non_leftmost": k.NON_LEFTMOST,
    "non_rightmost": k.NON_RIGHTMOST,
    "non_head": k.NON_HEAD,
}
KINDS = {
    "some_item": k.SOME_ITEM,
    "some_terminal": k.SOME_TERMINAL,
    "items": k.LENGTH_ITEMS,
    "terminals": k.LENGTH_TERMINALS,
}
LENGTH_TESTS = 2 * (k.LENGTH_MAX + 1)

Position = tuple[Any, ...]
"""("item", where, offset), ("terminal", where, offset), ("child", which, position) or ("believed", which span, 0)."""


@dataclass(frozen=True)
class TableSizes:
    """Number of values of each attribute: `symbols` (labels and tags), `words`, `classes`, `shapes`, `chains` (label
    chains of the span model), and word `clusters`."""

    symbols: int
    words: int
    classes: int
    shapes: int
    chains: int = 0
    clusters: int = 0

    def of(self, attribute: int) -> int:
        if attribute in (k.LABEL, k.TAG):
            return self.symbols
        if attribute >= k.MARGINAL_COLUMN:
            return self.chains if attribute in _CHAINS else b.N_BINS
        sizes = {k.WORD: self.words, k.CLASS: self.classes, k.SHAPE: self.shapes, k.CLUSTER: self.clusters}
        return sizes[attribute]


def _freeze(value: Any) -> Any:
    return tuple(_freeze(part) for part in value) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Templates:
    """A named, versioned template table.

    `unary`: (position, attribute). `tuples`: two or three (position, attribute). `grouped`: (kind, group, n, with head,
    attribute or None), n = 0 for no bound. `sequence`: whether the window's label sequence is an atom.
    `ordered`: (position, attribute) of probabilities, tested as "at least". Raises ConfigError for an unknown name.
    """

    name: str
    unary: tuple[tuple[Position, str], ...]
    tuples: tuple[tuple[tuple[Position, str], ...], ...] = ()
    grouped: tuple[tuple[str, str, int, bool, str | None], ...] = ()
    sequence: bool = False
    ordered: tuple[tuple[Position, str], ...] = ()

    def __post_init__(self) -> None:
        for position, attribute in self._pairs():
            _check_position(position)
            _check_known(attribute, MARGINALS if position[0] == "believed" else ATTRIBUTES, "attribute")
            if position[0] == "child" and _root(position)[0] == "believed":
                raise ConfigError(f"{position!r} is a child of a span of the span model; such spans have no children")
        for position, attribute in self.ordered:
            if position[0] != "believed" or MARGINALS[attribute] in _CHAINS:
                raise ConfigError(f"{attribute!r} of {position!r} is not a probability, so it cannot be ordered")
        for kind, group, n, _, group_attribute in self.grouped:
            _check_known(kind, KINDS, "kind of group template")
            _check_known(group, GROUPS, "group")
            if n < 0:
                raise ConfigError(f"group {group!r} has n = {n}; it must be 0 (no bound) or more")
            if kind.startswith("some"):
                _check_known(group_attribute, ATTRIBUTES, "attribute")
            if group_attribute == "cluster":
                raise ConfigError(f"group {group!r} tests clusters; only single positions can: not all words have one")

    def _pairs(self) -> Iterable[tuple[Position, str]]:
        yield from self.unary
        for parts in self.tuples:
            yield from parts
        yield from self.ordered

    @property
    def uses_marginals(self) -> bool:
        """Whether some template tests span marginals."""
        return any(_root(position)[0] == "believed" for position, _ in self._pairs())

    @property
    def uses_clusters(self) -> bool:
        """Whether some template tests word clusters."""
        return any(attribute == "cluster" for _, attribute in self._pairs())

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data; `from_dict` is the inverse."""
        plain = {
            "name": self.name,
            "version": WITH_MARGINALS if self.uses_marginals else VERSION,
            "unary": self.unary,
            "tuples": self.tuples,
            "grouped": self.grouped,
            "sequence": self.sequence,
        }
        return {**plain, "ordered": self.ordered} if self.ordered else plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Templates:
        """Build from the data of `to_dict`. Raises ConfigError for another version."""
        if data.get("version") not in (VERSION, WITH_MARGINALS):
            raise ConfigError(
                f"template table has version {data.get('version')!r}; this release reads versions {VERSION} and "
                f"{WITH_MARGINALS}: retrain the model or install the release that made it"
            )
        unary, tuples, grouped, ordered = (_freeze(data.get(n, [])) for n in ("unary", "tuples", "grouped", "ordered"))
        return cls(str(data["name"]), unary, tuples, grouped, bool(data["sequence"]), ordered)

    def fingerprint(self) -> str:
        """Return the digest of the table (16 hex digits): equal tables have equal fingerprints."""
        text = json.dumps(self.to_dict(), sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def reach(self) -> int:
        """Return how many frontier items left of the window the templates use; a very large number if unbounded."""
        n_items = 0
        for position, _ in self._pairs():
            root = _root(position)
            if root[0] == "item" and root[1] == "left":
                n_items = max(n_items, root[2] + 1)
        for _, group, n, _, _ in self.grouped:
            if group == "left_context":
                n_items = max(n_items, n) if n else 2**30
        return n_items

    def reach_right(self) -> int:
        """Return how many frontier items right of the window, or counted from its start, the templates use; -1 if
        unbounded, or if a template uses more than the children of an item."""
        n_items = 0
        for position, _ in self._pairs():
            root, depth = _root(position), 0
            while position[0] == "child":
                position, depth = position[2], depth + 1
            if depth > 1:
                return -1
            if root[0] == "item" and root[1] in ("right", "front"):
                n_items = max(n_items, root[2] + 1)
            if root[0] == "believed":
                n_items = max(n_items, 1)
        for _, group, n, _, _ in self.grouped:
            if group in ("right_context", "left_context"):
                if not n:
                    return -1
                if group == "right_context":
                    n_items = max(n_items, n)
        return n_items


def _check_known(name: Any, allowed: dict, what: str) -> None:
    if name not in allowed:
        raise ConfigError(f"unknown {what} {name!r} in a template; allowed are {', '.join(map(repr, allowed))}")


def _check_position(position: Position) -> None:
    if not position or position[0] not in ("item", "terminal", "child", "believed") or len(position) != 3:
        raise ConfigError(
            f"{position!r} is not a position; use ('item'|'terminal', where, offset), ('child', which, position) or "
            "('believed', which, 0)"
        )
    if position[0] == "child":
        _check_known(position[1], CHILDREN, "child")
        _check_position(position[2])
    elif position[0] == "believed":
        _check_known(position[1], SPANS, "span")
    else:
        _check_known(position[1], WHERE, "position")


def _root(position: Position) -> Position:
    while position[0] == "child":
        position = position[2]
    return position


def is_shared(position: Position) -> bool:
    """Whether the position is the same for all windows that start at one item."""
    return _root(position)[1] in ("left", "front")


def compile_templates(templates: Templates, sizes: TableSizes) -> tuple[k.TemplateTable, int]:
    """Return the integer form of a table and the size of its direct map (entries of one-value templates)."""
    position_rows: dict[Position, int] = {}
    slot_rows: dict[tuple[Position, str], int] = {}
    pairs = list(dict.fromkeys(templates._pairs()))
    wanted: list[Position] = []
    for position, _ in pairs:
        nested = [position]
        while nested[-1][0] == "child":
            nested.append(nested[-1][2])
        wanted.extend(reversed(nested))
    wanted = list(dict.fromkeys(wanted))
    rows: list[tuple[int, int, int, int]] = []
    slots: list[tuple[int, int]] = []
    bounds = np.zeros((2, 8), dtype=np.int32)
    for part, shared in ((k.SHARED, True), (k.UNSHARED, False)):
        bounds[part, 0] = len(rows)
        for position in wanted:
            if is_shared(position) != shared:
                continue
            position_rows[position] = len(rows)
            if position[0] == "child":
                rows.append((k.CHILD, CHILDREN[position[1]], position_rows[position[2]], 0))
            elif position[0] == "believed":
                rows.append((k.MARGINAL_SPAN, SPANS[position[1]], 0, 0))
            else:
                space = k.ITEM if position[0] == "item" else k.TERMINAL
                rows.append((space, WHERE[position[1]], position[2], int(position[1] == "head")))
        bounds[part, 1] = len(rows)
        bounds[part, 2] = len(slots)
        for pair in pairs:
            if is_shared(pair[0]) == shared:
                slot_rows[pair] = len(slots)
                slots.append((position_rows[pair[0]], ALL_ATTRIBUTES[pair[1]]))
        bounds[part, 3] = len(slots)
    unary: list[int] = []
    unary_base: list[int] = []
    base = 0
    for part, shared in ((k.SHARED, True), (k.UNSHARED, False)):
        bounds[part, 4] = len(unary)
        for pair in dict.fromkeys(templates.unary):
            if is_shared(pair[0]) == shared:
                unary.append(slot_rows[pair])
                unary_base.append(base)
                base += sizes.of(ALL_ATTRIBUTES[pair[1]]) + 1
        bounds[part, 5] = len(unary)
    tuples: list[tuple[int, ...]] = []
    for part, shared in ((k.SHARED, True), (k.UNSHARED, False)):
        bounds[part, 6] = len(tuples)
        for index, members in enumerate(templates.tuples):
            if all(is_shared(position) for position, _ in members) == shared:
                if not 2 <= len(members) <= 3:
                    raise ConfigError(f"a tuple template joins 2 or 3 slots, not {len(members)}: {members!r}")
                slot_ids = [slot_rows[pair] for pair in members] + [-1] * (3 - len(members))
                tuples.append((*slot_ids, index))
        bounds[part, 7] = len(tuples)
    ordered_base: list[int] = []
    for _ in templates.ordered:
        ordered_base.append(base)
        base += b.N_BINS
    groups: dict[tuple[int, int, int], int] = {}
    grouped, grouped_base = [], []
    for kind, group, n, with_head, attribute in templates.grouped:
        row = groups.setdefault((GROUPS[group], n, int(with_head)), len(groups))
        code = ATTRIBUTES[attribute] if attribute is not None else 0
        if KINDS[kind] == k.SOME_TERMINAL and code == k.LABEL:
            code = k.TAG  # a terminal's label is its tag
        grouped.append((KINDS[kind], row, code))
        grouped_base.append(base)
        base += sizes.of(code) if kind.startswith("some") else LENGTH_TESTS
    table = k.TemplateTable(
        positions=_rows(rows, 4),
        slots=_rows(slots, 2),
        unary=np.array(unary, dtype=np.int32),
        unary_base=np.array(unary_base, dtype=np.int64),
        ordered=_rows([(slot_rows[pair], int(pair[1] in BELOW)) for pair in templates.ordered], 2),
        ordered_base=np.array(ordered_base, dtype=np.int64),
        tuples=_rows(tuples, 4),
        groups=_rows(list(groups), 3),
        grouped=_rows(grouped, 3),
        grouped_base=np.array(grouped_base, dtype=np.int64),
        sequence=np.array([len(templates.tuples) if templates.sequence else -1], dtype=np.int32),
        bounds=bounds,
    )
    return table, base


def max_atoms(table: k.TemplateTable, tokens: int) -> int:
    """Return the maximum number of atoms of a window in a sentence of so many tokens."""
    members = table.grouped[:, 0] < k.LENGTH_ITEMS
    groups = int(members.sum()) * (tokens + 1) + int((~members).sum()) * (k.LENGTH_MAX + 1)
    return len(table.unary) + len(table.tuples) + len(table.ordered) * b.N_BINS + groups + 1


def _rows(rows: list, width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(len(rows), width)
