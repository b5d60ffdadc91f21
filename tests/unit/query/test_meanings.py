"""What Tregex patterns mean, case by case."""

from __future__ import annotations

import pytest

from spacy_dtparse.query import Forest, Matching, Node, compile_pattern
from spacy_dtparse.trees.brackets import parse_tree

from .meanings import CASES, NAMED, TREES

PARSED = {name: parse_tree(text, top=None) for name, text in TREES.items()}


def shown(node: Node) -> str:
    return f"{node.label}{node.start}" + (f"-{node.end}" if node.kind == "constituent" else "")


def test_there_are_at_least_a_hundred():
    assert len(CASES) + len(NAMED) >= 100 and len({case[:2] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(("tree", "pattern", "expected"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_meaning(tree, pattern, expected):
    forest = Forest([PARSED["barn"], PARSED[tree], PARSED["who"]])  # the tree has neighbours, which change nothing
    compiled = compile_pattern(pattern)
    found = [forest.node(x) for x in Matching(forest).nodes(compiled.parsed).tolist()]
    assert [shown(node) for node in found if node.tree == 1] == expected.split()
    alone = [shown(match.node) for match in compiled.matches(PARSED[tree])]
    assert list(dict.fromkeys(alone)) == list(dict.fromkeys(expected.split()))


@pytest.mark.parametrize(("tree", "pattern", "expected"), NAMED, ids=[f"{case[0]}: {case[1]}" for case in NAMED])
def test_names(tree, pattern, expected):
    matches = compile_pattern(pattern).matches(PARSED[tree])
    found = [" ".join([shown(m.node), *(f"{name}={shown(node)}" for name, node in m.names.items())]) for m in matches]
    assert sorted(found) == sorted(expected)
    assert [m.node for m in matches] == sorted((m.node for m in matches), key=lambda node: (node.start, -node.end))
