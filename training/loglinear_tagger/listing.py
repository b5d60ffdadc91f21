"""Arrays of labelled sentences, their features, and which labels each feature has weights for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET
from spacy_dtparse.features.linear.tagparts import TagParts
from spacy_dtparse.kernels.linear.feature_table import make_slots
from spacy_dtparse.kernels.linear.tagging import COLUMNS, EDGE, FIRST_LABEL, START

from ..data.tallies import tallied
from .corpus import LabelledSentence
from .kernels import MAX_KEYS, LearnerTables, gold_features

_CHUNK = 1000
"""Sentences whose features are counted at once."""


class SequenceData(NamedTuple):
    """Sentences one after the other, each with its edges. `atoms`: int32 (rows, COLUMNS), see `kernels.linear.tagging`;
    `starts`: int64 (sentences + 1,), the first row of each; `gold`: int32 (rows,), atoms of the labels, START at
    edges."""

    atoms: np.ndarray
    starts: np.ndarray
    gold: np.ndarray


def make_data(sentences: Sequence[LabelledSentence], parts: TagParts) -> SequenceData:
    """The arrays of sentences; a label that `parts` lacks becomes the first one."""
    starts = np.cumsum([0, *(len(s.words) + 2 * EDGE for s in sentences)]).astype(OFFSET)
    atoms, gold = np.empty((int(starts[-1]), COLUMNS), INDEX), np.full(int(starts[-1]), START, INDEX)
    for sentence, start, end in zip(sentences, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        atoms[start:end] = parts.encode(sentence.words, sentence.tags)
        gold[start + EDGE : end - EDGE] = FIRST_LABEL + parts.labels.encode(sentence.labels, default=0)
    return SequenceData(atoms, starts, gold)


class Listing(NamedTuple):
    """`keys`: features, uint64, ascending; `slots`, `numbers`: their table; `codes`: pairs that have a weight, feature
    times labels plus label, uint64, ascending; `seen`: how often each occurs, float64; `most`: features of a token."""

    keys: np.ndarray
    slots: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray
    seen: np.ndarray
    most: int

    def tables(self, parts: TagParts, codes: np.ndarray, weights: np.ndarray) -> LearnerTables:
        """The tables of pairs with float64 weights, which online learners write to."""
        n = np.uint64(len(parts.labels))
        starts = np.searchsorted(codes, np.arange(len(self.keys) + 1, dtype=np.uint64) * n).astype(INDEX)
        labels = (codes % n).astype(INDEX)
        return LearnerTables(self.slots, self.numbers, starts, labels, weights, parts.allowed_from, parts.allowed)


def list_features(data: SequenceData, parts: TagParts, least: int) -> Listing:
    """The features that occur at least `least` times, with the labels that they occur with."""
    keys, times, _ = _counted(data, np.zeros(0, np.uint64), np.zeros(0, INDEX), 0)
    keys = keys[times >= least]
    slots, numbers = make_slots(keys)
    codes, seen, most = _counted(data, slots, numbers, len(parts.labels))
    return Listing(keys, slots, numbers, codes, seen.astype(np.float64), most)


def _counted(
    data: SequenceData, slots: np.ndarray, numbers: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """(What `gold_features` writes, ascending, how often each, the most of a token), of chunks of sentences."""
    n, most = len(data.starts) - 1, 0

    def chunks() -> Iterator[np.ndarray]:
        nonlocal most
        for first in range(0, n, _CHUNK):
            last = min(first + _CHUNK, n)
            room = np.empty(int(data.starts[last] - data.starts[first]) * MAX_KEYS, np.uint64)
            count, own_most = gold_features(*data, first, last, slots, numbers, n_labels, room)
            most = max(most, int(own_most))
            yield room[:count]

    return *tallied(chunks()), most


def with_pairs(codes: np.ndarray, more: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Pairs with further ones, and float64 values of pairs with 0 for those."""
    merged = np.union1d(codes, more)
    grown = [np.zeros(len(merged)) for _ in values]
    for new, value in zip(grown, values, strict=True):
        new[np.searchsorted(merged, codes)] = value
    return merged, grown
