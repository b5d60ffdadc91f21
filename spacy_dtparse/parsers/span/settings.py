"""Settings of the span parser, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...errors import ConfigError


@dataclass(frozen=True)
class SpanSettings:
    """How to parse.

    `budget`: 0 asks the first network alone, None or any other number all that `networks` allows; the chart is exact in
    either case, as reading a sentence takes much longer than searching it. `max_tokens`: a longer sentence is cut
    greedily, where both parts score best, into parts of at most so many tokens before the chart, whose time grows with
    the cube of the length. `networks`: how many of the model's networks are multiplied, None all. `confident`: where no
    constituent of the first network's tree has a greater score (-ln of its probability), the others are not asked; 0
    asks them always. `penalty`: posterior probability that a label must have to be worth a place in the tree; below a
    half it favours recall. Raises ConfigError for values out of range or of another type.
    """

    budget: int | None = None
    max_tokens: int = 200
    networks: int | None = None
    confident: float = 0.6
    penalty: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.confident, bool) or not isinstance(self.confident, int | float) or not self.confident >= 0:
            raise ConfigError(f"parser setting 'confident' is {self.confident!r}; it must be a number from 0")
        if isinstance(self.penalty, bool) or not isinstance(self.penalty, int | float) or not 0 <= self.penalty < 1:
            raise ConfigError(f"parser setting 'penalty' is {self.penalty!r}; it must be a number from 0 to below 1")
        for name, least in (("budget", 0), ("max_tokens", 0), ("networks", 1)):
            value = getattr(self, name)
            if name != "max_tokens" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError(f"parser setting {name!r} is {value!r}; it must be a whole number")
            if value < least:
                raise ConfigError(f"parser setting {name!r} is {value}; it must be {least} or more")

    def with_changes(self, **changes: Any) -> SpanSettings:
        """A copy with some settings changed. Raises ConfigError for an unknown name."""
        unknown = sorted(set(changes) - set(self.__dataclass_fields__))
        if unknown:
            allowed = ", ".join(self.__dataclass_fields__)
            raise ConfigError(f"unknown parser setting {', '.join(unknown)}; allowed are {allowed}")
        return replace(self, **changes)
