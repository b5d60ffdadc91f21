"""Sessions: the journal, files of trees, undo, order, edits by hand, a kill at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from spacy_dtparse.annotation.journal import JOURNAL_SUFFIX, Journal
from spacy_dtparse.annotation.sentence import Sentence
from spacy_dtparse.annotation.session import Session
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, read_trees

ROOT = Path(__file__).resolve().parents[2]
INPUTS = [("w", str(i), "(") for i in range(30)]


def guess(index):
    return Tree(INPUTS[index], ("NN", "CD", "-LRB-"), ("TOP", "S"), (0, 0), (3, 3))


def make(folder, **options):
    return Session(INPUTS, folder / "trees.mrg", guess, **{"dev_fraction": 0.0, "order": "given", **options})


def with_np(sentence):
    tree = Tree(sentence.words, sentence.tags, ("TOP", "S", "NP"), (0, 0, 0), (3, 3, 2))
    return replace(sentence, tree=tree, constraints=Constraints([Constraint(0, 2, "NP")]))


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_accepted_trees_are_written_at_once(tmp_path):
    session = make(tmp_path)
    assert session.next_sentence() == 0 and not (tmp_path / "trees.mrg").exists()
    session.change(0, "insert", with_np(session.sentences[0]))
    session.accept(0)
    assert lines(session.out) == ["(TOP (S (NP (NN w) (CD 0)) (-LRB- -LRB-)))"]
    assert session.next_sentence() == 1
    session.flag(1)
    assert session.next_sentence() == 2 and len(lines(session.out)) == 1
    figures = session.figures()
    assert (figures["accepted"], figures["flagged"], figures["statements"]) == (1, 1, 1.0)
    assert figures["f1"] == pytest.approx(2 / 3) and figures["curve"] == [{"statements": 1, "f1": 0.6667}]


def test_undo_and_redo_over_sentences(tmp_path):
    session = make(tmp_path)
    session.next_sentence()
    session.change(0, "insert", with_np(session.sentences[0]))
    session.accept(0)
    session.next_sentence()
    assert session.undo() and session.current == 0 and not session.sentences[0].accepted and lines(session.out) == []
    assert session.undo() and session.sentences[0].tree == guess(0) and not session.undo()
    assert session.redo() and session.redo() and not session.redo() and len(lines(session.out)) == 1
    session.undo()
    session.accept(0)
    assert not session.redo() and len(lines(session.out)) == 1


def test_a_session_is_resumed(tmp_path):
    session = make(tmp_path, annotator="Ada")
    for _ in range(3):
        index = session.next_sentence()
        session.change(index, "insert", with_np(session.sentences[index]))
        session.accept(index)
    session.undo()
    session.close()
    again = make(tmp_path, annotator="Ben")
    assert again.sentences == session.sentences and again.parts == session.parts and again.current == 2
    assert again.redo() and len(lines(again.out)) == 3 and again.note == ""
    with pytest.raises(ConfigError, match="another process is annotating"):
        make(tmp_path)
    again.close()
    assert {event["annotator"] for event in Journal(again.journal.path).events} == {"Ada", "Ben"}
    with pytest.raises(ConfigError, match=r"is the journal of [0-9]+ other sentences than the [0-9]+ of these files"):
        Session(INPUTS[:3], tmp_path / "trees.mrg", guess)


def test_the_dev_part_is_drawn_by_chance(tmp_path):
    session = make(tmp_path, dev_fraction=0.4, order="expected-errors", estimate=float)
    while (index := session.next_sentence()) is not None:
        session.accept(index)
    dev = [index for index, part in session.parts.items() if part == "dev"]
    train = [index for index in session.parts if index not in dev]
    assert 5 < len(dev) < 20 and train == sorted(train, reverse=True) and dev != sorted(dev, reverse=True)
    assert len(lines(session.dev_path)) == len(dev) and len(lines(session.out)) == len(train)
    other = make(tmp_path / "other", dev_fraction=0.4, order="expected-errors", estimate=lambda i: -float(i))
    while (index := other.next_sentence()) is not None:
        other.accept(index)
    assert [part for part in other.parts.values()] == [part for part in session.parts.values()]


def flat(words):
    return Sentence.from_tree(Tree(words, ("NN",) * len(words), ("TOP",), (0,), (len(words),)))


def texts(session):
    return [" ".join(session.first_state(index).words) for index in session.reading[:3]]


def test_split_and_joined_sentences_are_undone_and_resumed(tmp_path):
    session = make(tmp_path)
    session.accept(session.next_sentence())
    assert session.split_sentence(0, flat(("w",)), flat(("0", "("))) == 30
    assert lines(session.out) == [] and texts(session) == ["w", "0 (", "w 1 ("]
    session.accept(0)
    assert session.next_sentence() == 30  # the rest comes next
    session.accept(30)
    assert lines(session.out) == ["(TOP (NN w))", "(TOP (NN 0) (NN -LRB-))"]
    assert session.next_sentence() == 1
    session.open_sentence(30)
    session.join_sentences(30, flat(("0", "(", "w", "1", "(")))
    assert texts(session) == ["w", "0 ( w 1 (", "w 2 ("] and 1 not in session.sentences
    assert lines(session.out) == ["(TOP (NN w))"] and session.figures()["sentences"] == 30
    states = []
    while session.undo():
        states.append((texts(session), dict(session.sentences), dict(session.parts), lines(session.out)))
    assert states[-1][0] == ["w 0 (", "w 1 (", "w 2 ("] and set(states[-1][1]) == {0, 1}
    assert states[0][0] == ["w", "0 (", "w 1 ("] and len(states[0][3]) == 2 and 1 in states[0][1]
    session.close()
    again = make(tmp_path)
    for expected in [*states[-2::-1]]:
        assert again.redo()
        assert (texts(again), again.sentences, again.parts, lines(again.out)) == expected
    assert again.redo() and not again.redo() and texts(again) == ["w", "0 ( w 1 (", "w 2 ("]
    again.close()
    last = make(tmp_path)
    assert texts(last) == ["w", "0 ( w 1 (", "w 2 ("] and last.sentences == again.sentences
    last.accept(30)
    assert last.figures()["accepted"] == 2 and len(last.figures()["curve"]) == 2


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("dev", "dev", "dev"),
        ("dev", None, "dev"),
        ("dev", "train", "train"),
        ("train", "dev", "train"),
        ("train", None, "train"),
    ],
)
def test_the_parts_of_split_and_joined_sentences(tmp_path, first, second, joined):
    session = make(tmp_path)
    if second:
        session.open_sentence(1, second)
    session.open_sentence(0, first)
    session.join_sentences(0, flat(("w", "0", "w")))
    assert session.parts[0] == joined and 1 not in session.parts
    added = session.split_sentence(0, flat(("w",)), flat(("0", "w")))
    assert session.parts[0] == session.parts[added] == joined
    assert session.undo() and session.undo()
    assert session.parts == ({0: first, 1: second} if second else {0: first})


def test_edits_by_hand_are_taken_over(tmp_path):
    session = make(tmp_path)
    for _ in range(3):
        session.accept(session.next_sentence())
    first, second, third = lines(session.out)
    session.out.write_text(f"{first.replace('(S', '(NP')}\n{third}\n")
    session.accept(session.next_sentence())
    assert session.sentences[0].tree.labels == ("TOP", "NP") and not session.sentences[1].accepted
    assert session.sentences[0].words == INPUTS[0]  # words with brackets stay the same
    assert lines(session.out)[0] == first.replace("(S", "(NP") and len(lines(session.out)) == 3
    session.out.write_text(second + "\n" + session.out.read_text())
    session.close()
    again = make(tmp_path)
    assert "changed by hand: 1 trees changed or added, 0 deleted" in again.note and again.sentences[1].accepted


@pytest.mark.parametrize(("text", "message"), [("(TOP (S", "cannot be read"), ("(TOP (NN new))\n", "no sentence of")])
def test_edits_that_cannot_be_understood_are_not_overwritten(tmp_path, text, message):
    session = make(tmp_path)
    session.accept(session.next_sentence())
    session.out.write_text(text)
    session.next_sentence()
    with pytest.raises(ConfigError, match=message):
        session.accept(1)
    assert session.out.read_text() == text
    session.close()
    with pytest.raises(ConfigError, match=message):
        make(tmp_path)
    session.out.write_text("")
    assert not make(tmp_path).sentences[0].accepted


def test_an_incomplete_last_line_is_ignored(tmp_path):
    session = make(tmp_path)
    session.accept(session.next_sentence())
    session.close()
    path = tmp_path / f"trees.mrg{JOURNAL_SUFFIX}"
    whole = path.read_bytes()
    for cut in range(len(whole) - 1, len(whole) - 300, -17):
        path.write_bytes(whole[:cut])
        (tmp_path / "trees.mrg").unlink(missing_ok=True)
        again = make(tmp_path)
        assert len(lines(again.out)) == again.figures()["accepted"]
        again.close()
        assert all(json.loads(line) for line in path.read_text().splitlines())
    path.write_bytes(b"nonsense\n" + whole)
    with pytest.raises(ConfigError, match=r"line 1: .* is no step of an annotation"):
        make(tmp_path)


def test_the_f1_of_sentences_without_constituents_is_1(tmp_path):
    session = Session(
        [("Go",)], tmp_path / "trees.mrg", lambda _: Tree(("Go",), ("VB",), ("TOP",), (0,), (1,)), dev_fraction=0
    )
    session.accept(session.next_sentence())
    assert session.figures()["f1"] == 1.0 and session.figures()["curve"] == [{"statements": 0, "f1": 1.0}]


def test_bad_options(tmp_path):
    for options, message in (({"order": "best"}, "order is 'best'"), ({"dev_fraction": 2}, "dev_fraction is 2")):
        with pytest.raises(ConfigError, match=message):
            make(tmp_path, **options)
    with pytest.raises(ConfigError, match="no sentences"):
        Session([], tmp_path / "trees.mrg", guess)


WORK = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.annotation.test_session import make, with_np
session = make(Path({folder!r}))
print("started", flush=True)
while (index := session.next_sentence()) is not None:
    session.change(index, "insert", with_np(session.sentences[index]))
    session.accept(index)
    print(index, flush=True)
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_nothing_that_was_accepted(tmp_path):
    chance = random.Random(1)
    code = WORK.format(root=str(ROOT), folder=str(tmp_path))
    confirmed, kills = -1, 0
    while kills < 12:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout.readline() == "started\n"
        time.sleep(chance.random() * 0.02)
        os.kill(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        kills += 1
        complete = [int(line) for line in output.split("\n")[:-1]]
        confirmed = max([confirmed, *complete])
        trees = list(read_trees(tmp_path / "trees.mrg")) if (tmp_path / "trees.mrg").exists() else []
        assert confirmed + 1 <= len(trees) <= confirmed + 1 + kills
        if len(trees) == len(INPUTS):
            break
    again = make(tmp_path)
    assert again.note == "" and all(
        one.tree.labels == ("TOP", "S", "NP") for one in again.sentences.values() if one.accepted
    )


def test_undo_does_not_take_back_an_edit_by_hand_that_it_finds(tmp_path):
    session = make(tmp_path)
    session.accept(session.next_sentence())
    edited = session.out.read_text().replace("(S", "(NP")
    session.out.write_text(edited)
    assert not session.undo() and "1 trees changed or added, 0 deleted. Nothing was undone." in session.note
    assert session.out.read_text() == edited and session.sentences[0].tree.labels[:2] == ("TOP", "NP")
    assert session.undo() and "(S" in session.out.read_text()
