"""Supertag candidates of a tagger as arrays of label ids; a supertag is a spine, plain or directional."""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX, POSITIONS, SIDES
from ..errors import DtparseError, TreeError
from ..trees.directional import is_directional, parse_directional
from ..trees.spines import parse_spine

SupertagCandidates = Sequence[Sequence[tuple[str, float]]]
"""For each token its candidate supertags with their probabilities."""


_probability_of = itemgetter(0)


class FlatSpines(NamedTuple):
    """Concatenated spines, int32. Spine k has the labels[ends[k - 1]:ends[k]], as many sets of `sides`, and one set of
    `positions`; sets are bit masks. It is candidate bits[k] of token tokens[k]. Spine 0 begins at 0."""

    labels: np.ndarray
    sides: np.ndarray
    ends: np.ndarray
    positions: np.ndarray
    tokens: np.ndarray
    bits: np.ndarray


class _Spine(NamedTuple):
    labels: tuple[int, ...]
    sides: tuple[int, ...]
    positions: int


class SupertagIndex:
    """Converts supertag candidates to a model's label ids: the indices in `labels`. No spine may contain a None."""

    def __init__(self, labels: Sequence[str | None]):
        self._label_ids = {label: label_id for label_id, label in enumerate(labels) if label is not None}
        self._parsed: dict[str, _Spine | None] = {}

    def _parse_spine(self, text: str) -> _Spine | None:
        """Return a spine as label ids, or None if the model cannot build it."""
        if text not in self._parsed:
            try:
                if is_directional(text):
                    labels, sides, position = parse_directional(text)
                    sets, positions = tuple(1 << side for side in sides), 1 << position
                else:
                    labels = parse_spine(text)
                    sets, positions = ((1 << SIDES) - 1,) * len(labels), (1 << POSITIONS) - 1
                label_ids = tuple(self._label_ids.get(label, -1) for label in labels)
                self._parsed[text] = None if -1 in label_ids else _Spine(label_ids, sets, positions)
            except TreeError:
                self._parsed[text] = None
        return self._parsed[text]

    def spines(self, supertags: SupertagCandidates, beta: float, max_per_token: int | None = None) -> FlatSpines | None:
        """Return each token's spines that are at least `beta` times as probable as its best one.

        There are at most `max_per_token`. Texts that are no spines over the model's labels are skipped. Returns None if
        a token has no spine left.
        """
        labels: list[int] = []
        sides: list[int] = []
        rows: list[tuple[int, int, int, int]] = []
        for token, categories in enumerate(supertags):
            usable = [spine for spine in map(self._parse_spine, _most_probable(categories, beta)) if spine is not None]
            if not usable:
                return None
            for bit, spine in enumerate(usable[:max_per_token]):
                labels.extend(spine.labels)
                sides.extend(spine.sides)
                rows.append((len(labels), spine.positions, token, bit))
        return FlatSpines(np.array(labels, INDEX), np.array(sides, INDEX), *np.array(rows, INDEX).T.copy())


def _most_probable(categories: Sequence[tuple[str, float]], beta: float) -> list[str]:
    """Return the categories with at least `beta` times the highest probability, the most probable first."""
    min_prob = beta * max((p for _, p in categories), default=0.0)
    likely = [(p, text) for text, p in categories if p >= min_prob]
    return [text for _, text in sorted(likely, key=_probability_of, reverse=True)]


def _is_plain(categories: Sequence[tuple[str, float]]) -> bool:
    """Check quickly whether all entries are (str, float) pairs with values of at least 0, as a tagger writes them."""
    try:
        texts, probs = zip(*categories, strict=True)
    except (TypeError, ValueError):
        return False
    return (
        set(map(type, texts)) == {str}
        and set(map(type, probs)) == {float}
        and 0.0 <= min(probs) <= sum(probs) < math.inf
    )


def check_supertags(supertags: SupertagCandidates, n: int) -> None:
    """Raise DtparseError unless each of n words, or none, has categories with probabilities of at least 0."""
    if len(supertags) not in (0, n):
        raise DtparseError(f"{n} words but spines for {len(supertags)}; give spines for every word, or none at all")
    for token, categories in enumerate(supertags):
        if _is_plain(categories):
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
