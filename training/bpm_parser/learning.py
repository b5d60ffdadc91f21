"""Learners of dependencies (links) and their labels. The features of training sentences are listed once on disk, and
every learner maps the listing into memory. Links: averaged perceptrons or MIRA, whose mean is the Bayes point. Labels:
several averaged perceptrons over the context of each link of the gold trees."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.bpm_parser.kernels.link_labels import MAX_LABEL_KEYS, tree_label_keys
from spacy_dtparse.bpm_parser.kernels.links import list_features, make_guide, tree_keys
from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.linear.kernels.feature_table import make_families

from ..data.corpus import short_block_folds
from ..data.tallies import count_distinct
from ..runs.resuming import load_arrays, open_arrays, save_arrays
from .kernels import label_pass, link_pass
from .options import DependencyOptions

Labels = Sequence[Sequence[str]]


class FeatureListing(NamedTuple):
    """Listed features of sentences: sentence i has features[feature_from[i]:feature_from[i + 1]], likewise `ends`, and
    the heads gold[gold_from[i]:…], -1 first."""

    features: np.ndarray
    feature_from: np.ndarray
    ends: np.ndarray
    end_from: np.ndarray
    gold: np.ndarray
    gold_from: np.ndarray


@dataclass(frozen=True)
class Example:
    """A sentence. `atoms`: see `kernels.links`. `heads`: int32 (n + 1,), -1 first. `guide`: heads of a guide, or
    None; `guide_labels`: atomic features of its labels, or None."""

    atoms: np.ndarray
    heads: np.ndarray
    guide: np.ndarray | None = None
    guide_labels: np.ndarray | None = None


def feature_keys(examples: Sequence[Example], min_count: int = 1) -> np.ndarray:
    """The keys of features that gold links have in at least `min_count` sentences, uint64, ascending: the paper's
    oracle instantiation."""
    buffer = np.empty(1 << 16, np.uint64)

    def keys(example: Example) -> np.ndarray:
        nonlocal buffer
        given = example.atoms, make_guide(example.guide, example.guide_labels), example.heads
        while (count := tree_keys(*given, buffer)) > len(buffer):
            buffer = np.empty(2 * count, np.uint64)
        return np.unique(buffer[:count])

    batches = (examples[start : start + 2000] for start in range(0, len(examples), 2000))
    found, counts = count_distinct(np.concatenate(list(map(keys, batch))) for batch in batches)
    return found[counts >= min_count]


def write_listing(examples: Sequence[Example], keys: np.ndarray, folder: Path) -> FeatureListing:
    """Write the listing of the features of every link of every sentence to `folder`; ids are indices in `keys`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, ids = make_families(keys)
    buffer = np.empty(1 << 20, INDEX)
    sizes = []
    with (folder / "features.i32").open("wb") as features, (folder / "ends.i32").open("wb") as ends:
        for example in examples:
            n, guide = len(example.heads) - 1, make_guide(example.guide, example.guide_labels)
            own_ends = np.zeros((n + 1) * n, INDEX)
            while (count := list_features(example.atoms, guide, rows, ids, own_ends, buffer)) > len(buffer):
                buffer = np.empty(2 * count, INDEX)
            features.write(buffer[:count].tobytes())
            ends.write(own_ends.tobytes())
            sizes.append((count, len(own_ends), n + 1))
    gold = np.concatenate([example.heads for example in examples]).astype(INDEX)
    starts = np.cumsum([(0, 0, 0), *sizes], axis=0).T
    np.savez(folder / "listing.npz", feature_from=starts[0], end_from=starts[1], gold_from=starts[2], gold=gold)
    return open_listing(folder)


def open_listing(folder: Path) -> FeatureListing:
    """Open the listing in `folder`, with its large parts mapped into memory."""
    with np.load(folder / "listing.npz") as small:
        arrays = dict(small)
    for name in ("features", "ends"):
        file = folder / f"{name}.i32"
        # Mapped copy-on-write, because the kernel is compiled for writable arrays.
        arrays[name] = np.asarray(np.memmap(file, INDEX, "c")) if file.stat().st_size else np.zeros(0, INDEX)
    return FeatureListing(**arrays)


