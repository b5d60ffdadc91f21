"""Settings of the span parser, checked."""

from dataclasses import dataclass

from ...checks import optional, real_number, share, truth, whole_number
from ..stored import Settings


@dataclass(frozen=True)
class SpanSettings(Settings):
    """How to parse.

    `budget`: 0 asks the first network alone, None or any other number all that `networks` allows; the chart is exact in
    either case, as reading a sentence takes much longer than searching it. `max_tokens`: a longer sentence is cut
    greedily, where both parts score best, into parts of at most so many tokens before the chart, whose time grows with
    the cube of the length. `networks`: how many of the model's networks are multiplied, None all. `confident`: where no
    constituent of the first network's tree has a greater score (-ln of its probability), the others are not asked; 0,
    the default, asks them always. `penalty`: posterior probability that a label must have to be worth a place in the
    tree; below a half it favours recall. `whole`: whether a token that the treebank never leaves bare (a noun in a
    clause, say) gets its most probable constituent even where that is worth less than the penalty; a model of before
    0.2 does not know which these are. Raises ConfigError for values out of range or of another type.
    """

    budget: int | None = None
    max_tokens: int = 200
    networks: int | None = None
    confident: float = 0.0
    penalty: float = 0.5
    whole: bool = True

    def __post_init__(self) -> None:
        self.check(
            confident=real_number(0), penalty=share(), budget=optional(whole_number(0)), max_tokens=whole_number(0),
            networks=optional(whole_number(1)), whole=truth(),
        )  # fmt: skip
