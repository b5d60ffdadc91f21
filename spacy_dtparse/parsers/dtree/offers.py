"""From the categories that a tagger offers to what the search takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...dtypes import PLACES, SIDES
from ...features.offers import Offered, OfferReader
from ...kernels.trees.spines import MOST_LABELS, MOST_SPINES, fill_levels


class Pruning(NamedTuple):
    """What is left of the offers: `levels` as in `kernels.trees.spines.Offers`, and the `number` of spines that all
    tokens have together."""

    levels: np.ndarray
    number: int


class SpineReader:
    """Reads offers for a model with these `labels`, TOP the last."""

    def __init__(self, labels: Sequence[str]):
        self._reader = OfferReader([*labels[:-1], None])
        self._width = len(labels) + 1 + SIDES + PLACES
        self.usable = len(labels) <= MOST_LABELS

    def pruning(self, offered: Offered, beta: float) -> Pruning | None:
        """What the search takes of the spines that are at least `beta` times as likely as a token's likeliest; None
        when a token is left without one. Of more than MOST_SPINES spines the least likely are left out."""
        spines = self._reader.spines(offered, beta, MOST_SPINES)
        if spines is None:
            return None
        highest = int(np.diff(spines.ends, prepend=0).max())
        levels = np.zeros((len(offered), highest + 1, self._width), np.uint64)
        fill_levels(*spines, levels)
        return Pruning(levels, len(spines.ends))
