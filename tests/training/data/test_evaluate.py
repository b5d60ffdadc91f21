"""Scores of trees, over all sentences and by treebank."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.trees import parse_tree
from training.data.corpus import Sentence
from training.data.evaluate import evaluate, score_trees
from training.data.treebanks import TreebankFile


def sentence(text: str, source: str) -> Sentence:
    tree = parse_tree(text)
    return Sentence(tree, tree.tags, source)


def test_trees_are_scored_by_treebank():
    gold = [
        sentence("(TOP (NP (DT the) (NN cat)))", "a"),
        sentence("(TOP (VP (VB go)))", "b"),
        sentence("(TOP (NP (NN mat)))", "a"),
    ]
    found = [gold[0].tree, parse_tree("(TOP (NP (VB go)))"), parse_tree("(TOP (NP (NP (NN mat))))")]
    total, parts = score_trees(gold, found)
    assert list(parts) == ["a", "b"]
    f1 = {name: report.to_dict()["all"]["f1"] for name, report in {**parts, "total": total}.items()}
    assert f1 == {"a": pytest.approx(4 / 5), "b": 0.0, "total": pytest.approx(4 / 7)}
    assert [report.totals["all"].sentences for report in (parts["a"], parts["b"], total)] == [2, 1, 3]


def test_other_words_and_other_numbers_are_errors():
    gold = [sentence("(TOP (NP (NN cat)))", "a")]
    with pytest.raises(TreeError, match="token 0 is 'cat'"):
        score_trees(gold, [parse_tree("(TOP (NP (NN dog)))")])
    with pytest.raises(ValueError, match="shorter"):
        score_trees(gold, [])


@pytest.mark.embedded
def test_an_english_pipeline_is_found_by_name(tmp_path: Path) -> None:
    """A file test.mrg is named apart from the treebank's development part."""
    folder = tmp_path / "own"
    folder.mkdir()
    for part in ("dev", "test"):
        (folder / f"{part}.mrg").write_text("(TOP (S (NP (DT The) (NN dog)) (VP (VBD slept)) (. .)))\n")
    files = [TreebankFile(folder / f"{part}.mrg") for part in ("dev", "test")]
    records = evaluate(Path("en_span"), files, ["predicted"])
    assert [record["treebank"] for record in records] == ["own", "own_test"]
    assert all(record["all"]["f1"] == 1 for record in records)
