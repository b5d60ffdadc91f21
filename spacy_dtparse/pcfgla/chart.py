"""Buffers of one thread for the chart kernels, and the calls of the kernels."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INDEX, OFFSET, SCORE
from .kernels.cky import (
    ITEM,
    MARKS,
    OUT_OF_SPACE,
    STEP,
    TRIED,
    USED,
    ChartScratch,
    fill_chart,
    find_item,
    read_derivation,
)
from .kernels.inside import InsideChart, InsideScratch, SmallGrammar, inside
from .kernels.outside import PAIR, OutsideChart, outside
from .model.model import KernelGrammar, PcfgGrammar

EVERYTHING = np.zeros((0, 1), dtype=np.uint8)
NO_GROUPS = np.zeros(2, dtype=INDEX)
MAX_CACHED_ITEM_BYTES, MAX_CACHED_BYTES = 2**26, 2**23
"""Maximum size in bytes of buffers retained between sentences: for items, and for others."""


class Chart(NamedTuple):
    """A filled chart: `items` ITEM, `cells` int64 (cells, 2), `tried`: number of rules tried."""

    grammar: KernelGrammar
    items: np.ndarray
    cells: np.ndarray
    tried: int

    def score(self, start: int, end: int, symbol: int) -> float:
        """Return the log probability of a symbol's best derivation over [start, end), -inf if it has none."""
        at = find_item(self.items, self.cells, end * (end - 1) // 2 + start, symbol)
        return float(self.items[at]["score"]) if at >= 0 else -np.inf

    def derivation(self, start: int, end: int, symbol: int) -> np.ndarray:
        """Return the steps (STEP) of that derivation in pre-order, none if there is no derivation."""
        length = 8 * (end - start) + 64
        while True:
            steps, stack = np.zeros(length, dtype=STEP), np.zeros((length, 3), dtype=OFFSET)
            count = read_derivation(self.grammar, self.items, self.cells, start, end, symbol, steps, stack)
            if count >= 0:
                return steps[:count]
            length *= 2


class Buffers:
    """Workspace of one thread; it grows with the length of the sentences."""

    def __init__(self) -> None:
        self.items = np.zeros(2**14, dtype=ITEM)
        self._arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an uninitialised array, valid until the next call with this name. Arrays are reused, because the
        operating system provides new memory page by page, which takes longer than filling a small chart."""
        length = math.prod(shape)
        cached = self._arrays.get(name)
        if cached is None or cached.dtype != dtype or len(cached) < length:
            cached = np.empty(length, dtype=dtype)
            if cached.nbytes <= MAX_CACHED_BYTES:
                self._arrays[name] = cached
        return cached[:length].reshape(shape)

    def fill(
        self, grammar: KernelGrammar, leaves: np.ndarray, leaf_from: np.ndarray, allowed: np.ndarray, groups: np.ndarray
    ) -> Chart:
        """Fill and return the chart of a sentence; its arrays are valid until the next call."""
        n, n_symbols = len(leaf_from) - 1, len(grammar.ranges)
        cells = np.zeros((n * (n + 1) // 2, 2), dtype=OFFSET)
        rows = np.empty((n, n_symbols), dtype=SCORE)
        back, queue = np.empty((n_symbols, 2), dtype=INDEX), np.zeros((2, n_symbols), dtype=INDEX)
        ranks = np.zeros((max(allowed.shape[1], 1) + 1, 2), dtype=INDEX)
        marks = np.zeros(MARKS, dtype=OFFSET)
        items = self.items
        scratch = ChartScratch(rows, back, queue, ranks, marks)
        while fill_chart(grammar, leaves, leaf_from, allowed, groups, items, cells, scratch) == OUT_OF_SPACE:
            items = np.concatenate([items, np.zeros(len(items) + n_symbols, dtype=ITEM)])
        if items.nbytes <= MAX_CACHED_ITEM_BYTES:
            self.items = items
        return Chart(grammar, items[: int(marks[USED])], cells, int(marks[TRIED]))

    def posterior(
        self,
        of: PcfgGrammar,
        leaves: np.ndarray,
        leaf_from: np.ndarray,
        root: int,
        beam: float,
        threshold: float,
        given: np.ndarray = EVERYTHING,
    ) -> tuple[float, np.ndarray]:
        """Return (log probability of the sentence, `allowed` uint8 (cells, S)) under a small grammar. `given` uint8
        (cells, S): mask of the symbols that may be used at all, or EVERYTHING."""
        rules, ranges, _ = of.probabilities
        grammar = SmallGrammar(rules, ranges, of.pair_from, of.joins, of.closure, of.frequency)
        n, n_symbols = len(leaf_from) - 1, len(ranges)
        n_cells = n * (n + 1) // 2
        array, square = self.array, (n_symbols, n_symbols)
        chart = InsideChart(
            array("chart", (2, n_cells, n_symbols), SCORE),
            array("scale", (n_cells,), OFFSET),
            array("live", (n_cells, n_symbols), INDEX),
            array("n_live", (n_cells,), INDEX),
        )
        scratch = InsideScratch(
            array("pairs", square, SCORE),
            array("met", (n_symbols,), INDEX),
            array("rights", square, INDEX),
            array("own", (n_symbols,), INDEX),
        )
        outer = OutsideChart(
            array("out", (2, n_cells, n_symbols), SCORE),
            array("out_scale", (n_cells,), OFFSET),
            np.zeros((n_cells, n_symbols), dtype=np.uint8),
            array("active", (len(rules),), PAIR),
            array("active_from", (n_symbols + 1,), INDEX),
        )
        probabilities = leaves.copy()
        probabilities["score"] = np.exp(leaves["score"])
        inside(grammar, beam, probabilities, leaf_from, given, chart, scratch)
        return outside(grammar, root, n, threshold, chart, outer), outer.allowed
