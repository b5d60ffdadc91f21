"""Supertag candidates of a tagger as arrays of label ids; a supertag is a spine, plain or directional."""

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
"""For each token its candidate supertags with their probabilities."""


_first = itemgetter(0)


class FlatSpines(NamedTuple):
    """Concatenated spines, int32. Spine k has the labels[ends[k - 1]:ends[k]], as many sets of `sides`, and one set of
    `places`; sets are bit masks. It is candidate bits[k] of token tokens[k]. Spine 0 begins at 0."""

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
    """Converts supertag candidates to a model's label ids: the indices in `labels`. No spine may contain a None."""

    def __init__(self, labels: Sequence[str | None]):
        self._numbers = {label: number for number, label in enumerate(labels) if label is not None}
        self._known: dict[str, _Spine | None] = {}

    def _read(self, text: str) -> _Spine | None:
        """Return a spine as label ids, or None if the model cannot build it."""
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
        """Return each token's spines that are at least `beta` times as probable as its best one.

        There are at most `most`. Texts that are no spines over the model's labels are skipped. Returns None if
        a token has no spine left.
        """
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
    """Return the categories with at least `beta` times the highest probability, the most probable first."""
    least = beta * max((p for _, p in categories), default=0.0)
    kept = [(p, text) for text, p in categories if p >= least]
    return [text for _, text in sorted(kept, key=_first, reverse=True)]


def _plain(categories: Sequence[tuple[str, float]]) -> bool:
    """Check quickly whether all entries are (str, float) pairs with values of at least 0, as a tagger writes them."""
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
    """Raise DtparseError unless each of n words, or none, has categories with probabilities of at least 0."""
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
