"""Learners of taggers, and their data: arrays of labelled sentences, their features, and the labels for which each
feature has weights. Online learners: averaged perceptron (Collins 2002) and single-best MIRA (Crammer & Singer 2003).
Maximum likelihood with a Gaussian prior: GIS (Darroch & Ratcliff 1972) and L-BFGS; they maximise the probability of
each label given the gold labels before it (Ratnaparkhi 1996)."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET
from spacy_dtparse.linear.kernels.feature_table import make_slots
from spacy_dtparse.spine_tagger.features import TagParts
from spacy_dtparse.spine_tagger.kernels import COLUMNS, EDGE, FIRST_LABEL, START

from ..data.tallies import count_distinct
from ..runs.metrics_log import MetricsLogger
from ..runs.resuming import open_arrays, save_arrays
from .corpus import LabelledSentence
from .kernels import MAX_KEYS, LearnerTables, expectations, gold_features, online_pass
from .options import SequenceOptions

SHARDS = 8  # parts of the sentences, whose sums are added in order: a model does not depend on the number of threads
_CHUNK = 1000  # sentences whose features are counted at once
_SAVE_EVERY = 10  # iterations between checkpoints
_NEWTON_STEPS = 8
_SUFFICIENT, _CURVATURE = 1e-4, 0.9  # constants of the Wolfe conditions
_MAX_TRIALS, _MEMORY = 30, 7  # maximum trial steps in an iteration of L-BFGS; number of stored steps
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
_MAX_MISSING = 20_000_000  # maximum pairs without a weight that a pass can record


class SequenceData(NamedTuple):
    """Consecutive sentences, each with edge rows. `atoms`: int32 (rows, COLUMNS), see `spine_tagger.kernels`;
    `starts`: int64 (sentences + 1,), the first row of each; `gold`: int32 (rows,), atoms of the labels, START at the
    edges."""

    atoms: np.ndarray
    starts: np.ndarray
    gold: np.ndarray


def make_data(sentences: Sequence[LabelledSentence], parts: TagParts) -> SequenceData:
    """Encode sentences as arrays; a label that `parts` lacks becomes the first one."""
    starts = np.cumsum([0, *(len(s.words) + 2 * EDGE for s in sentences)]).astype(OFFSET)
    atoms, gold = np.empty((int(starts[-1]), COLUMNS), INDEX), np.full(int(starts[-1]), START, INDEX)
    for sentence, start, end in zip(sentences, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        atoms[start:end] = parts.encode(sentence.words, sentence.tags)
        gold[start + EDGE : end - EDGE] = FIRST_LABEL + parts.labels.encode(sentence.labels, default=0)
    return SequenceData(atoms, starts, gold)


class Listing(NamedTuple):
    """Features and their labels. `keys`: features, uint64, ascending; `slots`, `numbers`: their hash table; `codes`:
    pairs with a weight, feature * number of labels + label, uint64, ascending; `counts`: count of each pair, float64;
    `max_features`: maximum features of a token."""

    keys: np.ndarray
    slots: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    max_features: int

    def tables(self, parts: TagParts, codes: np.ndarray, weights: np.ndarray) -> LearnerTables:
        """The tables of pairs with float64 weights, which online learners modify."""
        n = np.uint64(len(parts.labels))
        starts = np.searchsorted(codes, np.arange(len(self.keys) + 1, dtype=np.uint64) * n).astype(INDEX)
        labels = (codes % n).astype(INDEX)
        return LearnerTables(self.slots, self.numbers, starts, labels, weights, parts.allowed_from, parts.allowed)


def list_features(data: SequenceData, parts: TagParts, min_count: int) -> Listing:
    """List the features that occur at least `min_count` times, and the labels that they occur with."""
    keys, times, _ = _count_features(data, np.zeros(0, np.uint64), np.zeros(0, INDEX), 0)
    keys = keys[times >= min_count]
    slots, numbers = make_slots(keys)
    codes, counts, max_features = _count_features(data, slots, numbers, len(parts.labels))
    return Listing(keys, slots, numbers, codes, counts.astype(np.float64), max_features)


def _count_features(
    data: SequenceData, slots: np.ndarray, numbers: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Count the output of `gold_features` in chunks of sentences: (values, ascending; their counts; the maximum number
    for a token)."""
    n, maxima = len(data.starts) - 1, [0]

    def chunk(first: int) -> np.ndarray:
        last = min(first + _CHUNK, n)
        buffer = np.empty(int(data.starts[last] - data.starts[first]) * MAX_KEYS, np.uint64)
        count, chunk_max = gold_features(data, first, last, slots, numbers, n_labels, buffer)
        maxima.append(int(chunk_max))
        return buffer[:count]

    return *count_distinct(map(chunk, range(0, n, _CHUNK))), max(maxima)


