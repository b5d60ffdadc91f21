"""Training of span networks: derivatives, losses against enumeration, examples, runs that go on where they stopped."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import training.span_parser.distillation
from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.span_parser.model import PackedNetwork
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree
from tests.reference.spans import binary_trees, tree_score
from tests.span_models import CHAINS, SENTENCES, count_parts, random_model
from training.cli import main
from training.data.corpus import Sentence
from training.data.spans import (
    bracket_gradients,
    chain_ids,
    count_chains,
    crossing_spans,
    distillation_gradients,
    label_chains,
    make_example,
)
from training.data.treebanks import TreebankFile
from training.runs.processes import worker_pool
from training.span_parser.distillation import SoftTargets, soft_target_example
from training.span_parser.fitting import SpanOptions, make_model, make_training_data, run_conditions, train_network
from training.span_parser.network import Dropout, Shape, SpanTrainer, init_span_values
from training.span_parser.running import parse_settings

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
TREE = Tree.from_spans(
    ["the", "old", "cat", "sat", "there"],
    ["DT", "JJ", "NN", "VBD", "RB"],
    [(0, 5, "TOP"), (0, 5, "S"), (0, 3, "NP"), (3, 5, "VP"), (4, 5, "ADVP")],
)
SMALL = Shape(width=5, units=3, layers=2, projection=4)


def examples():
    chains = ((), *count_chains([TREE]))
    words = WordParts.build(count_parts([(TREE.words, TREE.tags)]), 1, 1)
    example = make_example(Sentence(TREE, TREE.tags, "x"), words, chain_ids(chains), Counter(TREE.words), 0.5)
    one_word = Tree.from_spans(["cat"], ["NN"], [(0, 1, "TOP"), (0, 1, "NP")])
    second = make_example(Sentence(one_word, one_word.tags, "x", 0.5), words, chain_ids(chains), Counter(), 0.0)
    return words, chains, [example, second]


def test_an_example_has_all_tokens_and_constituents() -> None:
    _, chains, (example, second) = examples()
    found = {tuple(span): chains[label] for span, label in zip(example.spans.tolist(), example.labels, strict=True)}
    assert found == {
        (0, 5): ("S",), (0, 3): ("NP",), (3, 5): ("VP",), (4, 5): ("ADVP",),
        (0, 1): (), (1, 2): (), (2, 3): (), (3, 4): (),
    }  # fmt: skip
    assert np.allclose(example.rare, [0, *[0.5 / 1.5] * 5, 0]), "sentence edges are never hidden"
    assert second.n_tokens == 1 and second.weight == 0.5 and not second.rare.any()


@pytest.mark.kernel
@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_of_brackets_is_that_of_the_enumeration(seed: int) -> None:
    n = 5
    scores = np.random.default_rng(seed).standard_normal((n + 1, n + 1)).astype(np.float32)
    crossing = crossing_spans([(0, 3), (3, 5)], n)
    loss, gradients, right = bracket_gradients(scores, crossing)
    logs = {tree: tree_score(tree, scores) for tree in binary_trees(0, n)}
    fitting = [tree for tree in logs if {(0, 3), (3, 5)} <= tree]

    def total(trees) -> float:
        return float(np.logaddexp.reduce([logs[tree] for tree in trees]))

    assert loss == pytest.approx(total(logs) - total(fitting), abs=1e-4)
    for i in range(n):
        for j in range(i + 2, n + 1):
            among_all = sum(math.exp(log - total(logs)) for tree, log in logs.items() if (i, j) in tree)
            among_right = sum(math.exp(logs[tree] - total(fitting)) for tree in fitting if (i, j) in tree)
            assert right[i, j] == pytest.approx(among_right, abs=1e-5)
            assert gradients[i, j] == pytest.approx(among_all - among_right, abs=1e-5)


@pytest.mark.kernel
@pytest.mark.parametrize("width", [5, 6])
def test_derivatives_are_those_of_small_changes(width: int) -> None:
    words, chains, batch = examples()
    values = init_span_values(words.size, len(chains), replace(SMALL, width=width), np.random.default_rng(0))
    trainer = SpanTrainer(values, Dropout())
    trainer.add_gradients(batch, None)
    gradients = {name: slope.copy() for name, slope in trainer.gradients.items()}
    # Spans without a label count by their posteriors, which the loss of labels takes as given: of what moves
    # posteriors, only the derivative of the loss of brackets can be compared.
    moves_posteriors = {"bilinear", "from_left", "from_right"}

    def loss(name: str) -> float:
        brackets, labels = trainer.add_gradients(batch, None)[0]
        return brackets if name in moves_posteriors else brackets + labels

    rng = np.random.default_rng(1)
    for name, array in values.items():
        if name not in moves_posteriors | {"labels", "label_bias"}:
            continue
        for place in rng.integers(array.size, size=3):
            flat = array.reshape(-1)
            kept, step = flat[place], np.float32(2e-2)
            flat[place] = kept + step
            above = loss(name)
            flat[place] = kept - step
            below = loss(name)
            flat[place] = kept
            assert gradients[name].reshape(-1)[place] == pytest.approx((above - below) / (2 * step), abs=3e-3), name


@pytest.mark.kernel
def test_derivatives_of_the_network_are_those_of_small_changes() -> None:
    words, chains, batch = examples()
    values = init_span_values(words.size, len(chains), SMALL, np.random.default_rng(0))
    values["bilinear"][:] = 0  # posteriors stay the same, so the loss of labels is a function of the reader alone
    trainer = SpanTrainer(values, Dropout())
    trainer.add_gradients(batch, None)
    gradients = {name: slope.copy() for name, slope in trainer.gradients.items()}
    rng = np.random.default_rng(1)
    for name in ("table", "weights0", "weights1", "recurrent", "bias", "edges", "edge_bias"):
        flat = values[name].reshape(-1)
        places = np.flatnonzero(gradients[name].reshape(-1)) if name == "table" else np.arange(flat.size)
        for place in rng.choice(places, size=4):
            kept, step = flat[place], np.float32(2e-2)
            flat[place] = kept + step
            above = sum(trainer.add_gradients(batch, None)[0])
            flat[place] = kept - step
            below = sum(trainer.add_gradients(batch, None)[0])
            flat[place] = kept
            assert gradients[name].reshape(-1)[place] == pytest.approx((above - below) / (2 * step), abs=3e-3), name


@pytest.mark.kernel
def test_steps_learn_the_batch() -> None:
    words, chains, batch = examples()
    trainer = SpanTrainer(
        init_span_values(words.size, len(chains), SMALL, np.random.default_rng(0)), Dropout(0, 0, 0), 0.9
    )
    losses = [sum(trainer.step(batch, np.random.default_rng(k), 0.02)) for k in range(60)]
    assert losses[-1] < 0.2 < losses[0]
    state = trainer.state()
    other = SpanTrainer(
        init_span_values(words.size, len(chains), SMALL, np.random.default_rng(5)), Dropout(0, 0, 0), 0.9
    )
    other.restore(state)
    assert other.steps == 60 and all(np.array_equal(other.values[k], v) for k, v in trainer.values.items())


def sample(name: str) -> TreebankFile:
    return TreebankFile(SAMPLE / f"{name}.mrg")


FEW = SpanOptions(shape=SMALL, seeds=(0,), epochs=2, batch_tokens=60, warmup_steps=5, min_word_count=2, eval_every=1)


def test_an_interrupted_run_resumes_to_the_same_network(tmp_path: Path) -> None:
    sentences = sample("train").read()[:12]
    material = make_training_data(sentences, sentences[:3], FEW)
    seen, again = list[dict](), list[dict]()
    whole = train_network(material, FEW, 0, None, lambda **facts: seen.append(facts))
    assert any("dev_sample" in facts for facts in seen)
    train_network(material, FEW, 0, tmp_path)
    finished = train_network(material, FEW, 0, tmp_path, lambda **facts: again.append(facts))
    assert again == [{"seed": 0, "resumed": seen[-1]["of"]}], "nothing is left to do"
    assert all(np.array_equal(whole.arrays[name], array) for name, array in finished.arrays.items())


class Killed(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_a_run_killed_within_a_pass_resumes_to_the_same_arrays(at: int, tmp_path: Path) -> None:
    sentences = sample("train").read()
    options = replace(FEW, pretrain_epochs=1.5, epochs=2.5, treebank_repeats=1, eval_every=0.4)
    material = make_training_data(sentences[:9], [], options, sentences[9:16])
    seen, logged = list[dict](), list[dict]()

    def killed(**facts) -> None:
        seen.append(facts)
        if len(seen) > at:
            raise Killed

    train_network(material, options, 0, tmp_path / "whole")
    with pytest.raises(Killed):
        train_network(material, options, 0, tmp_path / "cut", killed)
    assert seen[-1]["epoch"] % 1 and seen[-1]["step"] < seen[-1]["of"], "within a pass"
    train_network(material, options, 0, tmp_path / "cut", lambda **facts: logged.append(facts))
    assert logged[0]["resumed"] == seen[-1]["step"], "what was told is kept"
    with np.load(tmp_path / "whole" / "network0.npz") as whole, np.load(tmp_path / "cut" / "network0.npz") as cut:
        assert set(whole) == set(cut)
        assert all(whole[name].tobytes() == cut[name].tobytes() for name in whole)


def test_a_workdir_of_another_run_is_refused(tmp_path: Path) -> None:
    sentences = sample("train").read()
    material = make_training_data(sentences[:8], [], FEW, sentences[8:12])
    train_network(material, FEW, 0, tmp_path)
    train_network(material, replace(FEW, seeds=(0, 5), eval_every=0.5), 0, tmp_path)
    with pytest.raises(TrainingDataError, match=r"run with other options\.learning_rate \(was 0\.002, now 0\.1\)"):
        train_network(material, replace(FEW, learning_rate=0.1), 0, tmp_path)
    with pytest.raises(TrainingDataError, match=r"shape\.units \(was 3, now 2\), labels; .*, or another --workdir"):
        narrow = replace(FEW, shape=replace(SMALL, units=2))
        train_network(replace(material, chains=material.chains[:-1]), narrow, 0, tmp_path)
    with pytest.raises(TrainingDataError, match="a run with other trees;"):
        train_network(replace(material, train=material.train[:-1]), FEW, 0, tmp_path)
    with pytest.raises(TrainingDataError, match="a run with other trees of a teacher;"):
        train_network(replace(material, pretrain=material.pretrain[::-1]), FEW, 0, tmp_path)


def test_a_damaged_state_is_reported(tmp_path: Path) -> None:
    material = make_training_data(sample("train").read()[:6], [], FEW)
    train_network(material, replace(FEW, epochs=0.5), 0, tmp_path)
    whole = (state := tmp_path / "network0.npz").read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", b"nothing", whole[:-30], whole[:middle], flipped):
        state.write_bytes(damaged)
        with pytest.raises(TrainingDataError, match=r"network0\.npz is no readable training state .*; delete"):
            train_network(material, replace(FEW, epochs=0.5), 0, tmp_path)
    np.savez(state, steps=3)
    with pytest.raises(TrainingDataError, match="is no readable training state"):
        train_network(material, replace(FEW, epochs=0.5), 0, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["network0.npz"], "nothing is left beside it"


def test_more_trees_come_first_and_the_treebank_last() -> None:
    sentences = sample("train").read()
    options = replace(FEW, pretrain_epochs=1, treebank_repeats=2)
    material = make_training_data(sentences[:8], [], options, sentences[8:14])
    assert (len(material.train), len(material.pretrain)) == (8, 6)
    seen: list[dict] = []
    train_network(material, options, 0, None, lambda **facts: seen.append(facts))
    assert {facts["phase"] for facts in seen} == {0, 1}


def test_unusable_input_is_reported() -> None:
    with pytest.raises(TrainingDataError, match="no sentence to learn from"):
        make_training_data([], [], FEW)
    flat = Tree.from_spans(["yes"], ["UH"], [(0, 1, "TOP")])
    with pytest.raises(TrainingDataError, match="no tree has a constituent below TOP"):
        make_training_data([Sentence(flat, flat.tags, "x")], [], FEW)
    with pytest.raises(TrainingDataError, match="more than 1 words; set max_words higher"):
        make_training_data(sample("train").read()[:3], [], replace(FEW, max_words=1))
    with pytest.raises(ConfigError, match="seeds are"):
        SpanOptions(seeds=(1, 1))
    with pytest.raises(ConfigError, match=r"dropout setting 'layers' is 1\.0"):
        SpanOptions(dropout=Dropout(layers=1.0))
    with pytest.raises(ConfigError, match="units is 0"):
        SpanOptions(shape=Shape(units=0))
    with pytest.raises(ConfigError, match="epochs is 0"):
        SpanOptions(epochs=0)
    with pytest.raises(ConfigError, match=r"no setting 'shape\.depth'.*shape\.units"):
        parse_settings(["shape.depth=3"])
    with pytest.raises(ConfigError, match="'many' is no int"):
        parse_settings(["batch_tokens=many"])
    chosen = parse_settings(["shape.units=7", "dropout.table=0.5", "epochs=3", "batch_tokens=10"], (4,))
    assert (chosen.shape.units, chosen.dropout.table, chosen.epochs, chosen.batch_tokens) == (7, 0.5, 3.0, 10)
    assert chosen.seeds == (4,)


def test_a_network_of_another_size_is_refused() -> None:
    sentences = sample("train").read()[:6]
    material = make_training_data(sentences, [], FEW)
    packed = train_network(material, replace(FEW, epochs=0.5), 0)
    with pytest.raises(ModelFormatError, match="has the shape"):
        make_model(replace(material, chains=material.chains[:-1]), [packed], {})
    with pytest.raises(ModelFormatError, match="lacks its 'bilinear'"):
        make_model(material, [PackedNetwork({k: v for k, v in packed.arrays.items() if k != "bilinear"})], {})


@pytest.mark.slow
def test_the_command_learns_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    settings = "shape.width=16 shape.units=16 shape.projection=16 epochs=25 batch_tokens=60 warmup_steps=10 "
    settings += "eval_every=25 ema_decay=0.9 learning_rate=0.01 min_word_count=1 min_affix_count=1"
    train, dev = f"{SAMPLE / 'train.mrg'}", f"{SAMPLE / 'dev.mrg'}"
    command = ["train-span", "--train", train, "--dev", dev, "--seeds", "3", "--workers", "1"]
    command += ["--set", *settings.split()]
    assert main([*command, "--workdir", str(tmp_path / "work"), "--out", str(tmp_path / "a.model")]) == 0
    lines = (tmp_path / "work" / "network3.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["dev_sample"] > 60, "this was 73 when it was written"
    parser = load_parser(tmp_path / "a.model")
    assert parser.name == "span" and parser.meta["sentences"] == 314 and parser.meta["license"] == "CC0 1.0"
    assert main([*command, "--workdir", str(tmp_path / "work"), "--out", str(tmp_path / "b.model")]) == 0
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    assert "MB" in capsys.readouterr().out
    assert main(["train-span", "--out", str(tmp_path / "c.model")]) == 1
    assert "no training data" in capsys.readouterr().err


@pytest.mark.kernel
@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_a_teachers_marginals_are_interpolated_with_the_trees(share: float) -> None:
    teacher = SpanParser(random_model(2))
    words, tags = SENTENCES[0]
    tree = Tree.from_spans(
        words, tags, [(0, 7, "TOP"), (0, 7, "S"), (0, 2, "NP"), (2, 6, "VP"), (3, 6, "PP"), (4, 6, "NP")]
    )
    chains = chain_ids(CHAINS)
    example = soft_target_example(
        SoftTargets(teacher, share, teacher.model.words, chains, Counter(words), 0.5),
        Sentence(tree, tree.tags, "x", 0.7),
        teacher.run_networks(words, tags),
    )
    assert example.crossing is None and example.marginals is not None and example.weight == 0.7
    several = np.triu(example.marginals, 2).astype(float)
    assert several.sum() == pytest.approx(len(words) - 1, abs=0.05), "the spans of a binary tree"
    assert not example.marginals[np.arange(7), np.arange(1, 8)].any(), "tokens have no choice"
    logged = teacher.span_posteriors(words, tags)
    own = label_chains(tree)
    mass: dict[tuple[int, int], dict[int, float]] = {}
    for (i, j), label, part in zip(example.spans.tolist(), example.labels.tolist(), example.span_weights, strict=True):
        mass.setdefault((i, j), {})[label] = float(part)
    for (i, j), chain in own.items():
        expected = (1 - share) + share * (logged.get((i, j, chain[0]), 0.0) if chain != ("S",) else 0.0)
        if chain != ("S",):  # S is in two chains
            assert mass.get((i, j), {}).get(chains[chain], 0.0) == pytest.approx(expected, abs=0.03)
    for (i, j), parts in mass.items():
        right = several[i, j] if j - i > 1 else 1.0
        assert sum(parts.values()) == pytest.approx(right, abs=0.15), "what is below a fiftieth is left out"


def test_soft_targets_are_the_same_from_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training.span_parser.distillation, "SENTENCES_PER_TASK", 5)
    sentences = sample("train").read()[:13]
    teacher, options = SpanParser(random_model(2)), replace(FEW, soft_target_weight=0.6)
    in_process = make_training_data(sentences, [], options, sentences, teacher)
    with worker_pool(2) as pool:
        together = make_training_data(sentences, [], options, sentences, teacher, pool)
    assert len(in_process.pretrain) == 13 and run_conditions(together, options) == run_conditions(in_process, options)


def test_the_command_learns_from_soft_targets(tmp_path: Path) -> None:
    teacher = SpanParser(random_model(1))
    teacher.to_disk(tmp_path / "teacher.model")
    train = f"{SAMPLE / 'train.mrg'},limit=10"
    command = [
        "train-span",
        "--train",
        train,
        "--pretrain-trees",
        train,
        "--teacher",
        str(tmp_path / "teacher.model"),
        "--seeds",
        "0",
    ]
    command += ["--workers", "1", "--set", "pretrain_epochs=1", "--set", "epochs=1", "--set", "shape.units=8"]
    assert main([*command, "--credit", "texts by us", "--out", str(tmp_path / "a.model")]) == 0
    parser = load_parser(tmp_path / "a.model")
    assert parser.meta["taught_sentences"] == 10 and parser.meta["credits"] == ["texts by us"]
    (tmp_path / "other.model").write_bytes(b"nothing")
    command[command.index("--teacher") + 1] = str(tmp_path / "other.model")
    assert main([*command, "--out", str(tmp_path / "b.model")]) == 1


@pytest.mark.kernel
def test_the_distillation_loss_is_minimal_at_equal_marginals() -> None:
    n = 4
    scores = np.random.default_rng(0).standard_normal((n + 1, n + 1)).astype(np.float32)
    _, gradients, right = bracket_gradients(scores, np.zeros((n + 1, n + 1), dtype=bool))
    assert np.allclose(gradients, 0, atol=1e-6), "nothing crosses, so all trees are right"
    least, flat = distillation_gradients(scores, right.astype(np.float32))
    assert np.allclose(flat, 0, atol=1e-6)
    for i, j in ((0, 2), (1, 4)):
        other = scores.copy()
        other[i, j] += 1
        assert distillation_gradients(other, right.astype(np.float32))[0] > least
