"""The span parser: a small network scores spans, and a chart finds the best tree."""

from ..settings import SpanSettings
from .parser import SpanParser

__all__ = ["SpanParser", "SpanSettings"]
