"""Directional spines: against recursion over every choice of heads, as text, and back to trees without brackets."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.trees import (
    COLLINS,
    DirectionalSpine,
    HeadRules,
    Recipe,
    Tree,
    directional_spines,
    format_directional,
    format_spine,
    parse_directional,
    parse_spine,
    parse_tree,
    read_trees,
    round_trip_problem,
    tree_from_directional,
)
from spacy_dtparse.trees.directional import FIRST, INNER, LAST, LEFT, RIGHT, ROOT, is_directional

from . import naive
from .test_spines import CAT, LEFTMOST, SAMPLE

Heads = Callable[[list], list[int]]
"""The places of the children of a nested constituent that may be its head."""


def analyses(node, heads: Heads, top: bool = True) -> list[tuple[list[DirectionalSpine], int]]:
    """Directional spines of a nested tree for each choice of heads, with the index of its head, by recursion.

    The position of a node without a parent so far is that of an only child of the root.
    """
    if isinstance(node, tuple):
        return [([DirectionalSpine((), (), ROOT)], 0)]
    found = []
    for parts in product(*(analyses(child, heads, False) for child in node[1:])):
        for chosen in [-1] if top else heads(node):
            spines: list[DirectionalSpine] = []
            head = 0
            for number, (below, own) in enumerate(parts):
                below, last = list(below), len(parts) - 1
                if number == chosen:
                    labels, sides, _ = below[own]
                    side = LEFT * (number > 0) + RIGHT * (number < last)
                    below[own] = DirectionalSpine((*labels, node[0]), (*sides, side), ROOT)
                    head = len(spines) + own
                elif last:
                    below[own] = below[own]._replace(position={0: FIRST, last: LAST}.get(number, INNER))
                spines += below
            found.append((spines, head))
    return found


def by_rules(rules: HeadRules) -> Heads:
    return lambda node: [rules.head_child(node[0], [child[0] for child in node[1:]])]


def any_child(node: list) -> list[int]:
    return list(range(len(node) - 1))


def pieces(n: int, chain: int, left: int | None = None) -> Iterator:
    """Every nested constituent or leaf over n words with unary chains of up to `chain` (`left` at its top), all labels
    X."""
    left = chain if left is None else left
    if n == 1:
        yield ("T", "w")
    for children in partings(n, chain):
        if len(children) > 1:
            yield ["X", *children]
    if left:
        for below in pieces(n, chain, left - 1):
            yield ["X", below]


def partings(n: int, chain: int) -> Iterator[tuple]:
    """Every sequence of pieces over n words; for several words at least two pieces, since `pieces` has the rest."""
    for size in range(1, n):
        for first in pieces(size, chain):
            for rest in (*partings(n - size, chain), *((last,) for last in pieces(n - size, chain))):
                yield (first, *rest)


def trees_over(n: int, chain: int) -> Iterator[list]:
    for children in (*partings(n, chain), *((one,) for one in pieces(n, chain))):
        yield ["TOP", *children]


def back(words, tags, spines) -> Tree | None:
    try:
        return tree_from_directional(words, tags, spines)
    except TreeError:
        return None


@pytest.mark.parametrize(("n", "chain"), [(1, 3), (2, 2), (3, 1), (4, 1)])
def test_no_two_trees_have_the_same_directional_spines(n, chain):
    """By enumeration of the trees over a few words and of all their heads; and each tree comes back."""
    trees: dict[tuple, Tree] = {}
    nested = list(trees_over(n, chain))
    for one in nested:
        tree = naive.to_tree(one)
        for spines, _ in analyses(one, any_child):
            assert trees.setdefault(tuple(spines), tree) == tree
            assert tree_from_directional(tree.words, tree.tags, spines) == tree
    assert len(set(trees.values())) == len(nested) > 2 and len(trees) >= len(nested)
    assert n < 3 or len(trees) > 2 * len(nested), "most trees have several choices of heads"


@pytest.mark.parametrize(("n", "longest"), [(1, 3), (2, 2), (3, 1)])
def test_nothing_else_is_accepted_as_directional_spines(n, longest):
    """Among all sequences of spines, exactly those of some tree give a tree: that tree."""
    words, tags = ["w"] * n, ["T"] * n
    trees = {}
    for one in trees_over(n, longest):
        for spines, _ in analyses(one, any_child):
            if all(len(spine.labels) <= longest for spine in spines):
                trees[tuple(spines)] = naive.to_tree(one)
    possible = [
        DirectionalSpine(("X",) * length, sides, place)
        for length in range(longest + 1)
        for sides in product(range(4), repeat=length)
        for place in range(4)
    ]
    tried = 0
    for spines in product(possible, repeat=n):
        assert back(words, tags, spines) == trees.get(spines)
        tried += 1
    assert tried == len(possible) ** n > 10 * len(trees) > 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CAT, "(- (NP< |VP>+S<> (PP> )NP )-"),
        ("(TOP (NN a))", ".-"),
        ("(TOP (X (NN a)))", ".X"),
        ("(TOP (S (VP (VP (VB go)))))", ".VP+VP+S"),
        ("(TOP (, ,) (. .))", "(- )-"),
        ("(TOP (NP (NNS cats)) (: -) (NP (NNS dogs)))", "(NP |- )NP"),
        ("(TOP (NP (DT a) (JJ b) (NN c) (NN d)))", "(- |- |- .NP<"),
    ],
)
def test_directional_spines_of_a_tree(text, expected):
    tree = parse_tree(text)
    expected = {CAT: "(- (NP< .VP>+S<> )PP> )NP )-"}.get(text, expected)
    assert " ".join(map(format_directional, directional_spines(tree))) == expected
    assert tree_from_directional(tree.words, tree.tags, directional_spines(tree)) == tree


@pytest.mark.parametrize("rules", [COLLINS, LEFTMOST], ids=["collins", "leftmost"])
def test_random_trees(rules):
    """Unary chains, repeated labels, several children of the root: as in the recursive reference, and back."""
    rng, several = random.Random(7), 0
    for _ in range(400):
        nested = naive.random_nested(rng, rng.randint(1, 12))
        tree = naive.to_tree(nested)
        assert [directional_spines(tree, rules)] == [spines for spines, _ in analyses(nested, by_rules(rules))]
        assert round_trip_problem(tree, rules, directional=True) == ""
        several += len(nested) > 2
    assert several > 50


def test_the_sample_treebank():
    for part in ("train", "dev"):
        for tree in read_trees(Path(SAMPLE) / f"{part}.mrg"):
            for one in (tree, Recipe.PLAIN.apply(tree), Recipe.TM2006.apply(tree)):
                assert (
                    round_trip_problem(one, directional=True)
                    == ""
                    == round_trip_problem(one, LEFTMOST, directional=True)
                )


def test_deep_trees():
    for text in (
        "(TOP " + "(X " * 5000 + "(NN a)" + ")" * 5001,
        "(TOP " + "(S (NN a) " * 5000 + "(NN a)" + ")" * 5001,
        "(TOP " + "(S " * 5000 + "(NN a)" + " (NN a))" * 5000 + ")",
    ):
        assert round_trip_problem(parse_tree(text), directional=True) == ""


def test_another_root():
    tree = parse_tree("(S (NP (NN a)) (VP (VB b)))", top=None)
    assert round_trip_problem(tree, directional=True) == ""
    assert tree_from_directional(tree.words, tree.tags, directional_spines(tree)).labels == ("TOP", "NP", "VP")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("(-", "1 directional spines for 2 tokens; give one for each"),
        ("(NP> )VP", "the constituent that begins with token 0 has no last child"),
        (".NP> )-", None),
        (".NP> )VP", None),
        ("(NP> )-", "begins with token 0 has no last child"),
        ("(NP> .VP", "no child of \\[1, 2\\) is its head, and it is not the root"),
        (".NP> )VP<", "tokens 0 and 1 would head the same constituent"),
        (".- .-", "no child of \\[1, 2\\) is its head"),
        ("|- )-", "no constituent begins with the first token"),
        ("(- |-", "begins with token 0 has no last child"),
        (".NP< )-", "no constituent begins with the first token"),
    ],
)
def test_spines_of_no_tree_are_refused(given, message):
    spines = [parse_directional(text) for text in given.split()]
    if message is None:
        assert directional_spines(tree_from_directional("ab", "XY", spines), LEFTMOST) == spines
    else:
        with pytest.raises(TreeError, match=message):
            tree_from_directional("ab", "XY", spines)


@pytest.mark.parametrize("wrong", [(("A",), (), ROOT), (("A",), (4,), ROOT), ((), (), 4), ((), (), -1), ((), (0,), 0)])
def test_invalid_directional_spines_are_refused(wrong):
    for use in (format_directional, lambda spine: tree_from_directional("a", "X", [spine])):
        message = "is not a directional spine; give labels, as many sides from 0 to 3, and a po"
        with pytest.raises(TreeError, match=message):
            use(DirectionalSpine(*wrong))


def test_no_token():
    with pytest.raises(TreeError, match="0 directional spines for 0 tokens; give one for each of at least one token"):
        tree_from_directional([], [], [])


def test_formatted_directional_spines():
    for spine in (
        DirectionalSpine((), (), INNER),
        DirectionalSpine(("NP",), (0,), FIRST),
        DirectionalSpine(("-NONE-", "NP-SBJ=1", "=S|X"), (LEFT, RIGHT, LEFT | RIGHT), LAST),
    ):
        assert parse_directional(format_directional(spine)) == spine
        assert is_directional(format_directional(spine)) and not is_directional(format_spine(spine.labels))
    assert format_directional(DirectionalSpine(("VP", "S"), (RIGHT, 3), ROOT)) == ".VP>+S<>"
    for label in ("", "-", "A+B", "A B", "(A", "|A", ")", ".", "A<", ">"):
        with pytest.raises(TreeError, match="cannot be written in a spine"):
            format_directional(DirectionalSpine((label,), (0,), ROOT))
        with pytest.raises(TreeError, match="cannot be written in a spine"):
            format_spine((label,))
    for text in ("", ".", "NP", ".NP+", ".+NP", ".NP><", ".NP<<", ".N P", "..NP", ".-<", ".-+NP", "=o", "-"):
        with pytest.raises(TreeError, match=r"is not a directional spine; give one of \(\|\)\."):
            parse_directional(text)
    for text in (".NP", "NP<"):
        with pytest.raises(TreeError, match="is not a spine"):
            parse_spine(text)
