"""Match patterns against a forest: first as sets of nodes from the innermost pattern outwards, then names, node by
node.

A pattern without references is decided by sets alone (`Matching.nodes`): for each of its nodes, innermost first, the
set of all nodes of the forest that match. If something depends on a named node, the sets are too large, never too
small, and `Matching.ways` decides by trying. The same applies to patterns whose names are requested.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..trees.labels import base_label
from .forest import Forest, Mask, Nodes
from .limits import NO_LIMITS, SearchClock, SearchLimits
from .relations import INVERSES, RelatedNodes, related_mask
from .syntax import (
    All,
    Condition,
    Description,
    Either,
    Maybe,
    NodePattern,
    Not,
    Relation,
    SameLabel,
    SameNode,
    TokenTest,
    names_of,
    refers,
    walk,
)

Names = Mapping[str, Any]
"""Name -> node, and "%variable" -> its string."""

_refers = lru_cache(maxsize=4096)(refers)


@lru_cache(maxsize=4096)
def _needs_names(part: NodePattern | Condition) -> bool:
    """Whether the sets do not decide a part completely: it assigns names or depends on some."""
    return _refers(part) or bool(names_of(part))


@lru_cache(maxsize=4096)
def _assigns(part: NodePattern) -> bool:
    """Whether a match of a part assigns a name or a variable."""
    return any(node.name or (isinstance(node.what, Description) and node.what.variables) for node in walk(part))


@lru_cache(maxsize=4096)
def _relations_to_names(pattern: NodePattern) -> tuple[tuple[str, str], ...]:
    """(Inverse relation, name) for each relation that a node must have to a named node."""
    condition = pattern.condition
    return tuple(
        (INVERSES[part.relation], part.node.what.name)
        for part in (condition.parts if isinstance(condition, All) else (condition,))
        if isinstance(part, Relation) and part.relation in INVERSES and isinstance(part.node.what, SameNode)
    )


class Matching:
    """One search in a forest, possibly for many patterns: sets that patterns share are computed once.

    `limits`: of the whole search; SearchLimitError is raised if they are exceeded.
    """

    def __init__(self, forest: Forest, limits: SearchLimits = NO_LIMITS):
        self.forest = forest
        self._clock = SearchClock(limits)
        self._sets: dict[NodePattern, Nodes] = {}
        self._members: dict[NodePattern | Description, set[int]] = {}
        self._related = RelatedNodes(forest)

    def nodes(self, pattern: NodePattern) -> Nodes:
        """All nodes that match, ascending."""
        found = self._candidates(pattern)
        if not _refers(pattern):
            self._clock.count(len(found))
            return found
        return np.array([x for x in found.tolist() if any(True for _ in self._ways(pattern, x, {}))], dtype=np.int64)

    def ways(self, pattern: NodePattern) -> Iterator[tuple[int, dict[str, int]]]:
        """All matching nodes with each assignment of the pattern's names, each once."""
        for x in self._candidates(pattern).tolist():
            if not _needs_names(pattern):
                self._clock.count()
                yield x, {}
                continue
            seen = set()
            for found in self._ways(pattern, x, {}):
                names = {name: node for name, node in found.items() if not name.startswith("%")}
                key = tuple(sorted(names.items()))
                if key not in seen:
                    seen.add(key)
                    self._clock.count()
                    yield x, names

    def first_ways(self, pattern: NodePattern) -> dict[int, tuple[int, Names]]:
        """{index of a tree: its first matching node, and the first assignment of names and %variables}, for each tree
        that has one, ascending."""
        found: dict[int, tuple[int, Names]] = {}
        candidates = self._candidates(pattern)
        needs_names = _needs_names(pattern)
        for x, tree in zip(candidates.tolist(), self.forest.tree_of[candidates].tolist(), strict=True):
            if tree not in found:
                way = next(self._ways(pattern, x, {}), None) if needs_names else {}
                if way is not None:
                    found[tree] = x, way
        return found

    # Sets

    def _candidates(self, pattern: NodePattern) -> Nodes:
        """The nodes that match, possibly more if a part refers to others."""
        if pattern not in self._sets:
            self._clock.check()
            what = pattern.what
            found = self._matching_nodes(what) if isinstance(what, Description) else self.forest.all
            if pattern.condition is not None:
                found = self._filter(found, pattern.condition)
            self._sets[pattern] = found
        return self._sets[pattern]

    def _filter(self, nodes: Nodes, condition: Condition) -> Nodes:
        """The nodes that satisfy a condition; several conditions are tested in turn, each on the nodes left by the
        previous one."""
        if isinstance(condition, All):
            for part in condition.parts:
                nodes = self._filter(nodes, part)
            return nodes
        return nodes if isinstance(condition, Maybe) or not len(nodes) else nodes[self._holds(nodes, condition)]

    def _holds(self, nodes: Nodes, condition: Condition) -> Mask:
        if isinstance(condition, Relation):
            between = self._matching_nodes(condition.between) if condition.between is not None else nodes[:0]
            return related_mask(self.forest, nodes, self._candidates(condition.node), condition, between)
        if isinstance(condition, Not):
            if _refers(condition):  # the negated part may match fewer nodes than the sets contain
                return np.ones(len(nodes), dtype=bool)
            return ~self._holds(nodes, condition.part)
        if isinstance(condition, Either):
            return np.logical_or.reduce([self._holds(nodes, part) for part in condition.parts])
        if isinstance(condition, All):
            return np.logical_and.reduce([self._holds(nodes, part) for part in condition.parts])
        return np.ones(len(nodes), dtype=bool)

    def _matching_nodes(self, what: Description) -> Nodes:
        return self.forest.cached_nodes(what, lambda: _find(self.forest, what, self._clock))

    # One node at a time

    def _ways(self, pattern: NodePattern, x: int, names: Names) -> Iterator[Names]:
        """The extensions of `names` with which candidate x matches."""
        self._clock.step()
        what = pattern.what
        if isinstance(what, SameNode):
            if names.get(what.name) != x:
                return
        elif isinstance(what, SameLabel):
            other = names.get(what.name)
            if other is None or self._label(other, what.basic) != self._label(x, what.basic):
                return
        elif what.variables:
            found = self._variables(what, x, names)
            if found is None:
                return
            names = found
        if pattern.name is not None:
            names = {**names, pattern.name: x}
        if pattern.condition is None:
            yield names
        else:
            yield from self._ways_of(pattern.condition, x, names, True)

    def _ways_of(self, condition: Condition, x: int, names: Names, holds_in_sets: bool) -> Iterator[Names]:
        """The extensions of `names` with which a condition holds for x.

        `holds_in_sets`: the sets already show that it holds, as far as they can.
        """
        if not _needs_names(condition):
            if holds_in_sets or self._holds(np.array([x]), condition)[0]:
                yield names
        elif isinstance(condition, Relation):
            near = self._related_nodes(condition, x, names)
            ways = (way for y in near for way in self._ways(condition.node, y, names))
            if _assigns(condition.node):
                yield from ways
            elif next(ways, None) is not None:  # the other ways are the same
                yield names
        elif isinstance(condition, All):
            yield from self._all_ways(condition.parts, x, names, holds_in_sets)
        elif isinstance(condition, Either):
            for part in condition.parts:
                found = False
                for way in self._ways_of(part, x, names, False):
                    found = True
                    yield way
                if found:
                    return
        elif isinstance(condition, Not):
            if not any(True for _ in self._ways_of(condition.part, x, names, False)):
                yield names
        else:
            found = False
            for way in self._ways_of(condition.part, x, names, False):
                found = True
                yield way
            if not found:
                yield names

    def _all_ways(self, parts: tuple[Condition, ...], x: int, names: Names, holds_in_sets: bool) -> Iterator[Names]:
        """The extensions of `names` with which all conditions hold: depth first, without recursion, since a pattern may
        have many thousands."""
        open_ways = [self._ways_of(parts[0], x, names, holds_in_sets)]
        while open_ways:
            self._clock.step()
            way = next(open_ways[-1], None)
            if way is None:
                open_ways.pop()
            elif len(open_ways) == len(parts):
                yield way
            else:
                open_ways.append(self._ways_of(parts[len(open_ways)], x, way, holds_in_sets))

    def _related_nodes(self, condition: Relation, x: int, names: Names) -> Iterator[int]:
        """The nodes to which x has a relation and that may match, found one by one: the first may be enough."""
        members = self._node_set(condition.node)
        between = condition.between
        passes: Callable[[int], bool] = (lambda y: False) if between is None else self._node_set(between).__contains__
        if isinstance(condition.node.what, SameNode):  # the only node that it can be
            y = names.get(condition.node.what.name)
            arguments = condition.number, passes
            if y in members and self._related.holds(condition.relation, x, y, *arguments):
                yield y
            return
        near: Iterable[int] | None = None
        for inverse, name in _relations_to_names(condition.node):
            if near is None and name in names:
                near = self._related.find_both(condition.relation, x, condition.number, inverse, names[name])
        if near is None:
            near = self._related.find(condition.relation, x, condition.number, passes)
        for y in near:
            if y in members:
                yield y

    def _node_set(self, part: NodePattern | Description) -> set[int]:
        if part not in self._members:
            found = self._candidates(part) if isinstance(part, NodePattern) else self._matching_nodes(part)
            self._members[part] = set(found.tolist())
        return self._members[part]

    def _label(self, x: int, basic: bool) -> str:
        text = self.forest.texts[self.forest.symbols[x]]
        return base_label(text) if basic else text

    def _variables(self, what: Description, x: int, names: Names) -> Names | None:
        """The names with the variables of a description; None if one already has another string."""
        text = self._label(x, what.basic)
        if what.label_variables:
            found = dict(names)
            same = [found.setdefault("%" + variable, text) == text for variable in what.label_variables]
            return found if all(same) else None
        for regex in what.regexes:
            match = self._clock.regex_search(regex.source, regex.flags)(text)
            if match is None:
                continue
            found = dict(names)
            for number, variable in regex.groups:
                if found.setdefault("%" + variable, match[number]) != match[number]:
                    return None
            return found
        return names


