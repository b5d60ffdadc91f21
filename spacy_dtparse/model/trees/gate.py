"""The gate as part of a model: its weights, and which margin loses how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ConfigError, ModelFormatError
from ...kernels.trees.gate import VERSION
from ..segments import ascending

_FREE_ENTRIES, _ENTRIES = 2**20, 256
"""Entries that a table of a file may have, and how many more for each weight that is not 0."""
EVERYTHING = -(2**40)
"""A least margin that every window has."""


@dataclass(frozen=True)
class Gate:
    """`weights` int16, a power of two of them, in units of 1 / `kernels.trees.gate.UNIT`; none: there is no gate.

    `shares`, ascending, and `margins`: at the least margin `margins[n]` (units) `shares[n]` of the right windows were
    lost in trees held out from training. Raises ConfigError for parts that do not fit.
    """

    weights: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int16))
    shares: tuple[float, ...] = ()
    margins: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.weights)
        if n & (n - 1) or n == 1:
            raise ConfigError(f"the gate has {n} weights; it must be 0 or a power of two above 1")
        if len(self.shares) != len(self.margins) or list(self.shares) != sorted(self.shares):
            counts = f"{len(self.shares)} shares and {len(self.margins)} margins"
            raise ConfigError(f"the gate has {counts}; it must be one margin for each of the ascending shares")

    def least(self, share: float) -> int:
        """The least margin at which no more than `share` of the right windows are lost."""
        known = zip(self.shares, self.margins, strict=True)
        return max((int(margin) for lost, margin in known if lost <= share), default=EVERYTHING)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain data, and arrays: the weights that are not 0 and the distances between them."""
        at = np.flatnonzero(self.weights)
        meta = {"version": VERSION, "entries": len(self.weights), "shares": self.shares, "margins": self.margins}
        return meta, {"gate_at": np.diff(at, prepend=0), "gate_weight": self.weights[at]}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> Gate:
        """What `to_parts` made. Raises ModelFormatError for another version or size."""
        entries = meta["entries"]
        if entries and meta["version"] != VERSION:
            raise ModelFormatError(
                f"the model's gate has version {meta['version']!r}; this release has {VERSION}: train it again"
            )
        places = ascending(arrays["gate_at"], entries, "the gate's weights")
        if entries > _FREE_ENTRIES + _ENTRIES * len(places):
            raise ModelFormatError(f"the model's gate has {entries} entries for {len(places)} weights; fetch it again")
        weights = np.zeros(entries, dtype=np.int16)
        weights[places] = arrays["gate_weight"]
        return cls(weights, tuple(map(float, meta["shares"])), tuple(meta["margins"]))


def held_out_margins(right: np.ndarray, shares: Sequence[float]) -> tuple[int, ...]:
    """For each share the least margin that loses no more than that share of `right`, the margins (units) of right
    windows of held-out trees; EVERYTHING where there are too few of them to say."""
    right = np.sort(right)
    lost = [int(share * len(right)) for share in shares]
    return tuple(int(right[n]) if n > 0 else EVERYTHING for n in lost)
