"""Train the classifier of one label: trees on priority samples, leaf values over all examples.

Turian & Melamed 2006a (section 3.2) and 2006b (section 3.3). Differences: histogram subtraction, percolation by posting
lists, leaf values by steps of a majoriser instead of a line search, exact sums on grids.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble, empty_ensemble
from spacy_dtparse.dtypes import CONFIDENCE_GRID, INDEX, SCORE
from spacy_dtparse.stored_names import stored_as

from ..recipe import LearnerConfig
from .growing import grow_tree, steepest_child
from .labels import LabelData
from .leaves import add_units, all_weights, leaf_sums, step_units, update_scores
from .matrix import Matrix, MatrixWorkspace, make_matrix, on_grid
from .sampling import PrioritySampler, label_key, stream_keys
from .store import Store
from .tree import concat, single_leaf, tree_at

STEPS = ("sample", "extract", "build", "percolate", "leaves")
"""Steps of one tree, as in Table 2 of Turian & Melamed 2006b."""
_SINGLE_LEAF_SWEEPS = 50  # a single leaf is optimised to convergence, as no later tree will correct it


@stored_as("draws", "empty", "gradient")
class LabelProgress(NamedTuple):
    """The progress of a label's training: with the ensemble and the seed it determines everything that follows.

    `draws`: samples drawn so far. `empty`: trees in a row whose leaves were all 0. `gradient`: the largest
    |g| of a child of the root when the root was last found unsplittable, infinite before.
    """

    draws: int = 0
    empty: int = 0
    gradient: float = float("inf")


class LabelLearner:
    """The classifier of one label over all examples of a store.

    store, data: the examples. label_id, name: the label's id in `data.gold`, and its name, which determines the random
    numbers. ensemble, score, progress: the state to continue from; `score` int32 (n,), in units of CONFIDENCE_GRID,
    must be the ensemble's scores and is computed if None.

    Memory: 12 bytes per example in addition to the store (score, signed bias, signed weight).
    """

    def __init__(
        self,
        store: Store,
        data: LabelData,
        label_id: int,
        name: str,
        config: LearnerConfig,
        ensemble: LabelEnsemble | None = None,
        score: np.ndarray | None = None,
        progress: LabelProgress | None = None,
    ):
        self.store, self.config, self.progress = store, config, progress or LabelProgress()
        positive = data.gold == label_id
        self.bias = np.where(positive, data.b_pos, -data.b_neg)
        self.n_positive = int(np.count_nonzero(positive))
        self._base, self._new = ensemble or empty_ensemble(), list[LabelEnsemble]()
        self.score = score if score is not None else ensemble_scores(store, self._base)
        self.weight = np.empty_like(self.bias)
        all_weights(self.score, self.bias, self.weight)
        self._key = label_key(name)
        self._sampler = PrioritySampler(config.sample_size)
        self._space = MatrixWorkspace()
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self.n_grown, self.lost_weight = 0, 0.0

    @property
    def ensemble(self) -> LabelEnsemble:
        """All trees so far."""
        if self._new:
            self._base, self._new = concat([self._base, *self._new]), []
        return self._base

    @property
    def n_trees(self) -> int:
        """Number of trees so far."""
        return len(self._base.roots) + len(self._new)

    def root_gradient(self) -> float:
        """Largest |g| of a child of the root under the present weights, estimated on one sample. The draw is not
        counted: the first tree uses the same sample."""
        matrix = self._matrix()
        return float(steepest_child(matrix.histogram, matrix.gradient.sum()))

    def _matrix(self) -> Matrix:
        """Draw the next sample."""
        clock = time.perf_counter()
        keys = stream_keys(self.config.seed, self._key, self.progress.draws)
        sample = self._sampler.draw(self.weight, keys)
        gradient = on_grid(np.copysign(sample.weight, self.weight[sample.ids]))
        clock = self._tick("sample", clock)
        indptr, atoms = self.store.rows(sample.ids)
        columns = getattr(self.store, "columns", None)
        matrix = make_matrix(sample.ids, gradient, indptr, atoms, self.store.n_atoms, columns, self._space)
        self._tick("extract", clock)
        return matrix

    def _tick(self, step: str, since: float) -> float:
        now = time.perf_counter()
        self.seconds[step] += now - since
        return now

    def step(self, penalty: float) -> float | None:
        """Draw a sample, grow one tree at λ = `penalty`, and set its leaves over all examples.

        Adds nothing when the root cannot be split, or when every leaf is 0 over the full data. A label without
        positives gets a single leaf, while its weight is above λ. Returns the fraction of the examples' weight outside
        the sample; None if the root could not be split.
        """
        matrix = self._matrix()
        clock = time.perf_counter()
        prior = self.config.prior and self.progress.draws == 0
        tree, steepest = grow_tree(matrix, penalty, self.config, self._space)
        clock = self._tick("build", clock)
        draws = self.progress.draws + 1
        if prior:
            tree = single_leaf()
        elif len(tree.atom) == 1 and (self.n_positive or not steepest > penalty):
            self.progress = LabelProgress(draws, 0, steepest)
            return None
        sampled_weight = float(np.abs(self.weight[matrix.ids]).sum(dtype=SCORE))
        leaf = self.store.percolate(tree)
        clock = self._tick("percolate", clock)
        units, total = self._set_leaves(leaf, len(tree.atom), penalty)
        self._tick("leaves", clock)
        lost = max(0.0, 1.0 - sampled_weight / total) if total else 0.0
        self.n_grown += 1
        self.lost_weight += lost
        added = bool(units.any())
        if added:
            self._new.append(LabelEnsemble(np.zeros(1, dtype=INDEX), *tree, units * CONFIDENCE_GRID))
        self.progress = LabelProgress(draws, 0 if added else self.progress.empty + 1)
        return lost

    def _set_leaves(self, leaf: np.ndarray, n_nodes: int, penalty: float) -> tuple[np.ndarray, float]:
        """Set the leaf values, and update scores and weights. Returns (node values int64 in units, weight of all
        examples before the update)."""
        units, sums, total = np.zeros(n_nodes, dtype=np.int64), np.empty((n_nodes, 3), dtype=SCORE), 0.0
        for sweep in range(self.config.sweeps if n_nodes > 1 else _SINGLE_LEAF_SWEEPS):
            leaf_sums(leaf, self.weight, self.bias, self.config.solver == "newton", sums)
            step = step_units(sums, penalty, units)
            if self.config.shrinkage < 1:
                step = (step * self.config.shrinkage).astype(step.dtype)
            if sweep:
                step[units == 0] = 0  # a leaf that was 0 stays 0: its sums have not changed
            else:
                total = float(sums[:, :2].ravel().sum())
            if not step.any():
                break
            update_scores(leaf, step, self.bias, self.score, self.weight)
            units += step
        return units, total

    def fit(
        self, penalty: float, max_trees: int | None = None, done: int = 0, stop: Callable[[], bool] = lambda: False
    ) -> tuple[bool, int]:
        """Add trees at λ = `penalty` until the root cannot be split, `max_trees` were grown, or `stop()`, called after
        each tree, returns true.

        `done`: trees grown at this λ before. Returns (whether the level is finished, trees grown at it so far).
        """
        if self.progress.gradient <= penalty:  # nothing has changed since the root could not be split
            return True, done
        while max_trees is None or done < max_trees:
            if self.progress.empty >= self.config.max_empty or self.step(penalty) is None:
                break
            done += 1
            if done != max_trees and stop():
                return False, done
        self.progress = self.progress._replace(empty=0)
        return True, done


def ensemble_scores(store: Store, ensemble: LabelEnsemble) -> np.ndarray:
    """Scores int32 (n,) of all examples, in units of CONFIDENCE_GRID, by percolating them through every tree."""
    score = np.zeros(store.n_examples, dtype=np.int32)
    for index in range(len(ensemble.roots)):
        tree, units = tree_at(ensemble, index)
        add_units(store.percolate(tree), units.astype(np.int32), score)
    return score