def _find(forest: Forest, what: Description, clock: SearchClock) -> Nodes:
    """The nodes that match a description; each distinct label is tested once."""
    if what.anything:
        found = forest.all if not what.negated else forest.all[:0]
    else:
        found = forest.with_labels(_matching_labels(forest, what, clock))
        if what.matches_root:
            roots = forest.roots[:-1]
            found = np.setdiff1d(found, roots) if what.negated else np.union1d(found, roots)
    for test in what.tests:
        values = forest.token_values(test.attribute)
        passed = {value: _passes(test, value, clock) for value in set(values)}
        tokens = np.array([passed[value] for value in values], dtype=bool)
        found = found[tokens[forest.head_tokens[found]]]
    return found


def _matching_labels(forest: Forest, what: Description, clock: SearchClock) -> list[int]:
    """The indices of the labels that match a description, ascending."""
    texts = forest.basic_texts if what.basic else forest.texts
    if not what.regexes and not what.basic:
        fits = {forest.label_ids[literal] for literal in what.literals if literal in forest.label_ids}
    else:
        literals = set(what.literals)
        fits = {index for index, text in enumerate(texts) if text in literals} if literals else set()
        for regex in what.regexes:
            search = clock.regex_search(regex.source, regex.flags)
            fits.update([index for index, text in enumerate(texts) if search(text)])
    return sorted(set(range(len(texts))) - fits if what.negated else fits)


def _passes(test: TokenTest, value: Any, clock: SearchClock) -> bool:
    operator, values = test.operator, test.values
    if operator == "REGEX":
        return clock.regex_search(str(values[0]), 0)(str(value)) is not None
    if operator in ("IN", "NOT_IN"):
        return (value in values) == (operator == "IN")
    other: Any = values[0]
    return {">": value > other, ">=": value >= other, "<": value < other, "<=": value <= other}[operator]
