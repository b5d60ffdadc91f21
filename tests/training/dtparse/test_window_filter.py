"""Training of the window filter: it learns, is deterministic, and is set by recipes, the command line and bundles."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.model.bundle import KIND, read_model
from spacy_dtparse.dtparse.model.window_filter import EVERYTHING, WindowFilter, held_out_margins
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.model_io.container import container_from_bytes
from tests.jit.harness import FIRST_STRATEGY, KERNEL_MARKS, SLOW, hand_made
from tests.model_io.damage import GONE, refuses
from training.cli import main
from training.data.corpus import read_treebank
from training.dtparse.examples import ExampleFilter, Replayer
from training.dtparse.fit import BoostingRun
from training.dtparse.recipe import FitRecipe
from training.dtparse.window_filter import derivations_of, filter_losses, train_window_filter
from training.studies.turian2006.indirect import IndirectStore

pytestmark = KERNEL_MARKS
compiled = pytest.mark.skipif(SLOW, reason="takes long without compiling")
SAMPLE = Path(__file__).parents[3] / "assets" / "sample"


def model_of(strategy: str):
    """An empty model with the labels of some sample trees."""
    from spacy_dtparse.dtparse.features.tables import get_templates
    from spacy_dtparse.dtparse.model.model import untrained_model
    from spacy_dtparse.trees import Recipe
    from spacy_dtparse.trees.heads import COLLINS
    from training.data.corpus import training_tree
    from training.dtparse.training_set import build_lexicon

    steps = ("strip_empty", "drop_repeated_unary")
    trees = [training_tree(sentence, Recipe(steps)) for sentence in read_treebank(SAMPLE / "train.mrg")]
    return untrained_model(build_lexicon(trees, 2), get_templates("baseline"), COLLINS, strategy, 5, steps)


@compiled
@pytest.mark.parametrize("strategy", FIRST_STRATEGY)
def test_a_window_filter_keeps_gold_windows_and_drops_most_others_of_unseen_trees(strategy):
    model = model_of(strategy)
    search = DtreeParser(model).compiled.search
    train, _ = derivations_of(model, read_treebank(SAMPLE / "train.mrg"))
    dev, skipped = derivations_of(model, read_treebank(SAMPLE / "dev.mrg"))
    seen = []
    trained = train_window_filter(search.grammar, search.heads, train, 14, log=lambda what, **facts: seen.append(facts))
    assert trained.weights.dtype == np.int16 and len(trained.weights) == 2**14 and len(dev) + skipped == 62
    losses = [facts["loss"] for facts in seen]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.5 * math.log(2)
    assert all(facts["windows"] == seen[0]["windows"] > len(train) for facts in seen)
    again = train_window_filter(search.grammar, search.heads, train, 14)
    other = train_window_filter(search.grammar, search.heads, train, 14, seed=1)
    assert np.array_equal(trained.weights, again.weights) and trained.margins == again.margins
    assert not np.array_equal(trained.weights, other.weights)
    found = filter_losses(search.grammar, search.heads, dev, trained)
    assert list(found) == list(trained.losses)
    lost, scored = ([at_loss[name] for at_loss in found.values()] for name in ("lost", "scored"))
    assert lost == sorted(lost) and scored == sorted(scored, reverse=True)
    assert found[0.01]["lost"] < 0.03 and found[0.01]["scored"] < 0.8
    assert found[0.05]["lost"] < 0.1 and found[0.05]["scored"] < 0.5


def test_a_handful_of_trees_gives_no_window_filter():
    model = model_of("r2l")
    search = DtreeParser(model).compiled.search
    derivations, _ = derivations_of(model, list(read_treebank(SAMPLE / "dev.mrg", limit=9)))
    assert len(train_window_filter(search.grammar, search.heads, derivations, 10).weights) == 0


def test_held_out_margins():
    right = np.arange(1000)[::-1] * 8
    assert held_out_margins(right, (0.0005, 0.001, 0.05)) == (EVERYTHING, 8, 400)
    assert held_out_margins(right[:0], (0.1,)) == (EVERYTHING,)
    window_filter = WindowFilter(np.zeros(2, dtype=np.int16), (0.01, 0.02), (-50, 30))
    margins = [window_filter.min_margin(loss) for loss in (0, 0.005, 0.01, 0.015, 0.5)]
    assert margins == [EVERYTHING, EVERYTHING, -50, -50, 30]


def test_trees_with_labels_that_the_model_lacks_are_left_out():
    model = hand_made("shift_reduce", ("NP", "VP", "TOP")).model
    sentences = list(read_treebank(SAMPLE / "dev.mrg"))
    derivations, skipped = derivations_of(model, sentences)
    assert len(derivations) + skipped == len(sentences) and skipped > 0


def filtering_parser(seed: int = 0) -> DtreeParser:
    """A parser with random rules and a random window filter."""
    weights = np.random.default_rng(seed).integers(-300, 300, 64).astype(np.int16)
    weights[::3] = 0
    window_filter = WindowFilter(weights, (0.001, 0.01), (-200, 100))
    return DtreeParser(replace(hand_made("shift_reduce", seed=1).model, window_filter=window_filter))


def test_a_bundle_contains_the_window_filter():
    parser = filtering_parser()
    data = parser.to_bytes()
    stored = read_model(data)[0].window_filter
    assert np.array_equal(stored.weights, parser.model.window_filter.weights) and stored.weights.dtype == np.int16
    assert (stored.losses, stored.margins) == ((0.001, 0.01), (-200, 100))
    assert DtreeParser.from_bytes(data).to_bytes() == data
    without = DtreeParser(replace(parser.model, window_filter=WindowFilter()))
    assert len(read_model(without.to_bytes())[0].window_filter.weights) == 0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"version": 99, "entries": 64}, "the model's window filter has version 99"),
        ({"version": 1, "entries": 63}, "do not fit together.*the window filter has 63 weights"),
        ({"version": 1, "entries": -4}, r"gate\.entries is -4; it must be a whole number from 0"),
        ({"version": 1, "entries": 2**40}, "gate.entries is 1099511627776; it must be"),
        ({"version": 1, "entries": 16}, "the positions of the window filter's weights do not ascend below 16"),
        ({"shares": [0.5, 0.1]}, "do not fit together.*one margin for each of the ascending losses"),
        ({"margins": [1]}, "do not fit together.*one margin for each"),
        ({"margins": None}, "gate.margins is None; it must be a list"),
        ("much", "data.gate is 'much'; it must be a dict"),
    ],
)
def test_a_bundle_with_a_broken_window_filter_is_refused(change, message):
    data = filtering_parser().to_bytes()
    meta, _ = container_from_bytes(data, KIND)
    change = {**meta["gate"], **change} if isinstance(change, dict) else change
    refuses(DtreeParser.from_bytes, data, {"gate": change}, message)


def test_a_changed_weight_is_noticed():
    """The self-test uses the window filter."""
    data = filtering_parser(3).to_bytes()
    _, arrays = container_from_bytes(data, KIND)
    changes = {"gate_weight": -arrays["gate_weight"] * 50, "digest": GONE}
    refuses(DtreeParser.from_bytes, data, changes, "self-test . of the model scores")


@pytest.mark.slow
@compiled
def test_the_commands(tmp_path, capsys):
    """train-boosted trains a window filter unless the recipe has none; train-window-filter replaces that of a model."""
    recipe = {
        "min_word_sentences": 2,
        "min_atom_count": 3,
        "atom_table_bits": 18,
        "filter_bits": 12,
        "n_workers": 1,
        "learner": {"sample_size": 2000},
        "path": {"max_levels": 1, "max_trees_per_level": 1, "lambda_start": 20.0, "quiet": True},
    }
    (tmp_path / "recipe.json").write_text(json.dumps(recipe), encoding="utf8")
    train = f"{SAMPLE / 'train.mrg'},limit=40"
    fit = ["train-boosted", "--recipe", str(tmp_path / "recipe.json"), "--train", train]
    fit += ["--workdir", str(tmp_path / "work")]
    with_one, without = tmp_path / "with.model", tmp_path / "without.model"
    assert main([*fit, "--out", str(with_one)]) == 0
    held = np.load(tmp_path / "work" / "gate12.npz")["weights"]
    assert np.array_equal(DtreeParser.from_disk(with_one).model.window_filter.weights, held) and len(held) == 2**12
    assert held.any()
    assert main([*fit, "--out", str(without), "--set", "filter_bits=0"]) == 0
    assert len(DtreeParser.from_disk(without).model.window_filter.weights) == 0
    capsys.readouterr()
    out = tmp_path / "other.model"
    dev = f"{SAMPLE / 'dev.mrg'},limit=10"
    retrain = ["train-window-filter", str(without), "--train", train, "--dev", dev, "--bits", "12", "--out", str(out)]
    assert main(retrain) == 0
    printed = capsys.readouterr().out
    assert "epoch 4: loss" in printed and "gold windows lost" in printed
    assert np.array_equal(DtreeParser.from_disk(out).model.window_filter.weights, held)
    words, tags = ["the", "cat", "sat"], ["DT", "NN", "VBD"]
    everything, ungated = DtreeParser.from_disk(out, SearchSettings(window_filter=0)), DtreeParser.from_disk(without)
    assert everything.parse(words, tags) == ungated.parse(words, tags)
    assert main(["train-window-filter", str(without), "--out", str(out)]) == 1
    assert main(["train-window-filter", str(without), "--train", train, "--bits", "1", "--out", str(out)]) == 1
    errors = capsys.readouterr().err
    assert "no training data" in errors and "--bits is 1; it must be from 2 to 24" in errors


def test_the_recipe_of_2006_has_no_window_filter():
    recipes = Path(__file__).parents[3] / "training" / "recipes"
    assert FitRecipe.from_json(recipes / "2006.json").filter_bits == 0
    assert FitRecipe.from_json(recipes / "standard.json").filter_bits == 20
    assert replace(FitRecipe(), filter_bits=0).filter_bits == 0


@compiled
@pytest.mark.parametrize("strategy", ["shift_reduce", pytest.param("r2l", marks=pytest.mark.slow)])
def test_learning_only_from_windows_that_pass_the_filter(strategy, tmp_path):
    recipe = FitRecipe.from_dict(
        {
            "strategy": strategy,
            "templates": "baseline",
            "min_word_sentences": 2,
            "min_atom_count": 3,
            "atom_table_bits": 18,
            "filter_bits": 14,
            "n_workers": 1,
        }
    )
    sentences = read_treebank(SAMPLE / "train.mrg")
    every = BoostingRun(recipe, sentences, [], tmp_path / "every")
    hard = BoostingRun(replace(recipe, filter_loss=0.02), sentences, [], tmp_path / "hard")
    for fit in (every, hard):
        fit.stores.prepare()
    assert hard.stores.example_filter.min_sum == hard.stores.window_filter.min_margin(0.02) > EVERYTHING
    golds = {fit: np.load(fit.workdir / "stores" / "window" / "gold.npy") for fit in (every, hard)}
    assert len(golds[hard]) < 0.8 * len(golds[every])
    right = {fit: np.bincount(gold[gold >= 0]) for fit, gold in golds.items()}
    assert np.array_equal(right[hard], right[every])  # no gold row is left out
    # every state of the replays has the same rows, except some wrong ones
    grammar, heads = every.data.grammar, every.data.head_table
    table, n_direct = compile_templates(every.data.templates, every.data.lexicon.sizes)
    atoms = AtomMap(
        np.arange(n_direct, dtype=np.int32),
        np.zeros(2, dtype=np.uint64),
        np.full(2, -1, dtype=np.int32),
        np.array([n_direct, 0, 0], dtype=np.int64),
    )
    for derivation in every.data.derivations[:20]:
        rows = {}
        for example_filter in (ExampleFilter(), hard.stores.example_filter):
            replayer = Replayer(grammar, heads, table, atoms, n_direct, example_filter=example_filter)
            indptr, flat, gold, state, flags = replayer.run(derivation)
            rows[example_filter.min_sum] = [
                (int(state[k]), int(gold[k]), int(flags[k]), tuple(flat[indptr[k] : indptr[k + 1]].tolist()))
                for k in range(len(gold))
            ]
        whole, left = rows[0], rows[hard.stores.example_filter.min_sum]
        rest = iter(whole)
        assert all(row in rest for row in left)  # in the same order
        gone = Counter(whole) - Counter(left)
        n_labels = len(every.data.lexicon.labels)
        lost = {row[0] for row in whole} - {row[0] for row in left}
        assert all((gold < 0 and not flags) or (gold == n_labels and state in lost) for state, gold, flags, _ in gone)


def test_a_filter_loss_without_a_window_filter():
    with pytest.raises(ConfigError, match="'filter_bits' is 0, so there is no window filter"):
        FitRecipe(filter_loss=0.001, filter_bits=0)
    with pytest.raises(ConfigError, match=r"'filter_loss' is 0\.5; it must be a number from 0 to 0\.05"):
        FitRecipe(filter_loss=0.5)


@compiled
def test_rows_that_do_not_fit_into_memory_cannot_be_filtered(tmp_path):
    recipe = FitRecipe(filter_bits=12, filter_loss=0.05, memory_gib=0, n_workers=1, templates="baseline")
    for loss, large in ((0.05, IndirectStore.build_all), (0.0, None)):
        trees = read_treebank(SAMPLE / "train.mrg", limit=40)
        fit = BoostingRun(replace(recipe, filter_loss=loss), trees, [], tmp_path, large=large)
        with pytest.raises(TrainingDataError, match=r"GiB and may take 0 \(recipe setting 'memory_gib'\); give more"):
            fit.stores.prepare()
