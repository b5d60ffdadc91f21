"""The λ path: the same result whoever runs it and however often it is interrupted; what stops it; its
files.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from tests.reference.boosting import to_csr
from training.dtparse.boosting.labels import Label, LabelData
from training.dtparse.boosting.learner import ensemble_scores
from training.dtparse.boosting.path import train_path
from training.dtparse.boosting.path_log import plot_path
from training.dtparse.boosting.store import open_store
from training.dtparse.boosting.task import ensemble_digest, load_scores, load_state
from training.dtparse.boosting.tree import n_parameters
from training.dtparse.recipe import LearnerConfig, PathConfig
from training.runs.files import load_checkpoint, read_lines, save_checkpoint
from training.runs.progress import is_progress

from .conftest import make_data, make_store, save_labels

pytestmark = pytest.mark.kernel
LABELS = [Label("NP", 0), Label("PRP$/x", 1), Label("S", 2)]


def settings(**changes) -> PathConfig:
    learner = LearnerConfig(sample_size=120, max_splits=8, **changes.pop("learner", {}))
    return PathConfig(
        **{"decay": 0.5, "max_levels": 4, "max_trees_per_level": 4, "quiet": True, "learner": learner, **changes}
    )


def count_f1(ensembles) -> dict[str, float]:
    """A stand-in for the dev score: it rises with the parameters."""
    return {"f1": sum(n_parameters(e) for e in ensembles.values()) / 1000, "exact": 0.5}


def digests(result) -> dict[str, str]:
    return {name: ensemble_digest(ensemble) for name, ensemble in result.ensembles.items()}


@pytest.fixture
def serial(store_folder, tmp_path):
    """The path run in this process."""
    return train_path({"main": store_folder}, LABELS, settings(), None, tmp_path / "serial", count_f1)


def test_log_and_result(serial, store_folder, tmp_path):
    assert serial.stopped == "levels" and len(serial.rows) == 4
    rows = read_lines(tmp_path / "serial" / "log.jsonl")
    assert rows == serial.rows
    assert [row["level"] for row in rows] == [0, 1, 2, 3]
    penalties = [row["lambda"] for row in rows]
    assert np.allclose(np.array(penalties[1:]) / penalties[:-1], 0.5)
    assert serial.best["f1"] == max(row["f1"] for row in rows) > 0
    for name, ensemble in serial.ensembles.items():
        state = load_state(tmp_path / "serial", name)
        assert len(state.counts) == 4 and list(state.counts) == [row["trees_of"][name] for row in rows]
        assert n_parameters(ensemble) == serial.best["labels"][name]["parameters"]
        scores = load_scores(tmp_path / "serial", name, state.ensemble, 400)
        assert (scores == ensemble_scores(open_store(store_folder), state.ensemble)).all()
        assert load_scores(tmp_path / "serial", name, state.ensemble, 399) is None
    assert sum(n_parameters(e) for e in serial.ensembles.values()) == serial.best["parameters"] >= 8
    assert all(row["ms_per_tree"]["build"] > 0 for row in rows if row["labels"]["NP"]["grown"])


@pytest.mark.parametrize("lookahead", [0, 2])
def test_threads_give_the_serial_result(serial, store_folder, tmp_path, lookahead):
    with ThreadPoolExecutor(1) as executor:
        result = train_path(
            {"main": store_folder}, LABELS, settings(lookahead=lookahead), executor, tmp_path / "t", count_f1
        )
    assert digests(result) == digests(serial)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted({"fork", "spawn"} & {*multiprocessing.get_all_start_methods()}))
def test_processes_give_the_serial_result(serial, store_folder, tmp_path, method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        result = train_path({"main": store_folder}, LABELS, settings(), executor, tmp_path / "p", count_f1)
    assert digests(result) == digests(serial)
    assert [row["f1"] for row in result.rows] == [row["f1"] for row in serial.rows]


def test_dask_gives_the_serial_result(serial, store_folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        result = train_path({"main": store_folder}, LABELS, settings(), executor, tmp_path / "d", count_f1)
    assert digests(result) == digests(serial)


class Killed(BaseException):
    """Stands in for a kill: nothing may catch it and tidy up."""


class Killer:
    """An executor that runs tasks at once and dies before one of them, or after it and before its report."""

    _max_workers = 1

    def __init__(self, after: int, late: bool):
        self.left, self.late = after, late

    def submit(self, function, *args):
        future: Future = Future()
        if self.left == 0 and not self.late:
            raise Killed
        result = function(*args)
        if self.left == 0:
            raise Killed
        self.left -= 1
        future.set_result(result)
        return future


@pytest.mark.parametrize("keep_scores", [True, False])
@pytest.mark.parametrize("late", [False, True])
def test_a_killed_run_resumes_to_the_same_result(serial, store_folder, tmp_path, late, keep_scores):
    kills = 0
    config = settings(keep_scores=keep_scores, save_seconds=1e-9)
    for after in (1, 2, 4, 5, 3, 6, 40):
        try:
            result = train_path({"main": store_folder}, LABELS, config, Killer(after, late), tmp_path / "k", count_f1)
        except Killed:
            kills += 1
            log = tmp_path / "k" / "log.jsonl"
            if log.exists():  # a line that was being written
                log.write_bytes(log.read_bytes() + b'{"level": 9, "par')
    assert kills >= 3
    assert digests(result) == digests(serial)
    assert [(r["f1"], r["trees_of"]) for r in result.rows] == [(r["f1"], r["trees_of"]) for r in serial.rows]
    for name in digests(serial):
        one, other = (load_state(tmp_path / folder, name) for folder in ("k", "serial"))
        assert ensemble_digest(one.ensemble) == ensemble_digest(other.ensemble)
        assert one[1:] == other[1:]
    if not keep_scores:
        assert not (tmp_path / "k" / "scores").exists()


def test_running_again_changes_nothing(serial, store_folder, tmp_path):
    stamp = (tmp_path / "serial" / "log.jsonl").read_bytes()

    def never(_):
        raise AssertionError("a level was evaluated again")

    again = train_path({"main": store_folder}, LABELS, settings(), None, tmp_path / "serial", never)
    assert digests(again) == digests(serial) and again.best == serial.best
    assert (tmp_path / "serial" / "log.jsonl").read_bytes() == stamp
    longer = train_path({"main": store_folder}, LABELS, settings(max_levels=5), None, tmp_path / "serial", count_f1)
    assert len(longer.rows) == 5 and longer.rows[:4] == serial.rows


def test_another_run_in_the_folder_is_refused(serial, store_folder, tmp_path):
    with pytest.raises(ConfigError, match="holds a run with other learner"):
        train_path({"main": store_folder}, LABELS, settings(learner={"seed": 3}), None, tmp_path / "serial", count_f1)
    with pytest.raises(ConfigError, match="holds a run with other labels"):
        train_path({"main": store_folder}, LABELS[:2], settings(), None, tmp_path / "serial", count_f1)


def test_patience_stops_and_the_best_level_wins(store_folder, tmp_path):
    scores = iter([0.5, 0.8, 0.7, 0.75, 0.9, 0.95])
    result = train_path(
        {"main": store_folder},
        LABELS,
        settings(max_levels=None, patience=2),
        None,
        tmp_path / "w",
        lambda _: {"f1": next(scores)},
    )
    assert result.stopped == "patience" and result.best["f1"] == 0.8
    assert [row["f1"] for row in result.rows] == [0.5, 0.8, 0.7, 0.75]
    assert {name: len(e.roots) for name, e in result.ensembles.items()} == result.rows[1]["trees_of"]
    assert max(len(load_state(tmp_path / "w", label.name).counts) for label in LABELS) >= 4


def test_budget_stops_cleanly_and_the_rest_can_follow(serial, store_folder, tmp_path):
    stopped = train_path({"main": store_folder}, LABELS, settings(budget_seconds=0.03), None, tmp_path / "b", count_f1)
    assert stopped.stopped == "budget" and len([r for r in stopped.rows if not r["partial"]]) < 4
    result = train_path({"main": store_folder}, LABELS, settings(), None, tmp_path / "b", count_f1)
    assert result.stopped == "levels"
    for name in digests(serial):
        states = [load_state(tmp_path / folder, name) for folder in ("b", "serial")]
        assert ensemble_digest(states[0].ensemble) == ensemble_digest(states[1].ensemble)


def test_labels_may_have_their_own_stores_and_odd_ones_are_noted(store_folder, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="training")
    rows, data = make_data(8, n=150)
    gold = np.full(150, -1, np.int16)
    gold[:70] = 0
    gold[70] = 5
    gold[71:80] = 9
    make_store(*to_csr(rows), 40, tmp_path / "shift")
    save_labels(tmp_path / "shift", LabelData(gold, data.b_pos, data.b_neg))
    labels = [*LABELS, Label("SHIFT", 0, "shift"), Label("ONCE", 5, "shift"), Label("NEVER", 6, "shift")]
    result = train_path(
        {"main": store_folder, "shift": tmp_path / "shift"},
        labels,
        settings(max_levels=3, lambda_start=2.0),
        None,
        tmp_path / "w",
    )
    assert result.notes == [
        "label ONCE has one positive example",
        "label NEVER has no positive example: its classifier always says no",
        "store shift: 9 positive examples are of labels that are not trained",
    ]
    noted = [record.getMessage() for record in caplog.records if is_progress(record)]
    assert [line for line in noted if line.startswith("note: ")] == [f"note: {note}" for note in result.notes]
    assert result.rows[0]["lambda"] == 2.0 and result.best == result.rows[-1]
    assert n_parameters(result.ensembles["SHIFT"]) > 0
    assert (result.ensembles["NEVER"].atom == -1).all() and (result.ensembles["NEVER"].value < 0).all()


def test_a_clock_that_is_set_back_changes_nothing(serial, store_folder, tmp_path, monkeypatch):
    hours = itertools.count(0, -3600)
    monkeypatch.setattr(time, "time", lambda: 1e9 + next(hours))
    again = train_path({"main": store_folder}, LABELS, settings(), None, tmp_path / "back", count_f1)
    assert next(hours) < -10_000 and digests(again) == digests(serial) and again.stopped == serial.stopped


def test_a_run_of_an_earlier_version_is_resumed(serial, store_folder, tmp_path):
    """Its settings do not name those that came later; they had their defaults."""
    path = tmp_path / "serial" / "run.json"
    facts = load_checkpoint(path)
    del facts["learner"]["subtraction"]
    save_checkpoint(path, facts)
    again = train_path({"main": store_folder}, LABELS, settings(), None, tmp_path / "serial", count_f1)
    assert digests(again) == digests(serial)
    other = settings(learner={"subtraction": False})
    with pytest.raises(ConfigError, match="other learner"):
        train_path({"main": store_folder}, LABELS, other, None, tmp_path / "serial", count_f1)


def test_leaves_are_logged(serial):
    for row in serial.rows:
        assert row["leaves"] == sum(label["leaves"] for label in row["labels"].values()) >= row["parameters"]
    last = serial.rows[-1]
    if last["trees_of"] == {name: len(e.roots) for name, e in serial.ensembles.items()}:
        assert last["leaves"] == sum(int((e.atom < 0).sum()) for e in serial.ensembles.values())


def test_bad_calls_are_named(store_folder, tmp_path):
    with pytest.raises(ConfigError, match="all different"):
        train_path({"main": store_folder}, [*LABELS, LABELS[0]], settings(), None, tmp_path / "w")
    with pytest.raises(TrainingDataError, match="not a finished store"):
        train_path({"main": tmp_path / "none"}, LABELS, settings(), None, tmp_path / "w")
    rows, data = make_data(1)
    nothing = np.zeros(len(rows), np.float32)
    make_store(*to_csr(rows), 40, tmp_path / "zero")
    save_labels(tmp_path / "zero", LabelData(data.gold, nothing, nothing))
    with pytest.raises(TrainingDataError, match="every example has bias 0"):
        train_path({"main": tmp_path / "zero"}, LABELS, settings(), None, tmp_path / "w")


def test_a_damaged_state_is_named(serial, store_folder, tmp_path):
    state = tmp_path / "serial" / "labels" / "NP.npz"
    state.write_bytes(state.read_bytes()[:200])
    with pytest.raises(TrainingDataError, match=r"NP\.npz is no readable training state"):
        train_path({"main": store_folder}, LABELS, settings(), None, tmp_path / "serial")


def test_plot_is_drawn_from_rows_and_from_the_log(serial, tmp_path):
    pytest.importorskip("matplotlib")
    runs = {"baseline": read_lines(tmp_path / "serial" / "log.jsonl"), "rows": serial.rows}
    assert plot_path(runs, tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert "<svg" in drawn and len(runs["baseline"]) == 4


def test_without_matplotlib_a_note_is_logged(serial, tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert not plot_path({"run": serial.rows}, tmp_path / "figure.svg")
    assert "matplotlib is not installed" in caplog.text and not (tmp_path / "figure.svg").exists()
