"""From the categories that a tagger offers to the symbols that a chart may have."""

from typing import NamedTuple

import numpy as np

from ...features.offers import Offered, OfferReader
from ...kernels.pcfg.spine_cells import spine_cells
from ...model.pcfg.model import PART, PHRASE, TAG, PcfgModel, part_side
from ...trees.tree import TOP
from .latent import spans_of_cells


class Mask(NamedTuple):
    """`allowed`: uint8 (cells, S) over the coarse grammar's symbols; `number`: categories of all tokens together."""

    allowed: np.ndarray
    number: int


class SpineMasks:
    """Makes masks for a model's charts. Parts are left alone where they are not made from the head outward."""

    def __init__(self, model: PcfgModel):
        self._coarse, self._root = model.coarse, model.root(model.coarse)
        labels = tuple(model.labels)
        self._reader = OfferReader([None if label == TOP else label for label in labels])
        self._n_labels = len(labels)
        names, is_part = self._coarse.names, self._coarse.kind == PART
        sides = [part_side(name) if model.binarisation.startswith("center") else "" for name in names]
        self._left, self._right, self._other = (
            is_part & np.array([side == wanted for side in sides]) for wanted in ("left", "right", "")
        )
        of_root = self._coarse.binary[self._coarse.binary[:, 0] == self._root, 1:]
        self._root_has_parts = bool(is_part[of_root].any())

    def mask(self, offered: Offered, beta: float) -> Mask | None:
        """What the spines allow that are at least `beta` times as likely as a token's likeliest; None when a token is
        left without one."""
        spines = self._reader.spines(offered, beta)
        if spines is None:
            return None
        n = len(offered)
        cells = spans_of_cells(n)
        single = cells[:, 1] - cells[:, 0] == 1
        phrases, parts = np.zeros((len(cells), self._n_labels), np.uint8), np.zeros((2, len(cells)), np.uint8)
        opens, closes = np.zeros((2, n), np.uint8)
        spine_cells(*spines[:5], self._root_has_parts, opens, closes, phrases, *parts)
        kind, base = self._coarse.kind, self._coarse.base
        allowed = np.zeros((len(cells), len(kind)), np.uint8)
        allowed[:, kind == PHRASE] = phrases[:, base[kind == PHRASE]]
        allowed[:, self._left], allowed[:, self._right], allowed[:, self._other] = *parts[:, :, None], 1
        allowed[np.ix_(single, kind == TAG)] = 1
        allowed[:, self._root] = 0
        allowed[n * (n - 1) // 2, self._root] = 1
        return Mask(allowed, len(spines.ends))
