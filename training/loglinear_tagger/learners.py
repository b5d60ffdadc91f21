"""The learners of taggers. Online: averaged perceptron (Collins 2002) and single-best MIRA (Crammer & Singer 2003). By
maximum likelihood with a Gaussian prior: GIS (Darroch & Ratcliff 1972) and L-BFGS; what is maximised is the probability
of each label given the gold labels before it (Ratnaparkhi 1996).
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from spacy_dtparse.features.linear.tagparts import TagParts

from ..runs.resuming import save_arrays, saved_arrays
from ..runs.telling import Tell
from .kernels import expectations, online_pass
from .lbfgs import Lbfgs
from .listing import Listing, SequenceData, with_pairs
from .options import SequenceOptions

SHARDS = 8
"""Parts of the sentences whose sums are added in order, so that a model does not depend on the number of threads."""
_SAVE_EVERY = 10
"""Iterations between two states on disk."""
_NEWTON_STEPS = 8
_MOST_MISSING = 20_000_000
"""Pairs without a weight that a pass can note."""


def train_online(
    data: SequenceData, parts: TagParts, listing: Listing, options: SequenceOptions, state: Path, tell: Tell
) -> tuple[np.ndarray, np.ndarray]:
    """(Pairs as in Listing, their averaged weights); a finished pass is kept in the file `state`, and gone on from."""
    codes, epoch, clock = listing.codes, 0, 1.0
    weights, sums = np.zeros(len(codes)), np.zeros(len(codes))
    if state.is_file():
        with saved_arrays(state) as arrays:
            codes, weights, sums = (arrays[name] for name in ("codes", "weights", "sums"))
            epoch, clock = int(arrays["epoch"]), float(arrays["clock"])
    step = float(options.step) if options.estimator == "mira" else 0.0
    while epoch < options.epochs:
        order = np.random.default_rng((options.seed, epoch)).permutation(len(data.starts) - 1)
        room = min(_MOST_MISSING, 2 * len(data.gold) * listing.most) if epoch < options.grow else 0
        missing = np.empty(room, np.uint64)
        tables = listing.tables(parts, codes, weights)
        wrong, clock, n_missing = online_pass(
            order, *data, tables, len(parts.labels), sums, clock, options.history == "greedy", step, missing
        )
        if n_missing:
            codes, (weights, sums) = with_pairs(codes, np.unique(missing[:n_missing]), weights, sums)
        epoch += 1
        save_arrays(state, {"codes": codes, "weights": weights, "sums": sums, "epoch": epoch, "clock": clock})
        tell(epoch=epoch, wrong=int(wrong), pairs=len(codes))
    return codes, weights - sums / clock


class Likelihood:
    """The penalised log-likelihood of sentences as a function of the weights of pairs; `workers` threads share it.
    `likelihood`: of the last point, without the penalty."""

    def __init__(self, data: SequenceData, parts: TagParts, listing: Listing, sigma: float, workers: int):
        self._data, self._parts, self._listing, self._workers = data, parts, listing, workers
        self._variance = sigma * sigma
        self._edges = np.linspace(0, len(data.starts) - 1, SHARDS + 1).astype(int).tolist()
        self.likelihood = 0.0

    def expected(self, weights: np.ndarray) -> np.ndarray:
        """How often each pair is expected, float64 (P,)."""
        tables = self._listing.tables(self._parts, self._listing.codes, weights)

        def shard(number: int) -> tuple[float, np.ndarray]:
            sums = np.zeros(len(weights))
            first, last = self._edges[number : number + 2]
            return expectations(*self._data, first, last, tables, len(self._parts.labels), sums), sums

        total = np.zeros(len(weights))
        self.likelihood = 0.0
        with ThreadPoolExecutor(self._workers) as pool:
            for likelihood, sums in pool.map(shard, range(SHARDS)):
                self.likelihood += likelihood
                total += sums
        return total

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """(Negative penalised log-likelihood, its gradient)."""
        gradient = self.expected(weights) - self._listing.seen + weights / self._variance
        return float(weights @ weights) / (2 * self._variance) - self.likelihood, gradient


def gis_step(weights: np.ndarray, seen: np.ndarray, expected: np.ndarray, most: int, variance: float) -> np.ndarray:
    """The step of generalised iterative scaling: how much to add to each weight so that seen = expected e^(most step)
    + (weight + step) / variance (Chen & Rosenfeld 1999). `most`: features of an example, at most."""
    expected = np.maximum(expected, 1e-300)
    step = np.log(np.maximum(seen, 1e-300) / expected) / most
    step = np.minimum(step, np.maximum(seen * variance - weights, step * 0))  # where the prior alone would stop it
    for _ in range(_NEWTON_STEPS):
        grown = expected * np.exp(most * step)
        step -= (grown + (weights + step) / variance - seen) / (most * grown + 1.0 / variance)
    return step


def train_loglinear(
    data: SequenceData,
    parts: TagParts,
    listing: Listing,
    options: SequenceOptions,
    state: Path,
    tell: Tell,
    workers: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(Pairs as in Listing, their weights); every tenth iteration is kept in the file `state`, and gone on from."""
    function = Likelihood(data, parts, listing, options.sigma, workers)
    train = _train_gis if options.estimator == "gis" else _train_lbfgs
    return listing.codes, train(function, listing, options, state, tell)


def _train_gis(function: Likelihood, listing: Listing, options: SequenceOptions, state: Path, tell: Tell) -> np.ndarray:
    weights, iteration, before = np.zeros(len(listing.codes)), 0, -np.inf
    if state.is_file():
        with saved_arrays(state) as arrays:
            weights, iteration, before = arrays["weights"], int(arrays["iteration"]), float(arrays["before"])
    variance = options.sigma * options.sigma
    while iteration < options.iterations:
        expected = function.expected(weights)
        value = function.likelihood - float(weights @ weights) / (2 * variance)
        tell(iteration=iteration, objective=value, likelihood=function.likelihood)
        if value - before < options.tolerance * abs(value):
            break
        weights = weights + gis_step(weights, listing.seen, expected, listing.most, variance)
        before = value
        iteration += 1
        if iteration % _SAVE_EVERY == 0:
            save_arrays(state, {"weights": weights, "iteration": iteration, "before": before})
    return weights


def _train_lbfgs(
    function: Likelihood, listing: Listing, options: SequenceOptions, state: Path, tell: Tell
) -> np.ndarray:
    if state.is_file():
        with saved_arrays(state) as arrays:
            search = Lbfgs.from_state(function, arrays)
    else:
        search = Lbfgs(function, np.zeros(len(listing.codes)))
    while search.iterations < options.iterations:
        before = search.value
        if not search.advance():
            break
        tell(iteration=search.iterations, objective=-search.value, likelihood=function.likelihood)
        if before - search.value < options.tolerance * abs(search.value):
            break
        if search.iterations % _SAVE_EVERY == 0:
            save_arrays(state, search.state())
    return search.point
