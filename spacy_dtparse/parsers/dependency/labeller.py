"""Labels for the links of a tree."""

from __future__ import annotations

import numpy as np

from ...dtypes import INDEX
from ...kernels.linear.feature_table import make_slots
from ...kernels.linear.guides import make_guide
from ...kernels.linear.link_labels import label_links
from ...model.linear.features import LabelStage


class Labeller:
    """A LabelStage for `n_labels` labels at work; label 0 is the root's and no other link's."""

    def __init__(self, stage: LabelStage, n_labels: int):
        self._stage, self._n_labels = stage, n_labels
        self._slots, self._numbers = make_slots(stage.keys)
        self._weights = stage.weights * np.float32(2.0**-stage.grid)

    def label(self, atoms: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """The number of each link's label, int32 (n + 1,) from place 1, for heads as decoders give them."""
        found = np.zeros(len(heads), INDEX)
        stage = self._stage
        label_links(
            atoms, make_guide(heads), self._slots, self._numbers, stage.starts, stage.labels, self._weights,
            self._n_labels, 0, found,
        )  # fmt: skip
        return found
