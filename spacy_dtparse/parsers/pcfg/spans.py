"""Posteriors of constituents: how probable it is that a sentence's tree has a label over a span."""

from collections.abc import Sequence

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...kernels.pcfg.latent import LatentRules
from ...model.pcfg.model import PHRASE, PcfgGrammar
from .latent import Leaves, posteriors, spans_of_cells, symbol_mass


def one_value_each(grammar: PcfgGrammar) -> LatentRules:
    """A grammar without latent annotations as one with one latent value for each symbol; rules keep their numbers."""
    rules, ranges = grammar.probabilities
    left = np.zeros(len(rules), dtype=INDEX)
    for symbol, (binary, binary_to, unary, unary_to) in enumerate(ranges[:, :4].tolist()):
        left[binary:binary_to] = symbol
        left[unary:unary_to] = symbol
    parent, right, values = (np.ascontiguousarray(rules[name]) for name in ("parent", "right", "weight"))
    sizes = np.ones(len(ranges), dtype=INDEX)
    at = np.arange(len(rules) + 1, dtype=OFFSET)
    rows = np.zeros((len(rules), 2), dtype=INDEX)
    ranges = np.ascontiguousarray(ranges[:, :4])
    return LatentRules(sizes, ranges, parent, left, right, at.astype(INDEX), rows, at[:-1], values, grammar.pair_from)


def leaf_vectors(leaves: np.ndarray, leaf_from: np.ndarray) -> Leaves:
    """The leaves of `PcfgGrammar.leaves` as vectors of one number each."""
    places = np.stack([leaves["symbol"], np.arange(len(leaves))], axis=1).astype(INDEX)
    return Leaves(places, leaf_from, np.exp(leaves["score"]))


def plain_mass(
    grammar: PcfgGrammar, leaves: tuple[np.ndarray, np.ndarray], allowed: np.ndarray, root: int
) -> list[np.ndarray] | None:
    """One array float64 (cells, S): how often a tree of a grammar without latent annotations is expected to have each
    symbol over each cell; None: there is no tree. `leaves`: of the grammar. `allowed` uint8 (cells, coarse symbols)."""
    rules = one_value_each(grammar)
    made = posteriors(rules, leaf_vectors(*leaves), np.ascontiguousarray(allowed[:, grammar.coarse]), root)
    return None if made is None else [symbol_mass(rules, made[0], len(allowed))]


def label_posteriors(
    mass: Sequence[np.ndarray], grammar: PcfgGrammar, labels: Sequence[str], n: int
) -> dict[tuple[int, int, str], float]:
    """{(start, end, label): probability} of constituents, the mean over grammars, whose symbols are those of `grammar`;
    what has none is left out."""
    mean = sum(mass[1:], mass[0]) / len(mass)
    cells = spans_of_cells(n)
    found: dict[tuple[int, int, str], float] = {}
    for cell, symbol in np.argwhere(mean > 0.0).tolist():
        if grammar.kind[symbol] == PHRASE:
            start, end = cells[cell].tolist()
            key = (start, end, labels[int(grammar.base[symbol])])
            found[key] = found.get(key, 0.0) + float(mean[cell, symbol])
    return {key: min(chance, 1.0) for key, chance in found.items()}