def learn(
    listed: FeatureListing, n_features: int, options: DependencyOptions, key: Sequence[int], chosen: np.ndarray
) -> tuple[np.ndarray, list[int]]:
    """(Averaged weights float32 (F,), wrong links of each pass) of one learner over the sentences `chosen`. `key`:
    determines its shuffles, in addition to the seed."""
    weights, sums, clock = np.zeros(n_features), np.zeros(n_features), 1.0
    mira, projective = options.method == "mira", options.decoder == "projective"
    max_step, change = (float(options.step), np.zeros(n_features)) if mira else (0.0, np.zeros(0))
    wrong_links: list[int] = []
    for epoch in range(options.epochs):
        order = np.random.default_rng((options.seed, *key, epoch)).permutation(chosen)
        wrong, clock = link_pass(order, listed, weights, sums, clock, projective, max_step, change)
        wrong_links.append(int(wrong))
    return (weights - sums / clock).astype(np.float32), wrong_links


def _member_file(folder: Path, key: Sequence[int]) -> Path:
    return folder / f"member-{'-'.join(map(str, key))}.npz"


def train_member(
    folder: Path, n_features: int, options: DependencyOptions, left_out: int, key: Sequence[int]
) -> list[int]:
    """Train one learner on the listing in `folder` and write its file, unless it exists; returns its wrong links by
    pass. Sentences of the fold `left_out` (-1: none) are not used."""
    path = _member_file(folder, key)
    saved = load_arrays(path)
    if saved is not None:
        return [int(count) for count in saved["wrong"]]
    listed = open_listing(folder)
    chosen = np.flatnonzero(short_block_folds(len(listed.gold_from) - 1, options.folds) != left_out)
    weights, wrong = learn(listed, n_features, options, key, chosen)
    save_arrays(path, {"weights": weights, "wrong": np.array(wrong)})
    return wrong


def members_weights(folder: Path, keys: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
    """The weights of trained learners."""
    for key in keys:
        with open_arrays(_member_file(folder, key)) as arrays:
            yield arrays["weights"].astype(np.float64)


def label_list(labels: Labels) -> tuple[str, ...]:
    """The label of the root's dependent, followed by the others, the most frequent first."""
    counts = Counter(label for sentence in labels for label in sentence if label != "root")
    return ("root", *(label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def train_labels(
    examples: Sequence[Example], labels: Labels, names: Sequence[str], options: DependencyOptions, members: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(Keys uint64 (F,), weights float64 (F, labels)): the mean of `members` (by default the options' `label_members`)
    averaged perceptrons on gold trees."""
    members = members or options.label_members
    label_ids = {name: number for number, name in enumerate(names)}
    found, sizes = [], [np.zeros(1, np.int64)]
    for example in examples:
        n = len(example.heads) - 1
        keys, ends = np.empty(n * MAX_LABEL_KEYS, np.uint64), np.zeros(n + 1, np.int64)
        found.append(keys[: tree_label_keys(example.atoms, make_guide(example.heads), keys, ends)].copy())
        sizes.append(np.diff(ends))
    table, ids, times = np.unique(np.concatenate(found), return_inverse=True, return_counts=True)
    frequent = times >= options.label_min_count
    table, known = table[frequent], frequent[ids]
    listed = (np.cumsum(frequent) - 1)[ids[known]].astype(INDEX)
    starts = np.append(0, np.cumsum(known))[np.cumsum(np.concatenate(sizes))]
    gold = np.array([label_ids[label] for sentence in labels for label in sentence], INDEX)
    links = np.flatnonzero(gold)
    mean = np.zeros((len(table), len(names)))
    for member in range(members):
        weights, sums, clock = np.zeros(mean.shape, np.float32), np.zeros(mean.shape, np.float32), 1.0
        for epoch in range(options.label_epochs):
            order = np.random.default_rng((options.seed, 1000, member, epoch)).permutation(links)
            _, clock = label_pass(order, listed, starts, gold, 0, weights, sums, clock)
        mean += weights - sums / clock
    return table, mean / max(1, members)
