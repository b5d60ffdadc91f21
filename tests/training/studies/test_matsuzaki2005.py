"""python -m training pcfgla-study at a small size: the plan end to end, resuming, the tables."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from training.cli import main
from training.runs.files import load_checkpoint, read_result, save_checkpoint
from training.studies.matsuzaki2005 import PLAN, RESULT, TABLES, Study, count, execute
from training.studies.plans import fill_blocks, select_runs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SLOW = os.environ.get("NUMBA_DISABLE_JIT") == "1"
compiled = pytest.mark.skipif(SLOW, reason="takes long without compiling")
RUNS = ("center-parent-2", "left-1", "center-parent-16-seed1")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The sample treebank under the names of the plan's treebanks, with gold tags for predicted ones."""
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("wsj", "craft"):
        (folder / name).mkdir()
        for part in ("train", "dev"):
            shutil.copy(ROOT / "assets" / "sample" / f"{part}.mrg", folder / name / f"{part}.mrg")
    return folder


@pytest.fixture(scope="module")
def done(corpus, tmp_path_factory):
    """The folder of a few small runs."""
    out = tmp_path_factory.mktemp("study")
    assert main(arguments(corpus, out)) == 0
    return out


def arguments(corpus, out, *extra):
    return [
        "pcfgla-study", "--corpus", str(corpus), "--out", str(out), "--scale", "0.3", "--threads", "1",
        "--runs", *RUNS, *extra,
    ]  # fmt: skip


def test_the_plan_holds_together():
    assert len({run.name for run in PLAN}) == len(PLAN)
    for run in PLAN:
        assert run.options.seeds and len({view.name for view in run.views}) == len(run.views)
    for needs, _ in TABLES.values():
        assert set(needs) <= {run.name for run in PLAN}
    with pytest.raises(ConfigError, match="there is no run 'left-3'; allowed are center-parent-1"):
        select_runs(PLAN, ["left-3"])


@compiled
def test_results_are_sensible(done):
    for name, f1 in zip(RUNS, (0.525, 0.512, 0.398), strict=True):
        result = read_result(done / name / RESULT)
        assert result["sentences"] == 95 and result["train_log"] < 0 and (result["held_out_log"] or -1) < 0
        own = result["views"]["own"]
        assert own["all"]["f1"] == pytest.approx(f1, abs=0.01)
        assert own["sentences"] == 19 and sum(own["status"].values()) == 19
    more = read_result(done / "center-parent-16-seed1" / RESULT)
    less = read_result(done / "center-parent-2" / RESULT)
    assert more["values"][0] == 8 * (less["values"][0] - 1) + 1  # the root has one value in both
    assert more["train_log"] > less["train_log"]


@compiled
def test_finished_runs_are_not_repeated(done, corpus, capsys):
    before = {name: (done / name / RESULT).read_bytes() for name in RUNS}
    assert main(arguments(corpus, done)) == 0
    assert capsys.readouterr().out.count("done before") == len(RUNS)
    assert before == {name: (done / name / RESULT).read_bytes() for name in RUNS}


@compiled
def test_a_view_that_is_missing_is_added(done, corpus):
    path = done / "left-1" / RESULT
    result = load_checkpoint(path)
    gold = result["views"].pop("gold")
    save_checkpoint(path, result)
    again, made = execute(select_runs(PLAN, ["left-1"])[0], Study(corpus, None, done, 1, 0.3))
    assert made and again["views"]["gold"]["all"] == gold["all"]
    assert again["train_seconds"] == result["train_seconds"]  # it was not trained again


@compiled
def test_other_trees_are_distinguished_from_the_same(done, corpus):
    with pytest.raises(TrainingDataError, match="with other trees or options; delete its folder"):
        execute(select_runs(PLAN, ["left-1"])[0], Study(corpus, None, done, 1, 0.2))


@compiled
def test_the_page_is_filled(done, tmp_path, capsys):
    page = tmp_path / "page.md"
    blocks = "\n".join(f"<!-- latent: {name} -->\nas it was\n<!-- /latent -->" for name in TABLES)
    page.write_text(f"before\n{blocks}\nafter\n", encoding="utf8")
    assert main(["pcfgla-study", "--out", str(done), "--page", str(page)]) == 0
    assert "binarisations" in capsys.readouterr().out
    text = page.read_text(encoding="utf8")
    f1 = read_result(done / "left-1" / RESULT)["views"]["own"]["all"]["f1"]
    assert f"{100 * f1:.2f}" in text and text.count("as it was") == len(TABLES) - 1


def test_the_project_page_has_every_table():
    text = (ROOT / "docs" / "studies" / "matsuzaki2005.md").read_text(encoding="utf8")
    assert all(text.count(f"<!-- latent: {name} -->") == 1 for name in TABLES)


def test_a_block_of_another_name(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- latent: nothing -->\n<!-- /latent -->\n")
    with pytest.raises(ConfigError, match="there is no table 'nothing'; allowed are initial"):
        fill_blocks(page, "latent", TABLES, {})


def test_bad_options(tmp_path, capsys):
    assert main(["pcfgla-study", "--runs", "left-1"]) == 1
    assert "give --corpus FOLDER" in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main(["pcfgla-study", "--corpus", str(tmp_path), "--runs", "left-1", "--threads", "0"])
    assert refused.value.code == 2 and "--threads: '0' is not a whole number from 1" in capsys.readouterr().err


def test_parameters_are_given_in_thousands_and_millions():
    assert [count(number) for number in (1234, 99_600, 1_234_567)] == ["1 K", "100 K", "1.23 M"]
