"""A walk through the annotation page in a headless Chromium: clicks, drags, keys. Skipped without chromedriver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.trees import read_trees

from ..web.browser import CHROMIUM, DRIVER
from .window import Window, annotating

pytestmark = [
    pytest.mark.slow,
    pytest.mark.embedded,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on this machine"),
]
SENTENCES = [
    "She saw the dog .".split(),
    "I met the man with the red hat in the old town yesterday .".split(),
    "We can not leave before the rain stops .".split(),
    (
        "When the committee that had been appointed in the spring finally met , the members agreed that the old "
        "bridge , which many people in the town still used every day , should be repaired before winter , although "
        "nobody knew how much the work would cost or whether the money that they had saved for the school could be "
        "used ."
    ).split(),
]

SPANS = "return state.constituents.map((one) => [one.start, one.end, one.label])"


@pytest.fixture
def shots(tmp_path):
    """The folder of screenshots: that of the variable DTPARSE_SCREENSHOTS if it is set."""
    folder = Path(os.environ.get("DTPARSE_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_walk_through_the_page(tmp_path, shots):
    out = tmp_path / "trees.mrg"
    options = {"order": "given", "dev_fraction": 0.0, "annotator": "Ada"}
    with annotating(SENTENCES, out, spacy_dtparse.load(), **options) as server, Window(1250, 950) as window:
        window.open(server.url)
        window.wait("state && state.words")
        window.settle()
        assert "Ada" in window.text("#about") and "0 of 4 accepted" in window.text("#figures")
        window.screenshot(shots / "annotate_short.png")
        window.press("Enter")  # the first tree is right
        assert window.run("return state.sentence") == 1 and len(list(read_trees(out))) == 1

        # keys: words, a label, an alternative, undo and redo
        window.wait("document.querySelectorAll('#picks button').length > 0")
        window.screenshot(shots / "annotate_start.png")
        window.press(*["Right"] * 3, *["Shift+Right"] * 5)
        assert "the man with the red hat" in window.text("#selected")
        window.wait("document.querySelector('#selected').textContent.includes('Enter makes them an NP')")
        window.screenshot(shots / "annotate_words.png")
        window.press("Enter")
        assert window.has("NP", "the man with the red hat")
        window.press("z")
        first = window.run("return state.statements.length")
        window.press("y")
        assert first == 0 and window.run("return state.statements.length") == 1

        # the mouse: drag over words, a click on a label, drag of a label to another parent
        window.press("Escape")
        window.drag(window.word(8), window.word(11))
        assert "in the old town" in window.text("#selected")
        window.press("Escape", "0")
        window.drag(window.label("PP", "in the old town"), window.label("NP", "the red hat"))
        assert window.has("NP", "the red hat in the old town"), window.text("#message")
        window.screenshot(shots / "annotate_moved.png")
        window.press("Control+z")
        assert not window.has("NP", "the red hat in the old town")
        window.drag(window.label("NP", "yesterday"), window.label("NP", "yesterday"))  # a click
        assert window.text("#selected").startswith("NP (noun phrase): yesterday")
        window.press("d")
        assert window.has("ADVP", "yesterday") and not window.has("NP", "yesterday")
        window.press("Delete")
        assert not window.has("ADVP", "yesterday")
        window.press("z", "Escape")

        # a tree with the selected words as a constituent, picked before it is shown
        window.drag(window.word(4), window.word(7))
        window.press("1")
        window.wait("state.statements.length")
        assert window.run("return state.constituents.some(c => c.start === 4 && c.end === 8)")
        window.press("z", "Escape")

        # a conflict is reported in place and changes nothing
        window.drag(window.word(11), window.word(12))
        window.press("n")
        window.drag(window.word(10), window.word(11))
        before = window.run("return state.statements.length")
        window.press("n")
        assert "crosses NP ('town yesterday'), which you stated before" in window.text("#message")
        window.screenshot(shots / "annotate_conflict.png")
        assert window.run("return state.statements.length") == before
        window.press("Escape", "z")

        # a tree to pick
        window.wait("document.querySelectorAll('#picks button').length > 1")
        changes = window.run("return document.querySelector('#picks button').title")
        window.press("1")
        for change in changes.removeprefix("Key 1: ").split("; "):
            label, _, words = change[2:].partition(": ")
            assert window.has(label, words) == change.startswith("+"), changes
        window.press("Enter")

        # tags and tokens
        assert window.run("return state.words[1]") == "can"
        window.press("Escape", "Right", "Right", "+")
        assert window.run("return state.words[1]") == "cannot"
        window.press("t")
        window.press("M", "D", "Enter")
        assert window.run("return state.tags[1]") == "MD"
        window.press("z", "z")
        assert window.run("return state.words[2]") == "not"

        # sentences
        window.press("Escape", *["Right"] * 3, ".")
        assert window.run("return state.words.join(' ')") == "We can not" and "The rest is sentence 4" in window.text(
            "#note"
        )
        window.press("PageDown")
        assert window.run("return state.words[0]") == "leave" and window.run("return $('number').value") == "4"
        window.press("PageUp", ",")
        assert window.run("return state.words.length") == 9 and "of 4 accepted" in window.text("#figures")
        window.press("z", "z", "f")

        # a long sentence
        assert window.run("return state.words.length") > 55
        window.press("Up")
        window.screenshot(shots / "annotate_long.png")
        window.press("Escape", "Enter")
        assert "All sentences are accepted or put off" in window.text("#drawing")
        (message,) = window.log()
        assert "400 (Bad Request)" in message  # the conflict
    assert len(list(read_trees(out))) == 3


def test_what_hindered_annotators(tmp_path):
    tall = "I know that she said that he thought that you had seen the man in the house on the hill .".split()
    options = {"order": "given", "dev_fraction": 0.0}
    sentences = [tall, SENTENCES[1], SENTENCES[3]]
    with annotating(sentences, tmp_path / "trees.mrg", spacy_dtparse.load(), **options) as server:
        with Window(1250, 900) as window:
            window.open(server.url)
            window.wait("document.querySelectorAll('#picks button').length > 0")
            # the words of a tree are in view: a tall one shrinks, one that is taller has a line for each word
            for sentence in range(2):
                height, seen = window.run("return ['scrollHeight', 'clientHeight'].map((name) => $('drawing')[name])")
                assert height <= seen
                if not sentence:
                    assert window.run("return document.querySelectorAll('#drawing svg').length") == 2
                window.press("PageDown" if not sentence else "PageUp")
            assert window.text("#before") == "" and window.text("#after") == " ".join(SENTENCES[1])
            window.press("PageDown")
            assert window.text("#before") == " ".join(tall)
            # a small tree is picked by the mouse, and becomes the tree as it was drawn
            window.wait("document.querySelectorAll('#picks button').length > 1")
            added = window.run("return [...document.querySelectorAll('#picks button')].map((one) => one.title)")[1]
            before = set(map(tuple, window.run(SPANS)))
            window.click("#picks button", 1)
            window.settle()
            after = set(map(tuple, window.run(SPANS)))
            assert len(before ^ after) == added.count("+ ") + added.count("− ")
            window.press("z")
            # all words up to one: Shift and the mouse, Shift and the search
            window.drag(window.word(2), window.word(2))
            window.shift_click(window.word(7))
            assert window.run("return [selection.start, selection.end]") == [2, 8]
            window.press("Escape", "'", "i", "n", "Enter", "'", "t", "o", "Shift+Enter")
            assert window.run("return [selection.start, selection.end]") == [8, 12]
            # a parent that only grew is no further change
            window.press("Escape")
            window.drag(window.label("PP", "in the old town"), window.label("NP", "the red hat"))
            assert window.has("NP", "the red hat in the old town") and "− NP: the red hat" not in window.text(
                "#changes"
            )
            # a long sentence has columns as wide as their lines, and begins at its root
            window.run("$('drawing').scrollTop = 50")
            window.press("PageDown")
            widths = window.run(
                "return [...document.querySelectorAll('#drawing svg')].map((one) => one.width.baseVal.value)"
            )
            assert len(widths) > 1 and len(set(widths)) > 1 and window.run("return $('drawing').scrollTop") == 0
            assert window.log() == []


def test_keys_after_one_that_fails_are_handled(tmp_path):
    with annotating(SENTENCES[:1], tmp_path / "trees.mrg", spacy_dtparse.load()) as server, Window(1250, 950) as window:
        window.open(server.url)
        window.wait("state && state.words")
        window.settle()
        window.run(
            "ACTIONS['~'] = () => { throw new Error('it failed'); }; act('show'); for (const key of ['~', 'Home']) "
            "document.dispatchEvent(new KeyboardEvent('keydown', { key }))"
        )
        window.wait("selection && pending === 0")
        assert window.text("#message") == "it failed" and window.run("return selection.end") == 1


def test_a_drag_asks_about_the_words_at_its_end(tmp_path):
    with (
        annotating(SENTENCES[1:2], tmp_path / "trees.mrg", spacy_dtparse.load()) as server,
        Window(1250, 950) as window,
    ):
        window.open(server.url)
        window.wait("state && state.words")
        window.wait("document.querySelectorAll('#picks button').length > 0")
        window.run(
            "window.asked = []; const send = window.fetch; window.fetch = (path, options) => { "
            "window.asked.push(JSON.parse(options.body)); return send(path, options); }; "
            "for (let word = 3; word < 9; word++) select({ start: 2, end: word, anchor: 2, focus: word - 1 })"
        )
        window.wait("document.querySelectorAll('#picks button').length > 0")
        window.wait("document.querySelector('#selected').textContent.includes('Enter makes them')")
        asked = window.run("return window.asked.map((one) => [one.action, one.start, one.end])")
        assert sorted(asked) == [["alternatives", 2, 8], ["label", 2, 8]]


def test_the_page_is_dark_if_the_system_is(tmp_path, shots):
    with annotating(SENTENCES[1:], tmp_path / "trees.mrg", spacy_dtparse.load(), order="given") as server:
        with Window(1250, 950, dark=True) as window:
            window.open(server.url)
            window.wait("document.querySelectorAll('#picks button').length > 0")
            window.press("Right", "Right", "Shift+Right")
            window.screenshot(shots / "annotate_dark.png")
            colour = window.run("return getComputedStyle(document.body).backgroundColor")
            assert colour == "rgb(13, 17, 23)" and window.log() == []
            window.press("PageDown", "PageDown")
            window.screenshot(shots / "annotate_dark_long.png")
