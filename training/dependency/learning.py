"""Online learners over a listing: averaged perceptron or MIRA, and their mean, the Bayes point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import numpy as np

from ..data.folds import folds_of
from ..runs.resuming import save_arrays, saved_arrays
from .kernels import mira_pass, perceptron_pass
from .listing import Listed, open_listing
from .options import DependencyOptions


def learn(
    listed: Listed, n_features: int, options: DependencyOptions, key: Sequence[int], chosen: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """(Averaged weights float32 (F,), wrong links of each pass) of one learner over the sentences `chosen`. `key`: what
    its shuffles depend on beside the seed."""
    weights, sums, clock = np.zeros(n_features), np.zeros(n_features), 1.0
    change = np.zeros(n_features if options.method == "mira" else 0)
    wrong_links: list[int] = []
    for epoch in range(options.epochs):
        order = np.random.default_rng((options.seed, *key, epoch)).permutation(chosen)
        given = order, *listed, weights, sums, clock, options.decoder == "projective"
        if options.method == "mira":
            wrong, clock = mira_pass(*given, options.step, change)
        else:
            wrong, clock = perceptron_pass(*given)
        wrong_links.append(int(wrong))
    return (weights - sums / clock).astype(np.float32), wrong_links


def member_file(folder: Path, key: Sequence[int]) -> Path:
    """Where a learner's weights are kept."""
    return folder / f"member-{'-'.join(map(str, key))}.npz"


def train_member(
    folder: Path, n_features: int, options: DependencyOptions, left_out: int, key: Sequence[int]
) -> list[int]:
    """One learner from the listing in `folder` to its file, unless that is there; returns its wrong links by pass.
    Sentences of the fold `left_out`, -1 for none, are not learned from."""
    path = member_file(folder, key)
    if path.is_file():
        with saved_arrays(path) as arrays:
            return [int(count) for count in arrays["wrong"]]
    listed = open_listing(folder)
    chosen = np.flatnonzero(folds_of(listed.n_sentences, options.folds) != left_out)
    weights, wrong = learn(listed, n_features, options, key, chosen)
    save_arrays(path, {"weights": weights, "wrong": np.array(wrong)})
    return wrong


def members_weights(folder: Path, keys: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
    """The weights of learners that have been trained."""
    for key in keys:
        with saved_arrays(member_file(folder, key)) as arrays:
            yield arrays["weights"].astype(np.float64)


def train_members(
    folder: Path,
    n_features: int,
    options: DependencyOptions,
    keys: Sequence[tuple[int, ...]],
    left_out: Sequence[int],
    executor: Executor | None,
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Train a learner for each key, in parallel where there is an executor; gives (key, wrong links by pass) in
    order."""
    work = partial(train_member, folder, n_features, options)
    results = map(work, left_out, keys) if executor is None else executor.map(work, left_out, keys)
    yield from zip(keys, results, strict=True)
