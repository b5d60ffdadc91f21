"""Every relation, for sets and for single nodes, against the reference on random trees."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spacy_dtparse.query.forest import Forest
from spacy_dtparse.query.relations import CHAINS, RELATIONS, UNIONS, RelatedNodes, related_mask
from spacy_dtparse.query.syntax import ANYTHING, NodePattern, Relation
from spacy_dtparse.trees.tree import Tree

from .naive import NaiveTree


def random_tree(rng: random.Random) -> Tree:
    n = rng.randint(1, 6)
    spans = [(0, n)]
    for _ in range(rng.randint(0, 6)):
        start = rng.randrange(n)
        span = (start, rng.randint(start + 1, n))
        if all(
            span[1] <= a or b <= span[0] or a <= span[0] <= span[1] <= b or span[0] <= a < b <= span[1]
            for a, b in spans
        ):
            spans.append(span)
    tags, words = [[rng.choice(kinds) for _ in range(n)] for kinds in (("NN", "VB", ","), ("a", "b"))]
    return Tree.from_spans(words, tags, [(*span, rng.choice(["NP", "VP", "S"])) for span in spans])


TREES = [random_tree(random.Random(seed)) for seed in range(60)]
NAIVE = [NaiveTree(tree) for tree in TREES]
ALL_RELATIONS = {*RELATIONS, *UNIONS, *CHAINS, ">>"}
NUMBERS = {"<i": (1, 2, -1, -2), ">i": (1, 2, -1, -2), "<<<i": (1, 2, -1, -2)}


def test_nodes_are_those_of_the_trees():
    forest = Forest(TREES)
    found = [[] for _ in TREES]
    for x in range(len(forest)):
        node = forest.node(x)
        found[node.tree].append(node.label)
        tree = TREES[node.tree]
        texts = {"constituent": tree.labels, "tag": tree.tags, "word": tree.words}[node.kind]
        assert texts[node.number] == node.label
        if node.kind == "constituent":
            assert (node.start, node.end) == (tree.starts[node.number], tree.ends[node.number])
        else:
            assert (node.start, node.end) == (node.number, node.number + 1)
    assert found == [[naive.labels[path] for path in sorted(naive.labels)] for naive in NAIVE]


@pytest.mark.parametrize("relation", sorted(ALL_RELATIONS))
def test_relation_equals_its_definition(relation):
    rng = np.random.default_rng(7)
    forest = Forest(TREES)
    related = RelatedNodes(forest)
    paths = [path for naive in NAIVE for path in sorted(naive.labels)]  # pre-order
    passing = np.flatnonzero(rng.random(len(forest)) < 0.5)
    passes = set(passing.tolist())
    for number in NUMBERS.get(relation, (0,)):
        pairs = np.zeros((len(forest), len(forest)), dtype=bool)
        for k, naive in enumerate(NAIVE):
            first, stop = int(forest.roots[k]), int(forest.roots[k + 1])
            may_pass = {paths[x] for x in range(first, stop) if x in passes}
            for a in range(first, stop):
                for b in range(first, stop):
                    pairs[a, b] = naive.related(paths[a], paths[b], relation, number, may_pass.__contains__)
        assert pairs.any() or relation == "<<<i"
        for a in range(len(forest)):
            near = sorted(related.find(relation, a, number, passes.__contains__))
            assert near == np.flatnonzero(pairs[a]).tolist(), (relation, number, a)
        how = Relation(relation, NodePattern(ANYTHING), number)
        for share_a, share_b in ((1, 1), (1, 0.05), (0.3, 0.3), (1, 0), (0, 1)):
            a = np.flatnonzero(rng.random(len(forest)) < share_a)
            b = np.flatnonzero(rng.random(len(forest)) < share_b)
            found = related_mask(forest, a, b, how, passing)
            assert found.dtype == bool and found.tolist() == pairs[np.ix_(a, b)].any(axis=1).tolist()


def test_an_empty_forest():
    forest = Forest([])
    nothing = forest.all
    for relation in ALL_RELATIONS:
        how = Relation(relation, NodePattern(ANYTHING), 1)
        assert not len(related_mask(forest, nothing, nothing, how, nothing))
