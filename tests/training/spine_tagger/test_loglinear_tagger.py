"""The trainer of taggers: files, estimators on the sample trees, resuming, the command."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from spacy_dtparse.core import load_tagger
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.spine_tagger.model import write_model
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees.heads import COLLINS, tree_guide
from tests.tagger_models import SENTENCES, random_tagger
from training.cli import main
from training.data.corpus import read_treebank
from training.spine_tagger import learners
from training.spine_tagger.corpus import LabelledSentence, format_labelled, read_label_file
from training.spine_tagger.fitting import evaluate_tagger, fit_scale, fit_tagger
from training.spine_tagger.options import ESTIMATORS, SequenceOptions

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
QUICK = SequenceOptions(epochs=4, iterations=15, cutoff=10)


@cache
def sample(part: str, limit: int = 400) -> tuple[LabelledSentence, ...]:
    """The sample trees, each word labelled with what it heads and where that meets its head: "NP<VP"."""
    trees = [sentence.tree for sentence in read_treebank(SAMPLE / f"{part}.mrg")][:limit]
    return tuple(LabelledSentence(tree.words, tree.tags, tree_guide(tree, COLLINS)[1]) for tree in trees)


# ---- files ----


def test_files_are_read_back(tmp_path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(format_labelled(SENTENCES), encoding="utf8")
    assert read_label_file(path) == SENTENCES
    path.write_text("\n\n" + path.read_text().replace("\n", "\r\n").rstrip(), encoding="utf8")
    assert read_label_file(path) == SENTENCES, "other line ends, no blank line at the end"
    untagged = [sentence._replace(tags=()) for sentence in SENTENCES]
    path.write_text(format_labelled(untagged), encoding="utf8")
    assert read_label_file(path) == untagged


@pytest.mark.parametrize(
    ("text", "place"),
    [("a\tDT\n", ""), ("a\tDT\tNP\nb\tNN\n", ":2"), ("a\n", ":1"), ("a\t\tNP\n", ":1"), ("a\tb\tc\td\n", ":1")],
)
def test_lines_of_another_form_are_refused(tmp_path, text: str, place: str) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    if not place:
        assert read_label_file(path) == [LabelledSentence(("a",), (), ("DT",))]
        return
    with pytest.raises(TrainingDataError, match=f"labels.tsv{place}: .* is not of the form word<TAB>tag<TAB>label"):
        read_label_file(path)


def test_unreadable_files_are_reported(tmp_path) -> None:
    path = tmp_path / "labels.tsv"
    with pytest.raises(TrainingDataError, match="cannot read the labels"):
        read_label_file(path)
    path.write_bytes(b"\xff\xfe\t\xff")
    with pytest.raises(TrainingDataError, match="give a UTF-8 file"):
        read_label_file(path)


# ---- training ----


def baseline(train: tuple[LabelledSentence, ...], test: tuple[LabelledSentence, ...]) -> float:
    """Accuracy of each tag's most frequent label."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for _, tags, labels in train:
        for tag, label in zip(tags, labels, strict=True):
            counts[tag][label] += 1
    pairs = [pair for _, tags, labels in test for pair in zip(tags, labels, strict=True)]
    right = sum(tag in counts and counts[tag].most_common(1)[0][0] == label for tag, label in pairs)
    return right / len(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_beats_the_baseline(tmp_path, estimator: str) -> None:
    train, dev = sample("train"), sample("dev")
    options = replace(QUICK, estimator=estimator, epochs=6, iterations=30)
    logged: list[dict] = []
    model = fit_tagger(train, dev, options, tmp_path, {}, 2, lambda **facts: logged.append(facts))
    scores = evaluate_tagger(SequenceTagger(model), dev)
    assert scores["accuracy"] > baseline(train, dev) + 0.05
    by_beta = [scores["betas"][beta] for beta in ("0.075", "0.01", "0.001")]
    assert scores["accuracy"] < by_beta[0]["accuracy"] < by_beta[2]["accuracy"] <= 1
    assert 1 < by_beta[0]["labels"] < by_beta[1]["labels"] < by_beta[2]["labels"]
    assert (model.scale == 1.0) == (estimator in ("gis", "lbfgs"))
    gains = [facts["objective"] for facts in logged if "objective" in facts]
    assert gains == sorted(gains), "GIS and L-BFGS never lose"
    errors = [facts["wrong"] for facts in logged if "wrong" in facts]
    assert not errors or errors[-1] < errors[0]


@pytest.mark.parametrize(("estimator", "after"), [("perceptron", 2), ("mira", 1), ("gis", 11), ("lbfgs", 11)])
def test_a_killed_run_ends_with_the_same_bytes(tmp_path, estimator: str, after: int) -> None:
    train = sample("train", 40)
    options = replace(QUICK, estimator=estimator, iterations=14, tolerance=1e-12)
    whole = write_model(fit_tagger(train, (), options, tmp_path / "whole", {}))

    def stop(**facts) -> None:
        if facts.get("epoch", facts.get("iteration")) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_tagger(train, (), options, tmp_path / "part", {}, 1, stop)
    logged: list[dict] = []
    again = fit_tagger(train, (), options, tmp_path / "part", {}, 2, lambda **facts: logged.append(facts))
    assert write_model(again) == whole
    assert min(facts.get("epoch", facts.get("iteration", 99)) for facts in logged) > 1, "not from the start"
    with pytest.raises(TrainingDataError, match=r"holds a run with other options\.cutoff"):
        fit_tagger(train, (), replace(options, cutoff=5), tmp_path / "part", {})
    with pytest.raises(TrainingDataError, match="holds a run with other sentences"):
        fit_tagger(train[:30], (), options, tmp_path / "part", {})


def test_options_that_change_a_model(tmp_path) -> None:
    train = sample("train", 60)

    def size(name: str, **changes) -> int:
        return len(fit_tagger(train, (), replace(QUICK, epochs=2, **changes), tmp_path / name, {}).weights.weights)

    usual = size("usual")
    assert size("least", min_count=3) < usual and size("few", max_weights=500) == 500
    assert size("coarse", levels=3) < usual and size("fixed", grow=0) < usual
    other = fit_tagger(train, (), replace(QUICK, seed=1), tmp_path / "seed", {})
    assert other.fingerprint() != fit_tagger(train, (), QUICK, tmp_path / "again", {}).fingerprint()
    gold = fit_tagger(train, (), replace(QUICK, history="gold"), tmp_path / "gold", {})
    assert gold.fingerprint() != fit_tagger(train, (), QUICK, tmp_path / "greedy", {}).fingerprint()


def test_the_scale_makes_the_labels_likely(tmp_path) -> None:
    train, dev = sample("train", 100), sample("dev", 30)
    model = fit_tagger(train, dev, QUICK, tmp_path, {})

    def loss(scale: float) -> float:
        total = 0.0
        tagger = SequenceTagger(replace(model, scale=scale))
        for words, tags, labels in dev:
            for offer, label in zip(tagger.multitag(words, tags, 0.0), labels, strict=True):
                total -= math.log(max(dict(offer).get(label, 1.0), 1e-30))
        return total

    assert model.scale == fit_scale(model.parts, model.weights, dev)
    assert loss(model.scale) < min(loss(model.scale * 1.3), loss(model.scale / 1.3))


def test_unusable_training_data_is_reported(tmp_path) -> None:
    with pytest.raises(TrainingDataError, match="no training sentences"):
        fit_tagger([], [], QUICK, tmp_path / "none", {})
    with pytest.raises(TrainingDataError, match="5 sentences are too few to hold out a tenth of them for the scale"):
        fit_tagger(SENTENCES, [], QUICK, tmp_path / "few", {})
    assert fit_tagger(SENTENCES, [], replace(QUICK, estimator="gis"), tmp_path / "gis", {}).scale == 1.0
    assert fit_tagger(sample("train", 10), [], QUICK, tmp_path / "ten", {}).scale != 1.0
    mixed = [SENTENCES[0], SENTENCES[1]._replace(tags=())]
    with pytest.raises(TrainingDataError, match="some sentences have tags and some have none"):
        fit_tagger(mixed, SENTENCES, QUICK, tmp_path / "mixed", {})
    many = [LabelledSentence(tuple("ab" * 3000), (), tuple(map(str, range(6000))))]
    with pytest.raises(TrainingDataError, match="6000 labels; a tagger can have at most 4094"):
        fit_tagger(many, SENTENCES, QUICK, tmp_path / "many", {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "sgd"}, "estimator is 'sgd'; it must be 'perceptron' or 'mira' or 'gis' or 'lbfgs'"),
        ({"history": "both"}, "history is 'both'"),
        ({"epochs": 0}, "epochs is 0; it must be a whole number from 1"),
        ({"sigma": 0.0}, "sigma is 0.0; it must be a number above 0"),
        ({"levels": 40_000}, "levels is 40000; it must be a whole number from 1 to 32767"),
    ],
)
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SequenceOptions(**change)


