"""Pruning of supertags for the search."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.supertags import SupertagCandidates, SupertagIndex
from ..dtypes import POSITIONS, SIDES
from .kernels.spines import MAX_LABELS, MAX_SPINES, fill_levels


class Pruning(NamedTuple):
    """The supertags after pruning: `levels` as in `dtparse.kernels.spines.SupertagArrays`, and the total `n_spines` of
    spines of all tokens."""

    levels: np.ndarray
    n_spines: int


class SpinePruner:
    """Prunes supertags for a model with these `labels`, TOP the last."""

    def __init__(self, labels: Sequence[str]):
        self._index = SupertagIndex([*labels[:-1], None])
        self._width = len(labels) + 1 + SIDES + POSITIONS
        self.usable = len(labels) <= MAX_LABELS

    def pruning(self, supertags: SupertagCandidates, beta: float) -> Pruning | None:
        """Return the spines that are at least `beta` times as probable as a token's most probable one; None if a token
        has none. A token keeps at most its `MAX_SPINES` most probable spines."""
        spines = self._index.spines(supertags, beta, MAX_SPINES)
        if spines is None:
            return None
        highest = int(np.diff(spines.ends, prepend=0).max())
        levels = np.zeros((len(supertags), highest + 1, self._width), np.uint64)
        fill_levels(*spines, levels)
        return Pruning(levels, len(spines.ends))
