"""python -m training reproduce at a small size: the plan end to end, resuming, the WSJ layout, the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble
from spacy_dtparse.errors import ConfigError, TrainingDataError
from training.cli import main
from training.dtparse.boosting.labels import open_label_data
from training.dtparse.boosting.learner import LabelLearner
from training.dtparse.boosting.path_log import seconds_used
from training.runs.files import read_result
from training.runs.tables import markdown
from training.studies.plans import fill_blocks, load_results, select_runs
from training.studies.sources import Sources, corpus_sources, every, section_files, treebank_sources
from training.studies.turian2006.measuring import (
    count_splits_above,
    ensemble_statistics,
    example_counts,
    margin_statistics,
    measure_scale,
    profile_trees,
)
from training.studies.turian2006.running import MAKERS, PLAN, RESULT, run_recipe
from training.studies.turian2006.tables import PAPER, TABLES, at_lambda, draw_plots

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TREE = "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD slept)) (. .)) )"
SETTINGS = (
    "n_workers=1",
    "min_word_sentences=2",
    "min_atom_count=2",
    "path.decay=0.4",
    "path.lambda_start=30",
    "path.lambda_floor=2",
    "path.quiet=true",
    "learner.sample_size=3000",
    "path.max_trees_per_level=20",
)
RUNS = ("r2l", "l2r", "uniform", "profile", "pcfg", "pcfgla")


def arguments(out: Path, *extra: str) -> list[str]:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    return [
        "reproduce", "--corpus", str(ROOT / "assets"), "--names", "sample", "--out", str(out), "--scale", "0.4",
        "--budget", "2000", *settings, *extra,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a few small runs."""
    out = tmp_path_factory.mktemp("2006")
    assert main(arguments(out, "--runs", *RUNS)) == 0
    return out


def test_results_are_sensible(done):
    results = load_results(done, PLAN)
    assert list(results) == [run.name for run in PLAN if run.name in RUNS]
    for name in ("r2l", "l2r", "uniform", "pcfg", "pcfgla"):
        dev = results[name]["dev"]
        assert (0.01 if name == "uniform" else 0.3) < dev["all"]["f1"] <= 1 and dev["sentences"] == 20
        assert sum(dev["status"].values()) == dev["sentences"]
    for name in ("r2l", "l2r", "uniform"):
        found = results[name]
        assert found["facts"]["recipe"]["max_words"] == 15 and found["facts"]["budget"] == 2000
        assert found["facts"]["data"]["sentences"]["train"] == {"sample": 126}
        assert found["dev"]["optimal"] + found["dev"]["cut_short"] == pytest.approx(1)
        assert 0 <= found["dev"]["greedy_optimal"] <= found["dev"]["optimal"]
        assert found["best"]["f1"] == pytest.approx(found["dev_greedy"]["all"]["f1"])
        assert found["best"]["leaves"] > found["best"]["parameters"] > 0
        assert found["ensemble"]["nonzero_leaves"] == found["best"]["NP"]["parameters"]
        assert found["ensemble"]["leaves"] == found["best"]["NP"]["leaves"]
        assert (
            found["examples"]["rows"]["window"]
            == found["ensemble"]["margins"]["n_correct"] + (found["ensemble"]["margins"]["n_incorrect"])
        )
        assert found["examples"]["positives"]["NP"] == found["ensemble"]["margins"]["n_correct"]
        assert found["command"][:3] == ["python", "-m", "training"] and found["seed"] == 0
        lost = [row["NP"]["weight_lost"] for row in found["rows"] if row["NP"]["weight_lost"] is not None]
        assert lost and all(0 <= share < 1 for share in lost) and max(lost) > 0
    r2l, uniform = results["r2l"], results["uniform"]
    assert r2l["best"] != uniform["best"]
    # nearly everything is a negated test, as the paper says
    assert r2l["ensemble"]["negated"] == pytest.approx(0.977, abs=0.05)
    profile = results["profile"]["variants"]
    assert set(profile) == {"sampled", "no_subtraction", "no_sampling"}
    # the same sample and exact sums, so the same trees
    assert profile["sampled"]["splits"] == profile["no_subtraction"]["splits"]
    assert profile["no_sampling"]["weight_lost"]["mean"] == 0
    assert all(part["mean"] >= 0 for part in profile["sampled"]["ms"].values())


