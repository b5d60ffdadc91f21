"""Settings of the search, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...errors import ConfigError


@dataclass(frozen=True)
class SearchSettings:
    """How long to search.

    `budget`: scored inferences after which the best complete parse found so far is returned; 0 stops at the greedy
    parse. `max_tokens`: longer sentences are parsed greedily, so that time stays linear in length. Raises ConfigError
    for values out of range or of another type.
    """

    budget: int = 20_000
    max_tokens: int = 250

    def __post_init__(self) -> None:
        for name in ("budget", "max_tokens"):
            value = getattr(self, name)
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
        return self.budget if n_tokens <= self.max_tokens else 0
