"""Settings of the tagger, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ConfigError
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
        self.check_whole("beam", 1)
        if self.beam > 1000:
            raise ConfigError(f"tagger setting 'beam' is {self.beam}; it must be at most 1000")
        self.check_number("share", "a number from 0 to below 1", 0.0, 1.0)
