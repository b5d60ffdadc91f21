"""Learning beside annotation, with a command that stands for the trainers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.annotation import learning
from spacy_dtparse.annotation.learning import MIN_DEV, Learner, make_learning_server, training_command
from spacy_dtparse.annotation.session import Session
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree

from ..span_models import random_model

COMMAND = """
import json, pathlib, shutil, sys, time
trees, *options = sys.argv[3:]
given = dict(zip(options[:-1:2], options[1::2]))
pathlib.Path(given["--workdir"]).mkdir(exist_ok=True)
count = len(pathlib.Path(trees).read_text().splitlines())
if sys.argv[1] == "wait":
    time.sleep(60)
if sys.argv[1] == "fail":
    sys.exit("no luck")
shutil.copyfile(sys.argv[2], given["--out"])
report = {"trees": count, "dev": 5, "f1": 50.0 + count, "before": 50.0, "reparses": False}
report["better"] = sys.argv[1] == "better"
pathlib.Path(given["--report"]).write_text(json.dumps(report))
"""


@pytest.fixture
def command(tmp_path):
    """A function that returns a command which gives better models, others, fails, or waits."""
    script, model = tmp_path / "command.py", tmp_path / "given.model"
    script.write_text(COMMAND)
    model.write_bytes(SpanParser(random_model(1)).to_bytes())
    return lambda mode: [sys.executable, str(script), mode, str(model)]


def accept(session, n):
    for _ in range(n):
        index = session.next_sentence()
        session.accept(index)


@pytest.fixture
def make_session(tmp_path):
    """A function that opens the session, of 60 sentences, with MIN_DEV dev trees accepted."""
    made = []

    def make():
        session = Session(
            [("w", str(i)) for i in range(60)],
            tmp_path / "trees.mrg",
            lambda i: Tree(("w", str(i)), ("NN", "CD"), ("TOP", "NP"), (0, 0), (2, 2)),
            order="given",
            dev_fraction=0.0,
        )
        made.append(session)
        for index in range(MIN_DEV):
            if index not in session.sentences:
                session.open_sentence(index, "dev")
                session.accept(index)
        return session

    yield make
    for session in made:
        session.close()


def wait_for(learner, condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, learner.state()
        time.sleep(0.02)
        learner.update()


def test_a_better_model_is_taken_over_and_again_in_the_next_session(make_session, command):
    session, found = make_session(), []

    def install(parser, reparses):
        found.append((parser, reparses))

    learner = Learner(session, 10, command("better"), install)
    accept(session, 9)
    learner.update()
    assert not learner.is_running and learner.state()["next"] == 10
    accept(session, 1)
    learner.update()
    assert learner.is_running and learner.state()["running"] == 10
    wait_for(learner, lambda: len(found) == 1)
    assert learner.state()["history"] == [
        {"trees": 10, "dev": 5, "f1": 60.0, "before": 50.0, "better": True, "reparses": False}
    ]
    assert isinstance(found[0][0], SpanParser) and not learner.is_running and learner.state()["next"] == 20
    learner.close()
    session.close()
    again = Learner(make_session(), 10, command("worse"), install)
    wait_for(again, lambda: len(found) == 2)
    assert not again.is_running and again.current == learner.folder / "10.model"
    accept(again.session, 10)
    again.update()
    wait_for(again, lambda: not again.is_running)
    assert [report["better"] for report in again.history] == [True, False] and len(found) == 2
    assert [reparses for _, reparses in found] == [False, False]
    assert again.current == learner.folder / "10.model"


def test_a_training_that_fails_harms_nothing(make_session, command):
    session = make_session()
    learner = Learner(session, 5, command("fail"), pytest.fail)
    accept(session, 5)
    learner.update()
    wait_for(learner, lambda: not learner.is_running)
    assert learner.message == "learning from 5 trees failed (1): no luck" and learner.history == []
    accept(session, 1)
    learner.update()
    assert not learner.is_running and len(session.trees("train")) == 6
    learner.command = ("/no/such/command",)
    accept(session, 4)
    learner.update()
    assert not learner.is_running and "could not start" in learner.message


def test_a_training_ends_with_the_session_and_is_resumed(make_session, command):
    session = make_session()
    learner = Learner(session, 5, command("wait"), pytest.fail)
    accept(session, 5)
    learner.update()
    process = learner._process
    wait_for(learner, (learner.folder / "5.work").is_dir)
    assert learner.is_running
    learner.close()
    assert process.poll() is not None and not learner.is_running
    session.close()
    found = []
    again = Learner(make_session(), 5, command("better"), lambda parser, reparses: found.append(parser))
    assert again.is_running  # the same number of trees, so the same folder
    wait_for(again, lambda: found)
    assert (again.folder / "5.model").is_file()


def test_the_number_of_trees_and_the_trainers_are_checked(make_session, command, monkeypatch):
    with pytest.raises(ConfigError, match="--learn-every is 0"):
        Learner(make_session(), 0, command("better"), pytest.fail)
    monkeypatch.setattr(learning.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="the folder `training` of the repository"):
        training_command()


def test_the_process_ends_with_its_parent():
    code = "from training.cli.learning import _stop_at_eof; print('ready', flush=True); _stop_at_eof()"
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
    assert process.stdout.readline() == b"ready\n" and process.poll() is None
    process.stdin.close()
    assert process.wait(60) == 1
    process.stdout.close()


@pytest.mark.embedded
def test_the_page_shows_the_learner(tmp_path, command):
    sentences = [["She", "sat", "."], ["He", "ran", "."]]
    server = make_learning_server(
        sentences, tmp_path / "out.mrg", spacy_dtparse.load(), learn_every=5, command=command("better"), port=0
    )
    try:
        state = server.answers.parse({"action": "next"})
        assert state["figures"]["learning"]["dev_missing"] == MIN_DEV and json.dumps(state)
        before = server.answers.corrector.parser
        server.answers.install(SpanParser(random_model(1)), reparses=False)
        assert not server.answers.corrector.reparses
        assert server.answers.corrector.parser is not before
        assert server.answers.parse({"action": "show"})["words"] == state["words"]
    finally:
        server.server_close()
        server.answers.learner.close()
        server.answers.session.close()


@pytest.mark.slow
@pytest.mark.embedded
def test_the_trainers_learn_and_end_with_a_killed_server(tmp_path):
    """A server of its own process: all trees are accepted, a training ends; then a second one dies with the server."""
    root = Path(__file__).resolve().parents[2]
    code = """
