"""The learner of one label: the objective never rises, trees equal the reference implementation's, scores are exact,
restarts agree.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from tests.reference import boosting as naive
from training.dtparse.boosting.labels import LabelData, check_biases
from training.dtparse.boosting.learner import LabelLearner, ensemble_scores
from training.dtparse.boosting.matrix import on_grid
from training.dtparse.boosting.sampling import label_key, stream_keys
from training.dtparse.boosting.tree import first_trees, n_parameters, tree_at
from training.dtparse.recipe import LearnerConfig, PathConfig

from .conftest import make_data, make_store

pytestmark = pytest.mark.kernel


def make_learner(seed=5, number=0, n=400, **settings):
    rows, data = make_data(seed, n)
    store = make_store(*naive.to_csr(rows), 40)
    return rows, data, LabelLearner(store, data, number, "NP", LearnerConfig(**settings))


def objective(learner: LabelLearner, penalty: float) -> float:
    return naive.log_loss(learner.score, learner.bias) + penalty * float(np.abs(learner.ensemble.value).sum())


def same(one, other) -> bool:
    return all((a == b).all() and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "settings",
    [
        {"sample_size": None},
        {"sample_size": 60},
        {"sample_size": 60, "solver": "majoriser", "sweeps": 3},
        {"sample_size": None, "gain": "hard"},
        {"sample_size": None, "max_splits": 1},
        {"sample_size": 60, "shrinkage": 0.5},
    ],
)
def test_objective_falls_with_every_added_tree(settings):
    *_, learner = make_learner(**settings)
    start = naive.log_loss(learner.score, learner.bias)
    for penalty in (4.0, 2.0, 1.0):
        now = objective(learner, penalty)
        for _ in range(15):
            trees = learner.n_trees
            learner.step(penalty)
            after = objective(learner, penalty)
            assert after < now if learner.n_trees > trees else after == now
            now = after
    assert learner.n_trees >= 5 and n_parameters(learner.ensemble) >= 5
    assert naive.log_loss(learner.score, learner.bias) < 0.8 * start


def test_first_tree_is_grown_from_the_naive_sample():
    rows, data, learner = make_learner(sample_size=80)
    bias = np.where(data.gold == 0, data.b_pos, -data.b_neg).astype(np.float32)
    draws = naive.uniforms(len(rows), *stream_keys(0, label_key("NP"), 0))
    kept, weight, _ = naive.priority_sample((np.abs(bias) / np.float32(2)).tolist(), 80, draws)
    gradient = on_grid(np.copysign(np.array(weight), bias[kept]))
    expected = naive.flatten(naive.grow([rows[i] for i in kept], gradient.tolist(), 1.0))
    assert learner.step(1.0) is not None and learner.n_trees == 1
    tree, _ = tree_at(learner.ensemble, 0)
    assert tuple(column.tolist() for column in tree) == expected


def test_scores_are_the_ensembles_exact_scores():
    rows, _, learner = make_learner(sample_size=100)
    learner.fit(2.0)
    learner.fit(0.7)
    ensemble = learner.ensemble
    total = np.zeros(len(rows))
    for index in range(len(ensemble.roots)):
        tree, units = tree_at(ensemble, index)
        leaves = naive.percolate(rows, *(column.tolist() for column in tree))
        total += units[leaves] * naive.GRID
    assert (learner.score * naive.GRID == total).all()
    assert (ensemble_scores(learner.store, ensemble) == learner.score).all()


def test_zero_leaves_are_those_within_the_penalty_over_all_examples():
    rows, _, learner = make_learner(sample_size=100)
    before = learner.weight.copy()
    learner.step(0.8)
    tree, units = tree_at(learner.ensemble, 0)
    leaves = np.array(naive.percolate(rows, *(column.tolist() for column in tree)))
    checked = 0
    for leaf in np.flatnonzero(tree.atom < 0):
        gradient = before[leaves == leaf].astype(np.float64).sum()
        assert (abs(gradient) <= 0.8) == (units[leaf] == 0)
        assert units[leaf] == 0 or (gradient > 0) == (units[leaf] > 0)
        checked += 1
    assert checked >= 3 and (units != 0).any()


def test_shrinkage_cuts_the_first_trees_steps():
    full, half = (make_learner(sample_size=None, shrinkage=share)[-1] for share in (1.0, 0.5))
    full.step(1.0)
    half.step(1.0)
    whole, part = tree_at(full.ensemble, 0)[1], tree_at(half.ensemble, 0)[1]
    assert whole.any() and (part == (whole * 0.5).astype(np.int64)).all()


def test_fitting_stops_when_the_root_cannot_be_split_and_continues_at_a_lower_penalty():
    *_, learner = make_learner(sample_size=None)
    assert learner.fit(1e9) == (True, 0)
    steepest = learner.progress.gradient
    assert steepest == learner.root_gradient() and learner.fit(steepest) == (True, 0)
    draws = learner.progress.draws
    assert learner.fit(steepest) == (True, 0) and learner.progress.draws == draws, "nothing was drawn in vain"
    finished, grown = learner.fit(0.5 * steepest)
    assert finished and grown >= 1
    trees = learner.n_trees
    learner.step(0.5 * steepest)
    assert learner.n_trees == trees or learner.n_trees > grown


def test_limits_end_a_level():
    *_, learner = make_learner(sample_size=None)
    assert learner.fit(0.5, max_trees=2) == (True, 2)
    assert learner.fit(0.5, max_trees=5, done=3) == (True, 5)
    assert learner.fit(0.5, stop=lambda: True) == (False, 1)
    few = make_learner(sample_size=None, root_slack=3.0)[-1].fit(1.0)[1]
    many = make_learner(sample_size=None)[-1].fit(1.0)[1]
    assert few < many


def test_smaller_samples_lose_weight_and_it_is_counted():
    lost = []
    for size in (20, 200, None):
        *_, learner = make_learner(sample_size=size)
        learner.fit(2.0, max_trees=3)
        lost.append(learner.lost_weight / learner.n_grown)
    assert lost[0] > lost[1] > lost[2] and lost[2] == pytest.approx(0, abs=1e-9)


def test_resuming_from_a_saved_state_gives_the_same_ensemble():
    *_, whole = make_learner(sample_size=70)
    for penalty in (3.0, 1.0):
        whole.fit(penalty, max_trees=6)
    rows, data, part = make_learner(sample_size=70)
    part.fit(3.0, max_trees=6)
    store = make_store(*naive.to_csr(rows), 40)
    again = LabelLearner(store, data, 0, "NP", part.config, ensemble=part.ensemble, progress=part.progress)
    again.fit(1.0, max_trees=6)
    assert same(again.ensemble, whole.ensemble) and (again.score == whole.score).all()
    assert same(first_trees(whole.ensemble, part.n_trees), part.ensemble)
    other = LabelLearner(store, data, 0, "NP", dataclasses.replace(part.config, seed=1))
    other.fit(3.0, max_trees=6)
    assert not same(other.ensemble, part.ensemble)


def test_a_store_without_columns_gives_the_same_ensemble():
    class RowsOnly:
        """An indirect store's view of a direct store."""

        def __init__(self, store):
            self._store, self.n_examples, self.n_atoms = store, store.n_examples, store.n_atoms
            self.rows, self.percolate = store.rows, store.percolate

    _, data, learner = make_learner(sample_size=90)
    learner.fit(1.0, max_trees=5)
    without_path = LabelLearner(RowsOnly(learner.store), data, 0, "NP", learner.config)
    without_path.fit(1.0, max_trees=5)
    assert same(without_path.ensemble, learner.ensemble)


