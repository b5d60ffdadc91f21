"""The meaning of Tregex patterns, case by case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spacy_dtparse.errors import PatternError
from spacy_dtparse.query import Forest, Matching, Node, compile_pattern
from spacy_dtparse.query.syntax import TOKEN_ATTRIBUTES, Relation
from spacy_dtparse.trees.brackets import parse_tree

from .meanings import CASES, NAMED, TREES
from .test_relations import ALL_RELATIONS

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
    one_by_one = [shown(match.node) for match in compiled.matches(PARSED[tree])]
    assert list(dict.fromkeys(one_by_one)) == list(dict.fromkeys(expected.split()))


@pytest.mark.parametrize(("tree", "pattern", "expected"), NAMED, ids=[f"{case[0]}: {case[1]}" for case in NAMED])
def test_names(tree, pattern, expected):
    matches = compile_pattern(pattern).matches(PARSED[tree])
    found = [" ".join([shown(m.node), *(f"{name}={shown(node)}" for name, node in m.names.items())]) for m in matches]
    assert sorted(found) == sorted(expected)
    assert [m.node for m in matches] == sorted((m.node for m in matches), key=lambda node: (node.start, -node.end))


DOCUMENT = (Path(__file__).parents[2] / "docs" / "patterns.md").read_text(encoding="utf8")


def documented() -> list[str]:
    """The patterns in the first column of the tables of docs/patterns.md."""
    found = []
    for line in DOCUMENT.partition("## Dicts")[0].splitlines():
        cell = line.replace(r"\|", "<bar>").split("|")[1].replace("<bar>", "|") if line.startswith("| ") else ""
        found += [one or two for one, two in re.findall(r"``(.+?)``|`(.+?)`", cell)]
    return found


def test_the_document_lists_all_accepted_patterns():
    texts = documented()
    assert len(texts) > 60
    compiled = [compile_pattern(("S=subject : " if re.match("@?[=~]", text) else "") + text) for text in texts]
    relations = {related.relation for pattern in compiled for related in conditions(pattern.parsed)}
    assert relations == ALL_RELATIONS


def conditions(part):
    """All relations of a pattern."""
    if isinstance(part, Relation):
        yield part
        part = part.node
    for inner in getattr(part, "parts", ()) or [getattr(part, "part", None) or getattr(part, "condition", None)]:
        if inner is not None:
            yield from conditions(inner)


def rows() -> list[list[list[str]]]:
    """The patterns in each column of the table of patterns that Tregex accepts and we refuse."""
    table = DOCUMENT.partition("| refused |")[2].partition("\n## ")[0].replace(r"\|", "<bar>").splitlines()[2:]
    cells = [line.split("|")[1:4] for line in table if line.startswith("| ")]
    return [[re.findall(r"`(.+?)`", cell.replace("<bar>", "|")) for cell in row] for row in cells]


@pytest.mark.parametrize(("refused", "instead"), [(row[0], row[2]) for row in rows()], ids=str)
def test_the_document_lists_what_is_refused(refused, instead):
    for text in refused:
        with pytest.raises(PatternError):
            compile_pattern(text)
    for text in instead:
        assert compile_pattern(text)


def test_many_patterns_are_listed():
    assert len(rows()) >= 15 and all(row[0] and row[2] for row in rows())


@pytest.mark.parametrize("attribute", TOKEN_ATTRIBUTES)
def test_the_document_lists_attributes(attribute):
    assert f"`{attribute}`" in DOCUMENT.partition("## Dicts")[2]
