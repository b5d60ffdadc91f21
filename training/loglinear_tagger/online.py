"""The online learners of taggers: averaged perceptron (Collins 2002) and single-best MIRA (Crammer & Singer 2003)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from spacy_dtparse.features.linear.tagparts import TagParts

from ..runs.resuming import save_arrays, saved_arrays
from .corpus import SequenceData
from .kernels import online_pass
from .listing import Listing, with_pairs
from .options import SequenceOptions

_MOST_MISSING = 20_000_000
"""Pairs without a weight that a pass can note."""


def train_online(
    data: SequenceData,
    parts: TagParts,
    listing: Listing,
    options: SequenceOptions,
    state: Path,
    tell: Callable[..., None],
) -> tuple[np.ndarray, np.ndarray]:
    """(Pairs as in Listing, their averaged weights); a finished pass is kept in the file `state`, and gone on from."""
    codes, epoch, clock = listing.codes, 0, 1.0
    weights, sums = np.zeros(len(codes)), np.zeros(len(codes))
    if state.is_file():
        with saved_arrays(state) as arrays:
            codes, weights, sums = (arrays[name] for name in ("codes", "weights", "sums"))
            epoch, clock = int(arrays["epoch"]), float(arrays["clock"])
    step = options.step if options.estimator == "mira" else 0.0
    n_labels = len(parts.labels)
    while epoch < options.epochs:
        order = np.random.default_rng((options.seed, epoch)).permutation(data.n_sentences)
        room = min(_MOST_MISSING, 2 * len(data.gold) * listing.most) if epoch < options.grow else 0
        missing = np.empty(room, np.uint64)
        tables = listing.tables(parts, codes, weights)
        wrong, clock, n_missing = online_pass(
            order, *data, tables, n_labels, sums, clock, options.history == "greedy", float(step), missing
        )
        if n_missing:
            codes, (weights, sums) = with_pairs(codes, np.unique(missing[:n_missing]), weights, sums)
        epoch += 1
        save_arrays(
            state,
            {"codes": codes, "weights": weights, "sums": sums, "epoch": np.array(epoch), "clock": np.array(clock)},
        )
        tell(epoch=epoch, wrong=int(wrong), pairs=len(codes))
    return codes, weights - sums / clock
