"""Posterior probabilities of constituents, from the label chains that a kernel lists for the sentences of a batch."""

from collections.abc import Sequence

import numpy as np

from ..core.parser import Posteriors
from ..dtypes import INDEX, OFFSET, REAL
from ..trees.tree import TOP
from .kernels.batch import ChainListing
from .long import ScoredSpans

MIN_LISTED = 1e-3
"""Minimum posterior probability of constituents that are listed."""
_NOTHING = 2.0
"""A minimum probability that nothing reaches."""


def new_listing(n_sentences: int, n_rows: int, wanted: bool, min_prob: float = MIN_LISTED) -> ChainListing:
    """Return an empty listing for a batch of so many sentences and rows; if not `wanted`, kernels list nothing."""
    size = 8 * n_rows if wanted else 0
    return ChainListing(
        min_prob if wanted else _NOTHING,
        np.empty((size, 3), INDEX),
        np.empty(size),
        np.empty(size, REAL),
        np.zeros(n_sentences + 1, OFFSET),
    )


def list_chains_of(scored: ScoredSpans, listing: ChainListing, s: int) -> ChainListing:
    """Return the listing with the label chains of sentence s, which a kernel did not score."""
    if listing.min_prob > 1:
        return listing
    spans, posteriors, logs = scored
    rows, chains = np.nonzero(np.exp(logs[:, 1:]) * posteriors[:, None] >= listing.min_prob)
    at = int(listing.ends[s])
    listing.ends[s + 1] = at + len(rows)
    entries = np.concatenate([spans[rows], chains[:, None].astype(INDEX) + 1], axis=1, dtype=INDEX)
    more = max(len(rows), len(listing.entries) - at)  # what a kernel may fill after it
    return listing._replace(
        entries=np.concatenate([listing.entries[:at], entries, np.empty((more, 3), INDEX)]),
        posteriors=np.concatenate([listing.posteriors[:at], posteriors[rows], np.empty(more)]),
        logs=np.concatenate([listing.logs[:at], logs[rows, chains + 1], np.empty(more, REAL)]),
    )


class ChainLabels:
    """The distinct labels of each label chain of a model, for `posteriors`."""

    def __init__(self, chains: Sequence[Sequence[str]], labels: Sequence[str]):
        self.names = np.array(labels, dtype=object)
        ids = {label: label_id for label_id, label in enumerate(labels)}
        distinct = [[ids[label] for label in dict.fromkeys(chain)] for chain in chains]
        self.sizes = np.array([len(one) for one in distinct], dtype=OFFSET)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.labels = np.array([label_id for one in distinct for label_id in one], dtype=OFFSET)

    def posteriors(self, listing: ChainListing, lengths: Sequence[int]) -> list[Posteriors]:
        """Return the posteriors of the constituents of each sentence, given a filled listing and the sentences' numbers
        of tokens."""
        count = int(listing.ends[-1])
        entries = listing.entries[:count]
        probs = np.exp(listing.logs[:count]) * listing.posteriors[:count]
        probable = np.flatnonzero(probs >= listing.min_prob)
        sentence_ids = np.repeat(np.arange(len(lengths)), np.diff(listing.ends))[probable]
        entries, probs = entries[probable], probs[probable]
        spans = np.column_stack([sentence_ids, entries[:, :2]])
        is_new = np.ones(len(spans), dtype=bool)
        is_new[1:] = (spans[1:] != spans[:-1]).any(axis=1)
        sizes = self.sizes[entries[:, 2]]
        of_entry = np.repeat(np.arange(len(entries)), sizes)
        within = np.arange(len(of_entry)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        labels = self.labels[np.repeat(self.starts[entries[:, 2]], sizes) + within]
        keys = np.cumsum(is_new)[of_entry] * len(self.names) + labels
        _, first, constituent = np.unique(keys, return_index=True, return_inverse=True)
        # as if added one by one: bincount adds in order, and a sum that reaches 1 never falls below it
        sums = np.minimum(1.0, np.bincount(constituent.reshape(-1), probs[of_entry], len(first)))
        order = np.argsort(first)  # by span; the labels of a span in the order of their first chains
        rows = of_entry[first[order]]
        bounds = np.searchsorted(sentence_ids[rows], np.arange(len(lengths) + 1)).tolist()
        starts, ends = entries[rows, :2].T.tolist()
        names, values = self.names[labels[first[order]]].tolist(), sums[order].tolist()
        found: list[Posteriors] = []
        for n, begin, end in zip(lengths, bounds[:-1], bounds[1:], strict=True):
            here = slice(begin, end)
            own = dict(zip(zip(starts[here], ends[here], names[here], strict=True), values[here], strict=True))
            found.append({(0, n, TOP): 1.0, **own})
        return found
