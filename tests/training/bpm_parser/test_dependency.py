"""Training of dependency parsers: means of learners, runs that go on where they stopped, folds, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import training.bpm_parser.fitting
import training.bpm_parser.learning
from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.bpm_parser.model import pack_links, write_model
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core import load_dependency_parser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.linear.kernels.feature_table import make_families
from spacy_dtparse.scoring.attachment import AttachmentReport
from tests.reference.dependencies import is_projective
from tests.training.bpm_parser.samples import CONLLU, FEW, SAMPLE, examples_of, sentences
from training.bpm_parser.fitting import attachment_scores, train_dependency_model, tree_heads
from training.bpm_parser.learning import feature_keys, learn, members_weights, open_listing, train_member, write_listing
from training.bpm_parser.options import DependencyOptions
from training.bpm_parser.running import read_treebank_file
from training.cli import main
from training.data.corpus import short_block_folds
from training.runs.processes import worker_pool

BOUNDS = {"projective": (0.96, 0.95), "spanning": (0.98, 0.96)}
"""UAS and LAS of what CONLLU teaches, on CONLLU; two of its links are in no projective tree."""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decoder": "x"}, "decoder is 'x'; it must be 'projective' or 'spanning'"),
        ({"method": "x"}, "method is 'x'; it must be 'perceptron' or 'mira'"),
        ({"stages": 5}, "stages is 5; it must be a whole number from 1 to 4"),
        ({"stages": 0}, "stages is 0; it must be a whole number from 1"),
        ({"folds": 1}, "folds is 1; it must be a whole number from 2"),
        ({"members": 1.0}, "members is 1.0; it must be a whole number from 1"),
        ({"epochs": True}, "epochs is True"),
        ({"label_members": -1}, "label_members is -1; it must be a whole number from 0"),
        ({"step": 0}, "step is 0; it must be a number above 0"),
        ({"step": float("nan")}, "step is nan"),
    ],
)
def test_options_are_checked(given: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DependencyOptions(**given)


@pytest.mark.parametrize("method", ["perceptron", "mira"])
def test_a_stage_is_the_mean_of_its_members(method: str, tmp_path: Path) -> None:
    options = replace(FEW, stages=1, members=3, method=method)
    logged: list[dict] = []
    model = train_dependency_model(
        sentences(), sentences()[:4], options, tmp_path, {}, None, lambda **facts: logged.append(facts)
    )
    examples = examples_of(sentences())
    keys = feature_keys(examples)
    members = list(members_weights(tmp_path / "stage0", [(0, member) for member in range(3)]))
    listed = open_listing(tmp_path / "stage0")
    for member, weights in enumerate(members):
        single, wrong = learn(listed, len(keys), options, (0, member), np.arange(len(examples)))
        assert np.array_equal(single, weights.astype(np.float32)) and weights.any()
        (fact,) = [fact for fact in logged if fact.get("member") == member + 1]
        assert fact["wrong_links"] == wrong
    assert not np.array_equal(members[0], members[1]), "each has shuffles of its own"
    stage = pack_links(keys, sum(members) / 3)
    assert np.array_equal(stage.keys, model.stages[0].keys) and np.array_equal(stage.weights, model.stages[0].weights)
    table = make_families(keys)
    mean = table.weights(sum(members) / 3)
    right = sum(int((tree_heads(e, table.rows, mean, True) == e.heads)[1:].sum()) for e in examples_of(sentences())[:4])
    (last,) = [fact for fact in logged if fact.get("member") == 3]
    assert last["mean_uas"] == pytest.approx(100 * right / sum(len(s.heads) for s in sentences()[:4]))


def test_the_number_of_stages_is_the_best_on_dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, dev = sentences(), sentences()[:6]
    whole = DependencyParser(train_dependency_model(train, [], FEW, tmp_path / "whole", {}))
    rates = [attachment_scores(whole.with_settings(stages=k), dev).to_dict()["all"]["uas"] for k in (1, 2)]
    model = train_dependency_model(train, dev, FEW, tmp_path / "dev", {})
    assert len(model.stages) == 1 + (rates[1] > rates[0])
    assert model.meta["dev"]["all"]["uas"] == max(rates)
    for better in (1, 2):
        report = attachment_scores(whole, dev)
        evaluated_stages = []

        def fake_scores(parser, given, report=report, better=better, evaluated_stages=evaluated_stages):
            number = 2 if parser.settings.stages == 2 else 1
            evaluated_stages.append(number)
            return attachment_scores(whole, given) if number == better else AttachmentReport()

        monkeypatch.setattr(training.bpm_parser.fitting, "attachment_scores", fake_scores)
        found = train_dependency_model(train, dev, FEW, tmp_path / "dev", {})
        assert evaluated_stages == [1, 2] and len(found.stages) == better
        assert all(np.array_equal(a.keys, b.keys) for a, b in zip(found.stages, whole.model.stages, strict=False))
        assert found.meta["dev"] == report.to_dict()


class Killed(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("at", [2, 4, 5, 6])
def test_a_killed_run_resumes_to_the_same_bytes(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = sentences()
    whole = write_model(train_dependency_model(train, [], FEW, tmp_path / "whole", {"lang": "en"}))
    seen: list[dict] = []

    def killed(**facts) -> None:
        seen.append(facts)
        if len(seen) > at:
            raise Killed

    with pytest.raises(Killed):
        train_dependency_model(train, [], FEW, tmp_path / "cut", {"lang": "en"}, None, killed)
    done = {path: path.read_bytes() for path in (tmp_path / "cut").glob("*/member-*.npz")}
    every = [path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").glob("*/member-*.npz")]
    assert 0 < len(done) < len(every) == 2 + 2 + 2
    learned = []

    def counted(*given):
        learned.append(given[3])
        return learn(*given)

    monkeypatch.setattr(training.bpm_parser.learning, "learn", counted)
    again = write_model(train_dependency_model(train, [], FEW, tmp_path / "cut", {"lang": "en"}))
    assert again == whole and len(learned) == len(every) - len(done), "what was finished is not learned again"
    assert all(path.read_bytes() == data for path, data in done.items())


def test_processes_learn_the_same(tmp_path: Path) -> None:
    options = replace(FEW, stages=1)
    single = train_dependency_model(sentences(), [], options, tmp_path / "one", {})
    with worker_pool(2) as pool:
        together = train_dependency_model(sentences(), [], options, tmp_path / "two", {}, pool)
    assert write_model(single) == write_model(together)


def test_a_workdir_of_another_run_is_refused(tmp_path: Path) -> None:
    train, options = sentences(), replace(FEW, stages=1, members=1, epochs=1, label_members=0)
    train_dependency_model(train, [], options, tmp_path, {})
    train_dependency_model(train, train[:2], options, tmp_path, {})  # other development data change nothing
    with pytest.raises(TrainingDataError, match=r"run with other options\.epochs \(was 1, now 2\); .*--workdir"):
        train_dependency_model(train, [], replace(options, epochs=2), tmp_path, {})
    with pytest.raises(TrainingDataError, match=r"options\.rules\.stem \(was 'prefix', now 'first'\)"):
        train_dependency_model(train, [], replace(options, rules=TextRules(stem="first")), tmp_path, {})
    with pytest.raises(TrainingDataError, match="a run with other sentences;"):
        train_dependency_model(train[::-1], [], options, tmp_path, {})
    relabelled = [replace(train[0], labels=("x",) * len(train[0].labels)), *train[1:]]
    with pytest.raises(TrainingDataError, match="a run with other sentences;"):
        train_dependency_model(relabelled, [], options, tmp_path, {})


def test_a_workdir_of_a_run_with_other_long_sentences_is_refused(tmp_path: Path) -> None:
    """Their words have numbers, too, on which all features hang."""
    train, options = sentences(), replace(FEW, stages=1, members=1, epochs=1, label_members=0, max_words=9)
    assert len(train[3].heads) > 9
    train_dependency_model([train[3], *train], [], options, tmp_path, {})
    with pytest.raises(TrainingDataError, match="a run with other sentences;"):
        train_dependency_model([train[5], *train], [], options, tmp_path, {})


def test_a_damaged_learner_is_made_again(tmp_path: Path, caplog) -> None:
    options = replace(FEW, stages=1, members=1, epochs=1, label_members=0)
    train_dependency_model(sentences(), [], options, tmp_path, {})
    path = tmp_path / "stage0" / "member-0-0.npz"
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    train_dependency_model(sentences(), [], options, tmp_path, {})
    assert "member-0-0.npz is damaged" in caplog.text and path.read_bytes() == data


def test_folds_are_blocks_of_ten_sentences() -> None:
    assert short_block_folds(34, 3).tolist() == [0] * 10 + [1] * 10 + [2] * 10 + [0] * 4
    assert short_block_folds(0, 2).tolist() == []


def test_folds_never_learn_from_sentences_that_they_guide(tmp_path: Path) -> None:
    """Whatever the trees of a fold are, the learner of its guides has the same weights."""
    examples = examples_of(sentences())
    rng, folds = np.random.default_rng(0), short_block_folds(len(examples), 2)
    assert set(folds.tolist()) == {0, 1}
    keys = feature_keys(examples)
    write_listing(examples, keys, tmp_path / "true")
    for fold in (0, 1):
        folder = tmp_path / f"false{fold}"
        false = []
        for example, own in zip(examples, folds, strict=True):
            n = len(example.heads) - 1
            order = rng.permutation(n) + 1
            heads = np.full(n + 1, -1, np.int32)
            heads[order] = [0, *order[:-1]]
            false.append(replace(example, heads=heads) if own == fold else example)
        write_listing(false, keys, folder)
        for left_out in (fold, 1 - fold, -1):
            key = (9, fold, left_out + 1)
            weights = []
            for place in (tmp_path / "true", folder):
                train_member(place, len(keys), FEW, left_out, key)
                weights += members_weights(place, [key])
            assert weights[0].any() and np.array_equal(*weights) == (left_out == fold)


def test_guides_come_from_learners_of_the_other_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen_by = {}

    def noted(listed, n_features, options, key, chosen):
        chosen_by[key] = set(chosen.tolist())
        return learn(listed, n_features, options, key, chosen)

    written_guides = []

    def listed_guides(examples, keys, folder):
        written_guides.append([example.guide for example in examples])
        return write_listing(examples, keys, folder)

    monkeypatch.setattr(training.bpm_parser.learning, "learn", noted)
    monkeypatch.setattr(training.bpm_parser.fitting, "write_listing", listed_guides)
    train = sentences()
    train_dependency_model(train, [], replace(FEW, guide_members=2), tmp_path, {})
    everything, folds = set(range(len(train))), short_block_folds(len(train), 2)
    guiding = {key: chosen for key, chosen in chosen_by.items() if len(key) == 4}
    assert len(guiding) == 4 and len(chosen_by) == 4 + 4
    for (_, _, fold, _), chosen in guiding.items():
        assert chosen == everything - set(np.flatnonzero(folds == fold).tolist())
    assert all(chosen == everything for key, chosen in chosen_by.items() if len(key) == 2)
    examples = examples_of(train)
    keys = feature_keys(examples)
    table = make_families(keys)
    assert written_guides[0] == [None] * len(train)
    for number, (example, guide) in enumerate(zip(examples, written_guides[1], strict=True)):
        own = [key for key in guiding if key[2] == folds[number]]
        mean = sum(members_weights(tmp_path / "stage0", own)) / 2
        assert np.array_equal(tree_heads(example, table.rows, table.weights(mean), True), guide)


def test_there_must_be_something_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(TrainingDataError, match=r"no training sentence has at most 100 tokens \(max_words\)"):
        train_dependency_model([], [], FEW, tmp_path, {})
    with pytest.raises(TrainingDataError, match="has at most 2 tokens"):
        train_dependency_model(
            [s for s in sentences() if len(s.heads) > 2], [], replace(FEW, max_words=2), tmp_path, {}
        )


def test_maximum_numbers_of_features(tmp_path: Path) -> None:
    model = train_dependency_model(sentences(), [], replace(FEW, max_features=200, max_label_weights=150), tmp_path, {})
    assert all(200 <= len(stage.keys) <= 400 for stage in model.stages), "with those that features with distance need"
    full = train_dependency_model(sentences(), [], FEW, tmp_path / "full", {})
    assert all(len(stage.keys) > 400 for stage in full.stages)
    assert len(model.labels.weights) < len(full.labels.weights)


@pytest.mark.parametrize("decoder", ["projective", "spanning"])
def test_the_command_learns_the_sample_of_dependencies(
    decoder: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    command = ["train-bpm", "--train", str(CONLLU), "--dev", str(CONLLU), "--decoder", decoder, "--source", "pos+tag"]
    command += ["--stem", "lemma", "--workers", "1", "--license", "CC0 1.0", "--name", "small", "--credit", "us"]
    command += ["--set", "members=3", "epochs=5", "folds=2", "guide_members=1", "label_epochs=8", "seed=1"]
    assert main([*command, "--out", str(tmp_path / "a.model"), "--workdir", str(tmp_path / "work")]) == 0
    printed = capsys.readouterr().out
    assert "a.model: 0." in printed and "result UAS" in printed and "guides UAS" in printed
    parser = load_dependency_parser(tmp_path / "a.model")
    report = attachment_scores(parser, sentences()).to_dict()
    assert report == parser.meta["dev"]
    assert report["all"]["uas"] >= BOUNDS[decoder][0] and report["all"]["las"] >= BOUNDS[decoder][1], report
    assert (parser.source, parser.needs_lemmas, parser.describe()["decoder"]) == ("pos+tag", True, decoder)
    meta = parser.meta
    assert (meta["name"], meta["lang"], meta["license"], meta["credits"]) == ("small", "en", "CC0 1.0", ["us"])
    assert meta["sentences"] == 16 and meta["tokens"] == sum(len(s.heads) for s in sentences())
    assert meta["options"]["members"] == 3 and meta["options"]["rules"]["stem"] == "lemma"
    crossing = [s for s in sentences() if not is_projective((-1, *s.heads))]
    found = [tuple(head + 1 for head in parser.parse(s.columns).heads) for s in crossing]
    assert any(not is_projective((-1, *heads)) for heads in found) == (decoder == "spanning")
    facts = [json.loads(line) for line in (tmp_path / "work" / "log.jsonl").read_text().splitlines()]
    assert sum("member" in fact for fact in facts) == 6 and facts[-1]["result"].startswith("UAS")
    assert main([*command, "--out", str(tmp_path / "b.model")]) == 0
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


@pytest.mark.parametrize("decoder", [pytest.param("projective", marks=pytest.mark.slow), "spanning"])
def test_the_command_learns_the_sample_treebank(decoder: str, tmp_path: Path) -> None:
    train = f"{SAMPLE / 'train.mrg'},limit=120"
    command = [
        "train-bpm",
        "--train",
        train,
        "--decoder",
        decoder,
        "--workers",
        "2",
        "--out",
        str(tmp_path / "a.model"),
    ]
    command += ["--set", "members=2", "epochs=3", "folds=2", "guide_members=1", "label_members=1"]
    assert main(command) == 0
    parser = load_dependency_parser(tmp_path / "a.model")
    report = attachment_scores(parser, read_treebank_file(train, "en")).to_dict()
    wrong, right = {"projective": (9, 587), "spanning": (13, 581)}[decoder]
    assert report["all"]["tokens"] == 1469 and report["all"]["uas"] == pytest.approx(1 - wrong / 1469), report
    dev = attachment_scores(parser, read_treebank_file(f"{SAMPLE / 'dev.mrg'}", "en")).to_dict()
    assert dev["all"]["uas"] == pytest.approx(right / 783), dev


def test_the_command_reports_unusable_options(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = ["--out", str(tmp_path / "a.model")]
    for given, message in (
        ([], "no training data; give --train FILE"),
        (["--train", str(CONLLU), "--decoder", "x"], "decoder is 'x'; it must be 'projective' or 'spanning'"),
        (["--train", str(CONLLU), "--source", "x"], "source is 'x'; it must be one of tag, pos, pos+tag"),
        (["--train", str(CONLLU), "--set", "depth=3"], "there is no setting 'depth'"),
        (["--train", str(CONLLU), "--set", "decoder=spanning"], "there is no setting 'decoder'"),
        (["--train", str(CONLLU), "--set", "members=x"], "'x' is no int"),
        (["--train", str(tmp_path / "none.conllu")], "none.conllu: No such file"),
        (["--train", str(tmp_path / "none.mrg")], "there is no file"),
    ):
        assert main(["train-bpm", *given, *out]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "a.model").exists()
