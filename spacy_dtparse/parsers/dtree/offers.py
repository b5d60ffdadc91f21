"""From the categories that a tagger offers to what the search takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX
from ...errors import DtparseError, TreeError
from ...kernels.spines import MOST_LABELS, MOST_SPINES, PLACES, SIDES, fill_levels
from ...trees.spines import is_control, is_sided, read_control, read_sided, read_spine

Offered = Sequence[Sequence[tuple[str, float]]]
"""For each token the categories it may have, written spines, sided ones, or control tags (see `trees.spines`), with
their probabilities."""


class Pruning(NamedTuple):
    """What is left of the offers: `levels` and `controls` as in `kernels.spines.Offers`, and the `number` of categories
    that all tokens have together."""

    levels: np.ndarray
    controls: np.ndarray
    number: int


class _Spine(NamedTuple):
    """A spine as `fill_levels` takes it: label numbers, sets of sides and of places as bits."""

    labels: tuple[int, ...]
    sides: tuple[int, ...]
    places: int


class SpineReader:
    """Reads spines as the numbers of a model's labels, `labels` with TOP as the last."""

    def __init__(self, labels: Sequence[str]):
        self._numbers = {label: number for number, label in enumerate(labels[:-1])}
        self._width = len(labels) + 1 + SIDES + PLACES
        self._known: dict[str, _Spine | None] = {}
        self.usable = len(labels) <= MOST_LABELS

    def _read(self, text: str) -> _Spine | None:
        """A spine in numbers; None for one that the model cannot build."""
        if text not in self._known:
            try:
                if is_sided(text):
                    labels, sides, place = read_sided(text)
                    sets, places = tuple(1 << side for side in sides), 1 << place
                else:
                    labels = read_spine(text)
                    sets, places = ((1 << SIDES) - 1,) * len(labels), (1 << PLACES) - 1
                numbers = tuple(self._numbers.get(label, -1) for label in labels)
                self._known[text] = None if -1 in numbers else _Spine(numbers, sets, places)
            except TreeError:
                self._known[text] = None
        return self._known[text]

    def pruning(self, offered: Offered, beta: float) -> Pruning | None:
        """What the search takes of the categories that are at least `beta` times as likely as a token's likeliest; None
        when a token is left without one."""
        if any(is_control(text) for text, _ in offered[0]):
            return _control_pruning(offered, beta)
        labels: list[int] = []
        sides: list[int] = []
        rows: list[tuple[int, int, int, int]] = []
        highest = 0
        for token, categories in enumerate(offered):
            least = beta * max((p for _, p in categories), default=0.0)
            count = 0
            for text, p in categories:
                spine = self._read(text) if p >= least else None
                if spine is not None and count < MOST_SPINES:
                    labels.extend(spine.labels)
                    sides.extend(spine.sides)
                    rows.append((len(labels), spine.places, token, count))
                    count += 1
                    highest = max(highest, len(spine.labels))
            if not count:
                return None
        levels = np.zeros((len(offered), highest + 1, self._width), np.uint64)
        ends, places, tokens, bits = np.array(rows, INDEX).T.copy()
        fill_levels(np.array(labels, INDEX), np.array(sides, INDEX), ends, places, tokens, bits, levels)
        return Pruning(levels, np.zeros(0, INDEX), len(rows))


def _control_pruning(offered: Offered, beta: float) -> Pruning | None:
    """Of control tags; None when one is none."""
    controls, number = np.zeros(len(offered), INDEX), 0
    for token, categories in enumerate(offered):
        least = beta * max((p for _, p in categories), default=0.0)
        try:
            allowed = [read_control(text) for text, p in categories if p >= least]
        except TreeError:
            return None
        if not allowed:
            return None
        number += len(allowed)
        controls[token] = np.bitwise_or.reduce(allowed)
    return Pruning(np.zeros((1, 1, 1), np.uint64), controls, number)


def check_offered(offered: Offered, n: int) -> None:
    """Raise DtparseError unless there are spines for each of n tokens, or for none."""
    if len(offered) not in (0, n):
        raise DtparseError(f"{n} words but spines for {len(offered)}; give spines for every word, or none at all")