def test_labels_unknown_in_training_count_as_wrong() -> None:
    tagger = SequenceTagger(random_tagger())
    odd = [SENTENCES[3]._replace(labels=("never seen",))]
    scores = evaluate_tagger(tagger, odd, [0.5])
    assert scores["accuracy"] == scores["betas"]["0.5"]["accuracy"] == 0 and scores["words"] == 1


# ---- command ----


def write(path: Path, sentences: tuple[LabelledSentence, ...]) -> Path:
    path.write_text(format_labelled(sentences), encoding="utf8")
    return path


def test_the_command_trains_and_prints_scores(tmp_path, capsys) -> None:
    train, dev = (str(write(tmp_path / part, sample(part, 40))) for part in ("train", "dev"))
    out = tmp_path / "tagger.model"
    command = ["train-spine-tagger", "--train", train, "--dev", dev, "--out", str(out), "--set", "epochs=2"]
    assert main([*command, "--betas", "0.1", "0.01", "--name", "tiny"]) == 0
    printed = capsys.readouterr().out
    assert (
        "accuracy" in printed
        and "beta 0.1: candidates include the right label" in printed
        and "beta 0.001" not in printed
    )
    tagger = load_tagger(out)
    assert tagger.meta["name"] == "tiny" and tagger.meta["options"]["epochs"] == 2
    assert tagger.meta["dev"]["words"] == sum(len(s.words) for s in sample("dev", 40))
    wanted = evaluate_tagger(tagger, sample("dev", 40), [0.1, 0.01])
    assert tagger.meta["dev"] == wanted