def with_pairs(codes: np.ndarray, new: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add pairs; returns all pairs, and the float64 values of pairs extended by 0 for the new ones."""
    merged = np.union1d(codes, new)
    grown = np.zeros((len(values), len(merged)))
    grown[:, np.searchsorted(merged, codes)] = values
    return merged, grown


def train_online(
    data: SequenceData,
    parts: TagParts,
    listing: Listing,
    options: SequenceOptions,
    state: Path,
    log_metrics: MetricsLogger,
) -> tuple[np.ndarray, np.ndarray]:
    """Train online; returns (pairs as in Listing, their averaged weights). Every finished pass is saved in the file
    `state`, from which training resumes."""
    codes, epoch, clock = listing.codes, 0, 1.0
    weights, sums = np.zeros(len(codes)), np.zeros(len(codes))
    if state.is_file():
        with open_arrays(state) as arrays:
            codes, weights, sums = (arrays[name] for name in ("codes", "weights", "sums"))
            epoch, clock = int(arrays["epoch"]), float(arrays["clock"])
    step = float(options.step) if options.estimator == "mira" else 0.0
    while epoch < options.epochs:
        order = np.random.default_rng((options.seed, epoch)).permutation(len(data.starts) - 1)
        capacity = min(_MAX_MISSING, 2 * len(data.gold) * listing.max_features) if epoch < options.grow else 0
        missing = np.empty(capacity, np.uint64)
        tables = listing.tables(parts, codes, weights)
        wrong, clock, n_missing = online_pass(
            order, data, tables, len(parts.labels), sums, clock, options.history == "greedy", step, missing
        )
        if n_missing:
            codes, (weights, sums) = with_pairs(codes, np.unique(missing[:n_missing]), weights, sums)
        epoch += 1
        save_arrays(state, {"codes": codes, "weights": weights, "sums": sums, "epoch": epoch, "clock": clock})
        log_metrics(epoch=epoch, wrong=int(wrong), pairs=len(codes))
    return codes, weights - sums / clock


class Likelihood:
    """The penalised log likelihood of sentences as a function of the weights of pairs, computed by `workers` threads.
    `likelihood`: at the last point, without the penalty."""

    def __init__(self, data: SequenceData, parts: TagParts, listing: Listing, sigma: float, workers: int):
        self._data, self._parts, self._listing, self._workers = data, parts, listing, workers
        self.variance = sigma * sigma
        self._edges = np.linspace(0, len(data.starts) - 1, SHARDS + 1).astype(int).tolist()
        self.likelihood = 0.0

    def expected_counts(self, weights: np.ndarray) -> np.ndarray:
        """The expected counts of the pairs, float64 (P,)."""
        tables = self._listing.tables(self._parts, self._listing.codes, weights)

        def shard(first: int, last: int) -> tuple[float, np.ndarray]:
            sums = np.zeros(len(weights))
            return expectations(*self._data, first, last, tables, len(self._parts.labels), sums), sums

        total, self.likelihood = np.zeros(len(weights)), 0.0
        with ThreadPoolExecutor(self._workers) as pool:
            for likelihood, sums in pool.map(shard, self._edges[:-1], self._edges[1:]):
                self.likelihood += likelihood
                total += sums
        return total

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """(Negative penalised log likelihood, its gradient)."""
        gradient = self.expected_counts(weights) - self._listing.counts + weights / self.variance
        return float(weights @ weights) / (2 * self.variance) - self.likelihood, gradient


def gis_step(
    weights: np.ndarray, counts: np.ndarray, expected: np.ndarray, max_features: int, variance: float
) -> np.ndarray:
    """The step of generalised iterative scaling: the increment of each weight such that seen = expected e^(most step) +
    (weight + step) / variance (Chen & Rosenfeld 1999). `max_features`: maximum features of an example."""
    expected = np.maximum(expected, 1e-300)
    step = np.log(np.maximum(counts, 1e-300) / expected) / max_features
    step = np.minimum(step, np.maximum(counts * variance - weights, step * 0))  # the prior alone limits it to this
    for _ in range(_NEWTON_STEPS):
        grown = expected * np.exp(max_features * step)
        step -= (grown + (weights + step) / variance - counts) / (max_features * grown + 1.0 / variance)
    return step


def train_gis(
    function: Likelihood, listing: Listing, options: SequenceOptions, state: Path, log_metrics: MetricsLogger
) -> np.ndarray:
    """Train with GIS; returns the weights of the listing's pairs. Every tenth iteration is saved in the file `state`,
    from which training resumes."""
    weights, iteration, before = np.zeros(len(listing.codes)), 0, -np.inf
    if state.is_file():
        with open_arrays(state) as arrays:
            weights, iteration, before = arrays["weights"], int(arrays["iteration"]), float(arrays["before"])
    while iteration < options.iterations:
        expected = function.expected_counts(weights)
        value = function.likelihood - float(weights @ weights) / (2 * function.variance)
        log_metrics(iteration=iteration, objective=value, likelihood=function.likelihood)
        if value - before < options.tolerance * abs(value):
            break
        weights = weights + gis_step(weights, listing.counts, expected, listing.max_features, function.variance)
        before = value
        iteration += 1
        if iteration % _SAVE_EVERY == 0:
            save_arrays(state, {"weights": weights, "iteration": iteration, "before": before})
    return weights


class Lbfgs:
    """Minimiser of a smooth function of many variables: limited-memory BFGS (Nocedal & Wright 1999, algorithm 7.5).
    `function`: returns value and gradient at a point, both float64. `point`: the start, or the point reached after
    `iterations`, with the latest `steps` and `changes` of the gradient."""

    def __init__(self, function: Function, point: np.ndarray, iterations: Any = 0, steps: Any = (), changes: Any = ()):
        self._function, self.point, self.iterations = function, point, int(iterations)
        self.value, self.gradient = function(point)
        self._pairs = deque(zip(steps, changes, strict=True), maxlen=_MEMORY)

    def advance(self) -> bool:
        """Do one iteration; returns False, and changes nothing, if no step in the search direction is a gain."""
        found = self._search(self._direction())
        if found is None and self._pairs:
            self._pairs.clear()  # use steepest descent: the stored steps mislead
            found = self._search(self._direction())
        if found is None:
            return False
        point, value, gradient = found
        step, change = point - self.point, gradient - self.gradient
        if float(step @ change) > 1e-10 * float(change @ change):
            self._pairs.append((step, change))
        self.point, self.value, self.gradient = point, value, gradient
        self.iterations += 1
        return True

    def _direction(self) -> np.ndarray:
        """Minus the inverse Hessian, approximated from the stored steps, times the gradient (two-loop recursion)."""
        direction = -self.gradient
        coefficients = []
        for step, change in reversed(self._pairs):
            coefficient = float(step @ direction) / float(step @ change)
            direction -= coefficient * change
            coefficients.append(coefficient)
        if self._pairs:
            step, change = self._pairs[-1]
            direction *= float(step @ change) / float(change @ change)
        else:
            direction /= max(1.0, float(np.sqrt(direction @ direction)))
        for (step, change), coefficient in zip(self._pairs, reversed(coefficients), strict=True):
            direction += (coefficient - float(change @ direction) / float(step @ change)) * step
        return direction

    def _search(self, direction: np.ndarray) -> tuple[np.ndarray, float, np.ndarray] | None:
        """Find a step that meets the weak Wolfe conditions, by bisection; None if there is none."""
        slope = float(self.gradient @ direction)
        if slope >= 0.0:
            return None
        low, high, length = 0.0, np.inf, 1.0
        best: tuple[np.ndarray, float, np.ndarray] | None = None
        for _ in range(_MAX_TRIALS):
            point = self.point + length * direction
            value, gradient = self._function(point)
            if not value <= self.value + _SUFFICIENT * length * slope:
                high = length
            else:
                best = point, value, gradient
                if float(gradient @ direction) >= _CURVATURE * slope:
                    return best
                low = length
            length = 2.0 * low if high == np.inf else (low + high) / 2.0
        return best

    def state(self) -> dict[str, Any]:
        """The arrays from which another minimiser can resume, by name."""
        pairs = np.array(self._pairs).reshape(len(self._pairs), 2, len(self.point))
        return {"point": self.point, "iterations": self.iterations, "steps": pairs[:, 0], "changes": pairs[:, 1]}


def train_lbfgs(
    function: Likelihood, listing: Listing, options: SequenceOptions, state: Path, log_metrics: MetricsLogger
) -> np.ndarray:
    """Train with L-BFGS; otherwise as `train_gis`."""
    if state.is_file():
        with open_arrays(state) as arrays:
            search = Lbfgs(function, **arrays)
    else:
        search = Lbfgs(function, np.zeros(len(listing.codes)))
    while search.iterations < options.iterations:
        before = search.value
        if not search.advance():
            break
        log_metrics(iteration=search.iterations, objective=-search.value, likelihood=function.likelihood)
        if before - search.value < options.tolerance * abs(search.value):
            break
        if search.iterations % _SAVE_EVERY == 0:
            save_arrays(state, search.state())
    return search.point
