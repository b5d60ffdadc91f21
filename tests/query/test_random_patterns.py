"""Random patterns on random trees: sets and ways against trying every node by the definitions."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import pytest

from spacy_dtparse.query.forest import Forest
from spacy_dtparse.query.matching import Matching
from spacy_dtparse.query.parser import parse_node
from spacy_dtparse.query.syntax import (
    CHAINED,
    NUMBERED,
    All,
    Condition,
    Description,
    Either,
    Maybe,
    NodePattern,
    Not,
    Regex,
    Relation,
    SameLabel,
    SameNode,
    names_of,
    refers,
)

from .naive import NaiveTree, Path
from .test_relations import ALL_RELATIONS, random_tree

TREES = [random_tree(random.Random(seed)) for seed in range(100, 125)]
NAIVE = [NaiveTree(tree) for tree in TREES]
RELATIONS = sorted(ALL_RELATIONS)


class Writer:
    """Writes random patterns, with names where they may stand."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.names: list[str] = []

    def described(self) -> Description:
        rng = self.rng
        if rng.random() < 0.25:
            return Description(anything=True)
        literals = tuple(rng.sample(["NP", "VP", "S", "NN", "VB", ",", "a", "b", "ROOT", "S1"], rng.randint(1, 3)))
        regexes = (Regex("^[NS]"),) if rng.random() < 0.2 else ()
        return Description(literals, regexes, negated=rng.random() < 0.3)

    def node(self, depth: int, negated: bool) -> NodePattern:
        rng = self.rng
        if self.names and rng.random() < 0.3:
            name = rng.choice(self.names)
            return NodePattern(
                SameNode(name) if rng.random() < 0.5 else SameLabel(name), None, self.maybe(depth, negated)
            )
        name = f"n{len(self.names)}" if not negated and rng.random() < 0.4 else None
        what = self.described()
        if name is not None:
            self.names.append(name)
        return NodePattern(what, name, self.maybe(depth, negated))

    def maybe(self, depth: int, negated: bool) -> Condition | None:
        return self.condition(depth - 1, negated) if depth > 0 and self.rng.random() < 0.8 else None

    def condition(self, depth: int, negated: bool) -> Condition:
        rng = self.rng
        kind = rng.random()
        if kind < 0.2 and depth > 0:
            return All(tuple(self.condition(depth - 1, negated) for _ in range(2)))
        if kind < 0.35 and depth > 0:
            return Either(tuple(self.condition(depth - 1, negated) for _ in range(2)))
        if kind < 0.5:
            return Not(self.condition(depth - 1, True))
        if kind < 0.6:
            return Maybe(self.condition(depth - 1, negated))
        relation = rng.choice(RELATIONS)
        number = rng.choice((1, 2, -1, -2)) if relation in NUMBERED else 0
        between = self.described() if relation in CHAINED else None
        return Relation(relation, self.node(depth, negated), number, between)


def ways(tree: NaiveTree, part: NodePattern | Condition, x: Path, names: dict[str, Path]) -> Iterator[dict[str, Path]]:
    """All ways in which a part holds of a node, by the definitions."""
    if isinstance(part, NodePattern):
        what, label = part.what, tree.labels[x]
        if isinstance(what, SameNode):
            fits = names.get(what.name) == x
        elif isinstance(what, SameLabel):
            fits = what.name in names and tree.labels[names[what.name]] == label
        else:
            fits = what.anything or label in what.literals or any(label[0] in "NS" for _ in what.regexes)
            fits = fits or (x == () and bool({"ROOT", "S1"} & set(what.literals)))
            fits = fits != what.negated
        if fits:
            names = names if part.name is None else {**names, part.name: x}
            yield from [names] if part.condition is None else ways(tree, part.condition, x, names)
    elif isinstance(part, Relation):
        for y in sorted(tree.labels):
            if tree.related(x, y, part.relation, part.number, lambda z: passes(tree, part.between, z)):
                yield from ways(tree, part.node, y, names)
    elif isinstance(part, All):
        found = [names]
        for one in part.parts:
            found = [way for before in found for way in ways(tree, one, x, before)]
        yield from found
    elif isinstance(part, Either):
        yield from next((found for one in part.parts if (found := list(ways(tree, one, x, names)))), [])
    elif isinstance(part, Not):
        yield from [] if list(ways(tree, part.part, x, names)) else [names]
    else:
        yield from list(ways(tree, part.part, x, names)) or [names]


