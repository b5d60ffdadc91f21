"""From the categories that a tagger offers to the symbols that a chart may have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...features.offers import Offered, OfferReader, are_controls, read_controls
from ...kernels.spine_cells import spine_cells
from ...model.pcfg import PART, PHRASE, TAG, PcfgModel, part_label, part_side
from ...trees.spines import CLOSES, OPENS, UNARY
from ...trees.tree import TOP
from .latent import spans_of_cells

SIDES = ("left", "right")
"""Of parts (see `part_side`)."""


class Mask(NamedTuple):
    """`allowed`: uint8 (cells, S) over the coarse grammar's symbols; `number`: categories of all tokens together."""

    allowed: np.ndarray
    number: int


class _Parts(NamedTuple):
    """Symbols of parts of one side, int (P,), and the two columns of what `spine_cells` marks that may say so of each:
    a label may be that of a constituent, of a tag, or of both."""

    symbols: np.ndarray
    columns: np.ndarray
    others: np.ndarray

    @classmethod
    def named(
        cls, symbols: np.ndarray, names: Sequence[str], numbers: Mapping[str, int], tags: Collection[str]
    ) -> _Parts:
        """`numbers`: of constituents' labels; the column after them is for tags."""
        labels = [part_label(names[symbol]) for symbol in symbols]
        columns = [numbers.get(label, len(numbers)) for label in labels]
        others = [len(numbers) if label in tags else column for label, column in zip(labels, columns, strict=True)]
        return cls(symbols, np.array(columns, dtype=int), np.array(others, dtype=int))


class SpineMasks:
    """Makes masks for a model's charts. Parts are left alone where they are not made from the head outward."""

    def __init__(self, model: PcfgModel):
        self._coarse, self._root = model.coarse, model.root(model.coarse)
        labels = tuple(model.labels)
        self._reader = OfferReader([None if label == TOP else label for label in labels])
        self._n_labels = len(labels)
        self._by_head = model.binarisation == "center-head"
        names, is_part = self._coarse.names, self._coarse.kind == PART
        sides = [part_side(name) if model.binarisation.startswith("center") else "" for name in names]
        parts = {side: is_part & np.array([own == side for own in sides]) for side in (*SIDES, "")}
        numbers = {label: number for number, label in enumerate(labels)}
        self._parts = [_Parts.named(np.flatnonzero(parts[side]), names, numbers, set(model.tags)) for side in SIDES]
        self._other = parts[""]
        of_root = self._coarse.binary[self._coarse.binary[:, 0] == self._root, 1:]
        self._root_label = numbers[TOP] if is_part[of_root].any() else -1

    def mask(self, offered: Offered, beta: float) -> Mask | None:
        """What the categories allow that are at least `beta` times as likely as a token's likeliest; None when a token
        is left without one."""
        n = len(offered)
        cells = spans_of_cells(n)
        single = cells[:, 1] - cells[:, 0] == 1
        phrases = np.zeros((len(cells), self._n_labels), bool)
        parts = np.zeros((2, len(cells), self._n_labels + 1), bool)
        if are_controls(offered):
            read = read_controls(offered, beta)
            if read is None:
                return None
            bits, number = read
            begins, ends = bits[cells[:, 0]], bits[cells[:, 1] - 1] & CLOSES > 0
            phrases[:] = np.where(single, begins & UNARY > 0, (begins & OPENS > 0) & ends)[:, None]
            # A left part ends with its constituent or the root.
            parts[0], parts[1] = (ends | (cells[:, 1] == n))[:, None], True
        else:
            spines = self._reader.spines(offered, beta)
            if spines is None:
                return None
            number = len(spines.ends)
            opens, closes = np.zeros((2, n), bool)
            spine_cells(*spines[:5], self._by_head, self._root_label, opens, closes, phrases, *parts)
        kind, base = self._coarse.kind, self._coarse.base
        allowed = np.zeros((len(cells), len(kind)), np.uint8)
        allowed[:, kind == PHRASE] = phrases[:, base[kind == PHRASE]]
        for own, part in zip(self._parts, parts, strict=True):
            allowed[:, own.symbols] = part[:, own.columns] | part[:, own.others]
        allowed[:, self._other] = 1
        allowed[np.ix_(single, kind == TAG)] = 1
        allowed[:, self._root] = 0
        allowed[n * (n - 1) // 2, self._root] = 1
        return Mask(allowed, number)
