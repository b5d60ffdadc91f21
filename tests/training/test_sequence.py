"""The trainer of taggers: kernels against the slow way, gradients, estimators on the sample trees, resuming."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.model.tagger import write_model
from spacy_dtparse.parsers import load_tagger
from spacy_dtparse.parsers.tagging import SequenceTagger
from spacy_dtparse.trees.heads import COLLINS, tree_guide
from tests.reference import tagging as slow
from tests.tagger_models import SENTENCES, allowed_labels, random_tagger, small_parts
from tests.unit.kernels.harness import KERNEL_MARKS, SLOW
from training.cli import main
from training.corpus import read_treebank
from training.sequence import online
from training.sequence.corpus import LabelledSentence, make_data, read_labelled, write_labelled
from training.sequence.fitting import fit_scale, fit_tagger, judge
from training.sequence.kernels import expectations, online_pass
from training.sequence.lbfgs import Lbfgs
from training.sequence.listing import list_features, with_pairs
from training.sequence.loglinear import Likelihood, gis_step
from training.sequence.options import ESTIMATORS, SequenceOptions

pytestmark = KERNEL_MARKS
SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample"
QUICK = SequenceOptions(epochs=4, iterations=15, cutoff=10)


@cache
def sample(part: str, limit: int = 25 if SLOW else 400) -> tuple[LabelledSentence, ...]:
    """The sample trees, each word labelled with what it heads and where that meets its head: "NP<VP"."""
    trees = [sentence.tree for sentence in read_treebank(SAMPLE / f"{part}.mrg")][:limit]
    return tuple(LabelledSentence(tree.words, tree.tags, tree_guide(tree, COLLINS)[1]) for tree in trees)


# ---- files ----


def test_files_come_back(tmp_path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(write_labelled(SENTENCES), encoding="utf8")
    assert read_labelled(path) == SENTENCES
    path.write_text("\n\n" + path.read_text().replace("\n", "\r\n").rstrip(), encoding="utf8")
    assert read_labelled(path) == SENTENCES, "other line ends, no blank line at the end"
    bare = [sentence._replace(tags=()) for sentence in SENTENCES]
    path.write_text(write_labelled(bare), encoding="utf8")
    assert read_labelled(path) == bare


@pytest.mark.parametrize(
    ("text", "place"),
    [("a\tDT\n", ""), ("a\tDT\tNP\nb\tNN\n", ":2"), ("a\n", ":1"), ("a\t\tNP\n", ":1"), ("a\tb\tc\td\n", ":1")],
)
def test_lines_of_another_form_are_refused(tmp_path, text: str, place: str) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    if not place:
        assert read_labelled(path) == [LabelledSentence(("a",), (), ("DT",))]
        return
    with pytest.raises(TrainingDataError, match=f"labels.tsv{place}: .* has not the form word<TAB>tag<TAB>label"):
        read_labelled(path)


def test_files_that_cannot_be_read_are_said(tmp_path) -> None:
    path = tmp_path / "labels.tsv"
    with pytest.raises(TrainingDataError, match="cannot read the labels"):
        read_labelled(path)
    path.write_bytes(b"\xff\xfe\t\xff")
    with pytest.raises(TrainingDataError, match="give a UTF-8 file"):
        read_labelled(path)


# ---- kernels ----


def test_pairs_are_counted() -> None:
    parts = small_parts()
    data = make_data(SENTENCES, parts)
    wanted: Counter[tuple[int, int]] = Counter()
    most = 0
    for words, tags, labels in SENTENCES:
        atoms, gold = parts.encode(words, tags).tolist(), parts.labels.encode(labels).tolist()
        for place, label in enumerate(gold):
            last, second = ([1, 1, *(k + 2 for k in gold)][place + 1 - k] for k in (0, 1))
            keys = slow.token_features(atoms, place + 2) + slow.history_features(atoms, place + 2, last, second)
            wanted.update((key, label) for key in keys)
            most = max(most, len(keys))
    for least in (1, 3):
        counts: Counter[int] = Counter()
        for (key, _), times in wanted.items():
            counts[key] += times
        listing = list_features(data, parts, least)
        assert listing.keys.tolist() == sorted(key for key in counts if counts[key] >= least)
        n = len(parts.labels)
        found = {
            (int(listing.keys[code // n]), code % n): times
            for code, times in zip(listing.codes.tolist(), listing.seen.tolist(), strict=True)
        }
        assert found == {pair: times for pair, times in wanted.items() if counts[pair[0]] >= least}
        if least == 1:
            assert listing.most == most


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.05])
def test_a_pass_of_an_online_learner(greedy: bool, step: float) -> None:
    parts = small_parts(cutoff=99)
    data = make_data(SENTENCES, parts)
    listing = list_features(data, parts, 1)
    n = len(parts.labels)
    values = np.random.default_rng(3).integers(-2, 3, len(listing.codes)) / 8.0
    weights: slow.Weights = defaultdict(dict)
    for code, value in zip(listing.codes.tolist(), values.tolist(), strict=True):
        weights[int(listing.keys[code // n])][code % n] = value
    weights = dict(weights)
    order = np.array([2, 0, 4, 1, 3])
    atoms = [parts.encode(s.words, s.tags) for s in SENTENCES]
    examples = [(atoms[k].tolist(), parts.labels.encode(SENTENCES[k].labels).tolist()) for k in order]
    allowed = [allowed_labels(parts, atoms[k]) for k in order]
    wrong, sums, missing = slow.online_epoch(examples, allowed, weights, greedy, step)
    assert wrong > 3 and missing
    found, own_sums, room = values.copy(), np.zeros(len(values)), np.zeros(5000, np.uint64)
    tables = listing.tables(parts, listing.codes, found)
    own_wrong, clock, n_missing = online_pass(order, *data, tables, n, own_sums, 1.0, greedy, step, room)
    tokens = sum(len(s.words) for s in SENTENCES)
    assert (own_wrong, clock) == (wrong, 1.0 + tokens)
    flat = [(int(listing.keys[code // n]), code % n) for code in listing.codes.tolist()]
    assert found == pytest.approx([weights[key][label] for key, label in flat])
    mean = found - own_sums / clock
    wanted = [(sums[key][label] + start) / clock for (key, label), start in zip(flat, values.tolist(), strict=True)]
    assert mean == pytest.approx(wanted), "the average over tokens, and the weights before the first"
    codes = room[:n_missing].tolist()
    assert Counter((int(listing.keys[code // n]), code % n) for code in codes) == Counter(missing)
    little = np.zeros(2, np.uint64)
    assert online_pass(order, *data, tables, n, own_sums, 1.0, greedy, step, little)[2] <= 2, "until it is full"


def test_pairs_can_be_added() -> None:
    codes, values = np.array([2, 5, 9], np.uint64), np.array([1.0, 2.0, 3.0])
    merged, (grown,) = with_pairs(codes, np.array([5, 7, 1], np.uint64), values)
    assert merged.tolist() == [1, 2, 5, 7, 9] and grown.tolist() == [0, 1, 2, 0, 3]


def test_the_gradient_is_that_of_the_likelihood() -> None:
    parts = small_parts(cutoff=99)
    data = make_data(SENTENCES, parts)
    listing = list_features(data, parts, 1)
    function = Likelihood(data, parts, listing, sigma=0.8, workers=2)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(len(listing.codes))
    value, gradient = function(weights)
    for place in rng.permutation(len(weights))[: 5 if SLOW else 40]:
        moved = weights.copy()
        moved[place] += 1e-5
        above = function(moved)[0]
        moved[place] -= 2e-5
        assert gradient[place] == pytest.approx((above - function(moved)[0]) / 2e-5, rel=1e-4, abs=1e-6)
    by_key: slow.Weights = defaultdict(dict)
    n, wanted = len(parts.labels), 0.0
    for code, weight in zip(listing.codes.tolist(), weights.tolist(), strict=True):
        by_key[int(listing.keys[code // n])][code % n] = weight
    for words, tags, labels in SENTENCES:
        atoms, gold = parts.encode(words, tags), parts.labels.encode(labels).tolist()
        last, second = 1, 1
        for place, allowed in enumerate(allowed_labels(parts, atoms)):
            chances = slow.distribution(atoms.tolist(), place + 2, last, second, by_key, allowed, 1.0)
            wanted += math.log(chances[gold[place]])
            last, second = gold[place] + 2, last
    function(weights)
    assert function.likelihood == pytest.approx(wanted)
    assert value == pytest.approx(weights @ weights / (2 * 0.8**2) - wanted)


def test_expectations_add_up() -> None:
    parts = small_parts()
    data = make_data(SENTENCES, parts)
    listing = list_features(data, parts, 1)
    tables = listing.tables(parts, listing.codes, np.zeros(len(listing.codes)))
    whole, sums = np.zeros(len(listing.codes)), np.zeros(len(listing.codes))
    total = expectations(*data, 0, 5, tables, len(parts.labels), whole)
    pieces = [expectations(*data, k, k + 1, tables, len(parts.labels), sums) for k in range(5)]
    assert total == pytest.approx(sum(pieces)) and whole == pytest.approx(sums) and total < 0


# ---- minimisers ----


def rosenbrock(point: np.ndarray) -> tuple[float, np.ndarray]:
    x, y = point
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2, np.array(
        [-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)]
    )


def test_lbfgs_finds_minima_and_goes_on_from_a_state() -> None:
    search = Lbfgs(rosenbrock, np.array([-1.2, 1.0]))
    halfway: list[dict[str, np.ndarray]] = []
    values = [search.value]
    while search.iterations < 100 and search.advance():
        values.append(search.value)
        if search.iterations == 12:
            halfway.append(search.state())
    assert values == sorted(values, reverse=True) and search.point == pytest.approx([1.0, 1.0], abs=1e-6)
    again = Lbfgs.from_state(rosenbrock, halfway[0])
    while again.iterations < 100 and again.advance():
        pass
    assert again.point.tolist() == search.point.tolist() and again.iterations == search.iterations
    at_the_end = Lbfgs(rosenbrock, np.array([1.0, 1.0]))
    assert not at_the_end.advance() and at_the_end.point.tolist() == [1.0, 1.0]


def test_lbfgs_solves_a_quadratic() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((30, 30))
    matrix = matrix @ matrix.T + np.eye(30)
    wanted = rng.standard_normal(30)
    search = Lbfgs(lambda x: (float((x - wanted) @ matrix @ (x - wanted)) / 2, matrix @ (x - wanted)), np.zeros(30))
    for _ in range(200):
        if not search.advance():
            break
    assert search.point == pytest.approx(wanted, abs=1e-5)


def test_a_gis_step_meets_its_equation() -> None:
    rng = np.random.default_rng(2)
    weights, seen = rng.standard_normal(500) * 2, rng.integers(1, 5000, 500).astype(float)
    expected = np.exp(rng.uniform(-20, 9, 500))
    for most, variance in ((3, 0.25), (36, 1.0), (36, 100.0)):
        step = gis_step(weights, seen, expected, most, variance)
        left = expected * np.exp(most * step) + (weights + step) / variance
        assert left == pytest.approx(seen, rel=1e-5)


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


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_beats_the_baseline(tmp_path, estimator: str) -> None:
    train, dev = sample("train"), sample("dev")
    options = replace(QUICK, estimator=estimator, epochs=2 if SLOW else 6, iterations=6 if SLOW else 30)
    told: list[dict] = []
    model = fit_tagger(train, dev, options, tmp_path, {}, 2, lambda **facts: told.append(facts))
    scores = judge(SequenceTagger(model), dev)
    assert scores["accuracy"] > baseline(train, dev) + (0.0 if SLOW else 0.05)
    offered = [scores["betas"][beta] for beta in ("0.075", "0.01", "0.001")]
    assert SLOW or scores["accuracy"] < offered[0]["accuracy"] < offered[2]["accuracy"] <= 1
    assert 1 < offered[0]["labels"] < offered[1]["labels"] < offered[2]["labels"]
    assert (model.scale == 1.0) == (estimator in ("gis", "lbfgs"))
    gains = [facts["objective"] for facts in told if "objective" in facts]
    assert gains == sorted(gains), "GIS and L-BFGS never lose"
    errors = [facts["wrong"] for facts in told if "wrong" in facts]
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
    told: list[dict] = []
    again = fit_tagger(train, (), options, tmp_path / "part", {}, 2, lambda **facts: told.append(facts))
    assert write_model(again) == whole
    assert min(facts.get("epoch", facts.get("iteration", 99)) for facts in told) > 1, "not from the start"
    with pytest.raises(TrainingDataError, match=r"holds a run with other options\.cutoff"):
        fit_tagger(train, (), replace(options, cutoff=5), tmp_path / "part", {})
    with pytest.raises(TrainingDataError, match="holds a run with other sentences"):
        fit_tagger(train[:30], (), options, tmp_path / "part", {})


def test_options_that_change_a_model(tmp_path) -> None:
    train = sample("train", 60)

    def size(name: str, **changes) -> int:
        return len(fit_tagger(train, (), replace(QUICK, epochs=2, **changes), tmp_path / name, {}).weights.weights)

    usual = size("usual")
    assert size("least", least=3) < usual and size("few", max_weights=500) == 500
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


def test_what_cannot_be_learned_is_said(tmp_path) -> None:
    with pytest.raises(TrainingDataError, match="no sentence to learn from"):
        fit_tagger([], [], QUICK, tmp_path / "none", {})
    mixed = [SENTENCES[0], SENTENCES[1]._replace(tags=())]
    with pytest.raises(TrainingDataError, match="some sentences have tags and some have none"):
        fit_tagger(mixed, SENTENCES, QUICK, tmp_path / "mixed", {})
    many = [LabelledSentence(tuple("ab" * 3000), (), tuple(map(str, range(6000))))]
    with pytest.raises(TrainingDataError, match="6000 labels; a tagger tells at most 4094 apart"):
        fit_tagger(many, SENTENCES, QUICK, tmp_path / "many", {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "sgd"}, "estimator is 'sgd'; it must be one of perceptron, mira, gis, lbfgs"),
        ({"history": "both"}, "history is 'both'"),
        ({"epochs": 0}, "epochs is 0; it must be a whole number from 1"),
        ({"sigma": 0.0}, "sigma is 0.0; it must be a number above 0"),
        ({"levels": 40_000}, "at most 32767 fit"),
    ],
)
def test_options_are_checked(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SequenceOptions(**change)


def test_labels_unknown_in_training_count_as_wrong() -> None:
    tagger = SequenceTagger(random_tagger())
    odd = [SENTENCES[3]._replace(labels=("never seen",))]
    scores = judge(tagger, odd, [0.5])
    assert scores["accuracy"] == scores["betas"]["0.5"]["accuracy"] == 0 and scores["words"] == 1


# ---- command ----


def write(path: Path, sentences: tuple[LabelledSentence, ...]) -> Path:
    path.write_text(write_labelled(sentences), encoding="utf8")
    return path


def test_the_command_trains_and_prints_scores(tmp_path, capsys) -> None:
    train, dev = (str(write(tmp_path / part, sample(part, 40))) for part in ("train", "dev"))
    out = tmp_path / "tagger.model"
    command = ["tagger-fit", "--train", train, "--dev", dev, "--out", str(out), "--settings", "epochs=2"]
    assert main([*command, "--betas", "0.1", "0.01", "--name", "tiny"]) == 0
    printed = capsys.readouterr().out
    assert "accuracy" in printed and "beta 0.1: right label offered" in printed and "beta 0.001" not in printed
    tagger = load_tagger(out)
    assert tagger.meta["name"] == "tiny" and tagger.meta["options"]["epochs"] == 2
    assert tagger.meta["dev"]["words"] == sum(len(s.words) for s in sample("dev", 40))
    wanted = judge(tagger, sample("dev", 40), [0.1, 0.01])
    assert tagger.meta["dev"] == wanted


def test_the_command_labels_its_own_training_sentences(tmp_path, capsys) -> None:
    sentences = sample("train", 45)
    train, out = write(tmp_path / "train", sentences), tmp_path / "labelled"
    command = ["tagger-fit", "--train", str(train), "--out", str(out), "--settings", "epochs=2", "--jackknife", "4"]
    assert main([*command, "--workdir", str(tmp_path / "work"), "--workers", "2"]) == 0
    found = read_labelled(out)
    assert [s[:2] for s in found] == [s[:2] for s in sentences] and found != list(sentences)
    right = sum(a == b for s, t in zip(found, sentences, strict=True) for a, b in zip(s.labels, t.labels, strict=True))
    n = sum(len(s.words) for s in sentences)
    assert f"{n} words, accuracy" in capsys.readouterr().out and 0.3 < right / n < 0.95
    held, rest = sentences[10:20], (*sentences[:10], *sentences[20:])
    options = SequenceOptions(epochs=2)
    tagger = SequenceTagger(fit_tagger(rest, (), options, tmp_path / "own", {}))
    assert [s.labels for s in found[10:20]] == [tuple(tagger.tag(s.words, s.tags)) for s in held]
    first = out.read_bytes()
    assert main([*command, "--workdir", str(tmp_path / "work"), "--workers", "1"]) == 0 and out.read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to learn from; give --train FILE"),
        (["--train", "{}", "--estimator", "svm"], "estimator is 'svm'; it must be one of"),
        (["--train", "{}", "--settings", "epoch=3"], "epoch=3: there is no setting 'epoch'"),
        (["--train", "{}", "--betas", "2"], "give numbers from 0 to 1"),
        (["--train", "{}", "--jackknife", "1"], "give 2 folds or more"),
        (["--train", "{}", "--jackknife", "9"], "too few for 9 folds"),
        (["--train", "nowhere.tsv"], "nowhere.tsv: cannot read the labels"),
    ],
)
def test_bad_arguments_of_the_command(tmp_path, capsys, arguments: list[str], message: str) -> None:
    train = write(tmp_path / "train", sample("train", 20))
    given = [argument.format(train) for argument in arguments]
    assert main(["tagger-fit", *given, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_passes_note_no_more_pairs_than_there_is_room(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(online, "_MOST_MISSING", 10)
    told: list[dict] = []
    fit_tagger(sample("train", 40), (), QUICK, tmp_path, {}, 1, lambda **facts: told.append(facts))
    pairs = [facts["pairs"] for facts in told if "pairs" in facts]
    assert 0 < pairs[1] - pairs[0] <= 10
