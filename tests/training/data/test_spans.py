"""Label chains of trees, and the spans that cross constituents."""

from spacy_dtparse.trees import Tree
from tests.reference.spans import binary_trees
from training.data.spans import chain_id, chain_ids, crossing_spans, label_chains


def test_labels_over_one_span_are_a_chain() -> None:
    tree = Tree.from_spans(["Run", "!"], ["VB", "."], [(0, 2, "TOP"), (0, 2, "FRAG"), (0, 2, "S"), (0, 1, "VP")])
    assert label_chains(tree) == {(0, 2): ("FRAG", "S"), (0, 1): ("VP",)}


def test_an_unlisted_chain_loses_labels_from_the_top_first() -> None:
    numbers = chain_ids([(), ("NP",), ("S", "VP"), ("X",)])
    assert chain_id(("FRAG", "S", "VP"), numbers) == 2
    assert chain_id(("S", "NP"), numbers) == 1
    assert chain_id(("X", "ADJP"), numbers) == 3
    assert chain_id(("ADJP",), numbers) == 0


def test_crossing_spans_are_those_that_no_tree_of_the_constituents_has() -> None:
    spans = [(0, 3), (3, 5)]
    crossing = crossing_spans(spans, 5)
    for tree in binary_trees(0, 5):
        fits = set(spans) <= tree
        assert fits == (not any(crossing[i, j] for i, j in tree))
