"""The labeller: a perceptron over what stands around each link of the gold trees, several of them averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.kernels.jit import kernel
from spacy_dtparse.kernels.linear.feature_table import find_slot, make_slots
from spacy_dtparse.kernels.linear.guides import make_guide
from spacy_dtparse.kernels.linear.link_labels import MAX_LABEL_KEYS, tree_label_keys

from .kernels import label_pass
from .listing import Example
from .options import DependencyOptions


def label_list(labels: Sequence[Sequence[str]], root: str = "root") -> tuple[str, ...]:
    """The label of the root's dependent, then the others, the most frequent first."""
    counts = Counter(label for sentence in labels for label in sentence if label != root)
    return (root, *(label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


@kernel
def numbered_keys(keys, slots, numbers, found, ends, first_end):
    """Write the numbers, int32, of those of a tree's `keys`, uint64, that are in the table to `found`; their number.

    `ends`, int64 (n + 1,): where each link's keys end becomes where its numbers end, plus `first_end`.
    """
    count, k = 0, 0
    for link in range(1, ends.shape[0]):
        end = ends[link]
        while k < end:
            slot = find_slot(slots, keys[k])
            if slots[slot] != np.uint64(0):
                found[count] = numbers[slot]
                count += 1
            k += 1
        ends[link] = first_end + count
    return count


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
    rows = []
    for example in examples:
        n = len(example.heads) - 1
        keys, ends = np.empty(n * MAX_LABEL_KEYS, np.uint64), np.zeros(n + 1, np.int64)
        count = tree_label_keys(example.atoms, make_guide(example.heads), keys, ends)
        rows.append((keys[:count].copy(), ends))
    table, times = np.unique(np.concatenate([keys for keys, _ in rows]), return_counts=True)
    table = table[times >= options.label_least]
    slots, numbers = make_slots(table)
    features, ends_of_links = [], [np.zeros(1, np.int64)]
    total = 0
    for keys, ends in rows:
        found = np.empty(len(keys), INDEX)
        count = numbered_keys(keys, slots, numbers, found, ends, total)
        features.append(found[:count])
        ends_of_links.append(ends[1:])
        total += count
    listed, starts = np.concatenate(features), np.concatenate(ends_of_links)
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
