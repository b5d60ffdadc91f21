"""Settings of the tagger, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import share, whole_number
from ..stored import Settings


@dataclass(frozen=True)
class TaggerSettings(Settings):
    """How to tag.

    `beam`: the most pairs of labels that are kept from word to word. `share`: a pair is dropped when its probability is
    below this share of the likeliest one's. Raises ConfigError for values out of range or of another type.
    """

    KIND = "tagger"

    beam: int = 4
    share: float = 0.1

    def __post_init__(self) -> None:
        self.check(beam=whole_number(1, 1000), share=share())
