"""Online learners: of links over a listing, averaged perceptron or MIRA, and their mean, the Bayes point; of labels, a
perceptron over what stands around each link of the gold trees, several of them averaged."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.kernels.linear.guides import make_guide
from spacy_dtparse.kernels.linear.link_labels import MAX_LABEL_KEYS, tree_label_keys

from ..data.folds import folds_of
from ..runs.resuming import save_arrays, saved_arrays
from .kernels import label_pass, link_pass
from .listing import Example, Listed, open_listing
from .options import DependencyOptions


def learn(
    listed: Listed, n_features: int, options: DependencyOptions, key: Sequence[int], chosen: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """(Averaged weights float32 (F,), wrong links of each pass) of one learner over the sentences `chosen`. `key`: what
    its shuffles depend on beside the seed."""
    weights, sums, clock = np.zeros(n_features), np.zeros(n_features), 1.0
    mira = options.method == "mira"
    most, change = (float(options.step), np.zeros(n_features)) if mira else (0.0, np.zeros(0))
    wrong_links: list[int] = []
    projective = options.decoder == "projective"
    for epoch in range(options.epochs):
        order = np.random.default_rng((options.seed, *key, epoch)).permutation(chosen)
        wrong, clock = link_pass(order, *listed, weights, sums, clock, projective, most, change)
        wrong_links.append(int(wrong))
    return (weights - sums / clock).astype(np.float32), wrong_links


def _member_file(folder: Path, key: Sequence[int]) -> Path:
    return folder / f"member-{'-'.join(map(str, key))}.npz"


def train_member(
    folder: Path, n_features: int, options: DependencyOptions, left_out: int, key: Sequence[int]
) -> list[int]:
    """One learner from the listing in `folder` to its file, unless that is there; returns its wrong links by pass.
    Sentences of the fold `left_out`, -1 for none, are not learned from."""
    path = _member_file(folder, key)
    if path.is_file():
        with saved_arrays(path) as arrays:
            return [int(count) for count in arrays["wrong"]]
    listed = open_listing(folder)
    chosen = np.flatnonzero(folds_of(len(listed.gold_from) - 1, options.folds) != left_out)
    weights, wrong = learn(listed, n_features, options, key, chosen)
    save_arrays(path, {"weights": weights, "wrong": np.array(wrong)})
    return wrong


def members_weights(folder: Path, keys: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
    """The weights of learners that have been trained."""
    for key in keys:
        with saved_arrays(_member_file(folder, key)) as arrays:
            yield arrays["weights"].astype(np.float64)


def label_list(labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The label of the root's dependent, then the others, the most frequent first."""
    counts = Counter(label for sentence in labels for label in sentence if label != "root")
    return ("root", *(label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def train_labels(
    examples: Sequence[Example],
    labels: Sequence[Sequence[str]],
    names: Sequence[str],
    options: DependencyOptions,
    members: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(Keys uint64 (F,), weights float64 (F, labels)): the mean of `members` (by default the options'
    `label_members`) averaged perceptrons on gold trees."""
    members = options.label_members if members is None else members
    numbers_of = {name: number for number, name in enumerate(names)}
    found, ends_of_links, total = [], [np.zeros(1, np.int64)], 0
    for example in examples:
        n = len(example.heads) - 1
        keys, ends = np.empty(n * MAX_LABEL_KEYS, np.uint64), np.zeros(n + 1, np.int64)
        count = tree_label_keys(example.atoms, make_guide(example.heads), keys, ends)
        found.append(keys[:count].copy())
        ends_of_links.append(total + ends[1:])
        total += count
    table, numbers, times = np.unique(np.concatenate(found), return_inverse=True, return_counts=True)
    frequent = times >= options.label_least
    table, known = table[frequent], frequent[numbers]
    listed = (np.cumsum(frequent) - 1)[numbers[known]].astype(INDEX)
    starts = np.append(0, np.cumsum(known))[np.concatenate(ends_of_links)]
    gold = np.array([numbers_of[label] for sentence in labels for label in sentence], INDEX)
    links = np.flatnonzero(gold != 0)
    mean = np.zeros((len(table), len(names)))
    for member in range(members):
        weights, sums, clock = np.zeros(mean.shape, np.float32), np.zeros(mean.shape, np.float32), 1.0
        for epoch in range(options.label_epochs):
            order = np.random.default_rng((options.seed, 1000, member, epoch)).permutation(links)
            _, clock = label_pass(order, listed, starts, gold, 0, weights, sums, clock)
        mean += weights - sums / clock
    return table, mean / max(1, members)
