"""The parts of a compiled pattern, from text or from dicts: plain data, compared by value.

A pattern is a `NodePattern`: a description of one node (`Description`, or `SameNode` or `SameLabel` for a named one)
and the conditions on the nodes around it. Texts (`parser`) and dicts (`dicts`) become the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from ..trees.labels import TOP_LABELS
from .lexer import MAX_NAMES

CHAINED = frozenset(("<+", ">+", ".+", ",+"))
"""Relations with a description of the nodes between, `<+(VP)`."""
NUMBERED = frozenset(("<i", ">i", "<<<i"))
"""Relations with a number: of a child or a leaf, from 1, or from -1 at the other end."""

SYMBOLS: dict[str, tuple[str, int]] = {
    **{symbol: (symbol, 0) for symbol in (
        "<", ">", "<<", ">>", "<<<", "<:", ">:", "<<:", ">>:", "<<,", "<<-", ">>,", ">>-", "<#", ">#", "<<#", ">>#",
        "$", "$+", "$-", "$++", "$--", ".", "..", ",", ",,", "==", "<=", *sorted(CHAINED),
    )},
    "<<`": ("<<-", 0), ">>`": (">>-", 0), ":": (":", 0),
    "<,": ("<i", 1), "<-": ("<i", -1), "<`": ("<i", -1), ">,": (">i", 1), ">-": (">i", -1), ">`": (">i", -1),
    "$.": ("$+", 0), "$,": ("$-", 0), "$..": ("$++", 0), "$,,": ("$--", 0),
}  # fmt: skip
"""Symbol of a relation in patterns -> its internal name and its number. `<2` and the like are not listed."""

SEGMENT = ":"
"""The relation of all nodes of one tree to each other."""

TOKEN_ATTRIBUTES = (
    "TEXT", "ORTH", "LOWER", "NORM", "LEMMA", "SHAPE", "POS", "TAG", "DEP", "MORPH", "ENT_TYPE", "LENGTH", "IS_ALPHA",
    "IS_DIGIT", "IS_LOWER", "IS_UPPER", "IS_TITLE", "IS_PUNCT", "IS_STOP", "LIKE_NUM",
)  # fmt: skip
"""Attributes of tokens that a pattern may test; a Tree has only `TREE_ATTRIBUTES`."""
TREE_ATTRIBUTES = ("TEXT", "ORTH", "LOWER", "TAG", "LENGTH")


class _CachedHash:
    """Base of parts that are looked up repeatedly: caches the hash."""

    def __hash__(self) -> int:
        cached = self.__dict__.get("_hash")
        if cached is None:
            cached = hash(tuple(getattr(self, one.name) for one in fields(self) if one.compare))  # type: ignore[arg-type]
            self.__dict__["_hash"] = cached
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}


@dataclass(frozen=True)
class Regex:
    """A regular expression that may match anywhere in a label. `groups`: (number, variable) pairs: the text that the
    group matches must be the same wherever the variable occurs."""

    source: str
    flags: int = 0
    groups: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class TokenTest:
    """A test of an attribute of a node's token. `operator`: IN, NOT_IN, REGEX, or a comparison such as >=."""

    attribute: str
    operator: str
    values: tuple[str | int | bool, ...]


@dataclass(frozen=True)
class Description(_CachedHash):
    """A node by its label: one of `literals`, or one that matches a regex, or any; `negated`: none of these.

    `basic`: labels are compared without function tags. `root`: the root of a tree. `tests`: of its token.
    `label_variables`: variables that the whole label must equal, `NP#1%x`.
    """

    literals: tuple[str, ...] = ()
    regexes: tuple[Regex, ...] = ()
    anything: bool = False
    root: bool = False
    negated: bool = False
    basic: bool = False
    tests: tuple[TokenTest, ...] = ()
    label_variables: tuple[str, ...] = ()
    __hash__ = _CachedHash.__hash__

    @property
    def variables(self) -> bool:
        """Whether the label or a group of a regex has a variable, so that the match depends on other nodes."""
        return bool(self.label_variables) or any(regex.groups for regex in self.regexes)

    @property
    def matches_root(self) -> bool:
        """Whether it stands for the root of a tree, whatever its label: `_ROOT_`, or one of the names of roots."""
        return self.root or not TOP_LABELS.isdisjoint(self.literals)


ANYTHING = Description(anything=True)


@dataclass(frozen=True)
class SameNode:
    """The node that has a name, `=name`."""

    name: str


