"""Answers to the annotation page's requests, over HTTP and without a server."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request

import pytest

from spacy_dtparse.annotation.corrector import Corrector
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.errors import ConfigError, ConstraintError, DtparseError
from spacy_dtparse.trees import parse_tree, read_trees

from ..pipeline.conftest import make_nlp, model_file, rule_parser_loads  # noqa: F401 (fixtures)
from .window import annotating

TEXT = "I saw the man with the telescope."


@pytest.fixture
def answers(nlp, tmp_path):
    with annotating([TEXT, ["She", "sat", "."]], tmp_path / "trees.mrg", nlp, order="given", dev_fraction=0) as server:
        server.answers.parse({"action": "next"})
        yield server.answers


def spans(state):
    words = state["words"]
    return {(one["label"], " ".join(words[one["start"] : one["end"]])) for one in state["constituents"]}


def act(answers, action, **details):
    return answers.parse({"action": action, **details})


@pytest.mark.embedded
def test_statements_change_the_tree(answers):
    state = act(answers, "insert", start=2, end=7, label="NP")
    assert ("NP", "the man with the telescope") in spans(state) and state["constituents"][0]["label"] == "TOP"
    stated = [one for one in state["constituents"] if one["stated"]]
    assert [(one["start"], one["end"], one["label"]) for one in stated] == [(2, 7, "NP")]
    lower = next(k for k, one in enumerate(state["constituents"]) if (one["start"], one["label"]) == (2, "NP"))
    state = act(answers, "remove", constituent=lower)
    assert ("NP", "the man with the telescope") not in spans(state)
    state = act(answers, "lower", start=4, end=7)
    assert ("NP", "the man with the telescope") in spans(state)
    state = act(answers, "raise", start=4, end=7)
    assert ("NP", "the man with the telescope") not in spans(state)
    state = act(answers, "reset")
    assert state["statements"] == []


@pytest.mark.embedded
def test_a_picked_tree_is_the_one_that_was_drawn(answers):
    before = act(answers, "show")
    picks = act(answers, "alternatives")["picks"]
    for number, one in enumerate(picks, 1):
        after = act(answers, "pick", number=number)
        differences = [f"+ {label}: {text}" for label, text in spans(after) - spans(before)]
        differences += [f"− {label}: {text}" for label, text in spans(before) - spans(after)]
        assert set(differences) <= set(one["changes"]) and after["gone"] == []
        act(answers, "undo")
        act(answers, "alternatives")
    act(answers, "tag", token=0, tag="NN")  # the trees that were listed have the former tag
    assert act(answers, "pick", number=1)["tags"][0] == "NN"


@pytest.mark.embedded
def test_a_sentence_is_shown_with_those_around_it(answers):
    assert act(answers, "show")["around"] == {"before": "", "after": "She sat ."}
    assert act(answers, "open", position=1)["around"] == {"before": "I saw the man with the telescope .", "after": ""}


@pytest.mark.embedded
def test_a_parent_that_only_grew_is_no_further_change(answers):
    target = next(
        k for k, one in enumerate(act(answers, "show")["constituents"]) if (one["start"], one["end"]) == (2, 4)
    )
    state = act(answers, "move", start=4, end=7, target=target)
    assert ("NP", "the man with the telescope") in spans(state) and state["gone"] == []


@pytest.fixture
def parses(answers, monkeypatch):
    """The constraints and k of each call of the parser."""
    calls, parse = [], answers.corrector.parse

    def count(words, tags, *arguments):
        calls.append(arguments)
        return parse(words, tags, *arguments)

    monkeypatch.setattr(answers.corrector, "parse", count)
    return calls


@pytest.mark.embedded
def test_a_search_for_alternatives_ends_when_the_client_leaves(answers, parses):
    def check():
        if parses:
            raise ConnectionAbortedError

    verb_phrase = next(k for k, one in enumerate(act(answers, "show")["constituents"]) if one["label"] == "VP")
    with pytest.raises(ConnectionAbortedError):
        answers.parse({"action": "alternatives", "constituent": verb_phrase}, check)
    assert len(parses) == 1
    assert act(answers, "alternatives", constituent=verb_phrase)["picks"] and len(parses) == 3


@pytest.mark.embedded
def test_words_that_are_no_constituent_are_parsed_once(answers, parses):
    assert act(answers, "alternatives", start=1, end=4)["picks"] and len(parses) == 1


@pytest.mark.embedded
def test_a_step_does_not_wait_for_alternatives(answers):
    done, threads = [], []

    def carry_out(action, details):
        act(answers, action, **details)
        done.append(action)

    with answers._turns.take(0):
        for action in ("alternatives", "label", "alternatives", "insert"):
            thread = threading.Thread(target=carry_out, args=(action, {"start": 2, "end": 7, "label": "NP"}))
            thread.start()
            threads.append(thread)
            while len(answers._turns._waiting) < len(threads):
                time.sleep(0.01)
    for thread in threads:
        thread.join(60)
    assert len(done) == 4 and done[0] == "insert"


@pytest.mark.embedded
@pytest.mark.parametrize("nested", [True, False])
def test_a_tree_to_correct_keeps_what_is_not_corrected(nlp, tmp_path, nested):
    pp = "(PP (IN with) (NP (DT the) (NN telescope)))"
    objects = f"(NP (NP (DT the) (NN man)) {pp})" if nested else f"(NP (DT the) (NN man)) {pp}"
    given = parse_tree(f"(TOP (S (NP (PRP I)) (VP (VBD saw) {objects}) (. .)))")
    with annotating([given], tmp_path / "trees.mrg", nlp, order="given", dev_fraction=0) as server:
        before = spans(act(server.answers, "next"))
        subject = next(k for k, one in enumerate(given.labels) if given.ends[k] == 1)
        after = spans(act(server.answers, "relabel", constituent=subject, label="WHNP"))
    assert before ^ after == {("NP", "I"), ("WHNP", "I")}


@pytest.mark.embedded
@pytest.mark.parametrize(
    "request_values",
    [{"action": []}, {"action": {}}, {"action": None}, {"action": "tag", "token": 0, "tag": [[]]},
     {"action": "relabel", "constituent": 1, "label": {"a": 1}}],
)  # fmt: skip
def test_values_of_other_types_are_refused(answers, request_values):
    with pytest.raises(ConfigError, match="it must be a string"):
        answers.parse(request_values)


@pytest.mark.embedded
def test_steps_of_clients_that_left_are_not_carried_out(answers):
    def leave():
        raise ConnectionAbortedError

    with pytest.raises(ConnectionAbortedError):
        answers.parse({"action": "accept"}, leave)
    assert answers.session.figures()["accepted"] == 0


@pytest.mark.embedded
def test_what_the_parser_changed_besides_is_taken_back(answers):
    before = spans(act(answers, "show"))
    state = act(answers, "insert", start=5, end=7, label="X")
    assert ("X", "the telescope") in spans(state)
    after = spans(act(answers, "keep"))
    assert after - before == {("X", "the telescope")}


@pytest.mark.embedded
def test_tags_and_tokens(answers):
    state = act(answers, "tag", token=6, tag="NNP")
    assert state["tags"][6] == "NNP"
    for tag in ("", "-NONE-", "A(B", "\x1b[31m"):
        with pytest.raises(ConfigError, match="give a tag without"):
            act(answers, "tag", token=6, tag=tag)
    act(answers, "insert", start=2, end=4, label="NP")
    state = act(answers, "split", token=3, at=1)
    assert state["words"][3:5] == ("m", "an") and state["tags"][7] == "NNP" and state["statements"] == ["[2, 5) NP"]
    state = act(answers, "join", token=3)
    assert state["words"][3] == "man" and state["statements"] == ["[2, 4) NP"] and state["tags"][6] == "NNP"
    assert act(answers, "join", token=1)["statements"] == []  # the edge of the NP is gone


@pytest.mark.embedded
def test_sentences_are_split_and_joined(answers):
    act(answers, "tag", token=6, tag="NNP")
    act(answers, "insert", start=5, end=7, label="NX")
    act(answers, "insert", start=0, end=1, label="WHNP")
    act(answers, "insert", start=2, end=7, label="NP")
    before = act(answers, "show")
    state = act(answers, "split sentence", token=4)
    assert state["words"] == ("I", "saw", "the", "man") and ("WHNP", "I") in spans(state)
    assert state["statements"] == ["[0, 1) WHNP"] and state["note"] == "The rest is sentence 2."
    state = act(answers, "open", position=1)
    assert state["words"] == ("with", "the", "telescope", ".") and state["tags"][2] == "NNP"
    assert ("NX", "the telescope") in spans(state) and state["figures"]["sentences"] == 3
    assert act(answers, "open", position=2)["words"] == ("She", "sat", ".")
    with pytest.raises(ConfigError, match="this is the last sentence"):
        act(answers, "join sentences")
    act(answers, "open", position=0)
    state = act(answers, "join sentences")
    assert state["words"] == before["words"] and state["tags"] == before["tags"]
    assert state["statements"] == ["[0, 1) WHNP", "[5, 7) NX"] and state["figures"]["sentences"] == 2
    assert act(answers, "undo")["words"] == ("I", "saw", "the", "man")
    assert spans(act(answers, "undo")) == spans(before)
    assert act(answers, "redo")["figures"]["sentences"] == 3


@pytest.mark.embedded
def test_trees_to_correct_are_split_and_joined(nlp, tmp_path):
    one = parse_tree("(TOP (S (X (PRP I)) (VP (VBD saw) (NP (PRP her)))))")
    two = parse_tree("(TOP (FRAG (XX now) (Y (CC and) (RB then))))")
    with annotating([one, two], tmp_path / "trees.mrg", nlp, order="given", dev_fraction=0) as server:
        act(server.answers, "next")
        state = act(server.answers, "join sentences")
        assert {("X", "I"), ("Y", "and then")} <= spans(state) and state["tags"][3:] == ("XX", "CC", "RB")
        act(server.answers, "split sentence", token=1)
        state = act(server.answers, "open", position=1)
        assert ("Y", "and then") in spans(state)


@pytest.mark.embedded
def test_alternatives_are_picked(answers):
    picks = act(answers, "alternatives")["picks"]
    assert 2 < len(picks) <= 9 and picks[0]["drawing"].startswith("<svg") and picks[0]["changes"]
    sign, _, rest = picks[0]["changes"][0].partition(" ")
    label, _, words = rest.partition(": ")
    assert ((label, words) in spans(act(answers, "pick", number=1))) == (sign == "+")
    assert act(answers, "label", start=2, end=7) == {"label": "NP"}


@pytest.mark.embedded
def test_alternatives_where_the_annotator_points(answers):
    before = spans(act(answers, "show"))
    assert act(answers, "alternatives", start=3, end=7)["picks"]
    after = spans(act(answers, "pick", number=1))
    assert "man with the telescope" in {words for _, words in after} and ("NP", "I") in after
    state = act(answers, "undo")
    assert spans(state) == before
    verbal = next(k for k, one in enumerate(state["constituents"]) if one["label"] == "VP")
    assert act(answers, "alternatives", constituent=verbal)["picks"]
    after = spans(act(answers, "pick", number=1))
    verb_phrase = next(words for label, words in before if label == "VP")
    assert after != before and all(words in verb_phrase for _, words in after ^ before)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"action": "fly"}, "no action 'fly'"),
        ({"action": "insert", "start": 3, "end": 3, "label": "NP"}, "not in the sentence"),
        ({"action": "insert", "start": "a", "end": 3}, "whole number"),
        ({"action": "insert", "start": 0, "end": 3, "label": "ZZ"}, "'ZZ' is no label of this annotation"),
        ({"action": "remove", "constituent": 99}, "no constituent 99"),
        ({"action": "remove", "constituent": 0}, "no constituent 0"),
        ({"action": "move", "start": 0, "end": 1, "target": 99}, "no constituent 99"),
        ({"action": "alternatives", "constituent": 99}, "no constituent 99"),
        ({"action": "alternatives", "constituent": -1}, "no constituent -1"),
        ({"action": "alternatives", "start": 2, "end": 99}, "not in the sentence"),
        ({"action": "pick", "number": 99}, "no alternative 99"),
        ({"action": "tag", "token": 0, "tag": "A B"}, "without blanks"),
        ({"action": "split", "token": 0, "at": 1}, "cannot be split"),
        ({"action": "join", "token": 7}, "no next token"),
        ({"action": "keep"}, "nothing to take back"),
        ({"action": "open", "position": 9}, "no sentence 10"),
        ({"action": "split sentence", "token": 8}, "cannot be split before token 9"),
        ({"action": "split sentence", "token": 0}, "cannot be split before token 1"),
        ({"action": "accept", "sentence": 1}, "another window"),
    ],
)
def test_bad_requests_change_nothing(answers, request_, message):
    before = act(answers, "show")
    with pytest.raises(DtparseError, match=message):
        answers.parse(request_)
    assert act(answers, "show") == before


@pytest.mark.embedded
def test_labels_that_the_parser_does_not_have(nlp, tmp_path):
    tree = parse_tree("(TOP (S (SUBJ (PRP She)) (VP (VBD sat)) (. .)))")
    with annotating([tree], tmp_path / "trees.mrg", nlp, labels=["OBJ"], dev_fraction=0) as server:
        state = act(server.answers, "next")
        assert ("SUBJ", "She") in spans(state)
        state = act(server.answers, "insert", start=1, end=3, label="OBJ")
        assert ("OBJ", "sat .") in spans(state)
        state = act(server.answers, "insert", start=0, end=1, label="SUBJ")
        assert ("SUBJ", "She") in spans(state) and ("NP", "She") not in spans(state)
        act(server.answers, "accept")
    (written,) = read_trees(tmp_path / "trees.mrg")
    assert {"SUBJ", "OBJ"} <= set(written.labels)


@pytest.mark.embedded
def test_the_server_is_as_careful_as_that_of_serve(nlp, tmp_path):
    with annotating([["She", "sat", "."]], tmp_path / "trees.mrg", nlp) as server:

        def send(path, body=None, **headers):
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(server.url + path, data, {"Content-Type": "application/json", **headers})
            try:
                with urllib.request.urlopen(request, timeout=20) as reply:
                    return reply.status, reply.read().decode(), reply.headers
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode(), error.headers

        status, text, headers = send("/")
        assert status == 200 and "annotate.js" in text and "script-src 'self'" in headers["Content-Security-Policy"]
        assert [send(f"/{name}")[0] for name in ("annotate.css", "annotate.js", "drawing.js", "page.css")] == [200] * 4
        assert send("/annotate_keys.js")[0] == 200
        assert send("/../session.py")[0] == 404
        assert send("/parse", {"action": "next"}, Host="evil.example")[0] == 403
        assert send("/parse", {"action": "next"}, **{"Content-Type": "text/plain"})[0] == 415
        assert send("/explain", {})[0] == 400
        status, text, _ = send("/parse", {"action": "next"})
        assert status == 200 and json.loads(text)["words"] == ["She", "sat", "."]


@pytest.mark.embedded
def test_a_statement_may_leave_the_rest_of_the_tree(nlp):
    corrector = Corrector(nlp)
    corrector.reparses = False
    tree = parse_tree("(TOP (NP (DT the) (JJ old) (NN man)) (VP (VBD saw) (NP (PRP her))))")
    stated = Constraints([Constraint(1, 3, "NP"), Constraint(3, 5, "", False), Constraint(0, 5, "S")])
    found = corrector.correct(tree, tree.tags, stated)
    assert found.spans()[1:] == [(0, 5, "S"), (0, 3, "NP"), (1, 3, "NP"), (4, 5, "NP")]
    unnamed = corrector.correct(tree, (*tree.tags[:4], "NN"), Constraints([Constraint(1, 3)]))
    best = corrector.best_label(tree.words, unnamed.tags, Constraints(), 1, 3)
    assert unnamed.tags[4] == "NN" and (1, 3, best) in unnamed.spans() and len(unnamed) == len(tree) + 1
    with pytest.raises(ConstraintError):
        corrector.correct(tree, tree.tags, Constraints([Constraint(1, 9, "NP")]))