def passes(tree: NaiveTree, between: Description | None, z: Path) -> bool:
    return between is not None and bool(list(ways(tree, NodePattern(between), z, {})))


@pytest.mark.parametrize("seed", range(400))
def test_patterns_find_all_matches_of_exhaustive_search(seed):
    rng = random.Random(seed)
    pattern = Writer(rng).node(3, False)
    chosen = rng.sample(range(len(TREES)), 3)
    forest = Forest(TREES[k] for k in chosen)
    expected, nodes = [], []
    for number, k in enumerate(chosen):
        paths = sorted(NAIVE[k].labels)
        first = int(forest.roots[number])
        for x, path in enumerate(paths, first):
            found = {tuple(sorted(way.items())) for way in ways(NAIVE[k], pattern, path, {})}
            expected += [(x, tuple((name, paths.index(y) + first) for name, y in way)) for way in found]
            nodes += [x] if found else []
    matching = Matching(forest)
    assert matching.nodes(pattern).tolist() == nodes
    assert sorted((x, tuple(sorted(names.items()))) for x, names in matching.ways(pattern)) == sorted(expected)
    assert pickle.loads(pickle.dumps(pattern)) == pattern


class Text:
    """Writes patterns as Tregex, each part in one of the ways that the grammar has for it."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def node(self, pattern: NodePattern) -> str:
        what = pattern.what
        if isinstance(what, SameNode | SameLabel):
            text = ("=" if isinstance(what, SameNode) else "~") + self.rng.choice(("", " ")) + what.name
        else:
            text = self.description(what)
        text += "" if pattern.name is None else self.rng.choice(("=", " = ")) + pattern.name
        if pattern.condition is not None:
            return f"({text} {self.conditions(pattern.condition)})"
        return f"({text})" if self.rng.random() < 0.2 else text

    def description(self, what: Description) -> str:
        labels = [f'"{label}"' if label == "," else label for label in what.literals]
        return "!" * what.negated + "|".join([*labels, *(f"/{regex.source}/" for regex in what.regexes)] or ["__"])

    def conditions(self, condition: Condition) -> str:
        """A condition where several may stand."""
        if isinstance(condition, All) and self.rng.random() < 0.7:
            return self.rng.choice((" ", " & ")).join(map(self.condition, condition.parts))
        if isinstance(condition, Either) and self.rng.random() < 0.7:
            return " | ".join(map(self.condition, condition.parts))
        return self.condition(condition)

    def condition(self, condition: Condition) -> str:
        if isinstance(condition, Not | Maybe):
            inner = self.condition(condition.part)
            sign = "!" if isinstance(condition, Not) else "?"
            return sign + (self.rng.choice(("[{}]", "({})")).format(inner) if inner[0] in "!?" else inner)
        if isinstance(condition, Relation):
            symbol = condition.relation
            if condition.between is not None:
                symbol += self.rng.choice(("({})", " ({})", "[{}]")).format(self.description(condition.between))
            if symbol.endswith("i"):
                symbol = symbol[:-1] + self.rng.choice(("", " ")) + str(condition.number)
            written = f"{symbol} {self.node(condition.node)}"
            return f"[{written}]" if symbol == ":" else written
        return self.rng.choice(("[{}]", "({})")).format(self.conditions(condition))


@pytest.mark.parametrize("seed", range(400))
def test_texts_mean_what_their_parts_mean(seed):
    rng = random.Random(seed)
    pattern = Writer(rng).node(3, False)
    text = Text(rng).node(pattern)
    forest = Forest(TREES)
    parsed = parse_node(text)
    assert parsed.what == pattern.what and parsed.name == pattern.name
    first, second = Matching(forest), Matching(forest)
    assert first.nodes(parsed).tolist() == second.nodes(pattern).tolist()
    assert sorted((x, sorted(names.items())) for x, names in first.ways(parsed)) == sorted(
        (x, sorted(names.items())) for x, names in second.ways(pattern)
    )


def test_these_patterns_are_of_all_kinds():
    patterns = [Writer(random.Random(seed)).node(3, False) for seed in range(400)]
    assert sum(map(refers, patterns)) > 60 and sum(len(names_of(pattern)) > 1 for pattern in patterns) > 50
    found = [len(Matching(Forest(TREES)).nodes(pattern)) for pattern in patterns]
    assert sum(0 < count < 300 for count in found) > 150
