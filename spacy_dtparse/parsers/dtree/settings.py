"""Settings of the search, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...errors import ConfigError

BUDGET_PER_TOKEN = 200
BUDGET_LEAST = 2500
"""The default budget, chosen from the table of accuracy against speed in docs/experiments.md."""


@dataclass(frozen=True)
class SearchSettings:
    """How long to search.

    `budget`: scored inferences after which the best complete parse found so far is returned; 0 stops at the greedy
    parse; None allows BUDGET_PER_TOKEN for every token, and at least BUDGET_LEAST. `max_tokens`: longer sentences are
    parsed greedily, so that time stays linear in length. `confident`: a shift that scores more than this is taken
    without a look at the other inferences of its state; infinity never does that. `gate`: share of the right
    windows that the model's gate may drop unscored, by what it dropped of trees held out from training; 0: drop none.
    Raises ConfigError for values out of range or of another type.
    """

    budget: int | None = None
    max_tokens: int = 250
    confident: float = 5.0
    gate: float = 0.002

    def __post_init__(self) -> None:
        if isinstance(self.confident, bool) or not isinstance(self.confident, int | float) or not self.confident > 0:
            raise ConfigError(f"search setting 'confident' is {self.confident!r}; it must be a number above 0")
        if isinstance(self.gate, bool) or not isinstance(self.gate, int | float) or not 0 <= self.gate < 1:
            raise ConfigError(f"search setting 'gate' is {self.gate!r}; it must be a number from 0 to below 1")
        for name in ("budget", "max_tokens"):
            value = getattr(self, name)
            if name == "budget" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError(f"search setting {name!r} is {value!r}; it must be a whole number")
            if value < 0:
                raise ConfigError(f"search setting {name!r} is {value}; it must be 0 or more")

    def with_changes(self, **changes: Any) -> SearchSettings:
        """A copy with some settings changed. Raises ConfigError for an unknown name."""
        unknown = sorted(set(changes) - set(self.__dataclass_fields__))
        if unknown:
            allowed = ", ".join(self.__dataclass_fields__)
            raise ConfigError(f"unknown search setting {', '.join(unknown)}; allowed are {allowed}")
        return replace(self, **changes)

    def budget_for(self, n_tokens: int) -> int:
        """The budget for a sentence of `n_tokens`."""
        if n_tokens > self.max_tokens:
            return 0
        if self.budget is None:
            return max(BUDGET_LEAST, BUDGET_PER_TOKEN * n_tokens)
        return self.budget