def test_finished_runs_are_not_done_again(done, capsys):
    before = (done / "r2l" / RESULT).read_bytes()
    assert main(arguments(done, "--runs", "l2r", "r2l")) == 0
    assert capsys.readouterr().out.count("done before") == 2
    assert (done / "r2l" / RESULT).read_bytes() == before
    log = (done / "r2l" / "path" / "log.jsonl").read_bytes()
    (done / "r2l" / RESULT).unlink()
    (done / "r2l" / "trained.json").unlink()
    assert main(arguments(done, "--runs", "r2l")) == 0  # the path goes on from its checkpoints: nothing to do
    assert (done / "r2l" / "path" / "log.jsonl").read_bytes() == log
    now, held = json.loads((done / "r2l" / RESULT).read_bytes()), json.loads(before)
    for result in (now, held):
        for key in ("date", "command", "seconds_now", "check"):
            result.pop(key)
        for part in ("dev", "dev_greedy"):
            for key in ("seconds", "tokens_per_second"):
                result[part].pop(key)
    assert now == held
    assert main(arguments(done, "--runs", "r2l", "--set", "min_atom_count=3")) == 1
    assert "r2l holds a run with other recipe.min_atom_count (was 2, now 3); give" in capsys.readouterr().err


def test_tables_and_plots(done, tmp_path, capsys):
    page = tmp_path / "page.md"
    blocks = [f"<!-- 2006: {name} -->\nBEFORE\n<!-- /2006 -->" for name in TABLES]
    page.write_text("\n".join(blocks))
    results = load_results(done, PLAN)
    filled = fill_blocks(page, "2006", TABLES, results)
    assert set(filled) == set(TABLES) - {"scale"}
    text = page.read_text()
    assert text.count("BEFORE") == 1, "a block without results stays as it is"
    assert "nan" not in text and "inf" not in text.replace("inference", "")
    for name, (_, _, recall, precision, f1, _, _) in PAPER["strategies"].items():
        assert f"{recall} | {precision} | {f1}" in text, name
    assert "half/half" in text and "uniform weights" in text and "stumps" not in text
    assert fill_blocks(page, "2006", TABLES, results) == filled and page.read_text() == text
    drawn = draw_plots(results, tmp_path / "img")
    assert [path.name for path in drawn] == ["2006_f1_parameters.svg", "2006_kitchen_sink.svg", "2006_weight_lost.svg"]
    assert all(path.read_text().count("<path") > 10 for path in drawn)
    before = [path.read_bytes() for path in drawn]
    assert [path.read_bytes() for path in draw_plots(results, tmp_path / "img")] == before
    assert main(["reproduce-report", str(done), "--page", str(page)]) == 0
    page.write_text("<!-- 2006: nonsense -->\n<!-- /2006 -->")
    with pytest.raises(ConfigError, match="no table 'nonsense'"):
        fill_blocks(page, "2006", TABLES, results)
    assert main(["reproduce-report", str(tmp_path), "--page", str(page)]) == 1
    assert "run this first" in capsys.readouterr().err


def test_the_page_has_every_block():
    text = (ROOT / "docs" / "studies" / "turian2006.md").read_text(encoding="utf8")
    assert sorted(re.findall(r"<!-- 2006: ([\w-]+) -->", text)) == sorted(TABLES)
    assert len(re.findall(r"<!-- 2006: [\w-]+ -->\n.*?<!-- /2006 -->", text, re.DOTALL)) == len(TABLES)


def test_full_length_with_indirect_storage(tmp_path):
    run = next(run for run in PLAN if run.name == "full_length")
    settings = ("min_word_sentences=2", "min_atom_count=2", "learner.sample_size=2000")
    recipe = run_recipe(run, settings)
    assert recipe.max_words is None
    sentences = corpus_sources(ROOT / "assets", ["sample"], None, 0.1).train
    found = measure_scale(recipe, sentences, tmp_path, 0.5)
    assert found["direct"] is False and found["corpus"]["sentences"] == 32
    assert found["examples"]["positives"]["NP"] > 30 and found["examples"]["per_sentence"] > 50
    assert found["profile"]["trees"] >= 1 and found["profile"]["ms"]["percolate"]["mean"] > 0
    assert found["peak_bytes"] is None or found["peak_bytes"] > 1e7
    assert TABLES["scale"][1]({"full_length": {**found}}).count("any length") == 2
    gold = open_label_data(tmp_path / "stores" / "window").gold
    assert example_counts(tmp_path, 32, ["NP"])["rows"]["window"] == len(gold)


