"""The features of training sentences, and which labels each has weights for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.features.linear.tagparts import TagParts
from spacy_dtparse.kernels.linear.feature_table import make_slots
from spacy_dtparse.kernels.linear.tagging import EDGE

from .corpus import SequenceData
from .kernels import MAX_KEYS, LearnerTables, gold_keys, gold_pairs

_CHUNK = 1000
"""Sentences whose features are counted at once."""


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
    keys, times, _ = _counted(data, lambda first, last, room: gold_keys(*data, first, last, room))
    keys = keys[times >= least]
    slots, numbers = make_slots(keys)
    n_labels = len(parts.labels)
    codes, seen, most = _counted(
        data, lambda first, last, room: gold_pairs(*data, first, last, slots, numbers, n_labels, room)
    )
    return Listing(keys, slots, numbers, codes, seen.astype(np.float64), most)


def _counted(data: SequenceData, write) -> tuple[np.ndarray, np.ndarray, int]:  # type: ignore[no-untyped-def]
    """(Different numbers, ascending, how often each was written, the most of a token) of chunks of sentences."""
    found, counts, most = np.zeros(0, np.uint64), np.zeros(0, np.int64), 0
    for first in range(0, data.n_sentences, _CHUNK):
        last = min(first + _CHUNK, data.n_sentences)
        rows = int(data.starts[last] - data.starts[first]) - 2 * EDGE * (last - first)
        room = np.empty((rows + 1) * MAX_KEYS, np.uint64)
        count, own_most = write(first, last, room)
        most = max(most, int(own_most))
        values, times = np.unique(room[:count], return_counts=True)
        merged, places = np.unique(np.concatenate([found, values]), return_inverse=True)
        summed = np.bincount(places, weights=np.concatenate([counts, times]), minlength=len(merged))
        found, counts = merged, summed.astype(np.int64)
    return found, counts, most


def with_pairs(
    codes: np.ndarray, more: np.ndarray, *values: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Pairs with further ones, and values of pairs with 0 for those."""
    merged = np.union1d(codes, more)
    places = np.searchsorted(merged, codes)
    grown = []
    for value in values:
        new = np.zeros(len(merged), value.dtype)
        new[places] = value
        grown.append(new)
    return merged, grown
