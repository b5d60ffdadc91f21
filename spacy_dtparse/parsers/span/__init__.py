"""The span parser: a small network scores spans, a chart finds the tree."""

from ..settings import SpanSettings
from .parser import SpanParser

__all__ = ["SpanParser", "SpanSettings"]