def test_plan():
    assert sum(run.minutes for run in PLAN) <= 330, "6 hours with evaluation"
    assert {run.kind for run in PLAN} <= set(MAKERS)
    names = [run.name for run in PLAN]
    assert len(set(names)) == len(names)
    for run in PLAN:
        assert run_recipe(run).name == "2006"
        assert run.base_run is None or names.index(run.base_run) < names.index(run.name)
    for name, (runs, _) in TABLES.items():
        assert set(runs) <= set(names), name
    differing = {
        "l2r": ("strategy", "l2r"),
        "bottom_up": ("strategy", "bottom_up"),
        "kitchen_sink": ("templates", "kitchen_sink"),
        "uniform": ("example_weights", "uniform"),
    }
    base = run_recipe(select_runs(PLAN, ["r2l"])[0])
    assert base.strategy == "r2l" and base.max_arity == 5 and base.learner.sample_size == 100_000
    for name, (setting, value) in differing.items():
        recipe = run_recipe(select_runs(PLAN, [name])[0])
        assert getattr(recipe, setting) == value
        same = {setting: getattr(base, setting), "memory_gib": base.memory_gib}
        assert {**recipe.to_dict(), **same} == base.to_dict()
    assert run_recipe(select_runs(PLAN, ["hard"])[0]).learner.gain == "hard"
    assert run_recipe(select_runs(PLAN, ["stumps"])[0]).learner.max_splits == 1
    assert run_recipe(select_runs(PLAN, ["profile_kitchen_sink"])[0]).templates == "kitchen_sink"


def test_list(capsys):
    assert main(["reproduce", "--list"]) == 0
    assert capsys.readouterr().out.count(" min ") == len(PLAN)


@pytest.fixture()
def wsj(tmp_path):
    """A treebank in the layout of the Penn Treebank's WSJ part; section 23 cannot be read."""
    for section in range(25):
        folder = tmp_path / "wsj" / f"{section:02}"
        folder.mkdir(parents=True)
        (folder / f"wsj_{section:02}02.mrg").write_text(TREE.replace("cat", f"cat{section}") + "\n")
        (folder / f"wsj_{section:02}01.prd").write_text(TREE.replace("cat", f"dog{section}") + "\n")
    (tmp_path / "wsj" / "22" / "wsj_2202.prd").write_text("(this is not read: there is a .mrg")
    (tmp_path / "wsj" / "23" / "wsj_2302.mrg").write_text("(broken")
    return tmp_path / "wsj"


def test_wsj_layout(wsj, tmp_path, capsys):
    sources = treebank_sources(wsj, None)
    nouns = [sentence.tree.words[1] for sentence in sources.train]
    assert nouns == [f"{animal}{section}" for section in range(2, 22) for animal in ("dog", "cat")]
    assert [sentence.tree.words[1] for sentence in sources.dev] == ["dog22", "cat22"]
    assert sources.dev[0].tree.labels == ("TOP", "S", "NP", "VP") and sources.train[0].source == "ptb"
    assert sources.test == (), "section 23 is not opened"
    assert sources.describe()["sentences"] == {"train": {"ptb": 40}, "dev": {"ptb": 2}, "test": {}}
    assert sources.describe() != treebank_sources(wsj, None, 0.5).describe()
    with pytest.raises(Exception, match="wsj_2302"):
        treebank_sources(wsj, None, test=True)
    (wsj / "23" / "wsj_2302.mrg").write_text(TREE)
    assert len(treebank_sources(wsj, None, test=True).test) == 2
    (tmp_path / "ptb.train.tags").write_text("XX NN VBD .\n" * 40)
    (tmp_path / "ptb.dev.tags").write_text("DT NN VBD .\nDT NN VBD\n")
    with pytest.raises(TrainingDataError, match="line 2 does not match"):
        treebank_sources(wsj, tmp_path)
    (tmp_path / "ptb.dev.tags").write_text("DT NN VBD .\n")
    with pytest.raises(TrainingDataError, match="1 lines"):
        treebank_sources(wsj, tmp_path)
    (tmp_path / "ptb.dev.tags").write_text("DT NN VBD .\n" * 2)
    assert treebank_sources(wsj, tmp_path).train[0].tags == ("XX", "NN", "VBD", ".")
    for path in (wsj / "05").iterdir():
        path.unlink()
    with pytest.raises(TrainingDataError, match="05 has no wsj"):
        section_files(wsj, "train")
    assert main(["reproduce", "--treebank", str(wsj), "--out", str(tmp_path / "out")]) == 1
    assert "needs the sections 02, 03" in capsys.readouterr().err


def test_treebank_with_its_test_section(wsj, tmp_path):
    """Section 23 is scored when it is asked for."""
    (wsj / "23" / "wsj_2302.mrg").write_text(TREE)
    settings = [part for s in (*SETTINGS, "path.lambda_floor=20", "min_atom_count=1") for part in ("--set", s)]
    command = ["reproduce", "--treebank", str(wsj), "--test", "--out", str(tmp_path / "out"), "--runs", "r2l"]
    assert main([*command, *settings]) == 0
    found = read_result(tmp_path / "out" / "r2l" / RESULT)
    assert found is not None and found["test"]["sentences"] == found["dev"]["sentences"] == 2
    assert "(test)" in TABLES["parsers"][1]({"r2l": found}).splitlines()[2]