def test_the_classifier_of_a_label_without_positives_is_always_negative():
    *_, learner = make_learner(number=7, sample_size=None)
    assert learner.n_positive == 0
    learner.fit(10.0)
    learner.fit(1.0)
    assert learner.n_trees >= 1 and (learner.ensemble.atom == -1).all()
    assert (learner.score < 0).all()
    trees = learner.n_trees
    assert learner.fit(1.0)[0] and learner.n_trees == trees <= 2


def test_bad_biases_are_named():
    _, data = make_data(1)
    for name, place, value, message in (
        ("b_pos", 3, np.nan, "b_pos of example 3 is nan"),
        ("b_neg", 9, -0.5, r"b_neg of example 9 is -0\.5"),
        ("b_neg", 2, np.inf, "b_neg of example 2 is inf"),
    ):
        arrays = {key: array.copy() for key, array in data._asdict().items()}
        arrays[name][place] = value
        bad = LabelData(**arrays)
        with pytest.raises(TrainingDataError, match=message):
            check_biases(bad)


@pytest.mark.parametrize(
    "settings",
    [
        {"sample_size": 0},
        {"gain": "medium"},
        {"split_ratio": 0.9},
        {"max_splits": 0},
        {"sweeps": 0},
        {"shrinkage": 0},
        {"seed": -1},
        {"solver": "lbfgs"},
        {"root_slack": -1},
        {"max_empty": 0},
    ],
)
def test_bad_learner_settings_are_named(settings):
    with pytest.raises(ConfigError, match=f"{next(iter(settings))} is .*it must be"):
        LearnerConfig(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"decay": 1.0}, {"lambda_start": 0}, {"lambda_floor": -1}, {"patience": 0}, {"budget_seconds": 0},
     {"lookahead": -1}, {"save_seconds": 0}, {"max_levels": 0}, {"n_workers": 0}, {"max_trees_per_level": 0}],
)  # fmt: skip
def test_bad_path_settings_are_named(settings):
    with pytest.raises(ConfigError, match=f"{next(iter(settings))} is .*it must be"):
        PathConfig(**settings)
    with pytest.raises(ConfigError, match="never end"):
        PathConfig(patience=None)
