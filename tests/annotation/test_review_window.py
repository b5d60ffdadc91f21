"""The pages of a review and of learning in a headless Chromium. Skipped without chromedriver."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.annotation.learning import make_learning_server
from spacy_dtparse.annotation.reviewing import make_review_server
from spacy_dtparse.trees import parse_tree, read_trees

from ..web.browser import CHROMIUM, DRIVER
from .window import Window

pytestmark = [
    pytest.mark.slow,
    pytest.mark.embedded,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on this machine"),
]
WRONG = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (PP (DT the) (JJ man))) (. .)))")
RIGHT = parse_tree("(TOP (S (NP (PRP She)) (VP (VBD saw) (NP (DT the) (NN man))) (. .)))")


@pytest.fixture
def shots(tmp_path):
    """The folder of screenshots: that of the variable DTPARSE_SCREENSHOTS if it is set."""
    folder = Path(os.environ.get("DTPARSE_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        server.answers.session.close()
        thread.join(10)


def test_suspicious_places_are_marked_and_repaired(tmp_path, shots):
    server = make_review_server([RIGHT, WRONG], tmp_path / "out.mrg", spacy_dtparse.load(), port=0)
    with running(server), Window(1250, 950) as window:
        window.open(server.url)
        window.wait("state && state.words")
        window.settle()
        assert window.run("return state.sentence") == 1 and "is more probable as NP" in window.text("#suspicions")
        assert window.run("return document.querySelectorAll('#drawing [data-constituent].suspicious').length") >= 1
        window.screenshot(shots / "annotate_review.png")
        window.press("x")
        assert window.has("NP", "the man") and "is more probable as NP" not in window.text("#suspicions")
        window.press("Enter")
        assert window.run("return state.sentence") == 0
        assert [tree.labels for tree in read_trees(tmp_path / "out.complete.mrg")] == [RIGHT.labels] * 2


def test_the_state_of_the_learner_is_shown(tmp_path):
    nlp, command = spacy_dtparse.load(), [sys.executable, "-c", ""]
    server = make_learning_server(
        [["She", "sat", "."], ["He", "ran", "."]], tmp_path / "out.mrg", nlp, learn_every=5, command=command, port=0
    )
    with running(server), Window(1250, 950) as window:
        window.open(server.url)
        window.wait("state && state.words")
        window.settle()
        assert window.text("#learning") == "Learning begins with 5 more accepted dev trees."
        window.press("Enter")
        assert window.run("return document.querySelectorAll('#first-trees div').length") == 1
    server.answers.learner.close()
