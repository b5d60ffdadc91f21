"""From the categories that a tagger offers to the symbols that a chart may have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...features.offers import Offered, OfferReader, are_controls, read_controls
from ...kernels.spine_cells import spine_cells
from ...model.pcfg import PART, PHRASE, TAG, PcfgModel
from ...trees.spines import CLOSES, OPENS, UNARY
from ...trees.tree import TOP
from .latent import spans_of_cells

MOST_SPINES = 1000
"""Of a token; more are left out."""


class Mask(NamedTuple):
    """`allowed`: uint8 (cells, S) over the coarse grammar's symbols; `number`: categories of all tokens together."""

    allowed: np.ndarray
    number: int


class SpineMasks:
    """Makes masks for a model's charts."""

    def __init__(self, model: PcfgModel):
        self._coarse, self._root = model.coarse, model.root(model.coarse)
        labels = tuple(model.labels)
        self._reader = OfferReader([None if label == TOP else label for label in labels])
        self._n_labels = len(labels)
        markov = (model.meta.get("options") or {}).get("markov") or {}
        from_head = str(markov.get("binarisation", "")).startswith("center")
        names, kind = self._coarse.names, self._coarse.kind
        self._left, self._right = (
            np.array([from_head and k == PART and side in name for name, k in zip(names, kind, strict=True)])
            for side in ("|left", "|right")
        )
        self._other = (kind == PART) & ~self._left & ~self._right

    def mask(self, offered: Offered, beta: float) -> Mask | None:
        """What the categories allow that are at least `beta` times as likely as a token's likeliest; None when a token
        is left without one."""
        n = len(offered)
        cells = spans_of_cells(n)
        single = cells[:, 1] - cells[:, 0] == 1
        opens, closes = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        phrases, parts = np.zeros((len(cells), self._n_labels), np.uint8), np.zeros((2, len(cells)), np.uint8)
        if are_controls(offered):
            read = read_controls(offered, beta)
            if read is None:
                return None
            bits, number = read
            several = (bits[cells[:, 0]] & OPENS > 0) & (bits[cells[:, 1] - 1] & CLOSES > 0)
            phrases[:] = np.where(single, bits[cells[:, 0]] & UNARY > 0, several)[:, None]
            parts[:] = 1
        else:
            spines = self._reader.spines(offered, beta, MOST_SPINES)
            if spines is None:
                return None
            number = len(spines.ends)
            spine_cells(*spines[:5], opens, closes, phrases, *parts)
        kind, base = self._coarse.kind, self._coarse.base
        allowed = np.zeros((len(cells), len(kind)), np.uint8)
        allowed[:, kind == PHRASE] = phrases[:, base[kind == PHRASE]]
        allowed[:, self._left], allowed[:, self._right] = parts[0, :, None], parts[1, :, None] > 0
        allowed[:, self._other] = 1
        allowed[np.ix_(single, kind == TAG)] = 1
        allowed[:, self._root] = 0
        allowed[n * (n - 1) // 2, self._root] = 1
        return Mask(allowed, number)
