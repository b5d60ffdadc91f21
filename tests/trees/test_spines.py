"""Spines: their definition, as text, and back to trees."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import product
from pathlib import Path

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.trees import (
    COLLINS,
    HeadRules,
    Recipe,
    Tree,
    format_spine,
    parse_spine,
    parse_tree,
    read_trees,
    round_trip_problem,
    spines,
    tree_from_spines,
)

from . import naive

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample"
LEFTMOST = HeadRules.from_dict({})
CAT = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (PRP it)))) (. .)))"


def again(tree: Tree, rules: HeadRules = COLLINS) -> Tree:
    brackets = list(zip(tree.starts, tree.ends, strict=True))
    random.Random(0).shuffle(brackets)
    return tree_from_spines(tree.words, tree.tags, brackets, spines(tree, rules), tree.labels[0])


def written(tree: Tree, rules: HeadRules = COLLINS) -> str:
    return " ".join(map(format_spine, spines(tree, rules)))


def naive_spines(node, rules: HeadRules, top: bool = True) -> tuple[list[list[str]], int]:
    """The spines of a nested tree and the place of its head among them, by recursion."""
    if isinstance(node, tuple):
        return [[]], 0
    head = rules.head_child(node[0], [child[0] for child in node[1:]])
    found: list[list[str]] = []
    place = 0
    for number, child in enumerate(node[1:]):
        below, own = naive_spines(child, rules, False)
        if number == head:
            place = len(found) + own
        found += below
    if not top:
        found[place].append(node[0])
    return found, place


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CAT, "- NP VP+S PP NP -"),
        ("(TOP (NN a))", "-"),
        ("(TOP (X (NN a)))", "X"),
        ("(TOP (S (VP (VP (VB go)))))", "VP+VP+S"),
        ("(TOP (, ,) (. .))", "- -"),
        ("(TOP (FRAG (, ,) (. .)))", "- FRAG"),
        ("(TOP (NP-SBJ (NP (NN a)) (PP=1 (-NONE- *))))", "NP+NP-SBJ PP=1"),
        ("(TOP (NP (NP (NNS cats)) (CC and) (NP (NNS dogs))))", "NP+NP - NP"),
    ],
)
def test_spines_of_a_tree(text, expected):
    tree = parse_tree(text)
    assert written(tree) == expected
    assert again(tree) == tree


def test_spines_follow_the_head_rules():
    tree = parse_tree(CAT)
    assert written(tree, LEFTMOST) == "NP+S - VP PP NP -"
    assert again(tree, LEFTMOST) == tree


def test_a_root_that_is_not_top():
    tree = parse_tree("(S (NP (NN a)) (VP (VB b)))", top=None)
    assert written(tree) == "NP VP"
    assert again(tree) == tree and again(tree).labels[0] == "S"
    shape = zip(tree.starts, tree.ends, strict=True)
    assert tree_from_spines(tree.words, tree.tags, shape, spines(tree)).labels == ("TOP", "NP", "VP")


@pytest.mark.parametrize("rules", [COLLINS, LEFTMOST], ids=["collins", "leftmost"])
def test_random_trees(rules):
    """Unary chains, repeated labels, punctuation, one word: as in the recursive reference, and back."""
    rng = random.Random(4)
    chains = words = 0
    for _ in range(400):
        nested = naive.random_nested(rng, rng.randint(1, 12))
        tree = naive.to_tree(nested)
        found = spines(tree, rules)
        assert found == [tuple(spine) for spine in naive_spines(nested, rules)[0]]
        assert sum(map(len, found)) == len(tree) - 1, "every constituent but the root is in one spine"
        assert again(tree, rules) == tree and round_trip_problem(tree, rules) == ""
        chains += len(set(zip(tree.starts, tree.ends, strict=True))) < len(tree)
        words += len(tree.words) == 1
    assert chains > 50 and words > 10


def test_the_sample_treebank():
    count = 0
    for part in ("train", "dev"):
        for tree in read_trees(SAMPLE / f"{part}.mrg"):
            for one in (tree, Recipe.PLAIN.apply(tree), Recipe.TM2006.apply(tree)):
                for rules in (COLLINS, LEFTMOST):
                    assert round_trip_problem(one, rules) == ""
            count += 1
    assert count == 376


@pytest.mark.parametrize("rules", [COLLINS, LEFTMOST], ids=["collins", "leftmost"])
def test_deep_trees(rules):
    chain = parse_tree("(TOP " + "(X " * 5000 + "(NN a)" + ")" * 5001)
    assert [len(spine) for spine in spines(chain, rules)] == [5000]
    assert again(chain, rules) == chain
    comb = parse_tree("(S (NN a) " * 5000 + "(NN a)" + ")" * 5000)
    assert again(comb, rules) == comb


def head_choices(tree: Tree) -> list[list[tuple[int, ...]]]:
    """Every way to choose a head child for each constituent but the root: the constituents that each token heads."""
    lists = tree.child_lists()
    found = []
    for choice in product(*([range(len(children)) for children in lists[1:]])):
        tokens = [0] * len(lists)
        chains: list[list[int]] = [[] for _ in tree.words]
        for k in range(len(lists) - 1, 0, -1):
            head = lists[k][choice[k - 1]]
            tokens[k] = tokens[head] if head >= 0 else ~head
            chains[tokens[k]].append(k)
        found.append([tuple(chain) for chain in chains])
    return found


def test_lengths_of_spines_determine_the_heads():
    """By enumeration: over one bracketing, no two choices of heads have spines of the same lengths."""
    rng = random.Random(5)
    most = 0
    for _ in range(200):
        tree = naive.random_tree(rng, rng.randint(1, 8))
        choices = head_choices(tree)
        assert len({tuple(map(len, choice)) for choice in choices}) == len(choices)
        for choice in choices:  # and the inverse follows whichever heads the spines have
            own = [tuple(tree.labels[k] for k in chain) for chain in choice]
            shape = zip(tree.starts, tree.ends, strict=True)
            assert tree_from_spines(tree.words, tree.tags, shape, own, tree.labels[0]) == tree
        most = max(most, len(choices))
    assert most > 20


def test_extents_do_not_determine_the_tree():
    """Two trees with the same spines over the same extents, which have different numbers of members there."""
    low = parse_tree("(TOP (Z (X (Y (NN a))) (NN b)))")
    high = parse_tree("(TOP (Z (X (Y (NN a)) (NN b))))")
    assert spines(low, LEFTMOST) == spines(high, LEFTMOST) == [("Y", "X", "Z"), ()]
    extents = [set(zip(tree.starts, tree.ends, strict=True)) for tree in (low, high)]
    assert extents[0] == extents[1] == {(0, 1), (0, 2)}
    by_lengths = defaultdict(set)
    for tree in (low, high):
        by_lengths[tuple(zip(tree.starts, tree.ends, strict=True))].add(again(tree, LEFTMOST))
    assert list(map(len, by_lengths.values())) == [1, 1], "with the number of members each comes back"


@pytest.mark.parametrize(
    ("brackets", "given", "message"),
    [
        ([(0, 2), (0, 1)], [("NP",)], "1 spines for 2 tokens"),
        ([(0, 2), (0, 1)], ["NP", ()], "the spine of token 0 is the text 'NP'"),
        ([(0, 2), (0, 1)], [("NP", "S"), ()], r"token 0 has 2 labels, but only 1 constituents are above"),
        ([(0, 2)], [("NP",), ()], r"token 0 has 1 labels, but only 0 constituents"),
        ([(0, 2), (0, 2)], [("NP",), ("VP",)], r"tokens 0 and 1 both head the constituent \[0, 2\)"),
        ([(0, 2), (1, 2)], [(), ()], r"no spine reaches the constituent \[1, 2\)"),
        ([(0, 2), (0, 1)], [(3,), ()], "label 1 is 3; words, tags and labels are strings"),
        ([(0, 1), (1, 2)], [(), ()], "the root must cover all tokens"),
        ([(0, 2), (0, 3)], [(), ()], "must cover all tokens"),
        ([], [(), ()], "has no constituent"),
    ],
)
def test_spines_of_no_tree_are_refused(brackets, given, message):
    with pytest.raises(TreeError, match=message):
        tree_from_spines(["a", "b"], ["NN", "NN"], brackets, given)


def test_crossing_brackets():
    with pytest.raises(TreeError, match="crosses"):
        tree_from_spines("abc", "XYZ", [(0, 3), (0, 2), (1, 3)], [("A",), ("B",), ()])


def test_formatted_spines():
    for spine in ((), ("NP",), ("VP", "S"), ("-LRB-",), ("NP-SBJ=1", "S|X"), ("-NONE-", "NP")):
        assert parse_spine(format_spine(spine)) == spine
    assert format_spine(()) == "-" and format_spine(("VP", "S")) == "VP+S"
    for label in ("", "-", "A+B", "A B", "\u00a0", "A\n"):
        for spine in ((label,), ("NP", label)):
            with pytest.raises(TreeError, match="cannot be written in a spine"):
                format_spine(spine)
    for text in ("", "+", "NP+", "NP++S", "-+NP", "NP S"):
        with pytest.raises(TreeError, match="is not a spine"):
            parse_spine(text)


class Mistaken(HeadRules):
    """Rules whose heads are not all inside their constituents."""

    def heads(self, tree):
        return tuple(len(tree.words) - 1 - token for token in super().heads(tree))


def test_the_check_can_fail():
    assert "label 'A+B' cannot be written" in round_trip_problem(parse_tree("(TOP (A+B (NN a)))"))
    swapped = parse_tree("(TOP (S (NP (NN a)) (VP (VB b))))")
    assert round_trip_problem(swapped) == ""
    problem = round_trip_problem(swapped, Mistaken())
    assert problem == "another tree is restored: (TOP (S (VP (NN a)) (NP (VB b))))"
    assert "constituents are above" in round_trip_problem(parse_tree("(TOP (NP (NN a)) (NN b))"), Mistaken())
