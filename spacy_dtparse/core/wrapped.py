"""The base class of parsers that wrap another parser and change its results."""

from operator import attrgetter
from typing import Any

from .parser import Parser


def _wrapped(name: str) -> Any:
    """A property with the value that the wrapped parser has under this name, such as a bound method."""
    return property(attrgetter(f"parser.{name}"))


class WrappedParser(Parser):
    """A parser that has everything from the `parser` that it wraps; subclasses change results. `with_settings` must
    wrap the new parser again."""

    name = _wrapped("name")
    inner_parser = _wrapped("inner_parser")
    capabilities = _wrapped("capabilities")
    labels = _wrapped("labels")
    excluded_labels = _wrapped("excluded_labels")
    meta = _wrapped("meta")
    known_tags = _wrapped("known_tags")
    vocabulary = _wrapped("vocabulary")
    lexicons = _wrapped("lexicons")
    needs_tags = _wrapped("needs_tags")
    head_rules = _wrapped("head_rules")
    calibration = _wrapped("calibration")
    missing_posteriors = _wrapped("missing_posteriors")
    max_searches = _wrapped("max_searches")
    describe = _wrapped("describe")
    to_bytes = _wrapped("to_bytes")
    span_posteriors = _wrapped("span_posteriors")
    parse_k_best = _wrapped("parse_k_best")
    parse_constrained = _wrapped("parse_constrained")
    parse_k_best_constrained = _wrapped("parse_k_best_constrained")

    def __init__(self, parser: Parser):
        self.parser, self.settings = parser, parser.settings
