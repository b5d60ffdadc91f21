"""The span parser: a small network scores spans, a chart finds the tree."""

from .parser import SpanParser
from .settings import SpanSettings

__all__ = ["SpanParser", "SpanSettings"]
