"""Categories that a tagger offers to words, as numbers: spines and sided spines (see `trees.spines`)."""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX, PLACES, SIDES
from ..errors import DtparseError, TreeError
from ..trees.sided import is_sided, read_sided
from ..trees.spines import read_spine

Offered = Sequence[Sequence[tuple[str, float]]]
"""For each token the categories it may have, with their probabilities."""


_first = itemgetter(0)


class FlatSpines(NamedTuple):
    """Spines one after the other, int32: spine k has the labels[ends[k - 1]:ends[k]] with as many sets of `sides` and
    a set of `places`, as bits, and is number bits[k] of those of tokens[k]. Spine 0 begins at 0."""

    labels: np.ndarray
    sides: np.ndarray
    ends: np.ndarray
    places: np.ndarray
    tokens: np.ndarray
    bits: np.ndarray


class _Spine(NamedTuple):
    labels: tuple[int, ...]
    sides: tuple[int, ...]
    places: int


class OfferReader:
    """Reads offers as the numbers of a model's `labels`; those of None may be in no spine."""

    def __init__(self, labels: Sequence[str | None]):
        self._numbers = {label: number for number, label in enumerate(labels) if label is not None}
        self._known: dict[str, _Spine | None] = {}

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

    def spines(self, offered: Offered, beta: float, most: int | None = None) -> FlatSpines | None:
        """The spines, at most `most` of a token, that are at least `beta` times as likely as its likeliest; None when a
        token is left without one. What is no spine of the model's labels is left out."""
        labels: list[int] = []
        sides: list[int] = []
        rows: list[tuple[int, int, int, int]] = []
        for token, categories in enumerate(offered):
            found = [spine for spine in map(self._read, _likely(categories, beta)) if spine is not None]
            if not found:
                return None
            for bit, spine in enumerate(found[:most]):
                labels.extend(spine.labels)
                sides.extend(spine.sides)
                rows.append((len(labels), spine.places, token, bit))
        return FlatSpines(np.array(labels, INDEX), np.array(sides, INDEX), *np.array(rows, INDEX).T.copy())


def _likely(categories: Sequence[tuple[str, float]], beta: float) -> list[str]:
    """Those within `beta` of the likeliest, the likeliest first."""
    least = beta * max((p for _, p in categories), default=0.0)
    kept = [(p, text) for text, p in categories if p >= least]
    return [text for _, text in sorted(kept, key=_first, reverse=True)]


def _plain(categories: Sequence[tuple[str, float]]) -> bool:
    """Whether these are surely pairs of text and number from 0 on, as a tagger writes them: a quick look."""
    try:
        texts, chances = zip(*categories, strict=True)
    except (TypeError, ValueError):
        return False
    return (
        set(map(type, texts)) == {str}
        and set(map(type, chances)) == {float}
        and 0.0 <= min(chances) <= sum(chances) < math.inf
    )


def check_offered(offered: Offered, n: int) -> None:
    """Raise DtparseError unless there are categories with numbers from 0 on for each of n words, or for none."""
    if len(offered) not in (0, n):
        raise DtparseError(f"{n} words but spines for {len(offered)}; give spines for every word, or none at all")
    for token, categories in enumerate(offered):
        if _plain(categories):
            continue
        try:
            good = all(isinstance(text, str) and 0 <= p < math.inf for text, p in categories)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise DtparseError(
                f"the spines of word {token} are {categories!r:.200}; give a list of (text, probability) pairs, as "
                "SequenceTagger.multitag does"
            )
