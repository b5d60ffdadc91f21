"""The simulated annotator reaches the gold tree, with fewer statements by the better strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacy_dtparse.trees import parse_tree
from training.annotation.simulation import (
    choose_best,
    choose_largest,
    count_errors,
    nearest_distance,
    summarize,
    summary_table,
)

ASSETS = Path(__file__).resolve().parents[3] / "assets"
LOW = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea)))))))")
HIGH = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))))")
FLAT = parse_tree("(TOP (S (X (PRP I)) (VBD saw) (DT the) (NN man) (PP (IN with) (NP (NN tea)))))")


def test_the_choice_of_statements():
    assert count_errors(FLAT, HIGH) == 4
    assert choose_largest(FLAT, HIGH, ())[:2] == ("insert", [(1, 6, "VP", True, False)])
    assert choose_largest(LOW, HIGH, ())[:2] == ("remove", [(2, 6, "NP", False, False)])
    assert choose_best(FLAT, HIGH, ())[0] == "relabel"
    kind, edit, tree = choose_best(FLAT, HIGH, (LOW, HIGH))
    assert kind == "pick" and tree == HIGH and len(edit) == 3
    assert choose_best(LOW, HIGH, (FLAT,))[0] == "remove"  # the other tree has wrong differences too
    assert choose_best(HIGH, LOW, ())[0] == "insert"


@pytest.mark.slow
@pytest.mark.embedded
def test_the_gold_trees_are_reached():
    import spacy_dtparse
    from spacy_dtparse.cli.pipelines import get_component
    from training.annotation.simulation import simulate
    from training.data.corpus import read_treebank
    from training.data.evaluate import tag_lists

    nlp = spacy_dtparse.load()
    parser = get_component(nlp).configured_parser
    gold = [sentence.tree for sentence in read_treebank(ASSETS / "sample" / "dev.mrg")][:40]
    tags = tag_lists(nlp, (tree.words for tree in gold))
    records = {name: summarize(simulate(parser, gold, tags, name)) for name in ("best", "largest")}
    assert all(one["gold reached"] == 1.0 for one in records.values())
    assert records["best"]["statements"] <= records["largest"]["statements"] < records["largest"]["errors"]
    assert "best" in summary_table([{"treebank": "sample", "strategy": "best", **records["best"]}])


def test_the_distance_to_the_nearest_tree():
    assert nearest_distance([LOW, HIGH]) == 1
    assert nearest_distance([LOW, HIGH, FLAT]) == (1 + 1 + count_errors(FLAT, HIGH)) / 3
