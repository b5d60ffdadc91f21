"""Boosted trees as nested tuples: the simplest scorer, sharing no code with the package.

A tree is an int (a leaf, in units of the confidence grid) or a tuple (atom, yes tree, no tree).
"""

from __future__ import annotations

import random

import numpy as np

from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble

GRID = 2.0**-16


def score(trees: list, active: set[int]) -> int:
    """Summed units of the leaves that an example with the atoms `active` reaches."""
    total = 0
    for tree in trees:
        while isinstance(tree, tuple):
            atom, yes, no = tree
            tree = yes if atom in active else no
        total += tree
    return total


def random_leaf(rng: random.Random) -> int:
    return rng.choice([0, 0, 1, -1, rng.randint(-(2**17), 2**17)])


def random_tree(rng: random.Random, n_atoms: int, splits: int) -> object:
    """A tree of any shape with `splits` splits; atoms may come twice on a path."""
    if splits == 0:
        return random_leaf(rng)
    left = rng.randint(0, splits - 1)
    return (rng.randrange(n_atoms), random_tree(rng, n_atoms, left), random_tree(rng, n_atoms, splits - 1 - left))


def random_list(rng: random.Random, n_atoms: int, splits: int, present: float = 0.2) -> object:
    """A decision list: every split has a leaf on one side, mostly the yes side."""
    tree: object = rng.randint(1, 2**17)
    for _ in range(splits):
        leaf = random_leaf(rng) if rng.random() < 0.1 else 0
        atom = rng.randrange(n_atoms)
        tree = (atom, tree, leaf) if rng.random() < present else (atom, leaf, tree)
    return tree


def flatten(trees: list, rng: random.Random | None = None) -> LabelEnsemble:
    """The same trees as arrays; node numbers in pre-order, or in random order if `rng` is given."""
    rows: list[list[int]] = []  # atom, yes, no, units

    def add(tree: object) -> int:
        number = len(rows)
        if isinstance(tree, int):
            rows.append([-1, -1, -1, tree])
        else:
            rows.append([tree[0], 0, 0, 0])  # type: ignore[index]
            rows[number][1] = add(tree[1])  # type: ignore[index]
            rows[number][2] = add(tree[2])  # type: ignore[index]
        return number

    roots = [add(tree) for tree in trees]
    place = list(range(len(rows)))
    if rng is not None:
        rng.shuffle(place)
    table = np.full((len(rows), 4), -1, dtype=np.int64)
    for number, (atom, yes, no, units) in enumerate(rows):
        children = (place[yes], place[no]) if atom >= 0 else (-1, -1)
        table[place[number]] = (atom, *children, units)
    return LabelEnsemble(
        np.array([place[root] for root in roots], dtype=np.int32),
        table[:, 0].astype(np.int32),
        table[:, 1].astype(np.int32),
        table[:, 2].astype(np.int32),
        table[:, 3] * GRID,
    )