BAD = [
    (["--runs", "r2l"], "give either --corpus FOLDER"),
    (["--corpus", "x", "--treebank", "y"], "give either --corpus FOLDER"),
    (["--corpus", "x"], "needs --names"),
    (["--corpus", str(ROOT / "assets"), "--names", "sample", "--runs", "r3l"], "no run 'r3l'"),
    (["--corpus", str(ROOT / "assets"), "--names", "sample", "--scale", "0"], "is 0.0; it must be above 0"),
    (["--corpus", str(ROOT / "assets"), "--names", "sample", "--minutes", "0"], "must be above 0"),
    (["--corpus", str(ROOT / "assets"), "--names", "sample", "--test"], "--test needs --treebank"),
    (["--corpus", "missing", "--names", "sample"], "no file"),
    (["--corpus", str(ROOT / "assets"), "--names", "sample", "--runs", "profile"], "do that one first"),
    (["--corpus", str(ROOT / "assets"), "--names", "sample", "--runs", "r2l", "--set", "x=1"], "no setting"),
]


@pytest.mark.parametrize(("extra", "message"), BAD, ids=lambda value: str(value)[-40:])
def test_bad_input_gets_one_line(extra, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *extra]) == 1
    error = capsys.readouterr().err
    assert error.startswith("training: error: ") and message in error and error.count("\n") == 1


def test_damaged_result(tmp_path):
    (tmp_path / RESULT).write_text("{")
    with pytest.raises(ConfigError, match="delete it"):
        read_result(tmp_path / RESULT)
    assert read_result(tmp_path / "missing.json") is None


def test_evenly_spaced_fractions():
    sentences = tuple(range(100))
    assert every(sentences, 1) == sentences  # type: ignore[arg-type]
    for scale in (0.01, 0.1, 0.3, 0.55):
        select_runs = every(sentences, scale)  # type: ignore[arg-type]
        assert len(select_runs) == pytest.approx(100 * scale, abs=1) and select_runs[0] == 0
    with pytest.raises(ConfigError, match="is 2; it must be above 0"):
        every((), 2)
    assert Sources((), ()).describe()["sentences"] == {"train": {}, "dev": {}, "test": {}}


def test_statistics_of_a_small_ensemble():
    """Tree 0: a ? (b ? 0 : 0.5) : -0.25; tree 1: a lone leaf of 0.5."""
    columns = {"atom": [3, 5, -1, -1, -1, -1], "yes": [1, 3, -1, -1, -1, -1], "no": [2, 4, -1, -1, -1, -1]}
    ensemble = LabelEnsemble(
        np.array([0, 5], np.int32),
        *(np.array(column, np.int32) for column in columns.values()),
        np.array([0, 0, -0.25, 0, 0.5, 0.5]),
    )
    splits, negated = count_splits_above(ensemble)
    assert splits.tolist() == [0, 1, 1, 2, 2, 0] and negated.tolist() == [0, 0, 1, 0, 1, 0]
    found = ensemble_statistics(ensemble)
    assert (found["trees"], found["leaves"], found["nonzero_leaves"]) == (2, 4, 3)
    assert found["splits"] == {"mean": 1.0, "sd": 1.0}
    assert found["splits_above"]["mean"] == pytest.approx(1)
    assert found["negated"] == pytest.approx(2 / 3) and found["all_negated"] == pytest.approx(2 / 3)
    assert found["confidence"]["mean"] == pytest.approx(1.25 / 3)
    empty = ensemble_statistics(LabelEnsemble(*(np.zeros(0, column.dtype) for column in ensemble)))
    assert empty["splits"] is None and empty["negated"] is None and empty["trees"] == 0
    margins = margin_statistics(np.array([1 << 16, -(1 << 16), 2 << 16], np.int32), np.array([True, False, False]))
    assert margins["correct"]["mean"] > 0 > margins["incorrect"]["mean"] and margins["wrong_sign"] == 1 / 3


def test_small_helpers():
    rows = [{"seconds": s} for s in (1, 5, 9, 2, 4)]
    assert seconds_used(rows) == 13 and seconds_used([]) == 0
    assert markdown(("a", "b"), [(1, 2)]) == "| a | b |\n|---|---:|\n| 1 | 2 |"
    held = {"rows": [{"f1": 0.5, "lambda": 1.0, "partial": False}]}
    assert at_lambda(held, 1.05) == "50.00" and at_lambda(held, 3) == at_lambda(held, None) == "–"


def test_profile_ends_when_nothing_can_be_grown(done):
    from training.dtparse.boosting.store import open_store
    from training.dtparse.recipe import LearnerConfig

    path = (done / "r2l" / "stores" / "window").resolve()
    learner = LabelLearner(open_store(str(path)), open_label_data(path), 0, "x", LearnerConfig(sample_size=500))
    found = profile_trees(learner, 1e30, 3)
    assert found["ms"] is None and found["trees"] == 0
