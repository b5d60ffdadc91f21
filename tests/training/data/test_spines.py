"""Spines of treebanks: the inventory, what it covers, and the command."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.trees import COLLINS, Recipe, parse_tree
from spacy_dtparse.trees.directional import category_writer
from training.cli import main
from training.data.corpus import Sentence, read_treebank
from training.data.spines import (
    COVERAGE,
    Inventory,
    SpineToken,
    categorise,
    check_round_trips,
    entropy,
    replace_rare,
    report,
)
from training.spine_tagger.corpus import read_label_file

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
TREES = (
    "(TOP (S (NP-SBJ (DT the) (NN cat)) (VP (VBD slept)) (. .)))",
    "(TOP (S (NP-SBJ-1 (DT the) (NN run)) (VP (VBD tried) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB run)))))))",
    "(TOP (NP (NP (NN cat)) (PP (IN of) (NP (DT the) (NN cat)))))",
)


def sentences(*texts: str, tags: str | None = None) -> list[Sentence]:
    """Trees as `read_treebank` would read them, without function tags and empty elements."""
    trees = [Recipe.PLAIN.apply(parse_tree(text)) for text in texts]
    return [Sentence(tree, tree.tags if tags is None else tuple(tags.split()), "tiny") for tree in trees]


def with_spines(*texts: str, tags: str | None = None, recipe: Recipe = Recipe.PLAIN) -> list[list[SpineToken]]:
    return categorise(sentences(*texts, tags=tags), recipe, category_writer("spine", COLLINS))


@pytest.fixture
def inventory() -> Inventory:
    return Inventory(with_spines(*TREES))


def test_tokens_have_the_category_of_the_training_tree():
    assert with_spines(TREES[1])[0] == [
        ("the", "DT", "-"),
        ("run", "NN", "NP"),
        ("tried", "VBD", "VP+S"),
        ("to", "TO", "VP+S"),
        ("run", "VB", "VP"),
    ]
    last = with_spines(TREES[0], tags="DT NN VBD .", recipe=Recipe.TM2006)[0]
    assert [token.word for token in last] == ["the", "cat", "slept"], "the recipe takes the full stop"
    other = with_spines(TREES[0], tags="DT JJ VBN .")[0]
    assert [token.tag for token in other] == ["DT", "JJ", "VBN", "."], "tags are those of training"


def test_inventory(inventory):
    found = inventory.describe(max_frequent=2)
    # the - NP VP+S - / - NP VP+S VP+S VP / NP+NP PP - NP
    assert (found["sentences"], found["tokens"], found["categories"], found["once"]) == (3, 13, 6, 3)
    assert found["frequent"] == {"-": 4, "NP": 3}
    assert inventory.counts == {"-": 4, "NP": 3, "VP+S": 3, "VP": 1, "NP+NP": 1, "PP": 1}
    assert found["entropy"] == pytest.approx(entropy(inventory.counts))
    assert sum(row["tokens"] for row in found["tags"].values()) == 13
    assert list(found["tags"])[:2] == ["NN", "DT"], "the most frequent first"
    assert found["tags"]["NN"] == {
        "tokens": 4,
        "categories": 2,
        "entropy": pytest.approx(2 - 0.75 * math.log2(3)),
        "guess": "NP",
        "right": 0.75,
    }
    assert found["tags"]["DT"]["entropy"] == 0 and found["tags"]["DT"]["guess"] == "-"


def test_ambiguity(inventory):
    found = inventory.describe()
    # tokens (categories): the 3 (1), cat 3 (2), run 2 (2), slept . tried to of 1 (1); NN 4 (2), DT 3, VBD 2, others 1
    assert found["by_word"] == {
        "kinds": 8,
        "mean": pytest.approx(10 / 8),
        "mean_of_tokens": pytest.approx(18 / 13),
        "entropy": pytest.approx((3 * entropy({"a": 2, "b": 1}) + 2 * 1) / 13),
        "right": pytest.approx(11 / 13),
    }
    assert found["by_tag"] == {
        "kinds": 7,
        "mean": pytest.approx(8 / 7),
        "mean_of_tokens": pytest.approx(17 / 13),
        "entropy": pytest.approx(4 * entropy({"a": 3, "b": 1}) / 13),
        "right": pytest.approx(12 / 13),
    }


def test_coverage(inventory):
    seen = inventory.coverage(with_spines(*TREES))
    assert seen == {"sentences": 3, "tokens": 13, **dict.fromkeys(COVERAGE, 1.0), "guess": pytest.approx(12 / 13)}
    # "the" DT -, "dog" NN NP, "run" VBD VP+S, "now" RB ADVP: ADVP and RB are new, and run was no VP+S
    other = inventory.coverage(
        with_spines("(TOP (S (NP (DT the) (NN dog)) (VP (VBD run) (ADVP (RB now)))))", "(TOP (NP (NN cat)))")
    )
    assert other == {
        "sentences": 2,
        "tokens": 5,
        "category": 4 / 5,
        "word": 3 / 5,
        "word_category": 2 / 5,
        "tag": 4 / 5,
        "tag_category": 4 / 5,
        "guess": 4 / 5,
        "whole": 1 / 2,
    }


def test_guesses(inventory):
    assert inventory.guess("NN") == "NP"
    assert inventory.guess("UNSEEN") == "-", "the most frequent of all"
    assert "UNSEEN" not in inventory.by_tag
    tie = Inventory([[SpineToken("a", "X", "VP"), SpineToken("a", "X", "NP")]])
    assert tie.guess("X") == "NP" == tie.guess("Y")


def test_order_of_sentences_does_not_matter():
    made = with_spines(*TREES, "(TOP (NP (NN a) (NN b)))", "(TOP (VP (VB a)))")
    expected = Inventory(made).describe()
    random.Random(0).shuffle(made)
    found = Inventory(made).describe()
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(expected))
    assert list(found["tags"]) == list(expected["tags"]) and list(found["frequent"]) == list(expected["frequent"])


def test_uncountable_input_is_refused(inventory):
    with pytest.raises(TrainingDataError, match="no tokens; give"):
        Inventory([])
    with pytest.raises(TrainingDataError, match="no held-out token"):
        inventory.coverage([])
    with pytest.raises(TrainingDataError, match=r"treebank tiny, <Tree: .*label 'A\+B' cannot be written"):
        with_spines("(TOP (NP (NN a)))", "(TOP (A+B (NN a)))")


def test_report(inventory):
    text = report(inventory.describe(2), inventory.coverage(with_spines(*TREES)), tags=1)
    assert "3 sentences, 13 tokens, 6 categories, 3 of them occur once" in text
    assert "most frequent: - 30.77%, NP 23.08%" in text
    assert [line.split() for line in text.splitlines() if line.startswith("NN")] == [
        ["NN", "4", "2", "0.811", "75.00%", "NP"]
    ]
    assert "DT " not in text and "held out: 3 sentences" in text and "92.308%  category is the tag's" in text
    assert "held out" not in report(inventory.describe(), None)


def test_command(tmp_path, capsys):
    train, dev = (f"{SAMPLE / part}.mrg" for part in ("train", "dev"))
    out = tmp_path / "new" / "spines.json"
    assert main(["spines", train, "--held-out", dev, "--json", str(out)]) == 0
    text = capsys.readouterr().out
    assert "314 sentences" in text and "held out: 62 sentences" in text
    found = json.loads(out.read_text())
    assert found["inventory"]["sentences"] == 314 and found["inventory"]["categories"] > 50
    assert found["held_out"]["category"] == pytest.approx(779 / 783) and found["held_out"]["tokens"] == 783
    assert main(["spines", train, "--categories", "directional", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["held_out"] is None
    directional = json.loads(out.read_text())["inventory"]
    assert directional["categories"] > found["inventory"]["categories"]
    assert directional["tokens"] == found["inventory"]["tokens"]
    assert directional["entropy"] > found["inventory"]["entropy"] and "(-" in directional["frequent"]


def test_rare_categories_become_the_frequent_one_of_the_tag():
    made = with_spines(*TREES)
    again = replace_rare(made, 3)  # - 4, NP 3, VP+S 3; VP, NP+NP, PP once
    assert [token.category for token in again[1]] == ["-", "NP", "VP+S", "VP+S", "-"], "VB has no other, so of all"
    assert [token.category for token in again[2]] == ["NP", "-", "-", "NP"], "NN: NP 3 of 4"
    assert [[token[:2] for token in sentence] for sentence in again] == [
        [token[:2] for token in sentence] for sentence in made
    ]
    assert replace_rare(made, 1) == made
    assert set(Inventory(replace_rare(made, 4)).counts) == {"-"}
    with pytest.raises(TrainingDataError, match="no category occurs 5 times, the most frequent one 4 times; give"):
        replace_rare(made, 5)
    with pytest.raises(TrainingDataError, match="no category occurs 1 times, the most frequent one 0 times"):
        replace_rare([], 1)


@pytest.mark.parametrize(
    ("categories", "expected"), [("spine", ["-", "NP", "VP+S", "-"]), ("directional", ["(-", "(NP<", ".VP+S<>", ")-"])]
)
def test_the_command_writes_training_data_for_the_tagger(tmp_path, capsys, categories, expected):
    trees, out = tmp_path / "trees.mrg", tmp_path / "new" / "labels.txt"
    trees.write_text("\n".join(TREES))
    assert main(["spines", str(trees), "--categories", categories, "--write", str(out)]) == 0
    read = read_label_file(out)
    assert read[0] == (("the", "cat", "slept", "."), ("DT", "NN", "VBD", "."), tuple(expected))
    assert [len(sentence.labels) for sentence in read] == [4, 5, 4]
    assert main(["spines", str(trees), "--categories", categories, "--min-count", "3", "--write", str(out)]) == 0
    frequent = [label for sentence in read_label_file(out) for label in sentence.labels]
    assert all(frequent.count(label) >= 3 for label in frequent)
    assert len(set(frequent)) < len({label for sentence in read for label in sentence.labels})
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["spines", str(trees), "--min-count", "0"])
    assert "'0' is not a whole number from 1" in capsys.readouterr().err


def test_command_follows_its_options(tmp_path, capsys):
    """Blocks, limits, tags of a tagger, head rules and preprocessing change the counts."""
    train, out = f"{SAMPLE / 'train.mrg'}", tmp_path / "spines.json"

    def count(*arguments: str) -> dict:
        assert main(["spines", *arguments, "--json", str(out)]) == 0
        return json.loads(out.read_text())["inventory"]

    parts = [count(f"{train},block={block}") for block in ("1/5", "-1/5")]
    assert [part["sentences"] for part in parts] == [70, 244]
    both = count(f"{train},block=1/5", f"{train},block=-1/5")
    assert both["tokens"] == sum(part["tokens"] for part in parts) == 4093
    lines = [len(sentence.tags) * "T " for sentence in read_treebank(train, limit=9)]
    (tmp_path / "t.tags").write_text("\n".join(lines))
    assert list(count(f"{train},limit=9,tags={tmp_path / 't.tags'}")["tags"]) == ["T"]
    assert count(train, "--recipe-steps", "tm2006")["tokens"] < 4093
    (tmp_path / "heads.json").write_text(json.dumps({"default": [["right", []]]}))
    rightmost = count(train, "--heads", str(tmp_path / "heads.json"))
    assert rightmost["tags"]["."]["guess"] != "-" == count(train)["tags"]["."]["guess"]
    assert count(train, "--lang", "xx")["tags"]["DT"]["guess"] != count(train)["tags"]["DT"]["guess"]
    capsys.readouterr()
    (tmp_path / "heads.json").write_text("[")
    assert main(["spines", train, "--heads", str(tmp_path / "heads.json")]) == 1
    assert "head rules must be JSON" in capsys.readouterr().err


def test_check(tmp_path, capsys):
    train, dev = (str(SAMPLE / f"{part}.mrg") for part in ("train", "dev"))
    for more in ([], ["--check"]):
        assert main(["spines", train, "--categories", "tags", *more]) == 1
        assert "categories are 'tags'; they must be one of spine, directional" in capsys.readouterr().err
    assert main(["spines", train, "--held-out", dev, "--check"]) == 0
    assert capsys.readouterr().out == f"{train}: 314 of 314 trees rebuilt\n{dev}: 62 of 62 trees rebuilt\n"
    assert main(["spines", train, "--categories", "directional", "--check"]) == 0
    assert capsys.readouterr().out == f"{train}: 314 of 314 trees rebuilt\n"
    bad = tmp_path / "bad.mrg"
    bad.write_text("\n".join([*TREES, *["(TOP (A+B (NN a)))"] * 3, "(TOP (- (NN a)))"]))
    assert check_round_trips(bad, COLLINS, max_problems=2)[:2] == (7, 4)
    assert [problem.partition(": ")[0] for problem in check_round_trips(bad, COLLINS, max_problems=2)[2]] == [
        f"{bad}, tree 4",
        f"{bad}, tree 5",
    ]
    assert main(["spines", str(bad), train, "--check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{bad}: 3 of 7 trees rebuilt" and len(lines) == 6
    assert "'-' cannot be written in a spine" in lines[4]
    assert main(["spines", f"{train},limit=3", "--check"]) == 1
    assert "give the path without options" in capsys.readouterr().err
