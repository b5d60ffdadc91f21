"""Adjudication of two annotators' trees, without a browser and with one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.annotation.server import make_adjudication_server
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.trees import parse_trees, read_trees

from ..web.browser import CHROMIUM, DRIVER
from .test_answers import act, spans
from .window import Window, serving

SAME = "(TOP (S (NP (PRP She)) (VP (VBD sat)) (. .)))"
LOW = "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT the) (NN hat))))) (. .)))"
HIGH = "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (DT the) (NN hat)))) (. .)))"
ONE = "(TOP (S (NP (PRP We)) (VP (MD can) (RB not) (VP (VB go))) (. .)))"
OTHER = "(TOP (S (NP-SBJ (PRP We)) (VP (MD cannot) (VP (VBP go))) (. .)))"
ADA = parse_trees("(TOP (NP (NN Tea)))" + SAME + LOW + ONE)
BEN = parse_trees(SAME + HIGH + OTHER)


def opened(folder, **options):
    names = ("ada.mrg", "ben.mrg")
    return make_adjudication_server(ADA, BEN, folder / "gold.mrg", spacy_dtparse.load(), names=names, port=0, **options)


@pytest.mark.embedded
@pytest.mark.slow
def test_differing_sentences_come_first(tmp_path):
    with serving(opened(tmp_path, annotator="Eva")) as server:
        answers = server.answers
        assert "sentences of both: 3, 1 with the same tree" in answers.about()["agreement"]
        state = act(answers, "next")
        assert (state["position"], state["figures"]["accepted"]) == (2, 1)  # of the same tree: accepted
        ours, theirs = state["pair"]
        assert (ours["name"], ours["number"], ours["taken"]) == ("ada.mrg", 1, True) and not theirs["taken"]
        assert [state["constituents"][k]["label"] for k in ours["differing"]] == ["NP"] and theirs["differing"] == []
        assert theirs["tags"] == [] and not state["has_alternatives"] and "data-constituent" in theirs["drawing"]
        state = act(answers, "take", number=2, accept=True)
        assert state["position"] == 3 and state["pair"][1]["tags"] == [1, 2]  # other tokens, another tag
        state = act(answers, "take", number=2)
        assert state["words"] == ("We", "cannot", "go", ".") and ("NP-SBJ", "We") in spans(state)
        state = act(answers, "relabel", constituent=4, label="ADVP")
        assert spans(state) >= {("NP-SBJ", "We"), ("ADVP", "go")}
        state = act(answers, "accept")
        assert state["position"] == 0 and [one["name"] for one in state["pair"]] == ["ada.mrg"]
        with pytest.raises(ConfigError, match="no tree of annotator 2"):
            act(answers, "take", number=2)
        for number in (0, 3, None):
            with pytest.raises(DtparseError, match=r"no tree of annotator|whole number"):
                act(answers, "take", number=number)
        assert act(answers, "flag")["sentence"] is None
    gold = list(read_trees(tmp_path / "gold.mrg"))
    assert gold[:2] == [ADA[1], BEN[1]] and gold[2].labels == ("TOP", "S", "NP-SBJ", "VP", "ADVP")
    assert not (tmp_path / "gold.dev.mrg").exists()
    with serving(opened(tmp_path)) as server:
        figures = server.answers.session.figures()
        assert (figures["accepted"], figures["flagged"], figures["statements"]) == (3, 1, 0.5)
        assert act(server.answers, "undo")["position"] == 0


@pytest.mark.embedded
def test_labels_outside_a_scheme_are_not_taken(tmp_path):
    with serving(opened(tmp_path, scheme="tiger")) as server:
        act(server.answers, "next")
        act(server.answers, "flag")
        with pytest.raises(ConfigError, match=r"NP-SBJ \('We'\) is no label of the scheme tiger"):
            act(server.answers, "take", number=2, accept=True)


def test_the_options_exclude_each_other(tmp_path, capsys):
    ada = tmp_path / "ada.mrg"
    ada.write_text(SAME)
    out = str(tmp_path / "gold.mrg")
    assert main(["annotate", str(ada), "--adjudicate", str(ada), str(ada), "--out", out]) == 1
    assert main(["annotate", "--out", out]) == 1
    assert capsys.readouterr().err.count("give files to annotate, or the two files of --adjudicate") == 2


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on this machine")
def test_adjudication_in_the_browser(tmp_path):
    shots = Path(os.environ.get("DTPARSE_SCREENSHOTS", tmp_path))
    with serving(opened(tmp_path, annotator="Eva")) as server, Window(1250, 950) as window:
        window.open(server.url)
        window.wait("state && state.pair")
        window.settle()
        assert window.run("return document.querySelectorAll('#pair .drawing').length") == 2
        assert window.text("#pair .differs").startswith("NP")
        window.screenshot(shots / "annotate_pair.png")
        window.press("x")
        assert window.run("return state.pair[1].taken") and not window.has("NP", "the man with the hat")
        window.press("z", "2")
        assert window.run("return state.position") == 3
        window.click("#pair button", 3)  # Correct, of the second annotator
        window.settle()
        assert window.has("NP-SBJ", "We")
        window.press("Enter", "f")
        assert "All sentences are accepted or put off" in window.text("#drawing") and window.log() == []
    assert len(list(read_trees(tmp_path / "gold.mrg"))) == 3
