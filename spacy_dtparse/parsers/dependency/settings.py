"""Settings of the dependency parser, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import one_of, optional, whole_number
from ...model.linear.dependency import DECODERS
from ..stored import Settings


@dataclass(frozen=True)
class DependencySettings(Settings):
    """How to parse.

    `decoder`: "projective" (Eisner) or "spanning" (Chu-Liu-Edmonds), None as the model was trained. `stages`: how many
    of the model's stages are run, None all; 1 is the paper's parser. `max_tokens`: a longer sentence is parsed in
    pieces of at most so many tokens, as time grows with the square of the length and more. `heads`: of how many heads
    of each token, the best by the stage before, a stage after the first looks at the links. Raises ConfigError for
    values out of range or of another type.
    """

    decoder: str | None = None
    stages: int | None = None
    max_tokens: int = 250
    heads: int = 12

    def __post_init__(self) -> None:
        one = whole_number(1)
        self.check(decoder=optional(one_of(*DECODERS)), stages=optional(one), max_tokens=one, heads=one)
