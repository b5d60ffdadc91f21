"""Masks of the symbols that supertags allow in a chart."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.supertags import SupertagCandidates, SupertagIndex
from ..dtypes import INDEX, OFFSET
from ..trees.tree import TOP
from .kernels.latent import LatentRules
from .kernels.spine_cells import spine_cells
from .latent import Leaves, expected_counts, posteriors, spans_of_cells
from .model.model import PART, PHRASE, TAG, PcfgGrammar, PcfgModel, part_side


class Mask(NamedTuple):
    """`allowed`: uint8 (cells, S) over the coarse grammar's symbols; `n_supertags`: total supertags of all tokens."""

    allowed: np.ndarray
    n_supertags: int


class SpineMasks:
    """Builds masks for a model's charts. Part symbols are only masked if the binarisation is from the head outward."""

    def __init__(self, model: PcfgModel):
        self._coarse, self._root = model.coarse, model.root(model.coarse)
        labels = tuple(model.labels)
        self._index = SupertagIndex([None if label == TOP else label for label in labels])
        self._n_labels = len(labels)
        names, is_part = self._coarse.names, self._coarse.kind == PART
        sides = [part_side(name) if model.binarisation.startswith("center") else "" for name in names]
        self._left, self._right, self._other = (
            is_part & np.array([side == wanted for side in sides]) for wanted in ("left", "right", "")
        )
        of_root = self._coarse.binary[self._coarse.binary[:, 0] == self._root, 1:]
        self._root_has_parts = bool(is_part[of_root].any())

    def mask(self, supertags: SupertagCandidates, beta: float) -> Mask | None:
        """Return the mask of the spines that are at least `beta` times as probable as a token's most probable one; None
        if a token has none."""
        spines = self._index.spines(supertags, beta)
        if spines is None:
            return None
        n = len(supertags)
        cells = spans_of_cells(n)
        single = cells[:, 1] - cells[:, 0] == 1
        phrases, parts = np.zeros((len(cells), self._n_labels), np.uint8), np.zeros((2, len(cells)), np.uint8)
        opens, closes = np.zeros((2, n), np.uint8)
        spine_cells(spines, self._root_has_parts, opens, closes, phrases, *parts)
        kind, base = self._coarse.kind, self._coarse.base
        allowed = np.zeros((len(cells), len(kind)), np.uint8)
        allowed[:, kind == PHRASE] = phrases[:, base[kind == PHRASE]]
        allowed[:, self._left], allowed[:, self._right], allowed[:, self._other] = *parts[:, :, None], 1
        allowed[np.ix_(single, kind == TAG)] = 1
        allowed[:, self._root] = 0
        allowed[n * (n - 1) // 2, self._root] = 1
        return Mask(allowed, len(spines.ends))


def one_value_each(grammar: PcfgGrammar) -> LatentRules:
    """Convert a grammar without latent annotations to one with one latent value per symbol; rule ids stay the same."""
    rules, ranges, left = grammar.probabilities
    parent, right, values = (np.ascontiguousarray(rules[name]) for name in ("parent", "right", "weight"))
    sizes = np.ones(len(ranges), dtype=INDEX)
    at = np.arange(len(rules) + 1, dtype=OFFSET)
    rows = np.zeros((len(rules), 2), dtype=INDEX)
    return LatentRules(sizes, ranges, parent, left, right, at.astype(INDEX), rows, at[:-1], values, grammar.pair_from)


def leaf_vectors(leaves: np.ndarray, leaf_from: np.ndarray) -> Leaves:
    """Convert the leaves of `PcfgGrammar.leaves` to vectors of one number each."""
    positions = np.stack([leaves["symbol"], np.arange(len(leaves))], axis=1).astype(INDEX)
    return Leaves(positions, leaf_from, np.exp(leaves["score"]))


def plain_expected_counts(
    grammar: PcfgGrammar, leaves: tuple[np.ndarray, np.ndarray], allowed: np.ndarray, root: int
) -> list[np.ndarray] | None:
    """Return one array float64 (cells, S): the expected number of occurrences of each symbol over each cell in a tree
    of a grammar without latent annotations; None if there is no tree. `allowed` uint8 (cells, coarse symbols)."""
    rules = one_value_each(grammar)
    result = posteriors(rules, leaf_vectors(*leaves), np.ascontiguousarray(allowed[:, grammar.coarse]), root)
    return None if result is None else [expected_counts(rules, result[0], len(allowed))]


def label_posteriors(
    counts: Sequence[np.ndarray], grammar: PcfgGrammar, labels: Sequence[str], n: int
) -> dict[tuple[int, int, str], float]:
    """Return {(start, end, label): probability} of constituents with positive probability, the mean over grammars. The
    symbols of all grammars are those of `grammar`."""
    mean = sum(counts[1:], counts[0]) / len(counts)
    cells = spans_of_cells(n)
    found: dict[tuple[int, int, str], float] = {}
    for cell, symbol in np.argwhere(mean > 0.0).tolist():
        if grammar.kind[symbol] == PHRASE:
            start, end = cells[cell].tolist()
            key = (start, end, labels[int(grammar.base[symbol])])
            found[key] = found.get(key, 0.0) + float(mean[cell, symbol])
    return {key: min(prob, 1.0) for key, prob in found.items()}
