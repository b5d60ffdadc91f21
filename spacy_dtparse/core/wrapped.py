"""The base class of parsers that wrap another parser and change its results."""

from operator import attrgetter
from typing import Any

from .parser import Parser


def _wrapped_value(name: str) -> Any:
    """A property with the value that the wrapped parser has under this name, such as a bound method."""
    return property(attrgetter(f"parser.{name}"))


class WrappedParser(Parser):
    """A parser that has everything from the `parser` that it wraps; subclasses change results. `with_settings` must
    wrap the new parser again."""

    name = _wrapped_value("name")
    inner_parser = _wrapped_value("inner_parser")
    capabilities = _wrapped_value("capabilities")
    labels = _wrapped_value("labels")
    excluded_labels = _wrapped_value("excluded_labels")
    meta = _wrapped_value("meta")
    known_tags = _wrapped_value("known_tags")
    vocabulary = _wrapped_value("vocabulary")
    lexicons = _wrapped_value("lexicons")
    needs_tags = _wrapped_value("needs_tags")
    head_rules = _wrapped_value("head_rules")
    calibration = _wrapped_value("calibration")
    missing_posteriors = _wrapped_value("missing_posteriors")
    max_searches = _wrapped_value("max_searches")
    describe = _wrapped_value("describe")
    to_bytes = _wrapped_value("to_bytes")
    span_posteriors = _wrapped_value("span_posteriors")
    parse_k_best = _wrapped_value("parse_k_best")
    parse_constrained = _wrapped_value("parse_constrained")
    parse_k_best_constrained = _wrapped_value("parse_k_best_constrained")

    def __init__(self, parser: Parser):
        self.parser, self.settings = parser, parser.settings
