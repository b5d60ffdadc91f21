"""Suspicious constituents and tags, rankings in files, and the session of a review."""

from __future__ import annotations

from math import log

import pytest

import spacy_dtparse
from spacy_dtparse.annotation.reviewing import ReviewSession, make_review_server
from spacy_dtparse.annotation.suspicions import (
    Suspicion,
    constituent_suspicions,
    fine_posteriors,
    read_ranking,
    review,
    tag_suspicions,
    write_ranking,
)
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, EditError
from spacy_dtparse.trees import parse_tree, read_trees

TREE = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)))))")
PROBABLE = {(0, 4, "TOP"): 1.0, (0, 4, "S"): 0.99, (0, 1, "NP"): 0.99, (1, 4, "VP"): 0.99, (2, 4, "NP"): 0.99}


def describe(suspicions):
    return [(one.kind, one.start, one.end, one.given, one.better) for one in suspicions]


def test_a_probable_tree_has_no_suspicion():
    assert constituent_suspicions(0, TREE, PROBABLE) == []


def test_constituents_that_are_improbable_missing_or_of_another_label():
    improbable = {**PROBABLE, (2, 4, "NP"): 0.01}
    (one,) = constituent_suspicions(0, TREE, improbable)
    assert describe([one]) == [("superfluous", 2, 4, "NP", "")] and one.score == pytest.approx(log(99))
    (one,) = constituent_suspicions(0, TREE, {**improbable, (2, 4, "QP"): 0.9})
    assert describe([one]) == [("label", 2, 4, "NP", "QP")]
    (one,) = constituent_suspicions(0, TREE, {**PROBABLE, (3, 4, "NP"): 0.9})
    assert describe([one]) == [("missing", 3, 4, "", "NP")] and one.score == pytest.approx(log(9))


def test_crossing_suspicions_are_one_place():
    found = constituent_suspicions(3, TREE, {**PROBABLE, (1, 4, "VP"): 0.001, (0, 2, "NP"): 0.99, (1, 3, "VP"): 0.98})
    assert describe(found) == [("superfluous", 1, 4, "VP", ""), ("missing", 1, 3, "", "VP")]
    assert {one.sentence for one in found} == {3}


def test_tags_come_from_counts_without_the_token_itself():
    trees = [TREE] * 9 + [parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (VB man)))))")]
    tags = [TREE.tags] * 10
    (one,) = tag_suspicions(trees, tags)
    assert describe([one]) == [("tag", 3, 4, "VB", "NN")] and one.sentence == 9
    assert one.score == pytest.approx(log(9.5 / 0.5) + log(10 / 1))
    assert tag_suspicions(trees, [("A", "B", "C", "D")] * 10) == []  # tags of another set


def test_the_ranking_of_a_file(tmp_path):
    trees = [TREE, TREE]
    found = review(trees, [TREE.tags] * 2, [PROBABLE, {**PROBABLE, (2, 4, "NP"): 0.01}])
    assert [one.sentence for one in found] == [1]
    path = tmp_path / "ranking.jsonl"
    write_ranking(path, trees, found, "by hand")
    assert describe(read_ranking(path, trees)) == describe(found)
    with pytest.raises(ConfigError, match="ranking of 2 other trees, not of these 1"):
        read_ranking(path, [TREE])
    path.write_text("{}\n")
    with pytest.raises(ConfigError, match="no ranking of a review"):
        read_ranking(path, trees)


def test_a_review_keeps_all_trees_and_begins_with_the_most_suspicious(tmp_path):
    trees = [parse_tree(f"(TOP (NP (DT the) (NN n{i})))") for i in range(4)]
    ranking = [Suspicion(2, 9.0, "label", 0, 2, "NP", "VP"), Suspicion(0, 8.0, "superfluous", 0, 2, "NP", "")]
    session = ReviewSession(trees, tmp_path / "out.mrg", ranking)
    order = []
    while (index := session.next_sentence()) is not None:
        order.append(index)
        session.accept(index)
        assert list(read_trees(session.complete_path)) == trees
    assert order == [2, 0, 1, 3] and len(list(read_trees(session.out))) == 4
    session.close()


@pytest.mark.embedded
def test_suspicious_places_are_repaired(tmp_path):
    nlp = spacy_dtparse.load()
    wrong = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (PP (DT the) (JJ man))) (. .)))")
    right = parse_tree("(TOP (S (NP (PRP She)) (VP (VBD saw) (NP (DT the) (NN man))) (. .)))")
    server = make_review_server([right, wrong], tmp_path / "out.mrg", nlp, port=0)
    try:
        state = server.answers.parse({"action": "next"})
        first = state["suspicions"][0]
        assert state["sentence"] == 1 and (first["kind"], first["label"], first["better"]) == ("label", "PP", "NP")
        state = server.answers.parse({"action": "repair"})
        found = {(one["start"], one["end"], one["label"]) for one in state["constituents"]}
        assert (2, 4, "NP") in found and (2, 4, "PP") not in found
        assert all(one["label"] != "PP" for one in state["suspicions"])
        with pytest.raises(EditError, match="there is no suspicious place 7"):
            server.answers.parse({"action": "repair", "suspicion": 7})
        server.answers.parse({"action": "accept"})
        assert [tree.labels for tree in read_trees(tmp_path / "out.complete.mrg")] == [right.labels, right.labels]
    finally:
        server.server_close()
        server.answers.session.close()


@pytest.mark.embedded
def test_fine_posteriors_agree_with_those_of_the_parser():
    parser = spacy_dtparse.load().get_pipe("dtparse").configured_parser
    words, tags = TREE.words, TREE.tags
    coarse, fine = parser.span_posteriors(words, tags), fine_posteriors(parser, words, tags)
    assert len(fine) > len(coarse) and all(fine[span] == pytest.approx(p, abs=0.02) for span, p in coarse.items())


def test_a_review_takes_trees(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("A text.")
    out = ["--out", str(tmp_path / "out.mrg")]
    assert main(["annotate", str(text), "--review", *out]) == 1
    assert "a review takes files of trees" in capsys.readouterr().err
    assert main(["annotate", str(text), "--ranking", "x.jsonl", *out]) == 1
    assert "give --review, too" in capsys.readouterr().err
