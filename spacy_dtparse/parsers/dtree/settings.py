"""Settings of the search, checked."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...checks import optional, real_number, share, shares, whole_number
from ..stored import Settings

BUDGET_PER_TOKEN = 200
BUDGET_LEAST = 2500
"""The default budget, chosen from the table of accuracy against speed in docs/experiments/speed.md."""


@dataclass(frozen=True)
class SearchSettings(Settings):
    """How long to search.

    `budget`: scored inferences after which the best complete parse found so far is returned; 0 stops at the greedy
    parse; None allows BUDGET_PER_TOKEN for every token, and at least BUDGET_LEAST; in a pruned search a state counts as
    as many inferences as there are labels. `max_tokens`: longer sentences are
    parsed greedily, so that time stays linear in length. `confident`: a shift that scores more than this is taken
    without a look at the other inferences of its state; infinity never does that. `gate`: share of the right
    windows that the model's gate may drop unscored, by what it dropped of trees held out from training; 0: drop none.
    `betas`: where a sentence comes with spines, the share of the likeliest one's probability that others must have to
    be allowed, one for each search until one gives a whole parse (then comes one with all); (): spines are not used.
    Raises ConfigError for values out of range or of another type.
    """

    budget: int | None = None
    max_tokens: int = 250
    confident: float = 5.0
    gate: float = 0.002
    betas: Sequence[float] = (0.1, 0.01)

    KIND = "search"

    def __post_init__(self) -> None:
        self.check(
            confident=real_number(0, above=True), gate=share(), budget=optional(whole_number(0)),
            max_tokens=whole_number(0), betas=shares(),
        )  # fmt: skip
        object.__setattr__(self, "betas", tuple(map(float, self.betas)))

    def budget_for(self, n_tokens: int) -> int:
        """The budget for a sentence of `n_tokens`."""
        if n_tokens > self.max_tokens:
            return 0
        if self.budget is None:
            return max(BUDGET_LEAST, BUDGET_PER_TOKEN * n_tokens)
        return self.budget
