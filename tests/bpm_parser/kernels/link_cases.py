"""Random sentences with trees and guides, and their keys together with the features of the reference."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from spacy_dtparse.bpm_parser.kernels.link_labels import MAX_LABEL_KEYS, tree_label_keys
from spacy_dtparse.bpm_parser.kernels.links import COLUMNS, LONG, MAX_KEYS, make_guide, tree_keys
from tests.jit.harness import SLOW
from tests.reference.dependencies import Feature, Heads, label_features, link_features, tokens, trees

SIZES = (1, 2, 5) if SLOW else (1, 2, 5, 7, 13)


class Case(NamedTuple):
    """A sentence; `tree`: its gold tree; `guide`: another tree, or None; `labels`: atoms of the guide's labels, or
    None."""

    atoms: np.ndarray
    tree: Heads
    guide: Heads | None
    labels: tuple[int, ...] | None = None

    @property
    def n(self) -> int:
        return len(self.tree) - 1

    @property
    def links(self) -> list[tuple[int, int]]:
        return [(head, d) for head in range(self.n + 1) for d in range(1, self.n + 1) if head != d]


def random_tree(n: int, rng: np.random.Generator) -> Heads:
    if n <= 5:
        return trees(n)[rng.integers(len(trees(n)))]
    order = (rng.permutation(n) + 1).tolist()
    heads = [-1] + [0] * n
    for place, token in enumerate(order[1:], 1):
        heads[token] = order[rng.integers(place)]
    return tuple(heads)


def random_case(n: int, rng: np.random.Generator, guided: bool, unknown: float = 0.1) -> Case:
    """A case of few words and tags, so that links share many features; some are unknown."""
    atoms = np.zeros((n + 3, COLUMNS), np.int32)
    for row in range(n + 3):
        edge = {0: 1, 1: 2, n + 2: 3}.get(row)
        word, tag, stem = (edge,) * 3 if edge else (int(rng.integers(4, 4 + most)) for most in (8, 4, 4))
        pairs = ((word, tag), (stem, tag))
        numbers = [10 * first + second for first, second in pairs]
        long = 0 if edge else int(rng.integers(2))
        atoms[row] = word, tag, numbers[0], stem, numbers[1], long, 0 if edge else int(rng.integers(4))
        if not edge:
            atoms[row, :LONG][rng.random(LONG) < unknown] = 0
    if not guided:
        return Case(atoms, random_tree(n, rng), None)
    labels = np.where(rng.random(n) < unknown, 0, rng.integers(2, 6, n)).tolist()
    return Case(atoms, random_tree(n, rng), random_tree(n, rng), (1, *labels))


def cases(guided: bool, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = [random_case(n, rng, guided) for n in SIZES]
    return [*found, found[-2]._replace(labels=None)]


def guide_of(case: Case):
    return make_guide(*(None if part is None else np.array(part, np.int32) for part in (case.guide, case.labels)))


def keys_of(case: Case, links: Mapping[int, int]) -> list[int]:
    """Keys of the links dependent: head."""
    heads = np.full(case.n + 1, -1, np.int32)
    for d, head in links.items():
        heads[d] = head
    written = np.zeros(2 * len(links) * (MAX_KEYS + case.n), np.uint64)
    count = tree_keys(case.atoms, guide_of(case), heads, written)
    return written[:count].tolist()


def twin_features(case: Case, head: int, dependent: int) -> list[Feature]:
    return link_features(tokens(case.atoms), case.guide, case.labels, head, dependent)


def paired(keys: Mapping[Hashable, list[int]], features: Mapping[Hashable, list[Feature]]) -> dict[Feature, int]:
    """A key for each feature: one that occurs at the same links. Fails unless there are equally many of each."""
    at_links: tuple[dict, dict] = {}, {}
    for places, lists in zip(at_links, (keys, features), strict=True):
        for link, found in lists.items():
            assert len(found) == len(set(found)), f"twice at {link}"
            for one in found:
                places.setdefault(one, []).append(link)
    groups: tuple[dict, dict] = {}, {}
    for group, places in zip(groups, at_links, strict=True):
        for one, where in places.items():
            group.setdefault(tuple(where), []).append(one)
    ours, twins = groups
    assert set(ours) == set(twins)
    for where in ours:
        assert len(ours[where]) == len(twins[where]), twins[where]
    return {feature: key for where in ours for feature, key in zip(twins[where], ours[where], strict=True)}


def check_shared(keys: Mapping[Hashable, list[int]], features: Mapping[Hashable, list[Feature]]) -> None:
    """Check that any two links share as many keys as features."""
    sets = [({*own}, {*features[link]}) for link, own in keys.items()]
    for (one, first), (other, second) in combinations(sets, 2):
        assert len(one & other) == len(first & second), first & second


def label_key_lists(case: Case) -> list[list[int]]:
    """The keys of each link of the case's tree."""
    written, ends = np.zeros(case.n * MAX_LABEL_KEYS, np.uint64), np.full(case.n + 1, -1, np.int64)
    count = tree_label_keys(case.atoms, make_guide(np.array(case.tree, np.int32)), written, ends)
    assert ends[0] == 0 and ends[-1] == count
    return [written[ends[d - 1] : ends[d]].tolist() for d in range(1, case.n + 1)]


def label_lists(several: list[Case]) -> tuple[dict, dict]:
    keys, features = {}, {}
    for number, case in enumerate(several):
        for d, own in enumerate(label_key_lists(case), 1):
            keys[number, d] = own
            features[number, d] = label_features(tokens(case.atoms), case.tree, d)
    return keys, features
