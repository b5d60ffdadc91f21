"""Journals and files of trees that were damaged or edited by hand, and requests to the annotation page."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from spacy_dtparse.annotation.answers import AnnotationAnswers
from spacy_dtparse.annotation.corrector import Corrector
from spacy_dtparse.annotation.journal import JOURNAL_SUFFIX
from spacy_dtparse.annotation.session import Session
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.trees import Tree, read_trees

from ..cases import MAX_MESSAGE, case, english, refused

DEFAULT = english("en_dtparse")
INPUTS = [("w", str(i), "(") for i in range(6)]
VALUES: list[Any] = [None, True, -1, 7, 10**30, 1e400, "", "x", "\ud800", [], [[]], {}, {"a": 1}, "9" * 5000]


def guess(index: int) -> Tree:
    return Tree(INPUTS[index % len(INPUTS)], ("NN", "CD", "-LRB-"), ("TOP", "S"), (0, 0), (3, 3))


def session(folder: Path, inputs: Any = INPUTS, **options: Any) -> Session:
    return Session(inputs, folder / "trees.mrg", guess, **{"dev_fraction": 0.3, "order": "given", **options})


def journal_lines() -> list[bytes]:
    """The journal of a session with every kind of step."""
    folder = Path(tempfile.mkdtemp())
    one = session(folder)
    for _ in range(4):
        index = one.next_sentence()
        assert index is not None
        one.accept(index)
    one.undo()
    one.redo()
    one.undo()
    one.close()
    return (folder / f"trees.mrg{JOURNAL_SUFFIX}").read_bytes().splitlines(keepends=True)


LINES = journal_lines()


def damaged(rng: random.Random) -> bytes:
    """A journal with one damaged line, or with lines deleted, repeated, in another order, or cut off."""
    lines = list(LINES)
    at = rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif kind == 2:
        rng.shuffle(lines)
    elif kind == 3:
        data = b"".join(lines)
        return data[: rng.randrange(len(data))]
    elif kind == 4:
        lines[at] = rng.choice([b"[" * 100_000, b"\xff\xfe", b"{}", b"null", b'{"event": 1}', b"\0" * 50, b""]) + b"\n"
    else:
        event = json.loads(lines[at])
        where = event
        for _ in range(rng.randrange(3)):
            inner = [value for value in where.values() if isinstance(value, dict)]
            where = rng.choice(inner) if inner else where
        key = rng.choice([*where])
        where[key] = rng.choice(VALUES)
        if rng.random() < 0.3:
            del where[key]
        lines[at] = json.dumps(event).encode() + b"\n"
    return b"".join(lines)


@case(seconds=30, megabytes=100, each=range(4))
def damaged_journal(seed: int) -> None:
    """A session begins as the journal says, or a message names the line."""
    rng, refused_ones = random.Random(seed), 0
    for _ in range(100):
        folder = Path(tempfile.mkdtemp())
        (folder / f"trees.mrg{JOURNAL_SUFFIX}").write_bytes(damaged(rng))
        try:
            one = session(folder)
        except ConfigError as error:
            assert len(str(error)) <= MAX_MESSAGE
            refused_ones += 1
            continue
        index = one.next_sentence()
        if index is not None:
            one.accept(index)
        one.figures()
        one.close()
        session(folder).close()
    assert 10 < refused_ones < 95


@case(seconds=20, megabytes=200)
def file_of_1000_trees_edited_by_hand() -> None:
    inputs = [("w", str(i), "(") for i in range(1000)]
    folder = Path(tempfile.mkdtemp())

    def first_tree(index: int) -> Tree:
        return Tree(inputs[index], ("NN", "CD", "-LRB-"), ("TOP", "S"), (0, 0), (3, 3))

    one = Session(inputs, folder / "trees.mrg", first_tree, dev_fraction=0.0, order="given")
    for index in range(1000):
        one.open_sentence(index)
    text = "".join(f"(TOP (S (NP (NN w) (CD {i})) (-LRB- -LRB-)))\n" for i in reversed(range(1000)))
    one.out.write_text(text)
    note = one.import_edits()
    assert "1000 trees changed or added" in note
    one.close()


@case(
    seconds=5,
    megabytes=100,
    each=[b"\xff\xfe(\0S\0", b"(S (NN a", b")" * 10_000, b"(" * 100_000, b"(S (NN other) (NN words))", b"\0" * 1000],
)
def file_of_trees_overwritten(data: bytes) -> None:
    folder = Path(tempfile.mkdtemp())
    one = session(folder)
    one.accept(one.next_sentence() or 0)
    one.out.write_bytes(data)
    refused(ConfigError, one.import_edits)
    assert one.out.read_bytes() == data
    one.close()


@case(seconds=10, megabytes=50)
def name_of_an_annotator_that_is_no_utf8() -> None:
    folder = Path(tempfile.mkdtemp())
    one = session(folder, annotator="caf\udce9")
    one.accept(one.next_sentence() or 0)
    one.close()
    again = session(folder)
    assert again.journal.events[0]["annotator"] == "caf\udce9" and len(list(read_trees(again.out))) <= 1
    again.close()


ACTIONS = (
    "insert", "remove", "relabel", "move", "raise", "lower", "pick", "tag", "split", "join", "keep", "reset", "accept",
    "flag", "undo", "redo", "open", "next", "show", "alternatives", "label", "x", None,
)  # fmt: skip
SENTENCES = ["The old man saw a dog in the park .".split(), ["a b", "(", "x" * 300], ["Go"], [".", ".", "."]]


@case(seconds=120, megabytes=400, each=range(3))
def requests(seed: int) -> None:
    """Random requests are answered or refused with a DtparseError; the session stays one that can be continued."""
    rng, folder = random.Random(seed), Path(tempfile.mkdtemp())
    corrector = Corrector(DEFAULT, ["XX"])

    def first_tree(index: int) -> Tree:
        words = SENTENCES[index]
        return corrector.parse(words, corrector.tag(words))[0]

    one = Session(SENTENCES, folder / "trees.mrg", first_tree, order="given")
    answers = AnnotationAnswers(corrector, one)
    names = ("sentence", "start", "end", "constituent", "target", "token", "at", "number", "above", "width")
    answered = 0
    for _ in range(150):
        request: dict[str, Any] = {"action": rng.choice(ACTIONS)}
        for name in names:
            if name != "sentence" and rng.random() < 0.8:
                request[name] = rng.choice([*range(-1, 10)] * 3 + VALUES)
        request["label"] = rng.choice(["NP", "VP", "XX", "", "TOP", "a b", "\ud800", None, 5])
        request["tag"] = rng.choice(["NN", "VBD", "", "(", "\0", "\ud800", "-NONE-", 3])
        try:
            json.dumps(answers.parse(request), allow_nan=False).encode()
            answered += 1
        except DtparseError as error:
            assert len(str(error)) <= 2 * MAX_MESSAGE
    one.close()
    Session(SENTENCES, folder / "trees.mrg", first_tree, order="given").close()
    assert answered > 20