import sys, time
from spacy_dtparse.annotation.learning import make_learning_server
from spacy_dtparse.trees import read_trees
trees = list(read_trees("assets/sample/train.mrg"))[:70]
server = make_learning_server(trees, sys.argv[1], learn_every=20, dev_fraction=0.3, order="given", port=0)
answers = server.answers
answers.parse({"action": "next"})
while len(answers.session.trees("train")) < 20:
    answers.parse({"action": "accept"})
print(answers.learner._process.pid, flush=True)
while answers.learner.is_running:
    answers.parse({"action": "show"})
    time.sleep(1)
print(answers.learner.state(), flush=True)
while len(answers.session.trees("train")) < 40:
    answers.parse({"action": "accept"})
print(answers.learner._process.pid, flush=True)
time.sleep(600)
"""
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "trees.mrg")], stdout=subprocess.PIPE, cwd=root, text=True
    )
    try:
        assert int(server.stdout.readline()) > 0
        state = server.stdout.readline()
        assert "'trees': 20" in state and "'message': ''" in state, state
        pid = int(server.stdout.readline())
        assert Path(f"/proc/{pid}").exists() or sys.platform != "linux"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    end = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_a_review_does_not_learn(tmp_path, capsys):
    trees = tmp_path / "trees.mrg"
    trees.write_text("(TOP (NP (NN test)))\n")
    assert main(["annotate", str(trees), "--review", "--learn-every", "5", "--out", str(tmp_path / "out.mrg")]) == 1
    assert "--learn-every needs the dev part" in capsys.readouterr().err


def test_learning_needs_a_dev_part(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("It rains.\n")
    options = ["--learn-every", "5", "--dev-fraction", "0", "--out", str(tmp_path / "out.mrg")]
    assert main(["annotate", str(tmp_path / "a.txt"), *options]) == 1
    assert "--learn-every compares parsers on the dev part" in capsys.readouterr().err