@dataclass(frozen=True)
class SameLabel:
    """A node with the label of the node that has a name, `~name`; `basic`: without function tags, `@~name`."""

    name: str
    basic: bool = False


@dataclass(frozen=True)
class NodePattern(_CachedHash):
    """A node, its name, and a condition on the nodes around it. `location`: column in a text, path in a dict."""

    what: Description | SameNode | SameLabel
    name: str | None = None
    condition: Condition | None = None
    location: int | str = field(default=0, compare=False)
    __hash__ = _CachedHash.__hash__


@dataclass(frozen=True)
class Relation:
    """A node exists in a relation to this one. `number`: of NUMBERED; `between`: of CHAINED."""

    relation: str
    node: NodePattern
    number: int = 0
    between: Description | None = None


@dataclass(frozen=True)
class All:
    """All of the conditions hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """One of the conditions holds; a later one is tried if those before it do not hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """The condition does not hold."""

    part: Condition


@dataclass(frozen=True)
class Maybe:
    """The condition may hold; if it does, its names are assigned."""

    part: Condition


Condition = Relation | All | Either | Not | Maybe


def both(first: Condition | None, second: Condition | None) -> Condition | None:
    """Combine two conditions; either may be None."""
    if first is None or second is None:
        return first if second is None else second
    return All((*_subconditions(first), *_subconditions(second)))


def _subconditions(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, All) else (condition,)


def walk(pattern: NodePattern | Condition) -> Iterator[NodePattern]:
    """Yield all nodes of a pattern or condition."""
    if isinstance(pattern, NodePattern):
        yield pattern
        if pattern.condition is not None:
            yield from walk(pattern.condition)
    elif isinstance(pattern, Relation):
        yield from walk(pattern.node)
    elif isinstance(pattern, Not | Maybe):
        yield from walk(pattern.part)
    else:
        for part in pattern.parts:
            yield from walk(part)


def names_of(pattern: NodePattern | Condition) -> tuple[str, ...]:
    """The names of a pattern's nodes, in order, each once."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if node.name is not None))


def refers(pattern: NodePattern | Condition) -> bool:
    """Whether a match depends on another node: on a named one or on a variable."""
    return any(
        isinstance(node.what, SameNode | SameLabel) or (isinstance(node.what, Description) and node.what.variables)
        for node in walk(pattern)
    )


def check_names(pattern: NodePattern) -> tuple[str, int | str] | None:
    """A problem with the names of a pattern, and its location; None if there is none."""
    named = [node.location for node in walk(pattern) if node.name is not None]
    if len(named) > MAX_NAMES:
        return f"{len(named):,} nodes have names; at most {MAX_NAMES:,} are allowed", named[MAX_NAMES]
    try:
        _check_names(pattern, frozenset(), False)
    except _BadName as bad:
        return bad.message, bad.location
    return None


class _BadName(Exception):
    def __init__(self, message: str, location: int | str):
        self.message, self.location = message, location


def _check_names(pattern: NodePattern | Condition, defined: frozenset[str], negated: bool) -> frozenset[str]:
    """The names that are defined after a part, given those before it. Raises _BadName."""
    if isinstance(pattern, NodePattern):
        what, name, location = pattern.what, pattern.name, pattern.location
        if isinstance(what, SameNode | SameLabel) and what.name not in defined:
            sign = "=" if isinstance(what, SameNode) else "@~" if what.basic else "~"
            known = (
                f"those given before it are {', '.join(sorted(defined))}" if defined else "no name is given before it"
            )
            raise _BadName(f"{sign}{what.name} refers to a node that has no name yet; {known}", location)
        if name is not None:
            if negated:
                raise _BadName(
                    f"the name {name!r} is given under a negation (!), where no node is found that could have it; "
                    "leave it out",
                    location,
                )
            if name in defined:
                raise _BadName(
                    f"the name {name!r} is given twice; a name is given once, and ={name} without a label refers to it",
                    location,
                )
            defined = defined | {name}
        return defined if pattern.condition is None else _check_names(pattern.condition, defined, negated)
    if isinstance(pattern, Relation):
        return _check_names(pattern.node, defined, negated)
    if isinstance(pattern, Not):
        _check_names(pattern.part, defined, True)
        return defined
    if isinstance(pattern, Maybe):
        return _check_names(pattern.part, defined, negated)
    if isinstance(pattern, Either):
        found = [_check_names(part, defined, negated) for part in pattern.parts]
        return defined.union(*(names for names in found if names is not defined))
    for part in pattern.parts:
        defined = _check_names(part, defined, negated)
    return defined
