"""From the categories that a tagger offers to what the search takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX
from ...errors import DtparseError, TreeError
from ...kernels.spines import MOST_LABELS, MOST_SPINES, PLACES, SIDES, fill_levels
from ...trees.sided import is_sided, read_sided
from ...trees.spines import is_control, read_control, read_spine

Offered = Sequence[Sequence[tuple[str, float]]]
"""For each token the categories it may have, written spines, sided ones (see `trees.sided`), or control tags (see
`trees.spines`), with their probabilities."""


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
        when a token is left without one.

        What the model cannot build is left out, and of more than MOST_SPINES spines the least likely. Where the first
        token has a control tag, only control tags count.
        """
        if any(is_control(text) for text, _ in offered[0]):
            return _control_pruning(offered, beta)
        labels: list[int] = []
        sides: list[int] = []
        rows: list[tuple[int, int, int, int]] = []
        for token, categories in enumerate(offered):
            found = [spine for spine in map(self._read, _likely(categories, beta)) if spine is not None]
            if not found:
                return None
            for bit, spine in enumerate(found[:MOST_SPINES]):
                labels.extend(spine.labels)
                sides.extend(spine.sides)
                rows.append((len(labels), spine.places, token, bit))
        ends, places, tokens, bits = np.array(rows, INDEX).T.copy()
        longest = int(np.diff(ends, prepend=0).max())
        levels = np.zeros((len(offered), longest + 1, self._width), np.uint64)
        fill_levels(np.array(labels, INDEX), np.array(sides, INDEX), ends, places, tokens, bits, levels)
        return Pruning(levels, np.zeros(0, INDEX), len(rows))


def _likely(categories: Sequence[tuple[str, float]], beta: float) -> list[str]:
    """Those within `beta` of the likeliest, the likeliest first."""
    ranked = sorted(categories, key=lambda category: -category[1])
    return [text for text, p in ranked if p >= beta * ranked[0][1]]


def _control_pruning(offered: Offered, beta: float) -> Pruning | None:
    """Of control tags."""
    controls, number = np.zeros(len(offered), INDEX), 0
    for token, categories in enumerate(offered):
        found = []
        for text in _likely(categories, beta):
            with suppress(TreeError):
                found.append(read_control(text))
        if not found:
            return None
        number += len(found)
        controls[token] = np.bitwise_or.reduce(found)
    return Pruning(np.zeros((1, 1, 1), np.uint64), controls, number)


def check_offered(offered: Offered, n: int) -> None:
    """Raise DtparseError unless there are categories with numbers from 0 on for each of n words, or for none."""
    if len(offered) not in (0, n):
        raise DtparseError(f"{n} words but spines for {len(offered)}; give spines for every word, or none at all")
    for token, categories in enumerate(offered):
        try:
            good = all(isinstance(text, str) and 0 <= p < math.inf for text, p in categories)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise DtparseError(
                f"the spines of word {token} are {categories!r:.200}; give a list of (text, probability) pairs, as "
                "SequenceTagger.multitag does"
            )