def test_the_command_labels_its_own_training_sentences(tmp_path, capsys) -> None:
    sentences = sample("train", 45)
    train, out = write(tmp_path / "train", sentences), tmp_path / "labelled"
    command = ["train-spine-tagger", "--train", str(train), "--out", str(out), "--set", "epochs=2", "--jackknife", "4"]
    assert main([*command, "--workdir", str(tmp_path / "work"), "--workers", "2"]) == 0
    found = read_label_file(out)
    assert [s[:2] for s in found] == [s[:2] for s in sentences] and found != list(sentences)
    right = sum(a == b for s, t in zip(found, sentences, strict=True) for a, b in zip(s.labels, t.labels, strict=True))
    n = sum(len(s.words) for s in sentences)
    assert f"{n} words, accuracy" in capsys.readouterr().out and (right, n) == (387, 626)
    held, rest = sentences[10:20], (*sentences[:10], *sentences[20:])
    options = SequenceOptions(epochs=2)
    tagger = SequenceTagger(fit_tagger(rest, (), options, tmp_path / "own", {}))
    assert [s.labels for s in found[10:20]] == [tuple(tagger.tag(s.words, s.tags)) for s in held]
    first = out.read_bytes()
    assert main([*command, "--workdir", str(tmp_path / "work"), "--workers", "1"]) == 0 and out.read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no training data; give --train FILE"),
        (["--train", "{}", "--estimator", "svm"], "estimator is 'svm'; it must be 'perceptron' or"),
        (["--train", "{}", "--set", "epoch=3"], "epoch=3: there is no setting 'epoch'"),
        (["--train", "{}", "--betas", "2"], "give numbers from 0 to 1"),
        (["--train", "{}", "--jackknife", "1"], "give 2 folds or more"),
        (["--train", "{}", "--jackknife", "9"], "too few for 9 folds"),
        (["--train", "nowhere.tsv"], "nowhere.tsv: cannot read the labels"),
    ],
)
def test_bad_arguments_of_the_command(tmp_path, capsys, arguments: list[str], message: str) -> None:
    train = write(tmp_path / "train", sample("train", 20))
    given = [argument.format(train) for argument in arguments]
    assert main(["train-spine-tagger", *given, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_passes_note_at_most_the_allowed_number_of_new_pairs(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(learners, "_MAX_MISSING", 10)
    logged: list[dict] = []
    fit_tagger(sample("train", 40), (), QUICK, tmp_path, {}, 1, lambda **facts: logged.append(facts))
    pairs = [facts["pairs"] for facts in logged if "pairs" in facts]
    assert 0 < pairs[1] - pairs[0] <= 10
