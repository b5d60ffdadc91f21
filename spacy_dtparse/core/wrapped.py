"""The base class of parsers that wrap another parser and change its results."""

from collections.abc import Sequence
from typing import Any

from ..trees.heads import HeadRules
from .parser import Capability, ParseList, Parser, ParseResult, Posteriors
from .self_test import Strings
from .time_limit import TimeLimit


class WrappedParser(Parser):
    """A parser that has everything from the `parser` that it wraps; subclasses change results. `with_settings` must
    wrap the new parser again."""

    def __init__(self, parser: Parser):
        self.parser, self.settings = parser, parser.settings

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the wrapped parser."""
        return self.parser.name

    @property
    def inner_parser(self) -> Parser:
        """The innermost wrapped parser."""
        return self.parser.inner_parser

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities of the wrapped parser."""
        return self.parser.capabilities

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the wrapped parser."""
        return self.parser.labels

    @property
    def excluded_labels(self) -> frozenset[str]:
        """The excluded labels of the wrapped parser."""
        return self.parser.excluded_labels

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata of the wrapped parser."""
        return self.parser.meta

    @property
    def known_tags(self) -> frozenset[str]:
        """The tags of the wrapped parser."""
        return self.parser.known_tags

    @property
    def vocabulary(self) -> tuple[Strings, Strings]:
        """The words and tags of the wrapped parser."""
        return self.parser.vocabulary

    @property
    def lexicons(self) -> tuple[Strings, ...]:
        """The lexicons of the wrapped parser."""
        return self.parser.lexicons

    @property
    def needs_tags(self) -> bool:
        """Whether the wrapped parser uses the tags of words."""
        return self.parser.needs_tags

    @property
    def head_rules(self) -> HeadRules | None:
        """The head rules of the wrapped parser."""
        return self.parser.head_rules

    @property
    def calibration(self) -> Any:
        """The calibration of the wrapped parser."""
        return self.parser.calibration

    @property
    def missing_posteriors(self) -> str:
        """The reason why the wrapped parser has no probabilities."""
        return self.parser.missing_posteriors

    @property
    def max_searches(self) -> int:
        """The property of the wrapped parser."""
        return self.parser.max_searches

    def describe(self) -> dict[str, Any]:
        """Describe the wrapped parser."""
        return self.parser.describe()

    def to_bytes(self) -> bytes:
        """Serialise the model of the wrapped parser."""
        return self.parser.to_bytes()

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
        """Return those of the wrapped parser."""
        return self.parser.span_posteriors(words, tags)

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return those of the wrapped parser."""
        return self.parser.parse_k_best(words, tags, k, limit)

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Any) -> ParseResult:
        """Return that of the wrapped parser."""
        return self.parser.parse_constrained(words, tags, constraints)

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Any, k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return those of the wrapped parser."""
        return self.parser.parse_k_best_constrained(words, tags, constraints, k, limit)
