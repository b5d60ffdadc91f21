"""The window filter as part of a model: its weights, and the loss at each minimum margin.

A window is a run of adjacent frontier items considered as the children of one inference. The filter drops unlikely
windows before they are scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ConfigError, ModelFormatError
from ...model_io.segments import ascending
from ..kernels.window_filter import VERSION

_FREE_ENTRIES, _ENTRIES = 2**20, 256
"""Number of entries that the table of any file may have, and additional entries for each weight that is not 0."""
EVERYTHING = -(2**40)
"""A minimum margin that every window reaches."""


@dataclass(frozen=True)
class WindowFilter:
    """Linear filter of windows: those below a minimum margin are dropped.

    `weights` int16, a power of two of them, in units of 1 / `dtparse.kernels.window_filter.UNIT`; empty: there is no
    filter. `losses`, ascending, and `margins`: at the minimum margin `margins[n]` (units) a fraction of `losses[n]` of
    the correct windows was lost in held-out trees. Raises ConfigError if the parts are inconsistent.
    """

    weights: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int16))
    losses: tuple[float, ...] = ()
    margins: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.weights)
        if n & (n - 1) or n == 1:
            raise ConfigError(f"the window filter has {n} weights; it must be 0 or a power of two above 1")
        if len(self.losses) != len(self.margins) or list(self.losses) != sorted(self.losses):
            counts = f"{len(self.losses)} losses and {len(self.margins)} margins"
            raise ConfigError(f"the window filter has {counts}; it needs one margin for each of the ascending losses")

    def min_margin(self, loss: float) -> int:
        """Return the minimum margin at which at most a fraction of `loss` of the correct windows is lost."""
        pairs = zip(self.losses, self.margins, strict=True)
        return max((int(margin) for lost, margin in pairs if lost <= loss), default=EVERYTHING)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return plain data, and arrays: the weights that are not 0 and the distances between their indices."""
        at = np.flatnonzero(self.weights)
        meta = {"version": VERSION, "entries": len(self.weights), "shares": self.losses, "margins": self.margins}
        return meta, {"gate_at": np.diff(at, prepend=0), "gate_weight": self.weights[at]}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> WindowFilter:
        """Build from the output of `to_parts`. Raises ModelFormatError for another version or size."""
        entries = meta["entries"]
        if entries and meta["version"] != VERSION:
            raise ModelFormatError(
                f"the model's window filter has version {meta['version']!r}; this release has {VERSION}: train it again"
            )
        positions = ascending(arrays["gate_at"], entries, "the window filter's weights")
        if entries > _FREE_ENTRIES + _ENTRIES * len(positions):
            raise ModelFormatError(
                f"the model's window filter has {entries} entries for {len(positions)} weights; fetch it again"
            )
        weights = np.zeros(entries, dtype=np.int16)
        weights[positions] = arrays["gate_weight"]
        return cls(weights, tuple(map(float, meta["shares"])), tuple(meta["margins"]))


def held_out_margins(right: np.ndarray, losses: Sequence[float]) -> tuple[int, ...]:
    """Return, for each of the fractions `losses`, the minimum margin that loses at most that fraction of `right`, the
    margins (units) of correct windows in held-out trees; EVERYTHING if there are too few windows."""
    right = np.sort(right)
    lost = [int(loss * len(right)) for loss in losses]
    return tuple(int(right[n]) if n > 0 else EVERYTHING for n in lost)
